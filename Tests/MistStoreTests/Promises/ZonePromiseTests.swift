import CloudKitModel
import Foundation
import MistKit
import Testing

@testable import MistStore

/// Promises 17 and 18: zones.
struct ZonePromiseTests {
    @Test("17, F2. The zone is created once and before its first record, on whichever device")
    func zonesAreCreatedOnce() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        #expect(try phone.sync().writes == [])
        try phone.run("INSERT INTO Book (_recordName) VALUES ('p')")
        try laptop.run("INSERT INTO Book (_recordName) VALUES ('l')")
        // Both found no zone, and race for it.
        let trace = try phone.sync { request in
            if case .createZones = request { try laptop.sync() }
            return .answered
        }
        #expect(trace.writes == ["zones/modify Records", "modify create p"])
        try scenario.synchronise()
        try phone.run("INSERT INTO Book (_recordName) VALUES ('q')")
        #expect(try phone.sync().writes == ["modify create q"])
        try scenario.synchronise()
        try scenario.expect(["Book l", "Book p", "Book q"])
    }

    @Test("17. Public records are in the default zone, which no request creates")
    func publicRecordsAreInTheDefaultZone() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public)
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b')")
        let trace = try phone.sync()
        #expect(trace.lines == ["modify create b"])
        guard case .modify(_, let zone, _)? = trace.requests.first else { return }
        #expect(zone == .default)
    }

    @Test("18, F3. The rows of a zone that was purged go, its pending edits are in the log, and nothing is sent again")
    func purgedZonesStayEmpty() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'pending' WHERE _recordName = 'a'")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('c', 'pending')")
        try scenario.purge()
        #expect(try phone.sync().writes == [])
        try laptop.sync()
        let receipts = ["phone: Book a zoneDeleted title=pending", "phone: Book c zoneDeleted title=pending"]
        try scenario.expect([], recovery: receipts)
        // The next record makes a new zone.
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('d', 'D')")
        #expect(try phone.sync().writes == ["zones/modify Records", "modify create d"])
        try scenario.synchronise()
        try scenario.expect(["Book d title=D"], recovery: receipts)
    }

    @Test("18, F2. ZONE_NOT_FOUND to a push means the same: the zone was seen, and is gone")
    func zoneNotFoundMeansGone() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'pending'")
        let trace = try phone.sync { request in
            if request.operations != nil { try scenario.purge() }
            return .answered
        }
        #expect(trace.writes == ["modify update a"])
        try scenario.synchronise()
        try scenario.expect([], recovery: ["phone: Book a zoneDeleted title=pending"])
    }
}
