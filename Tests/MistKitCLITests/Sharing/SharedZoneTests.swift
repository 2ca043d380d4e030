import Foundation
import Testing

/// What a second user does with shares and their zones.
struct SharedZoneTests {
    private let commands: CommandTests

    init() throws {
        commands = try CommandTests()
        try commands.mistkit("users", "create", "Mei")
        try commands.mistkit("zones", "create", "Lists")
        try commands.mistkit("records", "create", "--type", "List", "--name", "list", "--zone", "Lists")
    }

    /// Creates a share that Mei accepts, and returns its link.
    private func share() throws -> String {
        let share = try commands.mistkit("shares", "create", "list", "--zone", "Lists", "--public", "read-write")
        let link = try #require(share.output.firstMatch(of: /link +(\S+)/)?.1, "\(share.errors)")
        let accepted = try commands.mistkit("shares", "accept", String(link), "--as", "Mei")
        #expect(accepted.status == 0, "\(accepted.errors)")
        #expect(accepted.errors == "Its records are in the shared database: --database shared --zone Lists\n")
        return String(link)
    }

    @Test func theOwnerOfASharedZoneIsFound() throws {
        _ = try share()
        let shared = ["--as", "Mei", "--database", "shared"]
        let created = try commands.mistkit(
            arguments: ["records", "create", "--type", "Item", "--name", "milk", "--parent", "list", "--zone", "Lists"]
                + shared
        )
        #expect(created.status == 0, "\(created.errors)")
        #expect(
            try commands.mistkit(arguments: ["records", "count", "Item", "--zone", "Lists"] + shared).output == "1\n"
        )
        #expect(try commands.mistkit("records", "count", "Item", "--zone", "Lists").output == "1\n")
        let absent = try commands.mistkit(arguments: ["records", "count", "Item", "--zone", "List"] + shared)
        #expect(
            absent.status == 64 && absent.errors.contains("The shared database has no zone List."),
            "\(absent.errors)"
        )
        #expect(absent.errors.contains("Did you mean Lists? `mistkit zones list --database shared`"))
    }

    @Test func aShareIsLeftByItsLink() throws {
        let link = try share()
        let left = try commands.mistkit("shares", "leave", link, "--as", "Mei")
        #expect(left.status == 0 && left.errors.contains("You no longer take part in the share"), "\(left.errors)")
        let zones = try commands.mistkit("zones", "list", "--as", "Mei", "--database", "shared")
        #expect(!zones.output.contains("Lists"))
        let wrong = try commands.mistkit("shares", "leave", "??", "--as", "Mei")
        #expect(wrong.status == 64, "\(wrong.errors)")
    }

    @Test func aRecordGetsAParentLater() throws {
        let zone = ["--zone", "Lists"]
        try commands.mistkit(arguments: ["records", "create", "--type", "Item", "--name", "milk"] + zone)
        let updated = try commands.mistkit(arguments: ["records", "update", "milk", "--parent", "list"] + zone)
        #expect(updated.status == 0, "\(updated.errors)")
        let found = try commands.mistkit(arguments: ["records", "lookup", "milk", "-f", "ndjson"] + zone)
        #expect(found.output.contains(#""parent":{"recordName":"list""#), "\(found.output)")
        #expect(try commands.mistkit("records", "update", "--from", "x", "--parent", "list").status == 64)
    }
}
