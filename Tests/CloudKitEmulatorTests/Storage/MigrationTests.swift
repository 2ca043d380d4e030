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
}
