import CloudKitModel
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Promise 11: records that are moved away and back. The service creates such a record again, so it has another time of
/// creation, and a device that was away sees one zone with one record of the same name.
extension MovePromiseTests {
    @Test("11, 3. A pending edit of a record that another device has moved away and back is sent")
    func editsOfRecordsThatAreBack() throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run("UPDATE Folder SET title = 'tax', opened = opened + 2 WHERE _recordName = 'a'")
        for parent in ["y", "x"] {
            try phone.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'a'")
            try phone.move("a", below: parent)
            for _ in 0..<2 { try phone.sync() }
        }
        #expect(try phone.moves() == 0)
        try scenario.synchronise()
        try scenario.expect([
            "Folder a above=→x opened=4 title=tax", "Folder b above=→a opened=0 title=b", "Folder x opened=0 title=x",
            "Folder y opened=0 title=y",
        ])
        #expect(try laptop.recovery() == [])
        for device in [phone, laptop] { #expect(try device.recordsByZone() == ["a b x", "y"]) }
    }

    @Test(
        "11, F5. Of a move, and of two that lead away and back, the latest wins; the record is in one zone",
        arguments: [false, true],
        [false, true]
    )
    func movesOfRecordsThatAreBack(isLater: Bool, isSent: Bool) throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        func moveElsewhere() throws {
            try laptop.move("a", below: "z")
            try laptop.run("UPDATE Folder SET title = 'tax' WHERE _recordName = 'a'")
            // The copies are made, and the old records stay for now.
            if isSent { try laptop.sync { $0.line.contains("delete") ? .crashBefore : .answered } }
        }
        if !isLater { try moveElsewhere() }
        scenario.clock.advance(by: 60)
        for parent in ["y", "x"] {
            try phone.move("a", below: parent)
            for _ in 0..<2 { try phone.sync() }
        }
        scenario.clock.advance(by: 60)
        if isLater { try moveElsewhere() }
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        let records = isLater ? ["a b z", "x", "y"] : ["a b x", "y", "z"]
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == records)
            #expect(try device.moves() == 0)
            #expect(try device.pending() == [])
        }
        #expect(try scenario.serviceRecords().count == 5)
        #expect(try phone.records().contains("Folder a above=→\(isLater ? "z" : "x") opened=0 title=tax"))
    }

    @Test("11, F5. An edit that was sent with a copy, without a reply, wins over an earlier one in the old record")
    func editsOfCopiesOfUnknownOutcome() throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run("UPDATE Folder SET title = 'first' WHERE _recordName = 'a'")
        try scenario.synchronise()
        scenario.clock.advance(by: 10)
        try laptop.run("UPDATE Folder SET title = 'earlier' WHERE _recordName = 'a'")
        scenario.clock.advance(by: 10)
        try phone.run("UPDATE Folder SET title = 'later' WHERE _recordName = 'a'")
        try phone.move("a", below: "y")
        scenario.clock.advance(by: 10)
        try phone.sync { request in
            guard request.line.contains("create") else { return .answered }
            try laptop.sync()
            return .lostReply
        }
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        try scenario.expect([
            "Folder a above=→y opened=0 title=later", "Folder b above=→a opened=0 title=b", "Folder x opened=0 title=x",
            "Folder y opened=0 title=y",
        ])
        #expect(try phone.recovery() == [])
    }

    @Test("11, F5. A link to itself, which is sent after the copy, is in a copy whose reply was lost")
    func linksOfCopiesOfUnknownOutcome() throws {
        let (scenario, phone, laptop) = try devices()
        try phone.run("UPDATE Folder SET related = 'a' WHERE _recordName = 'a'")
        try scenario.synchronise()
        scenario.clock.advance(by: 60)
        // The old record is changed, so that it is newer than the link.
        try laptop.run("UPDATE Folder SET title = 'tax' WHERE _recordName = 'a'")
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try phone.sync { $0.line.contains("create") ? .lostReply : .answered }
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        try scenario.expect([
            "Folder a above=→y opened=0 related=→a title=tax", "Folder b above=→a opened=0 title=b",
            "Folder x opened=0 title=x", "Folder y opened=0 title=y",
        ])
        #expect(try phone.recovery() == [])
    }

    @Test("11, 6. The delete of the old record is no delete of a record that has moved on from its copy")
    func deletesOfOldRecordsOfTwoMoves() throws {
        let (scenario, phone, laptop) = try devices()
        try phone.move("a", below: "y")
        var isSent = false
        try phone.sync { request in
            // It dies after the service has the copies, and before it deletes the old records.
            if isSent { return .crashBefore }
            guard request.line.contains("create") else { return .answered }
            isSent = true
            try phone.run("UPDATE mist_scope SET is_stale = 1")
            return .answered
        }
        // The laptop moves the record to the same zone, and deletes the old records.
        scenario.clock.advance(by: 10)
        try laptop.move("a", below: "y")
        scenario.clock.advance(by: 10)
        try phone.moveToRoot("a")
        for _ in 0..<2 { try laptop.sync() }
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["a b", "x", "y"])
            #expect(try device.moves() == 0)
            #expect(try device.recovery() == [])
        }
        #expect(try scenario.serviceRecords().count == 4)
    }

    @Test(
        "11, 9. A count that is in the copy and in the old record counts once for a device that moves the record on",
        arguments: [false, true]
    )
    func countsOfTwoFormerZonesCountOnce(isCopyReadFirst: Bool) throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        let target = isCopyReadFirst ? "x" : "y"
        if isCopyReadFirst {
            try phone.move("a", below: "y")
            for _ in 0..<2 { try scenario.synchronise() }
        }
        try phone.move("a", below: target)
        try phone.sync { request in
            if request.line.contains("create") {
                try laptop.run("UPDATE Folder SET opened = opened + 3 WHERE _recordName = 'a'")
                try laptop.sync()
            }
            return request.line.contains("delete") ? .crashBefore : .answered
        }
        scenario.clock.advance(by: 60)
        try phone.run("UPDATE Folder SET opened = opened + 5 WHERE _recordName = 'a'")
        try phone.move("a", below: "z")
        // The laptop counts on in the copy.
        try laptop.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'a'")
        try laptop.sync()
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["a b z", "x", "y"])
            #expect(try device.value("SELECT opened FROM Folder WHERE _recordName = 'a'") == 9)
            #expect(try device.moves() == 0)
        }
    }

    @Test(
        "11, F3. Two devices move a record out of a zone that is deleted before a copy is sent",
        arguments: [true, false]
    )
    func copiesOutOfADeletedZone(isLaterSentFirst: Bool) throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        let zone = try #require(try phone.zone(of: "x"))
        try laptop.move("a", below: "z")
        scenario.clock.advance(by: 10)
        try phone.move("a", below: "y")
        try scenario.purge(zone)
        for device in isLaterSentFirst ? [phone, laptop] : [laptop, phone] {
            scenario.clock.advance(by: 60)
            try device.sync()
        }
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["a b y", "z"])
            #expect(try device.moves() == 0)
            #expect(try device.value("SELECT count(*) FROM mist_record") == 4)
        }
        #expect(try scenario.serviceRecords().count == 4)
    }

    @Test("11, F5. A record that moves on from a copy of unknown outcome keeps the times of its fields")
    func copiesOfUnknownOutcomeMoveOn() throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        try phone.move("a", below: "y")
        // The copies are in the zone of y, and the old records stay.
        try phone.sync { $0.line.contains("delete") ? .lostRequest : .answered }
        try laptop.sync()
        scenario.clock.advance(by: 60)
        try laptop.run("UPDATE Folder SET title = 'tax' WHERE _recordName = 'a'")
        scenario.clock.advance(by: 60)
        try phone.move("a", below: "z")
        try phone.sync { $0.line.contains("create") ? .lostReply : .answered }
        try phone.moveToRoot("a")
        for _ in 0..<4 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["a b", "x", "y", "z"])
            #expect(try device.records().contains("Folder a opened=0 title=tax"))
            #expect(try device.recovery() == [])
        }
    }

    @Test("11, 6. A copy that is changed is not deleted with the old record, which this device has left as well")
    func copiesOutliveOldRecords() throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        let tablet = try scenario.device("tablet", records: [Folder.self], zones: .perRoot)
        func withoutDeletes(_ request: SyncRequest) -> ScenarioDevice.Delivery {
            request.line.contains("delete") ? .lostRequest : .answered
        }
        // Both move the record out of the same zone, and the old records stay there for now.
        try phone.move("a", below: "y")
        scenario.clock.advance(by: 60)
        try laptop.move("a", below: "z")
        try laptop.sync { request in
            if request.line.contains("create") { try phone.sync(withoutDeletes) }
            return withoutDeletes(request)
        }
        scenario.clock.advance(by: 600)
        // The phone finds the later copy.
        try phone.sync(withoutDeletes)
        #expect(try phone.recordsByZone() == ["a b z", "x", "y"])
        try tablet.sync()
        try tablet.run("UPDATE Folder SET title = 'tax' WHERE _recordName = 'a'")
        try tablet.sync()
        scenario.clock.advance(by: 600)
        try phone.sync(withoutDeletes)
        #expect(try phone.recordsByZone() == ["a b z", "x", "y"])
        for _ in 0..<3 {
            scenario.clock.advance(by: 600)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["a b z", "x", "y"])
            #expect(try device.records().contains("Folder a above=→z opened=0 title=tax"))
            #expect(try device.moves() == 0)
        }
        #expect(try scenario.serviceRecords().count == 5)
    }

    @Test("11, 6. A moved record that is deleted while the copy of another device is fetched is deleted everywhere")
    func deletesWhileACopyIsFetched() throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        try phone.move("a", below: "y")
        scenario.clock.advance(by: 60)
        try laptop.move("a", below: "z")
        for _ in 0..<2 { try laptop.sync() }
        var isDeleted = false
        try phone.sync { request in
            guard case .zoneChanges = request, !isDeleted else { return .answered }
            isDeleted = true
            try phone.run("DELETE FROM Folder WHERE _recordName IN ('a', 'b')")
            return .answered
        }
        #expect(isDeleted)
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        for device in [phone, laptop] {
            #expect(try device.recordsByZone() == ["x", "y", "z"])
            #expect(try device.moves() == 0)
            #expect(try device.pending() == [])
        }
        #expect(try scenario.serviceRecords().count == 3)
    }
}
