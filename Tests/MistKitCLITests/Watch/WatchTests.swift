import Foundation
import MistKit
import StreamingJSON
import Testing

@testable import MistKitCLI

/// `mistkit watch` prints changes when they happen.
struct WatchTests {
    let commands: CommandTests

    init() throws {
        commands = try CommandTests()
    }

    /// Runs the command until it ends by itself. Calls `changes` when the command is watching.
    private func watch(
        _ arguments: [String],
        ending signal: Int32 = SIGINT,
        during changes: () throws -> Void
    ) throws -> CommandTests.Outcome {
        let process = Process()
        process.executableURL = CommandTests.executable
        process.arguments = ["watch"] + arguments
        process.currentDirectoryURL = commands.folder
        process.environment = [:]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        var said = Data()
        while !String(decoding: said, as: UTF8.self).contains("Watching ") {
            let data = errors.fileHandleForReading.availableData
            guard !data.isEmpty else { break }
            said += data
        }
        try changes()
        if !arguments.contains("--count") { kill(process.processIdentifier, signal) }
        let lines = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return CommandTests.Outcome(
            status: process.terminationStatus,
            output: String(decoding: lines, as: UTF8.self),
            errors: String(decoding: said, as: UTF8.self)
        )
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func theSubscriptionIsRemovedAtTheEnd(_ signal: Int32) throws {
        try commands.mistkit("zones", "create", "Notes")
        var during = ""
        let outcome = try watch([], ending: signal) {
            during = try commands.mistkit("subscriptions", "list").output
        }
        #expect(during.contains("mistkit-watch"))
        #expect(outcome.status == 0)
        #expect(try !commands.mistkit("subscriptions", "list").output.contains("mistkit-watch"))
    }

    /// A name or a value of another user must not move the cursor, nor begin a line of its own.
    @Test func controlCharactersAreShownAsSpaces() {
        let record = Record(
            recordType: "Note",
            recordName: "a\u{1B}[2J",
            fields: ["title": .string("b\u{9B}1m\r\nc\u{2028}d\u{7F}")]
        )
        let line = WatchedChange.changed(record).line(in: ZoneID(zoneName: "Notes"), at: Date(timeIntervalSince1970: 0))
        #expect(line == "1970-01-01T00:00:00Z changed Notes/a [2J Note title: b 1m  c d ")
    }

    /// Shells start a background command with SIGINT ignored.
    @Test func aBackgroundWatchEndsWithAnInterrupt() throws {
        try commands.mistkit("zones", "create", "Notes")
        let watch = "'\(CommandTests.executable.path)' watch"
        let script = """
            trap '' INT; \(watch) 2> said &
            until grep -q Watching said; do sleep 0.1; done; kill -INT $!; wait $!
            """
        let outcome = try commands.run(URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", script], environment: [:])
        #expect(outcome.status == 0)
    }

    @Test(arguments: [[], ["--no-push", "--interval", "0.1"], ["--zone", "Notes"]])
    func watchPrintsALineForEachChange(_ options: [String]) throws {
        try commands.mistkit("zones", "create", "Notes")
        try commands.mistkit("records", "create", "--type", "Note", "--name", "old", "--zone", "Notes")
        let outcome = try watch(["--count", "3"] + options) {
            try commands.mistkit(
                "records",
                "create",
                "--type",
                "Note",
                "--name",
                "a",
                "-F",
                "title=Milk",
                "--zone",
                "Notes"
            )
            try commands.mistkit("records", "update", "old", "-F", "title=New", "--zone", "Notes")
            try commands.mistkit("records", "delete", "a", "--zone", "Notes", "--force")
            try commands.mistkit("records", "create", "--type", "Note", "--name", "b", "--zone", "Notes")
        }
        #expect(outcome.status == 0)
        #expect(outcome.errors.contains("Ctrl-C ends it."))
        // Two changes that follow each other at once may be reported as one.
        let lines = outcome.lines.map { $0.split(separator: " ", maxSplits: 1).last ?? "" }
        #expect(lines.count == 3)
        #expect(lines.contains("changed Notes/old Note title: New"), "\(outcome.output)")
        let expected: Set<Substring> = [
            "created Notes/a Note title: Milk", "changed Notes/old Note title: New", "deleted Notes/a",
            "created Notes/b Note",
        ]
        #expect(expected.isSuperset(of: lines), "\(outcome.output)")
    }

    @Test func theIntervalDoublesUntilSomethingChanges() {
        var interval = PollingInterval(shortest: .seconds(5))
        var seconds: [Duration] = []
        for isChanged in [false, false, false, false, false, true, false] {
            interval.update(isChanged: isChanged)
            seconds.append(interval.current)
        }
        #expect(seconds == [10, 20, 40, 60, 60, 5, 10].map { .seconds($0) })
    }

    /// Where there is no change feed, queries find the modified records.
    @Test func publicRecordsAreWatchedByQueries() throws {
        let database = ["--database", "public"]
        func mistkit(_ arguments: String...) throws {
            try commands.mistkit(arguments: ["records"] + arguments + database)
        }
        try mistkit("create", "--type", "Note", "--name", "old")
        try mistkit("create", "--type", "Note", "--name", "same")
        let outcome = try watch(["Note", "--count", "2", "--interval", "0.2"] + database) {
            try mistkit("create", "--type", "Note", "--name", "new", "-F", "title=Milk")
            try mistkit("update", "old", "-F", "title=Old")
        }
        #expect(outcome.status == 0)
        let lines = outcome.lines.map { $0.split(separator: " ", maxSplits: 1).last ?? "" }
        #expect(lines == ["created _defaultZone/new Note title: Milk", "changed _defaultZone/old Note title: Old"])
        #expect(try commands.mistkit("watch", "--database", "public").status == 64)
    }

    /// A record that was seen before is not reported again; a record that appears late in the index is reported.
    @Test func aPositionKnowsWhatWasSeen() {
        func record(_ name: String, _ tag: String, at seconds: Double) -> Record {
            var record = Record(recordType: "Note", recordName: name)
            record.recordChangeTag = tag
            record.modified = Record.Stamp(timestamp: Date(timeIntervalSince1970: seconds))
            return record
        }
        var position = WatchPosition()
        func news(_ record: Record) -> Bool { position.insert(record) }
        #expect(position.start == Date(timeIntervalSince1970: 0))
        #expect(news(record("a", "1", at: 1000)) == true)
        #expect(position.start == Date(timeIntervalSince1970: 940))
        #expect(news(record("a", "1", at: 1000)) == false)
        #expect(news(record("a", "2", at: 1001)) == true)
        #expect(news(record("late", "1", at: 990)) == true)
        #expect(news(record("late", "1", at: 990)) == false)
        #expect(position.covers(record("b", "1", at: 941)) && !position.covers(record("b", "1", at: 940)))
        #expect(news(record("b", "1", at: 2000)) == true)
        position.forgetOldRecords()
        #expect(news(record("late", "1", at: 990)) == true)
    }

    @Test func programsReadJSON() throws {
        try commands.mistkit("zones", "create", "Notes")
        try commands.mistkit("zones", "create", "Drafts")
        let outcome = try watch(["--count", "2", "--format", "ndjson", "--interval", "0.1"]) {
            try commands.mistkit("records", "create", "--type", "Note", "--name", "a", "--zone", "Notes")
            try commands.mistkit("zones", "delete", "Drafts", "--yes")
        }
        let values = try outcome.lines.map { try JSONReader.read(JSONValue.self, from: String($0)) }
        let changes = values.map { value in
            guard case .object(let members) = value, case .string(let change)? = members["change"] else { return "" }
            return change
        }
        #expect(Set(changes) == ["created", "zoneDeleted"], "\(outcome.output)")
    }

    @Test func anInterruptEndsItWell() throws {
        try commands.mistkit("zones", "create", "Notes")
        let outcome = try watch([]) {}
        #expect(outcome.status == 0 && outcome.output == "")
        let refused = try commands.mistkit("watch", "--database", "public")
        #expect(refused.status == 64 && refused.errors.contains("The public database has no change feed."))
    }
}
