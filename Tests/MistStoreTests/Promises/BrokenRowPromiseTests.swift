import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistModels
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// A record with a field that must have a value, and fields of the types whose columns can hold what no field has.
@CloudKitRecord
struct Measurement: Hashable {
    var title: String
    var value: Double?
    var values: [Double]?
    var place: Location?
    var taken: Date?
    var next: RecordReference<Measurement>?
    var above: RecordReference<Shelf>?
}

/// Rows that cannot be read or sent, and files that other programs have changed: each is named, and everything else
/// goes on.
struct BrokenRowPromiseTests {
    /// Changes that make the row `b` one that cannot be sent, with a word of the reason.
    static let breakages: [(change: String, reason: String)] = [
        ("value = 9e999", "infinite"),
        ("value = -9e999", "infinite"),
        ("\"values\" = '[1, 2'", "DOUBLE_LIST"),
        ("\"values\" = '[9e999]'", "DOUBLE_LIST"),
        ("\"values\" = '{}'", "DOUBLE_LIST"),
        ("place = '[]'", "LOCATION"),
        ("place = 'here'", "LOCATION"),
        ("taken = 9223372036854775807", "date"),
        ("next = 'a', _next_action = 7", "REFERENCE"),
        ("title = CAST(x'FF' AS TEXT)", "STRING"),
        ("title = NULL", "title"),
    ]

    private func device(_ scenario: SyncScenario, _ name: String) throws -> ScenarioDevice {
        try scenario.device(name, records: [Shelf.self, Measurement.self])
    }

    @Test(
        "24, P6. A row that cannot be sent waits with its name and reason, and everything else is sent",
        arguments: breakages,
        [true, false]
    )
    func brokenRowsWait(breakage: (change: String, reason: String), isNew: Bool) async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = (try device(scenario, "phone"), try device(scenario, "laptop"))
        if !isNew {
            try phone.run("INSERT INTO Measurement (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
            try scenario.synchronise()
        }
        try phone.run(
            "PRAGMA ignore_check_constraints = ON",
            "INSERT INTO Measurement (_recordName, title) VALUES ('a', 'A'), ('b', 'B') ON CONFLICT DO NOTHING",
            "UPDATE Measurement SET \(breakage.change) WHERE _recordName = 'b'",
            "UPDATE Measurement SET title = 'AA' WHERE _recordName = 'a'",
            "INSERT INTO Measurement (_recordName, title) VALUES ('c', 'C')"
        )
        try scenario.synchronise()
        #expect(try laptop.titles() == (isNew ? ["a AA", "c C"] : ["a AA", "b B", "c C"]))
        let status = try await phone.local.status()
        #expect(status.pending == 1)
        #expect(status.parked.map(\.recordName) == ["b"])
        #expect(status.parked.first?.reason == .value)
        #expect(status.parked.first?.message.contains(breakage.reason) == true, "\(status.parked)")
        // Another device changes another field of the record: the broken value stays, and still waits.
        if !isNew {
            try laptop.run("UPDATE Measurement SET above = 's' WHERE _recordName = 'b'")
            try scenario.synchronise()
            #expect(try phone.value("SELECT above = 's' FROM Measurement WHERE _recordName = 'b'") == 1)
            #expect(try await phone.local.status().parked.map(\.recordName) == ["b"])
        }
        // The row is sent when it is repaired.
        try phone.run(
            """
            UPDATE Measurement SET title = 'BB', value = NULL, "values" = NULL, place = NULL, taken = NULL, next = NULL,
                _next_action = NULL WHERE _recordName = 'b'
            """
        )
        try scenario.synchronise()
        #expect(try laptop.titles() == ["a AA", "b BB", "c C"])
        #expect(try phone.pending() == [])
        #expect(try await phone.local.status().isSynchronised)
    }

    @Test("10, P6. A delete elsewhere wins over a row that cannot be read; the receipt has its values as text")
    func brokenRowsCanBeDeleted() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = (try device(scenario, "phone"), try device(scenario, "laptop"))
        try phone.run("INSERT INTO Measurement (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try phone.run(
            "PRAGMA ignore_check_constraints = ON",
            "UPDATE Measurement SET \"values\" = '[1, 2', value = 9e999"
        )
        try laptop.run("DELETE FROM Measurement")
        try laptop.sync()
        try phone.sync()
        #expect(try phone.titles() == [])
        #expect(try phone.pending() == [])
        #expect(try phone.recovery() == ["phone: Measurement a deleted title=A value=inf values=[1, 2"])
    }

    @Test("12. New records below a row that cannot be sent wait for it, and no others")
    func childrenWaitForBrokenParents() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            "PRAGMA ignore_check_constraints = ON",
            "INSERT INTO Shelf (_recordName, name) VALUES ('s', CAST(x'FF' AS TEXT)), ('t', 'T')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('x', 's'), ('y', 't')"
        )
        try scenario.synchronise()
        #expect(try laptop.records() == ["Book y shelf=→t", "Shelf t name=T"])
        let parked = try await phone.local.status().parked
        #expect(parked.map { "\($0.recordName) \($0.reason)" } == ["s value", "x parent"])
    }

    @Test(
        "10. What a delete, a new life or a purge killed is restored as the whole record",
        arguments: LossCase.allCases
    )
    func wholeRecordsAreRestored(_ loss: LossCase) async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note, best) VALUES ('a', 'A', 'N', 4)")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'lost', best = NULL")
        switch loss {
        case .deleted, .replaced:
            try laptop.run("DELETE FROM Book")
            try laptop.sync()
            if loss == .replaced {
                try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'new')")
                try laptop.sync()
            }
        case .zoneDeleted: try scenario.purge()
        }
        try phone.sync()
        let log = try await phone.local.recoveryLog()
        #expect(log.map(\.reason.rawValue) == [loss.rawValue])
        try phone.run()
        for entry in log { try await phone.local.restore(entry) }
        try scenario.synchronise()
        try scenario.expect(["Book a note=N title=lost"], recovery: try phone.recovery())
    }

    enum LossCase: String, CaseIterable { case deleted, replaced, zoneDeleted }

    // MARK: Zones

    @Test("17. A reference leads to the record of its zone, and never to another record of that name")
    func referencesKeepTheirZone() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", zones: .perRoot)
        let laptop = try scenario.device("laptop", zones: .perRoot)
        for (device, name) in [(phone, "of the phone"), (laptop, "of the laptop")] {
            try device.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', '\(name)')")
        }
        try scenario.synchronise()
        let shelves = try await phone.local.find(Query<Shelf>())
        #expect(shelves.count == 2)
        for shelf in shelves {
            #expect(try await phone.local.fetch(shelf.reference()).name == shelf.name)
            #expect(try await phone.local.fetch(shelf.reference(), including: .all).record.name == shelf.name)
        }
        let elsewhere = RecordReference<Shelf>(recordName: "s", zoneID: ZoneID(zoneName: "Elsewhere"))
        let error = await #expect(throws: StoreError.self) { try await phone.local.fetch(elsewhere) }
        #expect(error?.code == .notFound)
        // Removing a record removes no other record of its name.
        try phone.run()
        for shelf in shelves.prefix(1) + shelves.prefix(1) { try await phone.local.remove(shelf) }
        #expect(try await phone.local.find(Query<Shelf>()).map(\.zoneID) == [shelves[1].zoneID])
    }

    @Test("17. After the zone of the layout was changed, find and fetch find the same records")
    func changedZonesAreFound() async throws {
        try await inTemporaryFolder { folder in
            for (index, zone) in ["Old", "New"].enumerated() {
                var configuration = StoreConfiguration()
                configuration.zones = .single(zone)
                let store = try MistStore(at: folder, records: [Shelf.self], configuration: configuration)
                try await store.privateDatabase.add(Shelf(name: zone), named: zone)
                #expect(try await store.privateDatabase.find(Query<Shelf>()).count == index + 1)
                #expect(try await store.privateDatabase.fetch(Shelf.self, named: "Old").zoneID?.zoneName == "Old")
                try store.close()
            }
        }
    }

    @Test("17, P6. SQL cannot move a record into a zone that does not exist")
    func unknownZonesAreRefused() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        for statement in [
            "UPDATE Book SET _zone = 99", "INSERT INTO Book (_recordName, _zone) VALUES ('b', 99)",
        ] {
            let error = #expect(throws: DatabaseError.self) { try phone.run(statement) }
            #expect(error.map { StoreError($0).code } == .value)
        }
        try phone.sync()
        try scenario.expect(["Book a title=A"])
    }
}

extension ScenarioDevice {
    /// The names and titles of the measurements, in raw SQL.
    func titles() throws -> [String] {
        try database.read { db in
            try String.fetchAll(db, sql: "SELECT _recordName || ' ' || title FROM Measurement ORDER BY _recordName")
        }
    }
}
