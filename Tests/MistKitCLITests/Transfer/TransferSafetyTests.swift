import ArgumentParser
import Foundation
import Testing

@testable import MistKitCLI

/// What protects data from a transfer to the wrong place, at the wrong time or of the wrong file.
struct TransferSafetyTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
        try write("{\"recordName\":\"n1\"}\n", to: "notes.ndjson")
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: commands.folder.appendingPathComponent(name))
    }

    private func importNotes(_ options: String...) throws -> CommandTests.Outcome {
        try commands.mistkit(arguments: ["records", "import", "notes.ndjson", "--type", "Note"] + options)
    }

    private var journal: String { commands.folder.appendingPathComponent("notes.ndjson.journal").path }

    /// Imports into a service that cannot be reached.
    private func importOverClosedPort() throws -> CommandTests.Outcome {
        let credentials = ["--container", "c", "--api-token", "token"]
        let address = ["--server-url", "http://127.0.0.1:9", "--database", "public"]
        return try commands.mistkit(
            arguments: ["records", "import", "notes.ndjson", "--type", "Note"] + credentials + address
        )
    }

    /// Leaves the journal of an import whose service could not be reached, and which says that records are done.
    private func leaveJournal(records: Int = 1) throws {
        let outcome = try importOverClosedPort()
        #expect(outcome.status == 75, "\(outcome.errors)")
        let text = try String(contentsOfFile: journal, encoding: .utf8)
        #expect(text.contains("\"records\":0"), "\(text)")
        try text.replacing("\"records\":0", with: "\"records\":\(records)")
            .write(toFile: journal, atomically: true, encoding: .utf8)
    }

    /// A journal of a run that saved nothing does not keep the next run from its own options, or from another file.
    @Test func anEmptyJournalBlocksNothing() throws {
        try leaveJournal(records: 0)
        #expect(try importNotes("--database", "public").status == 0)
        try leaveJournal(records: 0)
        try write("{\"recordName\":\"n0\"}\n{\"recordName\":\"n1\"}\n", to: "notes.ndjson")
        let outcome = try importOverClosedPort()
        #expect(outcome.status == 75, "\(outcome.errors)")
    }

    @Test func anImportIsNotContinuedElsewhere() throws {
        try leaveJournal()
        let other = try importNotes("--database", "public")
        #expect(other.status == 64)
        #expect(other.errors.contains("notes.ndjson.journal is of an unfinished run with other options"))
        try FileManager.default.removeItem(atPath: journal)
        #expect(try importNotes("--database", "public").status == 0)
    }

    @Test(arguments: [["--container", "other"], ["--environment", "production"], ["--data-folder", "other"]])
    func theJournalNamesContainerEnvironmentAndFolder(_ options: [String]) throws {
        func journal(_ options: [String]) throws -> TransferJournal {
            let folder = commands.folder.path + (options.contains("--data-folder") ? "/other" : "/data")
            let others = options.contains("--data-folder") ? [] : options
            let options = ["--data-folder", folder] + others
            let connection = try ServiceConnection.open(ConnectionOptions.parse(options))
            return try .open(for: commands.folder.path + "/none", purpose: ["import"], over: connection)
        }
        #expect(try journal([]).purpose != journal(options).purpose)
        #expect(try journal([]).purpose == journal([]).purpose)
    }

    @Test func aFileThatWasChangedIsNotContinued() throws {
        try leaveJournal()
        try write("{\"recordName\":\"n0\"}\n{\"recordName\":\"n1\"}\n", to: "notes.ndjson")
        let outcome = try importOverClosedPort()
        #expect(outcome.status == 65)
        #expect(outcome.errors.contains("notes.ndjson was changed since the unfinished run"), "\(outcome.errors)")
    }

    @Test func twoImportsOfAFileAreKeptApart() throws {
        let path = commands.folder.appendingPathComponent("notes.ndjson").path
        let handle = try #require(FileHandle(forReadingAtPath: path))
        try TransferLock.take(handle, path: path)
        let outcome = try importNotes()
        #expect(outcome.status == 69)
        #expect(outcome.errors.contains("Another process transfers the records of notes.ndjson."))
        try handle.close()
        #expect(try importNotes().status == 0)
    }

    @Test func aSecondExportLeavesTheFirstAlone() throws {
        #expect(try importNotes().status == 0)
        try write("{\"recordName\":\"first\"}\n", to: "out.ndjson.part")
        let path = commands.folder.appendingPathComponent("out.ndjson.part").path
        let handle = try #require(FileHandle(forReadingAtPath: path))
        try TransferLock.take(handle, path: path)
        let outcome = try commands.mistkit("records", "export", "Note", "--output", "out.ndjson")
        #expect(outcome.status == 69)
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("first"))
        try handle.close()
        #expect(try commands.mistkit("records", "export", "Note", "--output", "out.ndjson").status == 0)
        let exported = try String(contentsOfFile: commands.folder.path + "/out.ndjson", encoding: .utf8)
        #expect(exported.contains("n1") && !exported.contains("first"))
    }

    @Test func onlyARegularFileIsReplaced() throws {
        #expect(try importNotes().status == 0)
        let link = commands.folder.appendingPathComponent("link.ndjson").path
        try write("kept", to: "target.ndjson")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "target.ndjson")
        let outcome = try commands.mistkit("records", "export", "Note", "--output", "link.ndjson", "--force")
        #expect(outcome.status == 64)
        #expect(outcome.errors.hasPrefix("mistkit: link.ndjson is not a regular file"), "\(outcome.errors)")
        #expect(try String(contentsOfFile: commands.folder.path + "/target.ndjson", encoding: .utf8) == "kept")
    }

    @Test(arguments: [".", "none"]) func aFolderIsNotImported(_ file: String) throws {
        let outcome = try commands.mistkit("records", "import", file, "--type", "Note", "--format", "ndjson")
        #expect(outcome.status == 65)
        #expect(outcome.errors.contains(" \(file) "), "\(outcome.errors)")
    }

    @Test func aFullDiskOnStandardOutputIsAnError() throws {
        #expect(try importNotes().status == 0)
        guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
        for line in ["records query Note", "records export Note --output -", "zones list"] {
            let shell = URL(fileURLWithPath: "/bin/sh")
            let command = "'\(CommandTests.executable.path)' \(line) > /dev/full"
            let outcome = try commands.run(shell, arguments: ["-c", command], environment: [:])
            #expect(outcome.status == 73)
            #expect(outcome.errors.hasPrefix("mistkit: Standard output cannot be written: No space left on device."))
        }
        // A reader that stops early is no error.
        let command = "'\(CommandTests.executable.path)' records query Note | true"
        let bash = URL(fileURLWithPath: "/bin/bash")
        let outcome = try commands.run(bash, arguments: ["-c", "set -o pipefail; " + command], environment: [:])
        #expect([0, 128 + SIGPIPE].contains(outcome.status) && outcome.errors.isEmpty, "\(outcome.errors)")
    }

    @Test func recordsAreAtomicOnlyInACustomZone() throws {
        for options in [[], ["--zone", "_defaultZone"]] {
            let outcome = try commands.mistkit(
                arguments: ["records", "create", "--type", "Note", "--atomic"] + options
            )
            #expect(outcome.status == 64)
            #expect(outcome.errors.hasPrefix("mistkit: --atomic needs a custom zone."), "\(outcome.errors)")
        }
    }

    @Test func aZoneIsNotDeletedWithoutAnAnswer() throws {
        try commands.mistkit("zones", "create", "Notes")
        let outcome = try commands.mistkit("zones", "delete", "Notes")
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("Delete the zone Notes with all its records?"))
        #expect(try commands.mistkit("zones", "list").output.contains("Notes"))
        #expect(try commands.mistkit("zones", "delete", "Notes", "--yes").status == 0)
    }
}
