import Foundation
import StreamingJSON
import Testing

@testable import MistKitCLI

/// The built command, run as a user runs it: in its own folder, without settings from outside.
struct CommandTests {
    struct Outcome: Sendable {
        var status: Int32
        var output: String
        var errors: String
        var lines: [Substring] { output.split(separator: "\n") }
    }

    /// The executable is beside the test bundle.
    static let executable = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("mistkit")

    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("mistkit-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    @discardableResult
    func mistkit(_ arguments: String..., environment: [String: String] = [:], input: String = "") throws -> Outcome {
        try mistkit(arguments: arguments, environment: environment, input: input)
    }

    @discardableResult
    func mistkit(
        arguments: [String],
        environment: [String: String] = [:],
        input: String = ""
    ) throws -> Outcome {
        try run(Self.executable, arguments: arguments, environment: environment, input: input)
    }

    /// Runs a program in the folder of the test.
    func run(
        _ program: URL,
        arguments: [String],
        environment: [String: String] = [:],
        input: String = ""
    ) throws -> Outcome {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = environment
        let (output, errors, standardInput) = (Pipe(), Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = standardInput
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        // Neither pipe fills up in these tests, so they can be read one after the other.
        let outputData = output.fileHandleForReading.readDataToEndOfFile()
        let errorData = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus,
            output: String(decoding: outputData, as: UTF8.self),
            errors: String(decoding: errorData, as: UTF8.self)
        )
    }

    /// Finds a program that is not part of this package. If it is not installed, prints a sentence and returns `nil`.
    static func installed(_ name: String) -> URL? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        let found = folders.map { URL(fileURLWithPath: "\($0)/\(name)") }.first {
            FileManager.default.isExecutableFile(atPath: $0.path)
        }
        if found == nil { print("Not tested with \(name), which is not installed.") }
        return found
    }

    @Test func theDemoGoesOnceAroundAndAgainOnTheSameData() throws {
        let first = try mistkit("demo", "--count", "250")
        let second = try mistkit("demo", "records", "--count", "250")
        for (demo, zone) in [(first, "MistKitDemo made"), (second, "MistKitDemo was there already")] {
            #expect(demo.status == 0)
            #expect(demo.errors == "")
            #expect(demo.lines.count < 30)
            #expect(demo.output.contains(zone))
            #expect(demo.output.contains("250 notes with fields of 15 types"))
            #expect(demo.output.contains("one refused: CONFLICT"))
            #expect(demo.output.contains("rating 5, title \"A better title\""))
            #expect(demo.output.contains("250 changed, 0 deleted"))
            #expect(demo.output.contains("0 changed, 250 deleted"))
            #expect(demo.lines.last?.contains("mistkit demo sync") == true)
        }
    }

    @Test func twoStoresAndTheServiceAgreeAfterConflictsALostReplyAndAKilledProcess() throws {
        let demo = try mistkit("demo", "sync", "--count", "30", "--folder", "stores")
        #expect(demo.errors == "")
        #expect(demo.status == 0)
        #expect(demo.lines.count < 30)
        #expect(demo.output.contains(#"phone has "Oat milk", done; laptop has "Oat milk", done"#))
        #expect(demo.output.contains(#"phone has "Dark bread"; laptop has "Dark bread""#))
        #expect(demo.output.contains("phone has no such to-do; laptop has no such to-do"))
        #expect(demo.output.contains("phone sends 4 new records; the service stores them, and the reply is lost"))
        #expect(demo.output.contains("gets SIGKILL"))
        #expect(demo.output.components(separatedBy: "1 lost to a later edit or a delete").count == 3)
        // At first there are 30 and 2 to-dos, of which one is removed, and later 3 and 50; there are 4 lists. A to-do
        // has 3 fields, a list has 1.
        #expect(demo.output.contains("phone, laptop and service agree: 88 records, 256 fields"))
        for device in ["phone", "laptop"] {
            let file = folder.appendingPathComponent("stores/\(device)/user.sqlite")
            #expect(FileManager.default.fileExists(atPath: file.path))
        }
        let again = try mistkit("demo", "sync", "--folder", "stores")
        #expect(again.status == 64)
        #expect(again.errors.contains("The folder stores exists already."))
    }

    @Test func recordsGoThroughTheirLife() throws {
        try mistkit("zones", "create", "Notes")
        let created = try mistkit(
            "records",
            "create",
            "--zone",
            "Notes",
            "--type",
            "Note",
            "--name",
            "a",
            "-F",
            "title=Hello, you",
            "-F",
            "rating=4"
        )
        #expect(created.status == 0)
        let csv = try mistkit("records", "query", "Note", "--zone", "Notes", "--filter", "rating > 3", "-f", "csv")
        #expect(csv.output.hasPrefix("recordName,recordType,recordChangeTag,created,modified,title,rating\r\na,Note,"))
        #expect(csv.output.hasSuffix(",\"Hello, you\",4\r\n"))
        let json = try mistkit("records", "lookup", "a", "b", "--zone", "Notes", "-f", "json")
        guard case .array(let found) = try JSONReader.read(JSONValue.self, from: json.output) else {
            Issue.record("no array: \(json.output)")
            return
        }
        #expect(found.count == 1)
        #expect(json.status == 1)

        let updated = try mistkit("records", "update", "a", "--zone", "Notes", "-F", "rating=5", "-f", "ndjson")
        let record = try JSONReader.read(JSONValue.self, from: updated.output)
        guard case .object(let members) = record, case .object(let fields)? = members["fields"] else {
            Issue.record("no record: \(updated.output)")
            return
        }
        #expect(
            fields == [
                "title": ["value": "Hello, you", "type": "STRING"],
                "rating": ["value": 5, "type": "INT64"],
            ]
        )

        let stale = try mistkit("records", "update", "a", "--zone", "Notes", "-F", "rating=6", "--tag", "0")
        #expect(stale.status == 1)
        #expect(stale.output == "")
        #expect(stale.errors.contains("CONFLICT"))

        let deleted = try mistkit("records", "delete", "a", "b", "--zone", "Notes", "-f", "ndjson")
        #expect(deleted.status == 1)
        #expect(deleted.lines.count == 1)
        #expect(deleted.errors.contains("Record b: There is no such record."))
        #expect(try mistkit("records", "lookup", "a", "--zone", "Notes").status == 1)
    }

    @Test func recordsOfAQueryAreCountedChangedAndDeleted() throws {
        let notes = (1...5).map { ##"{"recordType":"Note","recordName":"n\##($0)","fields":{"n":{"value":\##($0)}}}"## }
        try mistkit("records", "create", "--from", "-", input: notes.joined(separator: "\n"))
        #expect(try mistkit("records", "count", "Note").output == "5\n")
        #expect(try mistkit("records", "count", "Note", "--filter", "n > 3").output == "2\n")

        // Without a terminal, the command cannot ask, and changes nothing.
        let query = ["--type", "Note", "--where", "n < 3"]
        let unasked = try mistkit(arguments: ["records", "update"] + query + ["-F", "done=1"])
        #expect(unasked.status == 64)
        #expect(unasked.errors.contains("Change 2 records of type Note?"))
        #expect(unasked.errors.contains("--yes"))

        let updated = try mistkit(
            arguments: ["records", "update"] + query + ["-F", "done=1", "--yes", "-f", "ndjson"]
        )
        #expect(updated.lines.count == 2, "\(updated.errors)")
        let deleted = try mistkit(
            "records",
            "delete",
            "--type",
            "Note",
            "--where",
            "done == 1",
            "--yes",
            "-f",
            "ndjson"
        )
        #expect(deleted.lines.count == 2, "\(deleted.errors)")
        let rest = try mistkit("records", "query", "Note", "--sort", "n", "--fields", "n", "-f", "csv")
        #expect(rest.output.split(whereSeparator: \.isNewline).dropFirst().map { $0.prefix(2) } == ["n3", "n4", "n5"])

        let dry = try mistkit("records", "delete", "--type", "Note", "--where", "n > 0", "--dry-run")
        #expect(dry.output == "3 records of type Note\n" && dry.status == 0)

        let outcomes = [
            try mistkit("records", "delete"), try mistkit("records", "delete", "--type", "Note"),
            try mistkit("records", "delete", "n3", "--type", "Note", "--where", "n > 0"),
            try mistkit("records", "update", "--type", "Note", "--where", "n > 0", "-F", "n=1", "--tag", "x"),
        ]
        for outcome in outcomes { #expect(outcome.status == 64 && outcome.errors.split(separator: "\n").count == 2) }
    }

    /// The command that `emulator` runs finds the emulator. Its data are read from a file, and written to a file at the
    /// end.
    @Test func emulatorsRunForOneCommand() throws {
        let seed = folder.appendingPathComponent("notes.ndjson")
        let notes = (1...3).map { ##"{"recordType":"Note","recordName":"n\##($0)"}"## }.joined(separator: "\n")
        try Data(notes.utf8).write(to: seed)
        let delete = #""$0" records delete n2 && "$0" records count Note; exit 7"#
        let arguments = ["emulator", "--reset", "--seed", "notes.ndjson", "--export-on-exit", "after.ndjson", "--exec"]
        for force in [[], ["--force"]] {
            let outcome = try mistkit(arguments: arguments + force + ["--", "sh", "-c", delete, Self.executable.path])
            #expect(outcome.status == 7)
            #expect(outcome.output.hasSuffix("\n2\n"), "\(outcome.output) \(outcome.errors)")
            let after = try String(contentsOf: folder.appendingPathComponent("after.ndjson"), encoding: .utf8)
            #expect(after.split(separator: "\n").count == 2 && !after.contains("\"n2\""))
        }
        // Without --force, the file stays, and the emulator does not start.
        let refused = try mistkit(arguments: arguments + ["--", "true"])
        #expect(refused.status == 64 && refused.errors.contains("after.ndjson exists already."), "\(refused.errors)")
        #expect(try mistkit("records", "count", "Note").output == "2\n")
        #expect(try mistkit("emulator", "--force", "--exec", "--", "true").status == 64)
        #expect(try mistkit("emulator", "--exec").status == 64)
        #expect(try mistkit("emulator", "--", "true").status == 64)
        #expect(try mistkit("emulator", "--exec", "--", "/no/such/program").status == 127)
        #expect(try mistkit("emulator", "--exec", "--", "sh", "-c", "kill -9 $$").status == 137)
        let misread = try mistkit("emulator", "--seed", "absent.ndjson", "--exec", "--", "true")
        #expect(misread.status == 65 && misread.errors.contains("absent.ndjson cannot be read"))
    }

    @Test func emulatorsHaveTheFaultsOfAFile() throws {
        let file = folder.appendingPathComponent("faults.json")
        try Data(##"[{"fault":"refuse","code":"ACCESS_DENIED","on":"zones/list","calls":"all"}]"##.utf8).write(to: file)
        let arguments = ["emulator", "--reset", "--faults", "faults.json", "--exec", "--", Self.executable.path]
        let listed = try mistkit(arguments: arguments + ["zones", "list"])
        #expect(listed.status == 77 && listed.errors.contains("ACCESS_DENIED"), "\(listed.errors)")
        #expect(try mistkit(arguments: arguments + ["zones", "create", "Notes"]).status == 0)
        try Data("[{}]".utf8).write(to: file)
        #expect(try mistkit(arguments: arguments + ["zones", "list"]).status == 65)
        #expect(try mistkit("emulator", "--faults", "absent.json", "--exec", "--", "true").status == 65)
    }

    @Test func zonesAreFollowedAndEmptied() throws {
        try mistkit("zones", "create", "Notes")
        let notes = (1...3).map { ##"{"recordType":"Note","recordName":"n\##($0)"}"## }.joined(separator: "\n")
        try mistkit("records", "create", "--zone", "Notes", "--from", "-", input: notes)
        let first = try mistkit("zones", "changes", "--token-file", "zones.token", "-f", "csv")
        #expect(first.output == "change,zone,owner\r\nchanged,Notes,\r\n" || first.output.contains("changed,Notes,_"))
        #expect(try mistkit("zones", "changes", "--token-file", "zones.token").output == "No changes.\n")
        #expect(try mistkit("zones", "purge", "Notes").status == 64)
        let purged = try mistkit("zones", "purge", "Notes", "--yes")
        #expect(purged.errors == "Deleted 3 of 3 records of the zone Notes.\n")
        #expect(try mistkit("records", "count", "Note", "--zone", "Notes").output == "0\n")
        try mistkit("zones", "delete", "Notes", "--yes")
        #expect(try mistkit("zones", "changes", "--token-file", "zones.token").output.contains("deleted  Notes"))
    }

    @Test func subscriptionsAreMadeListedAndDeleted() throws {
        try mistkit("zones", "create", "Notes")
        let query = try mistkit(
            arguments: ["subscriptions", "create", "new", "--type", "Note", "--filter", "rating > 3", "--on", "create"]
                + ["--zone", "Notes", "--message", "New"]
        )
        #expect(query.status == 0, "\(query.errors)")
        let zone = try mistkit("subscriptions", "create", "all", "--zone", "Notes")
        #expect(zone.status == 0, "\(zone.errors)")
        let list = try mistkit("subscriptions", "list", "-f", "csv")
        #expect(list.output.contains("new,query,Note,Notes,create\r\n"))
        #expect(list.output.contains("all,zone,,Notes,"))
        let deleted = try mistkit("subscriptions", "delete", "new", "absent")
        #expect(deleted.status == 1)
        #expect(deleted.errors.contains("Deleted the subscription new."))
        #expect(deleted.errors.contains("1 of 2 subscriptions failed."))
        for arguments in [["x"], ["x", "--zone", "Notes", "--once"]] {
            #expect(try mistkit(arguments: ["subscriptions", "create"] + arguments).status == 64)
        }
    }

    @Test func peopleAreLookedUpAndInvited() throws {
        let me = try mistkit("users", "me", "-f", "csv")
        #expect(me.status == 0, "\(me.errors)")
        #expect(me.output.hasPrefix("user,name,address\r\n_"))
        #expect(try mistkit("users", "list").status == 0)
        let refused = try mistkit("users", "restrict")
        #expect(refused.status == 64 && refused.errors.contains("--yes"), "\(refused.errors)")
        #expect(try mistkit("users", "restrict", "--yes").status == 0)
        #expect(try mistkit("users", "me").status == 77)
        // The restricted user does not keep others from coming, or from being found.
        #expect(try mistkit("users", "create", "Eve").status == 0)
        #expect(try mistkit("users", "me", "--as", "Eve").status == 0)
        #expect(try mistkit("users", "unrestrict").output.contains("has ended"))
        #expect(try mistkit("users", "me").status == 0)
        let absent = try mistkit("users", "lookup", "stranger@example.com")
        #expect(absent.status == 1 || absent.output.contains("stranger@example.com"), "\(absent.errors)")
        let misnamed = try mistkit("users", "lookup", "Ben")
        #expect(misnamed.status == 64 && misnamed.errors.contains("\"Ben\" does not name a person."))

        try mistkit("zones", "create", "Lists")
        try mistkit("records", "create", "--type", "List", "--name", "l1", "--zone", "Lists")
        let unshared = try mistkit("shares", "show", "l1", "--zone", "Lists")
        #expect(unshared.status == 64 && unshared.errors.contains("mistkit shares create"))
        let shared = try mistkit(
            arguments: ["shares", "create", "l1", "--zone", "Lists", "--title", "Home", "--public", "read-only"]
                + ["--invite-writer", "ben@example.com"]
        )
        #expect(shared.status == 0, "\(shared.errors)")
        #expect(shared.output.contains("title   Home") && shared.output.contains("public  READ_ONLY"))
        #expect(shared.output.contains("ben@example.com") && shared.output.contains("READ_WRITE"))
        let link = try #require(shared.lines.first?.split(separator: " ").last.map(String.init))
        let resolved = try mistkit("shares", "resolve", link, "-f", "csv")
        #expect(resolved.output.contains(",Lists,") && resolved.output.contains(",l1,"), "\(resolved.errors)")
        let updated = try mistkit(
            arguments: ["shares", "update", "l1", "--zone", "Lists", "--remove", "ben@example.com"]
                + ["--invite", "eva@example.com", "--public", "none"]
        )
        #expect(updated.output.contains("eva@example.com") && !updated.output.contains("ben@"), "\(updated.errors)")
        // The owner already takes part in the share.
        #expect(try mistkit("shares", "accept", link).status != 64)
        #expect(try mistkit("shares", "stop", "l1", "--zone", "Lists").status == 0)
        #expect(try mistkit("shares", "show", "l1", "--zone", "Lists").status != 0)
        #expect(try mistkit("shares", "leave", "l1").status == 64)

        let notShared = try mistkit("shares", "show", "--zone", "Lists")
        #expect(notShared.status == 64 && notShared.errors.contains("mistkit zones share"), "\(notShared.errors)")
        #expect(try mistkit("shares", "show").errors.contains("Neither a record nor a zone is given."))
        let zone = try mistkit("zones", "share", "Lists", "--invite", "ben@example.com", "--title", "All")
        #expect(zone.output.contains("title   All") && zone.output.contains("ben@example.com"), "\(zone.errors)")
        let zoneLink = try #require(zone.lines.first?.split(separator: " ").last.map(String.init))
        #expect(try mistkit("shares", "resolve", zoneLink, "-f", "csv").output.contains(",Lists,"))
        #expect(try mistkit("zones", "share", "Lists").errors.contains("The zone Lists is shared already"))
        let zoneUpdated = try mistkit("shares", "update", "--zone", "Lists", "--public", "read-write")
        #expect(zoneUpdated.output.contains("public  READ_WRITE"), "\(zoneUpdated.errors)")
        let zoneStopped = try mistkit("shares", "stop", "--zone", "Lists")
        #expect(zoneStopped.errors == "The zone Lists is no longer shared.\n")
        #expect(try mistkit("shares", "show", "--zone", "Lists").status == 64)
    }

    @Test func changesComeOnceWithATokenFile() throws {
        try mistkit("zones", "create", "Notes")
        let notes = (1...3).map { ##"{"recordType":"Note","recordName":"n\##($0)","fields":{"n":{"value":\##($0)}}}"## }
        let input = notes.joined(separator: "\n")
        let created = try mistkit("records", "create", "--zone", "Notes", "--from", "-", "--atomic", input: input)
        #expect(created.status == 0, "\(created.errors)")
        let first = try mistkit("records", "changes", "--zone", "Notes", "--token-file", "token", "-f", "ndjson")
        #expect(first.lines.count == 3)
        let second = try mistkit("records", "changes", "--zone", "Notes", "--token-file", "token", "-f", "ndjson")
        #expect(second.status == 0)
        #expect(second.output == "")
        try mistkit("records", "delete", "n2", "--zone", "Notes", "--force")
        let third = try mistkit("records", "changes", "--zone", "Notes", "--token-file", "token")
        #expect(third.lines.count == 3)
        #expect(third.output.contains("deleted  n2"))
    }

    @Test func errorsGoToStandardErrorWithAnExitCode() throws {
        let outcomes = [
            try mistkit("records", "query"),
            try mistkit("records", "query", "Note", "--zone", "Nowhere"),
            try mistkit("records", "create", "--from", "-", input: "{\"recordType\":\n"),
            try mistkit("records", "query", "Note", environment: ["MISTKIT_SERVER_URL": "http://127.0.0.1:9"]),
        ]
        #expect(outcomes.map(\.status) == [64, 1, 65, 77])
        for outcome in outcomes {
            #expect(outcome.output == "")
            #expect(!outcome.errors.isEmpty)
        }
        #expect(outcomes[1].errors.contains("ZONE_NOT_FOUND"))
        #expect(outcomes[2].errors.contains("standard input, line 1"))
    }

    @Test(arguments: [
        (
            ["records", "query"],
            "mistkit: Missing expected argument '<type>'.",
            "`mistkit records query --help` lists the arguments and options."
        ),
        (
            ["records", "changes"],
            "mistkit: The default zone has no change feed.",
            "Name a custom zone with --zone; `mistkit zones list` prints them."
        ),
        (["records", "query", "Note", "--limit", "0"], "mistkit: --limit is out of range.", "Give a number from 1."),
        (
            ["records", "query", "Note", "--filter", "rating"],
            "mistkit: The filter \"rating\" has no comparator.",
            "Write it as: field == value"
        ),
        (
            ["records", "update", "absent", "-F", "a=1"],
            "mistkit: Record absent: ",
            "Check the name, and the container, database and zone in which it is looked up."
        ),
        (
            ["records", "lookup", "absent", "missing"],
            "mistkit: 2 of 2 records failed.",
            "Check the name, and the container, database and zone in which it is looked up."
        ),
        (["schema"], nil, nil),
    ]) func anErrorIsTwoLines(_ arguments: [String], problem: String?, remedy: String?) throws {
        let outcome = try mistkit(arguments: arguments)
        guard let problem, let remedy else {
            #expect(outcome.status == 0 && outcome.errors == "" && outcome.output.contains("USAGE: mistkit schema"))
            return
        }
        let lines = outcome.errors.split(separator: "\n").suffix(2)
        #expect(outcome.status != 0)
        #expect(lines.first?.hasPrefix(problem) == true, "\(outcome.errors)")
        #expect(lines.last?.hasPrefix("  " + remedy) == true, "\(outcome.errors)")
    }

    @Test func printsItsVersionAsTheChangelogHasIt() throws {
        let version = try mistkit("--version").output.trimmingCharacters(in: .newlines)
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let changelog = try String(contentsOf: root.appendingPathComponent("CHANGELOG.md"), encoding: .utf8)
        let heading = try #require(changelog.split(separator: "\n").first { $0.hasPrefix("## ") })
        if heading == "## Unreleased" {
            #expect(version.hasSuffix("-dev"))
        } else {
            #expect(heading.contains(version))
        }
    }

    @Test func aZoneIsDeletedWithItsRecords() throws {
        try mistkit("zones", "create", "Notes")
        try mistkit("records", "create", "--type", "Note", "--name", "a", "--zone", "Notes")
        let deleted = try mistkit("zones", "delete", "Notes", "--yes")
        #expect(deleted.status == 0)
        #expect(deleted.errors == "Deleted the zone Notes and its records.\n")
        #expect(try !mistkit("zones", "list", "-f", "csv").output.contains("Notes"))
        #expect(try mistkit("records", "lookup", "a", "--zone", "Notes").errors.contains("ZONE_NOT_FOUND"))
    }

    /// Of an atomic batch that fails, no record is saved, and the command does not say otherwise.
    @Test func anAtomicBatchIsDoneOrNot() throws {
        try mistkit("zones", "create", "Notes")
        try mistkit("records", "create", "--type", "Note", "--name", "b", "--zone", "Notes")
        let notes = #"{"recordName":"a"}\#n{"recordName":"b"}"#
        let create = ["records", "create", "--type", "Note", "--zone", "Notes", "--from", "-"]
        let outcome = try mistkit(arguments: create + ["--atomic"], input: notes)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("mistkit: Nothing was saved: --atomic saves all of the 2 records or none.\n"))
        #expect(!outcome.errors.contains("other records are done"), "\(outcome.errors)")
        #expect(try mistkit("records", "count", "Note", "--zone", "Notes").output == "1\n")
        let each = try mistkit(arguments: create, input: notes)
        #expect(each.status == 1 && each.errors.contains("1 of 2 records failed."), "\(each.errors)")
        #expect(try mistkit("records", "count", "Note", "--zone", "Notes").output == "2\n")
    }

    @Test func aFileGoesUpAndComesDown() throws {
        try Data("beans".utf8).write(to: folder.appendingPathComponent("in.txt"))
        let uploaded = try mistkit("assets", "upload", "in.txt", "--type", "Note", "--name", "a", "--field", "file")
        #expect(uploaded.status == 0, "\(uploaded.errors)")
        let downloaded = try mistkit("assets", "download", "out.txt", "--name", "a", "--field", "file")
        #expect(downloaded.status == 0, "\(downloaded.errors)")
        let path = folder.appendingPathComponent("out.txt").path
        #expect(FileManager.default.contents(atPath: path) == Data("beans".utf8))
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let refused = try mistkit("assets", "download", "out.txt", "--name", "a", "--field", "file")
        #expect(refused.status == 64 && refused.errors.hasPrefix("mistkit: out.txt exists already."))
        #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
        #expect(try mistkit("assets", "download", "out.txt", "--name", "a", "--field", "file", "--force").status == 0)
        #expect(FileManager.default.contents(atPath: path) == Data("beans".utf8))
        #expect(try mistkit("assets", "download", ".", "--name", "a", "--field", "file", "--force").status == 64)
        let missing = try mistkit("assets", "upload", "absent.txt", "--type", "Note", "--field", "file")
        #expect(missing.status == 65)
        #expect(missing.errors.hasSuffix("\n  Check the path of the file and its permissions.\n"))
    }

    @Test func tablesWithoutRowsSaySo() throws {
        try mistkit("records", "create", "--type", "Note", "-F", "n=1")
        #expect(try mistkit("records", "query", "Note", "--filter", "n > 1").output == "No records.\n")
        #expect(try mistkit("records", "query", "Note", "--filter", "n > 1", "-f", "json").output == "[]\n")
        try mistkit("zones", "create", "Notes")
        #expect(try mistkit("records", "changes", "--zone", "Notes").output == "No changes.\n")
    }

    @Test func recordsOfAFileTakeTheTypeOfTheCommand() throws {
        let input = #"[{"fields":{"n":{"value":1}}},{"recordType":"Other","fields":{"n":{"value":2}}}]"#
        let created = try mistkit("records", "create", "--type", "Note", "--from", "-", "-f", "ndjson", input: input)
        #expect(created.status == 0, "\(created.errors)")
        #expect(created.lines.count == 2)
        #expect(try mistkit("records", "query", "Note", "-f", "ndjson").lines.count == 1)
        #expect(try mistkit("records", "query", "Other", "-f", "ndjson").lines.count == 1)
    }

    @Test func aTextThatLooksLikeADateGetsAHint() throws {
        let created = try mistkit("records", "create", "--type", "Note", "-F", "when=2026-01-31T12:00:00Z")
        #expect(created.status == 0)
        #expect(created.errors.contains("write when:TIMESTAMP"))
    }

    @Test func publicDatabasesHaveNoZonesToCreate() throws {
        let outcome = try mistkit("records", "query", "Note", "--zone", "Notes", "--database", "public")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("The public database has no custom zones."))
    }

    @Test func aTokenFileThatCannotBeWrittenIsNamed() throws {
        try mistkit("zones", "create", "Notes")
        let outcome = try mistkit("records", "changes", "--zone", "Notes", "--token-file", "absent/token")
        #expect(outcome.status == 73)
        let message = "mistkit: The file absent/token cannot be written: No such file or directory.\n"
        #expect(outcome.errors.hasPrefix(message))
    }

    @Test func aFolderThatCannotBeUsedIsNotToBeRemoved() throws {
        let outcome = try mistkit("zones", "list", "--data-folder", "/dev/null/data")
        #expect(outcome.status == 65)
        #expect(
            outcome.errors == """
                mistkit: The embedded emulator cannot use the folder /dev/null/data: Not a directory.
                  Check its permissions, or name another folder with --data-folder.

                """
        )
    }

    @Test func keysAreMadeOnceAndForTheirOwnerAlone() throws {
        let made = try mistkit("auth", "keygen", "--output", "key.pem")
        #expect(made.status == 0)
        #expect(made.output.hasPrefix("-----BEGIN PUBLIC KEY-----\n"))
        let path = folder.appendingPathComponent("key.pem").path
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let key = try #require(FileManager.default.contents(atPath: path))
        let again = try mistkit("auth", "keygen", "--output", "key.pem")
        #expect(again.status == 64)
        #expect(FileManager.default.contents(atPath: path) == key)
    }

    @Test func signingInNeedsAContainerAndItsToken() throws {
        let without = try mistkit("auth", "sign-in", "--no-browser")
        #expect(without.status == 77)
        #expect(without.errors.contains("Set MISTKIT_API_TOKEN and MISTKIT_CONTAINER."))
        let environment = ["MISTKIT_API_TOKEN": "a", "MISTKIT_CONTAINER": "iCloud.com.example"]
        let out = try mistkit("auth", "sign-out", environment: environment)
        #expect(out.status == 0)
        #expect(out.output == "No user was signed in.\n")
    }

    /// Starts `mistkit emulator` in the folder, and reads from its greeting the variables that another terminal has to
    /// set.
    private func startEmulator() throws -> (process: Process, environment: [String: String]) {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = ["emulator", "--port", "0"]
        process.currentDirectoryURL = folder
        process.environment = [:]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var greeting = ""
        while !greeting.contains("Ctrl-C stops it.") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { break }
            greeting += String(decoding: data, as: UTF8.self)
        }
        var environment: [String: String] = [:]
        for line in greeting.split(separator: "\n") where line.contains("export MISTKIT_") {
            let parts = line.split(separator: "=", maxSplits: 1)
            environment[String(parts[0].dropFirst("  export ".count))] = String(parts[1].filter { $0 != "'" })
        }
        return (process, environment)
    }

    @Test func twoEmulatorsServeOneFolder() throws {
        let emulators = try [startEmulator(), startEmulator()]
        defer { for emulator in emulators { emulator.process.terminate() } }
        for (name, emulator) in zip(["a", "b"], emulators) {
            let created = try mistkit(
                "records",
                "create",
                "--type",
                "Note",
                "--name",
                name,
                environment: emulator.environment
            )
            #expect(created.status == 0, "\(created.errors)")
        }
        #expect(try mistkit("records", "create", "--type", "Note", "--name", "c").status == 0)
        for environment in emulators.map(\.environment) + [[:]] {
            let found = try mistkit("records", "query", "Note", "-f", "csv", environment: environment)
            let lines = found.output.split(whereSeparator: \.isNewline)
            let names = lines.dropFirst().compactMap { $0.split(separator: ",").first }
            #expect(names.sorted() == ["a", "b", "c"], "\(found.errors)")
        }
    }

    @Test func productionTakesWhatWasDeployed() throws {
        func create(_ environment: String) throws -> Outcome {
            try mistkit("records", "create", "--type", "Note", "-F", "title=Milk", "--environment", environment)
        }
        let refused = try create("production")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("Cannot create new type 'Note' in production schema"))
        #expect(refused.errors.contains("`mistkit schema deploy`"))
        #expect(try create("development").status == 0)
        #expect(try mistkit("schema", "deploy").output == "+ record type Note (title)\n")
        #expect(try create("production").status == 0)
        #expect(try mistkit("schema", "deploy").output == "Production has the schema of development already.\n")
        let elsewhere = try mistkit(
            "schema",
            "deploy",
            environment: ["MISTKIT_API_TOKEN": "a", "MISTKIT_CONTAINER": "iCloud.com.example"]
        )
        #expect(elsewhere.status == 64)
        #expect(elsewhere.errors.contains("have no access to schemas"))
    }

    @Test func noCredentialIsShown() throws {
        let status = try mistkit("auth", "status", "--verbose")
        #expect(status.status == 0)
        let path = folder.appendingPathComponent(".mistkit/account.json").path
        let account = String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
        let token = try #require(account.split(separator: "\"").first { $0.count == 64 })
        #expect(status.errors.contains("fetchCaller"))
        #expect(!status.errors.contains(token))
        #expect(!status.errors.contains("ckWebAuthToken=") || status.errors.contains("ckWebAuthToken=<"))
        #expect(!status.output.contains(token))
    }
}
