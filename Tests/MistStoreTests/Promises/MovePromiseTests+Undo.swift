import CloudKitModel
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Promises 11 and 40: deletes that are taken back of records that are under way between zones. Where the service has the
/// old record beside its copy, the copy decides.
extension MovePromiseTests {
    @Test("11, 40. A record that another device has moved on is in one zone after an undo of the mover's deletes")
    func undoneDeletesOfRecordsThatWereMovedOn() async throws {
        let (scenario, phone, laptop) = try guardedDevices()
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y'), ('z')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a'), ('c', 'a')"
        )
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try phone.sync { $0.line.contains("delete") ? .crashBefore : .answered }
        try laptop.sync()
        try laptop.move("a", below: "z")
        try phone.run("DELETE FROM Folder WHERE _recordName IN ('a', 'b', 'c')")
        scenario.clock.advance(by: 60)
        // The deletes wait, and the laptop carries out its move.
        try phone.sync()
        #expect(try phone.value("SELECT count(*) FROM mist_tombstone WHERE is_permitted = 0") == 3)
        scenario.clock.advance(by: 60)
        for _ in 0..<2 { try laptop.sync() }
        #expect(try await phone.local.undoMassDeletion() >= 3)
        for _ in 0..<4 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["a b c z", "x", "y"])
            #expect(try device.moves() == 0)
            #expect(try device.pending() == [])
        }
        #expect(try scenario.serviceRecords().count == 6)
    }

    @Test("11, 40. An undo takes back the delete of a record that was moved before, and whose copy was never sent")
    func undoneDeletesOfUnsentCopies() async throws {
        let (scenario, phone, laptop) = try guardedDevices()
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a'), ('c', 'y')"
        )
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try phone.run("DELETE FROM Folder WHERE _recordName = 'y'")
        #expect(try await phone.local.undoMassDeletion() == 4)
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] { #expect(try device.recordsByZone() == ["a b x", "c y"]) }
        #expect(try phone.pending() == [])
        #expect(try phone.moves() == 0)
    }

    @Test(
        "11, 6, 40. A record that another device has deleted meanwhile is deleted everywhere after an undo",
        arguments: [false, true]
    )
    func undoneDeletesOfDeletedRecords(isMovedOn: Bool) async throws {
        let (scenario, phone, laptop) = try guardedDevices()
        let tablet = try scenario.device("tablet", records: [Folder.self], zones: .perRoot)
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y'), ('z')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a')"
        )
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try phone.sync { $0.line.contains("delete") ? .crashBefore : .answered }
        for device in [laptop, tablet] { try device.sync() }
        try phone.run("DELETE FROM Folder WHERE _recordName IN ('a', 'b')")
        scenario.clock.advance(by: 60)
        try phone.sync()
        if isMovedOn {
            try laptop.move("a", below: "z")
            for _ in 0..<2 { try laptop.sync() }
            try tablet.sync()
        }
        // The tablet has only the copy. The phone has not deleted the old record.
        try tablet.run("DELETE FROM Folder WHERE _recordName = 'a'")
        try tablet.sync()
        #expect(try await phone.local.undoMassDeletion() == 2)
        for _ in 0..<4 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop, tablet] {
            #expect(try device.recordsByZone() == ["x", "y", "z"])
            #expect(try device.moves() == 0)
            #expect(try device.pending() == [])
        }
        #expect(try scenario.serviceRecords().count == 3)
    }

    @Test(
        "11, 6, 40. After an undo, a copy of unknown outcome decides about its old record",
        arguments: [
            (ScenarioDevice.Delivery.lostReply, true, ["x", "y"]), (.lostReply, false, ["a b y", "x"]),
            (.lostRequest, false, ["a b x", "y"]),
        ]
    )
    func undoneDeletesOfCopiesOfUnknownOutcome(
        delivery: ScenarioDevice.Delivery,
        isDeletedElsewhere: Bool,
        zones: [String]
    ) async throws {
        let (scenario, phone, laptop) = try guardedDevices()
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a')"
        )
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try phone.sync { $0.line.contains("create") ? delivery : .answered }
        try phone.run("DELETE FROM Folder WHERE _recordName IN ('a', 'b')")
        #expect(try await phone.local.undoMassDeletion() == 2)
        scenario.clock.advance(by: 60)
        try laptop.sync()
        if isDeletedElsewhere {
            try laptop.run("DELETE FROM Folder WHERE _recordName = 'a'")
            try laptop.sync()
        }
        for _ in 0..<4 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == zones)
            #expect(try device.moves() == 0)
            #expect(try device.pending() == [])
        }
        #expect(try scenario.serviceRecords().count == (isDeletedElsewhere ? 2 : 4))
    }

    @Test("11, 6, 40. An undo does not bring an old record back whose copy another device has found and deleted")
    func undoesAfterReportedDeletesOfCopies() async throws {
        let (scenario, phone, laptop) = try guardedDevices()
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a'), ('c', 'a')"
        )
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try phone.sync { $0.line.contains("create") ? .lostReply : .answered }
        try laptop.sync()
        try laptop.run("DELETE FROM Folder WHERE _recordName = 'a'")
        try laptop.sync()
        scenario.clock.advance(by: 60)
        try phone.sync()
        _ = try await phone.local.undoMassDeletion()
        for _ in 0..<4 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["x", "y"])
            #expect(try device.moves() == 0)
            #expect(try device.pending() == [])
        }
        #expect(try scenario.serviceRecords().count == 2)
    }

    @Test("11, 6, 40. A record that is deleted again after an undo is deleted, though its old record was not found yet")
    func deletesAfterAnUndo() async throws {
        let (scenario, phone, laptop) = try guardedDevices()
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a')"
        )
        try scenario.synchronise()
        let former = try phone.zone(of: "a")
        try phone.move("a", below: "y")
        try phone.sync { $0.line.contains("delete") ? .crashBefore : .answered }
        try laptop.sync()
        try phone.run("DELETE FROM Folder WHERE _recordName IN ('a', 'b')")
        scenario.clock.advance(by: 60)
        try phone.sync()
        #expect(try await phone.local.undoMassDeletion() >= 2)
        // The service does not deliver the old records.
        try phone.sync { request in
            guard case .lookup(let names, let zone) = request, zone == former else { return .answered }
            return .reply(.success(.records(names.map { .failure(.service(.internalError, record: $0)) })))
        }
        #expect(try phone.recordsByZone() == ["a b y", "x"])
        try phone.run("DELETE FROM Folder WHERE _recordName IN ('a', 'b')")
        scenario.clock.advance(by: 3600)
        try phone.sync()
        #expect(try phone.recordsByZone() == ["x", "y"])
        #expect(try await phone.local.allowMassDeletion() == 2)
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["x", "y"])
            #expect(try device.pending() == [])
        }
        #expect(try scenario.serviceRecords().count == 2)
    }

    @Test("11, 40. The delete of a record that has moved on from a copy, and was not sent since, needs a permission")
    func deletesOfRecordsThatMovedOnUnsent() async throws {
        let (scenario, phone, laptop) = try guardedDevices()
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y'), ('z')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a')"
        )
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try phone.sync { $0.line.contains("delete") ? .crashBefore : .answered }
        try phone.move("a", below: "z")
        try phone.run("DELETE FROM Folder WHERE _recordName IN ('a', 'b')")
        scenario.clock.advance(by: 60)
        for _ in 0..<2 { try scenario.synchronise() }
        #expect(try laptop.recordsByZone() == ["a b y", "x", "z"])
        #expect(try await phone.local.undoMassDeletion() == 2)
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] { #expect(try device.recordsByZone() == ["a b y", "x", "z"]) }
        #expect(try phone.pending() == [])
        #expect(try scenario.serviceRecords().count == 5)
    }

    @Test("11, 40. An undo also concerns a copy that is found later, where the delete of the old record was reported")
    func undoneDeletesBeforeTheCopyIsFound() async throws {
        let (scenario, phone, laptop) = try guardedDevices()
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a')"
        )
        try scenario.synchronise()
        try phone.run("DELETE FROM Folder WHERE _recordName IN ('a', 'b')")
        try laptop.move("a", below: "y")
        for _ in 0..<2 { try laptop.sync() }
        // The phone learns of the copies and of the deletes, and dies.
        var hasRead = false
        try phone.sync { request in
            if case .zoneChanges = request { hasRead = true }
            if case .databaseChanges = request, hasRead { return .crashBefore }
            return .answered
        }
        #expect(try phone.value("SELECT count(*) FROM mist_held") == 2)
        #expect(try await phone.local.undoMassDeletion() == 2)
        scenario.clock.advance(by: 60)
        try laptop.run("UPDATE Folder SET title = 'tax' WHERE _recordName = 'a'")
        try laptop.sync()
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] { #expect(try device.recordsByZone() == ["a b y", "x"]) }
        #expect(try phone.pending() == [])
        #expect(try scenario.serviceRecords().count == 4)
    }
}
