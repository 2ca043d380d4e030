import Foundation
import Testing

/// Earlier states of an emulator, on the command line.
struct SnapshotCommandTests {
    @Test func aStateIsKeptComparedAndRestored() throws {
        let commands = try CommandTests()
        func check(_ arguments: String...) throws -> CommandTests.Outcome {
            let outcome = try commands.mistkit(arguments: arguments)
            #expect(outcome.status == 0, "\(arguments) \(outcome.errors)")
            return outcome
        }
        #expect(try check("snapshots", "list").output == "No snapshots.\n")
        _ = try check("records", "create", "--type", "Note", "--name", "a", "--field", "title=Milk")
        #expect(try check("snapshots", "take", "one").output.contains("one"))
        let second = try commands.mistkit("snapshots", "take", "one")
        #expect(second.status != 0 && second.errors.contains("there is a snapshot 'one' already"), "\(second.errors)")
        _ = try check("records", "create", "--type", "Note", "--name", "b", "--field", "title=Bread")
        let differences = try check("snapshots", "compare", "one", "--format", "csv").output
        #expect(differences.contains("added,Note,b,_defaultZone,"), "\(differences)")
        // Standard input is no terminal, so the command cannot ask.
        #expect(try commands.mistkit("snapshots", "restore", "one").status == 64)
        #expect(try check("records", "count", "Note").output.contains("2"))
        #expect(try check("snapshots", "restore", "one", "--yes").output == "Restored one, with 1 record.\n")
        #expect(try check("records", "count", "Note").output.contains("1"))

        _ = try check("snapshots", "export", "one", "one.sqlite")
        #expect(try commands.mistkit("snapshots", "export", "one", "one.sqlite").status == 64)
        let file = commands.folder.appendingPathComponent("one.sqlite")
        let permissions = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(permissions.map { $0 & 0o077 } == 0)
        #expect(try check("snapshots", "import", "two", "one.sqlite").output.contains("two"))
        #expect(try check("snapshots", "delete", "one").output == "Deleted one.\n")
        let rows = try check("snapshots", "list", "--format", "csv").output.components(separatedBy: "\r\n")
        #expect(rows.dropFirst().map { $0.prefix(4) } == ["two,", ""])
        try Data("text".utf8).write(to: file)
        let wrong = try commands.mistkit("snapshots", "import", "three", "one.sqlite")
        #expect(wrong.status == 65 && wrong.errors.contains("not an SQLite file"), "\(wrong.errors)")
    }
}
