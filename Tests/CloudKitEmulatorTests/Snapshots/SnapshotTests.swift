import CloudKitModel
import CloudKitSchema
import CloudKitWebServices
import Foundation
import GRDB
import MistTesting
import Testing

@testable import CloudKitEmulator

/// Earlier states of an emulator, which can be restored, compared and handed to others.
struct SnapshotTests {
    private let world: World
    private let snapshots: EmulatorSnapshots

    init() throws {
        world = try World()
        snapshots = EmulatorSnapshots(world.emulator)
    }

    /// Everything that users see: the schema, and the records of both users.
    private func state() throws -> [String] {
        let types = try world.emulator.schema(of: World.container, in: .development).description
        let counts = try world.emulator.recordCounts().map {
            "\($0.owner ?? "public") \($0.zoneName) \($0.recordType) \($0.records)"
        }
        return try [types] + counts + world.contents() + world.emulator.listUsers()
    }

    @Test func aRestorationBringsEverythingBack() throws {
        try world.modify(.note(.create, "A", ["title": "one"]), .note(.create, "B", ["rating": 3]))
        try world.modify(.note(.forceDelete, "B"))
        _ = try world.asBen(in: .public).modifyRecords([.note(.create, "P")])
        _ = try world.asAnn().modifySubscriptions([
            SubscriptionOperation(.create, subscription: Subscription(subscriptionID: "S", zoneID: World.notes))
        ])
        let before = try state()
        let taken = try snapshots.take("one")
        #expect(taken.name == "one" && taken.records == 2 && taken.time == world.clock.now)
        try world.modify(.note(.forceUpdate, "A", ["title": "two", "other": "x"]), .note(.create, "C"))
        _ = try world.asAnn().modifyZones([
            ZoneOperation(.create, zone: Zone(zoneID: ZoneID(zoneName: "Later"))),
            ZoneOperation(.delete, zone: Zone(zoneID: World.notes)),
        ])
        _ = try world.asAnn().modifySubscriptions([
            SubscriptionOperation(.delete, subscription: Subscription(subscriptionID: "S", zoneID: World.notes))
        ])
        #expect(try world.emulator.recordCounts().count == 1)
        _ = try snapshots.restore("one")
        #expect(try state() == before)
        #expect(try world.asAnn().subscriptions().map { try $0.get().subscriptionID } == ["S"])
        #expect(try world.asAnn().zones().zones.map(summary) == ["_defaultZone", "Notes"])
        // It goes on as before: a query finds by the index, and a write gets the next tag.
        try world.modify(.note(.create, "D", ["title": "one"]))
        #expect(
            try world.find(RecordQuery(recordType: "Note", filters: [QueryFilter("title", .equals, "one")])) == [
                "A", "D",
            ]
        )
        _ = try snapshots.restore("one")
        #expect(try state() == before)
    }

    @Test func clientsFetchEverythingAgainAfterARestoration() throws {
        try world.modify(.note(.create, "A"))
        _ = try snapshots.take("one")
        try world.modify(.note(.create, "B"))
        let zone = try world.asAnn().fetchRecordChanges(ZoneChangesRequest(zoneID: World.notes)).syncToken
        let database = try world.asAnn().fetchDatabaseChanges(since: nil).syncToken
        _ = try world.asAnn().modifyZones([
            ZoneOperation(.create, zone: Zone(zoneID: ZoneID(zoneName: "Later")))
        ])
        _ = try snapshots.restore("one")
        try world.modify(.note(.create, "C"))
        let changed = try world.asAnn().fetchDatabaseChanges(since: database).zones.map(summary)
        #expect(Set(changed) == ["Notes", "Later deleted"])
        let expired = #expect(throws: EmulatorError.self) {
            try world.asAnn().fetchRecordChanges(ZoneChangesRequest(zoneID: World.notes, syncToken: zone))
        }
        #expect(expired?.reason == "client knowledge differs from server knowledge")
        #expect(try world.contents().map { $0.prefix(1) } == ["A", "C"])
    }

    @Test func filesAndSharesComeBack() throws {
        var root = Record(recordType: "Note", recordName: "A")
        root.createShortGUID = true
        var share = Record(recordType: "cloudkit.share", recordName: "S")
        share.shareAccess.forRecord = RecordVersion(recordName: "A", recordChangeTag: nil)
        share.shareAccess.publicPermission = .readWrite
        let made = try world.asAnn().modifyRecords(
            [RecordOperation(.create, record: root), RecordOperation(.create, record: share)],
            zoneID: World.notes,
            atomic: true
        ).records.map { try $0.get() }
        let guid = ShortGUID(try #require(made[1].shortGUID))
        _ = try world.asBen(in: .public).acceptShares([guid])
        _ = try snapshots.take("one")
        try world.modify(.note(.forceDelete, "A"), atomic: true)
        #expect(try world.asBen(in: .shared).zones().zones.isEmpty)
        _ = try snapshots.restore("one")
        #expect(try world.asBen(in: .shared).zones().zones.map(summary) == ["Notes"])
        let shared = ZoneID(zoneName: "Notes", ownerRecordName: world.ann)
        let records = try world.asBen(in: .shared).lookupRecords([RecordLookup(recordName: "A")], zoneID: shared)
            .records
        #expect(try records.first?.get().recordName == "A")
    }

    @Test func aComparisonNamesWhatDiffers() throws {
        try world.modify(.note(.create, "A", ["title": "one"]), .note(.create, "B"), .note(.create, "C"))
        _ = try snapshots.take("one")
        #expect(try snapshots.compare("one", with: nil).records.isEmpty)
        try world.modify(
            .note(.forceUpdate, "A", ["title": "two"]),
            .note(.forceDelete, "B"),
            .note(.forceUpdate, "C"),
            .note(.create, "D", ["rating": 1])
        )
        func check(_ comparison: SnapshotComparison) {
            #expect((comparison.added, comparison.changed, comparison.removed) == (1, 1, 1))
            let lines = comparison.records.map { "\($0.kind) \($0.recordName) \($0.zoneName) \($0.owner == world.ann)" }
            #expect(lines == ["changed A Notes true", "removed B Notes true", "added D Notes true"])
            #expect(comparison.records[0].before?.contains("one") == true)
            #expect(comparison.records[0].after?.contains("two") == true)
            #expect(comparison.records[1].after == nil && comparison.records[2].before == nil)
            let schemas = comparison.schemas.flatMap { $0.comparison.changes.map(\.description) }
            #expect(schemas == ["+ Note.rating"] || schemas.first?.hasPrefix("+ Note.rating") == true, "\(schemas)")
        }
        check(try snapshots.compare("one", with: nil))
        _ = try snapshots.take("two")
        check(try snapshots.compare("one", with: "two"))
        let back = try snapshots.compare("two", with: "one")
        #expect((back.added, back.changed, back.removed) == (1, 1, 1))
    }

    @Test func aFileIsLoadedByAnotherEmulator() throws {
        try world.modify(.note(.create, "A", ["title": "one"]))
        let apiToken = try world.emulator.registerAPIToken(for: World.container, in: .development)
        let device = try world.asAnn(in: .public).createDeviceToken(apnsEnvironment: "development", clientID: nil)
        _ = try snapshots.take("one")
        let file = try snapshots.export("one")
        let text = String(decoding: file, as: UTF8.self)
        #expect(!text.contains(apiToken) && !text.contains(device.apnsToken))

        let other = try World()
        let own = try other.emulator.issueWebAuthToken(for: other.ann)
        let elsewhere = EmulatorSnapshots(other.emulator)
        #expect(try elsewhere.add("theirs", file).records == 1)
        _ = try elsewhere.restore("theirs")
        let asAnn = try other.emulator.request(in: world.privateDatabase, as: .user(world.ann))
        let found = try asAnn.lookupRecords([RecordLookup(recordName: "A")], zoneID: World.notes).records
        #expect(try found.first?.get().fields == ["title": "one"])
        // Its own users stay, and its own tokens are valid.
        #expect(Set(try other.emulator.listUsers()).isSuperset(of: [other.ann, world.ann, world.ben]))
        #expect(other.emulator.userRecordName(ofWebAuthToken: own) == other.ann)
    }

    // MARK: Mistakes

    @Test func namesAreChecked() throws {
        for name in ["", ".", "..", "a/b", "../a", ".a", "-a", "ä", "a b", "a\0", String(repeating: "a", count: 65)] {
            #expect(!EmulatorSnapshots.isName(name))
            #expect(throws: EmulatorError.self) { try snapshots.take(name) }
            #expect(throws: EmulatorError.self) { try snapshots.export(name) }
        }
        #expect(try snapshots.take("a.b_c-1").name == "a.b_c-1")
        #expect(throws: EmulatorError(.badRequest, "there is a snapshot 'a.b_c-1' already")) {
            try snapshots.take("a.b_c-1")
        }
        #expect(throws: EmulatorError(.notFound, "there is no snapshot 'none'")) { try snapshots.restore("none") }
        #expect(throws: EmulatorError(.notFound, "there is no snapshot 'none'")) {
            try snapshots.compare("a.b_c-1", with: "none")
        }
        try snapshots.delete("a.b_c-1")
        #expect(try snapshots.list().isEmpty)
    }

    /// What is done to the file of a snapshot.
    private static let changes = [
        "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM user; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE other (x)",
        "DROP TABLE word",
        "DROP TABLE snapshot",
        "DELETE FROM snapshot",
        "ALTER TABLE user ADD COLUMN more TEXT",
        "UPDATE record SET body = CAST('{\"fields\":{' AS BLOB)",
        "INSERT INTO grdb_migrations VALUES ('from the future')",
    ]

    @Test(arguments: changes)
    func aFileThatIsNoSnapshotIsRefused(_ change: String) throws {
        try world.modify(.note(.create, "A"))
        _ = try snapshots.take("one")
        let path = FileManager.default.temporaryDirectory.appending(path: "mistkit-snapshot-\(UUID()).sqlite").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(snapshots.export("one")).write(to: URL(filePath: path))
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: change) }
        try queue.close()
        let file = [UInt8](try Data(contentsOf: URL(filePath: path)))
        #expect(throws: SnapshotFileError.self) { try snapshots.add("two", file) }
        #expect(try snapshots.list().map(\.name) == ["one"])
    }

    @Test func aDamagedFileIsRefused() throws {
        try world.modify(.note(.create, "A"))
        _ = try snapshots.take("one")
        let file = try snapshots.export("one")
        var zeroes = file
        for index in 4096..<min(40_000, file.count) { zeroes[index] = 0xFF }
        for bytes in [[], Array("SQLite format 3\0".utf8), Array(file.prefix(5000)), zeroes, Array(file.dropFirst())] {
            #expect(throws: SnapshotFileError.self) { try snapshots.add("two", bytes) }
        }
        #expect(try snapshots.list().map(\.name) == ["one"])
        #expect(try snapshots.add("two", file).records == 1)
    }
}
