import CloudKitModel
import Foundation
import GRDB
import Testing

@testable import CloudKitEmulator

/// Files of older versions are migrated when they are opened.
struct MigrationTests {
    @Test func locationsOfAnOlderFileAreKept() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "emulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "emulator.sqlite").path
        let older = try DatabaseQueue(path: path)
        try Tables.migrator.migrate(older, upTo: "made device tokens")
        try older.write { try $0.run("INSERT INTO place VALUES (1, 2, 59.5, 10.5, 3)") }
        try older.close()

        let present = try EmulatorStorage.file(path: path).open()
        let rows = try present.read {
            try $0.rows("SELECT field, zone, latitude, longitude, record FROM location_entry")
        }
        #expect(rows == [["field": 1, "zone": 2, "latitude": 59.5, "longitude": 10.5, "record": 3]])
    }

    @Test func wordsOfAnOlderFileAreFound() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "emulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "emulator.sqlite").path
        let user: String
        do {
            let world = try World(storage: .file(path: path))
            user = world.ann
            try world.modify(
                .note(.create, "a", ["f": "A pipe", "n": 1]),
                .note(.create, "b", ["f": "no such word"]),
                .note(.create, "c", ["f": "pipe"])
            )
            try world.modify(.note(.forceDelete, "c"))
            try world.emulator.close()
        }
        // The file as the version before had it.
        let older = try DatabaseQueue(path: path)
        try older.write { db in
            try db.run("DROP TABLE word")
            try db.run("DELETE FROM grdb_migrations WHERE identifier = 'words'")
        }
        try older.close()
        let emulator = try CloudKitEmulator(storage: .file(path: path))
        let found = try emulator.request(in: DatabaseAddress(World.container, .development, .private), as: .user(user))
            .queryRecords(
                RecordQuery(recordType: "Note", filters: [QueryFilter("f", .containsAllTokens, "PIPE")]),
                zoneID: World.notes
            )
        #expect(found.records.map { $0.itemID } == ["a"])
    }
}
