import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistModels
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// A type whose records are below each other.
@CloudKitRecord
struct Folder: Hashable {
    @CloudKitParent var above: RecordReference<Folder>?
    var title: String?
    @CloudKitField(.counter) var opened: Int = 0
    var related: RecordReference<Folder>?
    var cover: Asset?
}

/// Promise 11: moves between zones.
struct MovePromiseTests {
    /// Two devices with a zone for each root. Roots `x`, `y` and others; `a` is below `x`, and `b` below `a`.
    func devices(and roots: String...) throws -> (SyncScenario, ScenarioDevice, ScenarioDevice) {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [Folder.self], zones: .perRoot)
        let laptop = try scenario.device("laptop", records: [Folder.self], zones: .perRoot)
        for (name, above) in [("x", nil), ("y", nil), ("a", "x"), ("b", "a")] + roots.map({ ($0, nil) }) {
            let reference = above.map { "'\($0)'" } ?? "NULL"
            let values = "'\(name)', \(reference), '\(name)', 0"
            try phone.run("INSERT INTO Folder (_recordName, above, title, opened) VALUES (\(values))")
        }
        try scenario.synchronise()
        return (scenario, phone, laptop)
    }

    /// Two devices with a zone for each root. Several deletes of the phone wait for a permission.
    func guardedDevices() throws -> (SyncScenario, ScenarioDevice, ScenarioDevice) {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [Folder.self], zones: .perRoot) {
            $0.massDeletionLimit = MassDeletionLimit(records: 1, fraction: 0.1)
        }
        return (scenario, phone, try scenario.device("laptop", records: [Folder.self], zones: .perRoot))
    }

    private static let moved = [
        "Folder a above=→y opened=0 title=a", "Folder b above=→a opened=0 title=b", "Folder x opened=0 title=x",
        "Folder y opened=0 title=y",
    ]

    @Test("11, F5. A move creates copies in the new zone, and deletes the old records when the service has the copies")
    func movesAreCopiesAndDeletes() throws {
        let (scenario, phone, laptop) = try devices()
        try phone.move("a", below: "y")
        #expect(try phone.recordsByZone() == ["a b y", "x"])
        #expect(try phone.sync().writes == ["modify create a, create b", "modify delete b, delete a"])
        try scenario.synchronise()
        try scenario.expect(Self.moved)
        #expect(try phone.recordsByZone() == ["a b y", "x"])
        #expect(try laptop.recordsByZone() == ["a b y", "x"])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, 38. A record that this device is about to move is no difference for a verification")
    func pendingMovesAreNoDifference() throws {
        let (scenario, phone, _) = try devices()
        try phone.move("a", below: "y")
        try phone.engine.requestVerification(.repair, comparing: .values)
        // The storage is full.
        try phone.sync { $0.operations == nil ? .answered : .reply(.failure(.service(.quotaExceeded))) }
        let verification = try phone.engine.verification()
        #expect(verification.isDone)
        #expect(verification.zones.flatMap(\.differences).isEmpty)
        scenario.clock.advance(by: 3600)
        try scenario.synchronise()
        try scenario.expect(Self.moved)
    }

    @Test("11, F5. A record that is moved out of its parent gets a zone of its own, and a root moves below another")
    func recordsBecomeRootsAndBack() throws {
        let (scenario, phone, laptop) = try devices()
        try phone.moveToRoot("a")
        try scenario.synchronise()
        #expect(try laptop.recordsByZone() == ["a b", "x", "y"])
        try laptop.move("x", below: "b")
        try scenario.synchronise()
        #expect(try phone.recordsByZone() == ["a b x", "y"])
        try scenario.expect([
            "Folder a opened=0 title=a", "Folder b above=→a opened=0 title=b", "Folder x above=→b opened=0 title=x",
            "Folder y opened=0 title=y",
        ])
    }

    @Test(
        "11, 3, 9. A count that the copy has counts once, and one after it is added, if the reply to the copy is lost",
        arguments: [ScenarioDevice.Delivery.lostReply, .crashAfter, .lostRequest]
    )
    func countsInACopyOfUnknownOutcome(delivery: ScenarioDevice.Delivery) throws {
        let (scenario, phone, laptop) = try devices()
        // The device has a part in the counter before the move.
        try phone.run("UPDATE Folder SET opened = opened + 3 WHERE _recordName = 'b'")
        try scenario.synchronise()
        try phone.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'b'")
        try phone.move("a", below: "y")
        var isDelivered = false
        try phone.sync { request in
            guard request.isWrite, !isDelivered else { return .answered }
            isDelivered = true
            return delivery
        }
        try phone.run("UPDATE Folder SET opened = opened + 4 WHERE _recordName = 'b'")
        try laptop.sync()
        try scenario.synchronise()
        try scenario.synchronise()
        #expect(try phone.value("SELECT opened FROM Folder WHERE _recordName = 'b'") == 8)
        #expect(try laptop.value("SELECT opened FROM Folder WHERE _recordName = 'b'") == 8)
    }

    @Test("11. Within a zone, a move only sets the reference to the parent; a cycle is refused")
    func movesWithinAZone() throws {
        let (scenario, phone, _) = try devices()
        try phone.move("b", below: "x")
        #expect(try phone.sync().writes == ["modify update b"])
        try phone.move("b", below: "a")
        #expect(phone.refusal { try $0.move("a", below: "b") }?.code == .move)
        #expect(phone.refusal { try $0.move("a", below: "a") }?.code == .move)
        #expect(phone.refusal { try $0.move("a", below: "nothing") }?.code == .notFound)
        try scenario.synchronise()
        #expect(try phone.recordsByZone() == ["a b x", "y"])
    }

    @Test("11, F5. A pending edit of another device is inherited by the copy", arguments: [false, true])
    func pendingEditsAreInherited(isTold: Bool) throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run("UPDATE Folder SET title = 'edited', opened = opened + 2 WHERE _recordName = 'b'")
        try laptop.run("INSERT INTO Folder (_recordName, above, title, opened) VALUES ('c', 'b', 'c', 0)")
        try phone.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'b'")
        try phone.move("a", below: "y")
        if isTold {
            // The laptop fetches the copies before the old records are deleted.
            try phone.sync { request in
                if request.line.contains("delete") { try laptop.sync() }
                return .answered
            }
        }
        try scenario.synchronise()
        try scenario.synchronise()
        try scenario.expect([
            "Folder a above=→y opened=0 title=a", "Folder b above=→a opened=3 title=edited",
            "Folder c above=→b opened=0 title=c", "Folder x opened=0 title=x", "Folder y opened=0 title=y",
        ])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, F5. What another device has sent to the old records meanwhile is in the copies", arguments: [0, 1, 2])
    func sentEditsAreInherited(moment: Int) throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run(
            "UPDATE Folder SET title = 'edited', opened = opened + 2 WHERE _recordName = 'b'",
            "INSERT INTO Folder (_recordName, above, title, opened) VALUES ('c', 'b', 'c', 0)"
        )
        try phone.move("a", below: "y")
        if moment == 0 { try laptop.sync() }
        try phone.sync { request in
            if moment == 1, request.line.contains("create") { try laptop.sync() }
            if moment == 2, request.line.contains("delete") {
                // The laptop has not fetched the copies yet.
                try laptop.go()
            }
            return .answered
        }
        for _ in 0..<3 { try scenario.synchronise() }
        try scenario.expect([
            "Folder a above=→y opened=0 title=a", "Folder b above=→a opened=2 title=edited",
            "Folder c above=→b opened=0 title=c", "Folder x opened=0 title=x", "Folder y opened=0 title=y",
        ])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
        #expect(try phone.recordsByZone() == ["a b c y", "x"])
    }

    @Test(
        "11, 9. What another device has counted in the old record counts once, if its reply is lost at the moment of the move",
        arguments: [ScenarioDevice.Delivery.lostReply, .crashAfter],
        [false, true]
    )
    func countsOfLostRepliesCountOnce(delivery: ScenarioDevice.Delivery, laptopIsFirst: Bool) throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run("UPDATE Folder SET opened = opened + 2 WHERE _recordName = 'b'")
        try phone.move("a", below: "y")
        var isSent = false
        try phone.sync { request in
            guard request.line.contains("create"), !isSent else { return .answered }
            isSent = true
            // The laptop does not know of the copy yet.
            try laptop.sync { $0.isWrite ? delivery : .answered }
            return .answered
        }
        try laptop.run("UPDATE Folder SET opened = opened + 4 WHERE _recordName = 'b'")
        let (first, second) = laptopIsFirst ? (laptop, phone) : (phone, laptop)
        for _ in 0..<2 {
            try first.sync()
            try second.sync()
        }
        try scenario.synchronise()
        for device in [phone, laptop] {
            #expect(try device.value("SELECT opened FROM Folder WHERE _recordName = 'b'") == 6)
            #expect(try device.value("SELECT count(*) FROM mist_carried") == 0)
        }
        // Counts go on from what each device has added in both records.
        try laptop.run("UPDATE Folder SET opened = opened + 10 WHERE _recordName = 'b'")
        try scenario.synchronise()
        #expect(try phone.value("SELECT opened FROM Folder WHERE _recordName = 'b'") == 16)
    }

    @Test("11, 9. A count that the copy lacks is kept by the device that has counted, and counts once")
    func acknowledgedCountsComeAlong() throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run("UPDATE Folder SET opened = opened + 2 WHERE _recordName = 'b'")
        try phone.move("a", below: "y")
        var isSent = false
        try phone.sync { request in
            guard request.line.contains("create"), !isSent else { return .answered }
            isSent = true
            try laptop.sync()
            return .answered
        }
        // The laptop counts in the copy before the phone has looked for what was added in the old record.
        try laptop.sync()
        #expect(try laptop.value("SELECT opened FROM Folder WHERE _recordName = 'b'") == 2)
        try laptop.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'b'")
        try laptop.sync()
        for _ in 0..<3 { try scenario.synchronise() }
        for device in [phone, laptop] {
            #expect(try device.value("SELECT opened FROM Folder WHERE _recordName = 'b'") == 3)
        }
    }

    @Test("11, 9. A version contains a carried count if it has the part, or a later one of the same device")
    func carriedCountsAreRecognised() {
        func part(_ device: Int64, _ sequence: Int64, _ sum: Int64) -> EditTimes.Part {
            EditTimes.Part(field: Checksum.of(name: "opened"), device: device, sequence: sequence, sum: sum)
        }
        func times(_ parts: EditTimes.Part...) -> EditTimes {
            var times = EditTimes()
            times.parts = parts
            return times
        }
        // The row's version has 3 of device 2, and the former zone had 5 more: this device, 1, has added 4 since.
        let known = times(part(2, 10, 3))
        let carried = CarriedCount(part: part(2, 20, 8), amount: 5)
        let edit = PendingEdit(
            value: .int64(12),
            base: .int64(3),
            time: EditTime(milliseconds: 40, device: 1),
            carried: [carried]
        )
        #expect(
            CounterParts.parts(of: "opened", device: 1, edit: edit, known: known, at: 50) == [
                part(2, 20, 8), part(1, 50, 4),
            ]
        )
        let rest = CarriedCount(part: part(2, 20, 8), amount: 3)
        let rows: [(EditTimes, StoredCount)] = [
            (known, StoredCount(sum: 0, carried: [carried])),
            (times(), StoredCount(sum: 0, carried: [carried])),
            (times(part(2, 15, 5)), StoredCount(sum: 2, carried: [rest])),
            (times(part(2, 20, 8)), StoredCount(sum: 5)),
            (times(part(2, 30, 9)), StoredCount(sum: 5)),
            (times(part(2, 20, 8), part(1, 50, 4)), StoredCount(sum: 9)),
        ]
        let history = CounterHistory(known: known, writes: [part(1, 50, 4), part(2, 20, 8)], devices: [1])
        for (version, stored) in rows {
            let version = RemoteVersion(fields: [:], times: version, modified: 20)
            #expect(CounterParts.stored(of: "opened", edit, history, in: version) == stored, "\(version.times.parts)")
        }
    }

    @Test("11, F5. A link that leads in a circle, and that is sent after the copies, wins over no edit before the move")
    func linksOfCopiesKeepTheirTimes() throws {
        let (scenario, phone, laptop) = try devices()
        // The child is the older one, so its parent's link is left out, and not its own.
        try phone.run(
            "INSERT INTO Folder (_recordName, above, title, opened) VALUES ('k', 'x', 'k', 0), ('j', 'x', 'j', 0)",
            "UPDATE Folder SET above = 'j' WHERE _recordName = 'k'",
            "UPDATE Folder SET related = 'k' WHERE _recordName = 'j'"
        )
        try scenario.synchronise()
        scenario.clock.advance(by: 10)
        try laptop.run("UPDATE Folder SET related = NULL WHERE _recordName = 'j'")
        scenario.clock.advance(by: 10)
        try phone.move("j", below: "y")
        let writes = try phone.sync().writes
        #expect(writes == ["modify create j, create k", "modify delete k, delete j", "modify update j"])
        for _ in 0..<2 { try scenario.synchronise() }
        try scenario.expect([
            "Folder a above=→x opened=0 title=a", "Folder b above=→a opened=0 title=b",
            "Folder j above=→y opened=0 title=j", "Folder k above=→j opened=0 title=k", "Folder x opened=0 title=x",
            "Folder y opened=0 title=y",
        ])
    }

    @Test("11, F5. Of two moves the later one wins, whichever device synchronises first", arguments: [false, true])
    func laterMoveWins(laterIsFirst: Bool) throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        try phone.run("UPDATE Folder SET title = 'edited' WHERE _recordName = 'b'")
        try phone.move("a", below: "y")
        try laptop.move("a", below: "z")
        try laptop.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'b'")
        let (first, second) = laterIsFirst ? (laptop, phone) : (phone, laptop)
        try first.sync { request in
            // Both send their copies.
            if request.line.contains("create") { try second.sync() }
            return .answered
        }
        for _ in 0..<3 { try scenario.synchronise() }
        try scenario.expect([
            "Folder a above=→z opened=0 title=a", "Folder b above=→a opened=1 title=edited",
            "Folder x opened=0 title=x", "Folder y opened=0 title=y", "Folder z opened=0 title=z",
        ])
        #expect(try phone.recordsByZone() == ["a b z", "x", "y"])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, F5. A reference that another device has set in an old record meanwhile is in the copy")
    func sentReferencesAreInherited() throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run("UPDATE Folder SET related = 'a' WHERE _recordName = 'b'")
        try phone.move("a", below: "y")
        try phone.sync { request in
            // The laptop has not fetched the copies yet.
            if request.line.contains("delete") { try laptop.go() }
            return .answered
        }
        for _ in 0..<3 { try scenario.synchronise() }
        try scenario.expect([
            "Folder a above=→y opened=0 title=a", "Folder b above=→a opened=0 related=→a title=b",
            "Folder x opened=0 title=x", "Folder y opened=0 title=y",
        ])
    }

    @Test("11, F5. A later move begins at the copy of an earlier one that was done before it was sent")
    func laterMovesBeginAtEarlierCopies() throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        try phone.run("UPDATE Folder SET title = 'edited' WHERE _recordName = 'b'")
        try phone.move("a", below: "y")
        try laptop.move("a", below: "z")
        try laptop.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'b'")
        try phone.sync()
        for _ in 0..<3 { try scenario.synchronise() }
        try scenario.expect([
            "Folder a above=→z opened=0 title=a", "Folder b above=→a opened=1 title=edited",
            "Folder x opened=0 title=x", "Folder y opened=0 title=y", "Folder z opened=0 title=z",
        ])
        #expect(try phone.recordsByZone() == ["a b z", "x", "y"])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, F5. A later move whose copy the service has refused for now begins at the copy of an earlier one, too")
    func refusedCopiesBeginAtEarlierCopies() throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        try phone.run("UPDATE Folder SET title = 'edited', opened = opened + 2 WHERE _recordName = 'b'")
        try phone.move("a", below: "y")
        try laptop.move("a", below: "z")
        try laptop.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'b'")
        try laptop.sync { $0.isWrite ? .reply(.failure(.service(.throttled, retryAfter: 30))) : .answered }
        try phone.sync()
        scenario.clock.advance(by: 600)
        for _ in 0..<3 { try scenario.synchronise() }
        try scenario.expect([
            "Folder a above=→z opened=0 title=a", "Folder b above=→a opened=3 title=edited",
            "Folder x opened=0 title=x", "Folder y opened=0 title=y", "Folder z opened=0 title=z",
        ])
        #expect(try phone.recordsByZone() == ["a b z", "x", "y"])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, F5. A device that moves its own copy on deletes it, where it begins again at another device's copy")
    func ownCopiesAreDeleted() throws {
        let (scenario, phone, laptop) = try devices(and: "z", "w")
        try laptop.move("a", below: "y")
        scenario.clock.advance(by: 10)
        try phone.move("a", below: "z")
        // The laptop's copy arrives after the phone has looked for changes. So the phone makes a copy, too.
        var isFirst = true
        try phone.sync { request in
            guard case .modify = request, isFirst else { return .answered }
            isFirst = false
            try laptop.sync()
            return .answered
        }
        // The laptop moves its copy on before it hears of the phone's.
        scenario.clock.advance(by: 10)
        try laptop.move("a", below: "w")
        for _ in 0..<3 { try scenario.synchronise() }
        try scenario.expect([
            "Folder a above=→w opened=0 title=a", "Folder b above=→a opened=0 title=b", "Folder w opened=0 title=w",
            "Folder x opened=0 title=x", "Folder y opened=0 title=y", "Folder z opened=0 title=z",
        ])
        for device in [phone, laptop] { #expect(try device.recordsByZone() == ["a b w", "x", "y", "z"]) }
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, F5. A later move keeps what was changed in the former zone after an earlier copy was made")
    func laterMovesKeepChangesOfTheFormerZone() throws {
        let (scenario, phone, laptop) = try devices()
        try phone.run(
            "INSERT INTO Folder (_recordName, title, opened) VALUES ('z', 'z', 0)",
            "UPDATE Folder SET opened = opened + 2 WHERE _recordName = 'b'"
        )
        try scenario.synchronise()
        try phone.move("a", below: "y")
        var seen: [Int64] = []
        let change = "SELECT opened * 10 + (title = 'edited') FROM Folder WHERE _recordName = 'b'"
        try phone.sync { request in
            if request.line.contains("create"), seen.isEmpty {
                try laptop.run("UPDATE Folder SET title = 'edited', opened = opened + 1 WHERE _recordName = 'b'")
                try laptop.sync()
                try laptop.move("a", below: "z")
                seen.append(try laptop.value(change))
            } else if request.line.contains("delete"), seen.count == 1 {
                // The copy that the laptop fetches now does not have the change. The phone carries the count over, too.
                try laptop.sync()
                seen.append(try laptop.value(change))
            }
            return .answered
        }
        #expect(seen == [31, 31])
        for _ in 0..<3 { try scenario.synchronise() }
        try scenario.expect([
            "Folder a above=→z opened=0 title=a", "Folder b above=→a opened=3 title=edited",
            "Folder x opened=0 title=x", "Folder y opened=0 title=y", "Folder z opened=0 title=z",
        ])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test(
        "11, F5. A device that fetches a record and its copy together has the copy only, in either order",
        arguments: [false, true],
        [false, true]
    )
    func oldRecordsAreNotShownBesideTheirCopies(movesBack: Bool, formerIsChanged: Bool) throws {
        let (scenario, phone, laptop) = try devices()
        let (former, target) = movesBack ? ("y", "x") : ("x", "y")
        if movesBack {
            try phone.move("a", below: former)
            for _ in 0..<2 { try scenario.synchronise() }
        }
        let tablet = try scenario.device("tablet", records: [Folder.self], zones: .perRoot)
        try phone.move("a", below: target)
        let zones = movesBack ? ["a b x", "y"] : ["a b y", "x"]
        var seen: [[String]] = []
        try phone.sync { request in
            guard request.line.contains("delete"), seen.isEmpty else { return .answered }
            if formerIsChanged {
                // The service lists the former zone last.
                try laptop.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = '\(former)'")
                try laptop.sync()
            }
            for device in [tablet, laptop] {
                try device.sync()
                seen.append(try device.recordsByZone())
            }
            return .answered
        }
        #expect(seen == [zones, zones])
        try scenario.synchronise()
        let counts = ["x", "y"].map { $0 == former && formerIsChanged ? 1 : 0 }
        try scenario.expect([
            "Folder a above=→\(target) opened=0 title=a", "Folder b above=→a opened=0 title=b",
            "Folder x opened=\(counts[0]) title=x", "Folder y opened=\(counts[1]) title=y",
        ])
    }

    @Test("11, 6. A delete wins over a move whose copy never arrived, and over one that ends where it began")
    func deletesWinOverMovesThatNeverArrived() throws {
        let (scenario, phone, laptop) = try devices()
        try phone.move("a", below: "y")
        try phone.sync { $0.line.contains("create") ? .lostRequest : .answered }
        try laptop.run("DELETE FROM Folder WHERE _recordName = 'a'")
        try laptop.sync()
        scenario.clock.advance(by: 600)
        for _ in 0..<3 { try scenario.synchronise() }
        #expect(try phone.recordsByZone() == ["x", "y"])
        #expect(try laptop.recordsByZone() == ["x", "y"])
        #expect(try phone.moves() == 0)

        let (second, mover, other) = try devices()
        try mover.move("a", below: "y")
        try other.run("DELETE FROM Folder WHERE _recordName = 'a'")
        // The record above the moved one goes to the zone that it was moved from.
        try other.move("y", below: "x")
        try other.sync()
        for _ in 0..<3 { try second.synchronise() }
        #expect(try mover.recordsByZone() == ["x y"])
        #expect(try other.recordsByZone() == ["x y"])
        #expect(try mover.moves() == 0)
    }

    @Test("11, 3. A record that was moved elsewhere before its create was acknowledged is that record")
    func createsOfUnknownOutcomeAreMoved() throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run("INSERT INTO Folder (_recordName, above, title, opened) VALUES ('c', 'x', 'c', 2)")
        try laptop.sync { $0.line.contains("create") ? .lostReply : .answered }
        try phone.sync()
        try phone.move("c", below: "y")
        try phone.sync()
        try laptop.run("INSERT INTO Folder (_recordName, above, title, opened) VALUES ('d', 'c', 'd', 0)")
        scenario.clock.advance(by: 600)
        for _ in 0..<3 { try scenario.synchronise() }
        #expect(try phone.recordsByZone() == ["a b x", "c d y"])
        #expect(try laptop.recordsByZone() == ["a b x", "c d y"])
        #expect(try laptop.value("SELECT opened FROM Folder WHERE _recordName = 'c'") == 2)
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, 3, P9. A create of unknown outcome ends with its record's copy in another zone; its zone goes on")
    func createsOfUnknownOutcomeEndWithTheCopy() throws {
        let (scenario, phone, laptop) = try devices()
        let target = try #require(try laptop.zone(of: "y"))
        try laptop.run("INSERT INTO Folder (_recordName, above, title, opened) VALUES ('c', 'x', 'c', 2)")
        try laptop.sync { $0.line.contains("create") ? .lostReply : .answered }
        try phone.sync()
        try phone.move("c", below: "y")
        try phone.sync()
        // The laptop gets an error in place of the delete in the former zone, and no copy. A lookup finds nothing, and
        // the process dies before the zone of the copy is read.
        try laptop.sync { request in
            guard case .zoneChanges = request else { return .answered }
            return try laptop.reply(to: request, without: "c").withoutChanges(of: target, request)
        }
        var isLookedUp = false
        let trace = try laptop.sync { request in
            if isLookedUp { return .crashBefore }
            if case .lookup = request { isLookedUp = true }
            return try laptop.reply(to: request, withoutChangesOf: target)
        }
        #expect(isLookedUp && trace.writes == [])
        #expect(try laptop.value("SELECT count(*) FROM mist_sent WHERE is_uncertain") == 1)
        #expect(try laptop.value("SELECT count(*) FROM mist_held") == 1)
        #expect(try laptop.recordsByZone() == ["a b c x", "y"])
        try laptop.run("UPDATE Folder SET title = 'later' WHERE _recordName = 'x'")
        for _ in 0..<2 { try scenario.synchronise() }
        try scenario.expect(
            [
                "Folder a above=→x opened=0 title=a", "Folder b above=→a opened=0 title=b",
                "Folder c above=→y opened=2 title=c", "Folder x opened=0 title=later", "Folder y opened=0 title=y",
            ],
            recovery: ["laptop: Folder c laterEdit above=→x"]
        )
        #expect(try laptop.recordsByZone() == ["a b x", "c y"])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, 3, P9. A create of unknown outcome ends with its record's delete after a move; its zone goes on")
    func createsOfUnknownOutcomeEndWithTheDelete() throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run("INSERT INTO Folder (_recordName, above, title, opened) VALUES ('c', 'x', 'c', 2)")
        try laptop.sync { $0.line.contains("create") ? .lostReply : .answered }
        try phone.sync()
        try phone.run("DELETE FROM Folder WHERE _recordName = 'c'")
        try phone.sync()
        // The laptop gets an error in place of the delete.
        try laptop.sync { try laptop.reply(to: $0, without: "c") }
        #expect(try laptop.value("SELECT count(*) FROM mist_sent WHERE is_uncertain") == 1)
        try laptop.move("c", below: "y")
        try laptop.run("UPDATE Folder SET title = 'later' WHERE _recordName = 'x'")
        let trace = try laptop.sync()
        #expect(trace.lines.contains("lookup c") && trace.writes == ["modify update x"])
        for _ in 0..<2 { try scenario.synchronise() }
        try scenario.expect(
            [
                "Folder a above=→x opened=0 title=a", "Folder b above=→a opened=0 title=b",
                "Folder x opened=0 title=later", "Folder y opened=0 title=y",
            ],
            recovery: ["laptop: Folder c deleted above=→y opened=2 title=c"]
        )
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11. A record that was in conflict is not looked up again while its delete waits for a zone that rests")
    func heldDeletesAreNotLookedUp() throws {
        let (scenario, phone, laptop) = try devices()
        let busy = try #require(try laptop.zone(of: "y"))
        try laptop.run("UPDATE Folder SET title = 'laptop' WHERE _recordName = 'b'")
        var lookups = 0
        let trace = try laptop.sync { request in
            if request.isWrite {
                try phone.run("UPDATE Folder SET opened = 1 WHERE _recordName = 'b'")
                try phone.sync()
            }
            if request.line.hasPrefix("lookup") {
                lookups += 1
                if lookups == 1 {
                    try phone.run(
                        "DELETE FROM Folder WHERE _recordName = 'b'",
                        "UPDATE Folder SET title = 'phone' WHERE _recordName = 'y'"
                    )
                    try phone.sync()
                }
            }
            return lookups > 5 ? .lostRequest : try laptop.reply(to: request, withoutChangesOf: busy)
        }
        #expect(lookups == 1, "\(trace.lines)")
        scenario.clock.advance(by: 600)
        for _ in 0..<2 { try scenario.synchronise() }
        try scenario.expect(
            ["Folder a above=→x opened=0 title=a", "Folder x opened=0 title=x", "Folder y opened=0 title=phone"],
            recovery: ["laptop: Folder b deleted above=→a opened=0 title=laptop"]
        )
    }

    @Test(
        "11, 25. The copies of a move are one atomic request, with the new records below them",
        arguments: [false, true]
    )
    func copiesOfAMoveAreAtomic(isNew: Bool) throws {
        let scenario = try SyncScenario()
        // In the order of the tables, the last record of the move is beyond the limit.
        let phone = try scenario.device("phone", records: [Folder.self], zones: .perRoot) { $0.batchSize = 3 }
        let laptop = try scenario.device("laptop", records: [Folder.self], zones: .perRoot)
        try phone.run(
            "INSERT INTO Folder (_recordName, title, opened) VALUES ('x', 'x', 0), ('y', 'y', 0)",
            "INSERT INTO Folder (_recordName, above, title, opened) VALUES ('a', 'x', 'a', 0), ('b', 'a', 'b', 0)",
            "INSERT INTO Folder (_recordName, above, title, opened) VALUES ('n', 'y', 'n', 0)"
        )
        let last = "INSERT INTO Folder (_recordName, above, title, opened) VALUES ('c', 'a', 'c', 0)"
        if !isNew { try phone.run(last) }
        try scenario.synchronise()
        if isNew { try phone.run(last) }
        try phone.run("UPDATE Folder SET title = 'edited' WHERE _recordName = 'n'")
        try phone.move("a", below: "y")
        var seen: [[String]] = []
        let trace = try phone.sync { request in
            guard request.isWrite else { return .answered }
            try laptop.sync()
            seen.append(try laptop.recordsByZone())
            return .answered
        }
        let before = isNew ? ["a b x", "n y"] : ["a b c x", "n y"]
        let after = ["a b c n y", "x"]
        #expect(seen == [before, after, after])
        let first = try #require(trace.requests.first { $0.isWrite })
        guard case .modify(_, _, let isAtomic) = first else {
            Issue.record("\(trace.writes)")
            return
        }
        #expect(first.line == "modify create a, create b, create c" && isAtomic)
        let deletes = isNew ? "modify delete b, delete a" : "modify delete b, delete c, delete a"
        #expect(trace.writes.dropFirst() == [deletes, "modify update n"])
        try scenario.synchronise()
        try scenario.expect([
            "Folder a above=→y opened=0 title=a", "Folder b above=→a opened=0 title=b",
            "Folder c above=→a opened=0 title=c", "Folder n above=→y opened=0 title=edited",
            "Folder x opened=0 title=x", "Folder y opened=0 title=y",
        ])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, F5. A lost reply or a crash at any request of a move leaves no record behind", arguments: 0..<8)
    func lostRepliesAndCrashes(request: Int) throws {
        for delivery in [ScenarioDevice.Delivery.lostReply, .lostRequest, .crashBefore, .crashAfter] {
            let (scenario, phone, laptop) = try devices()
            try laptop.run("UPDATE Folder SET title = 'edited', opened = opened + 1 WHERE _recordName = 'b'")
            try phone.run("UPDATE Folder SET opened = opened + 1 WHERE _recordName = 'b'")
            try phone.move("a", below: "y")
            var count = 0
            try phone.sync { _ in
                count += 1
                return count == request + 1 ? delivery : .answered
            }
            scenario.clock.advance(by: 600)
            for _ in 0..<3 { try scenario.synchronise() }
            try scenario.expect([
                "Folder a above=→y opened=0 title=a", "Folder b above=→a opened=2 title=edited",
                "Folder x opened=0 title=x", "Folder y opened=0 title=y",
            ])
            #expect(try phone.moves() == 0 && laptop.moves() == 0)
        }
    }

    @Test("11. A move before the first push costs nothing in the old zone, and one that is taken back sends nothing")
    func movesBeforeTheFirstPush() throws {
        let (scenario, phone, _) = try devices()
        try phone.run("INSERT INTO Folder (_recordName, above, title) VALUES ('n', 'x', 'n')")
        try phone.move("n", below: "y")
        #expect(try phone.sync().writes == ["modify create n"])
        try phone.move("a", below: "y")
        try phone.move("a", below: "x")
        #expect(try phone.moves() == 0)
        let trace = try phone.sync()
        #expect(trace.writes.allSatisfy { $0 == "modify update a" }, "\(trace.writes)")
        try scenario.synchronise()
        #expect(try phone.recordsByZone() == ["a b x", "n y"])
    }

    @Test("11. A record that moves on while its first move is under way ends in the last zone")
    func movesOfAMoveUnderWay() throws {
        let (scenario, phone, laptop) = try devices(and: "z")
        try phone.move("a", below: "y")
        try phone.sync { request in
            if request.line.contains("create") {
                let reply = phone.answer(request)
                try phone.move("a", below: "z")
                return .reply(reply)
            }
            return .answered
        }
        for _ in 0..<3 { try scenario.synchronise() }
        #expect(try phone.recordsByZone() == ["a b z", "x", "y"])
        #expect(try laptop.recordsByZone() == ["a b z", "x", "y"])
        #expect(try phone.moves() == 0)
    }

    @Test("11, 15. A reference that would lead from one zone to another is refused before anything moves")
    func linksAreChecked() throws {
        let (scenario, phone, _) = try devices()
        try phone.run("UPDATE Folder SET related = 'x' WHERE _recordName = 'b'")
        let refusal = phone.refusal { try $0.move("a", below: "y") }
        #expect(refusal?.code == .link)
        #expect(refusal?.message.contains("of b to x") == true)
        try phone.run(
            "UPDATE Folder SET related = NULL WHERE _recordName = 'b'",
            "UPDATE Folder SET related = 'b' WHERE _recordName = 'x'"
        )
        let other = phone.refusal { try $0.move("a", below: "y") }
        #expect(other?.code == .link)
        #expect(other?.message.contains("of x to b") == true)
        #expect(try phone.recordsByZone() == ["a b x", "y"])
        try phone.run("UPDATE Folder SET related = 'a' WHERE _recordName IN ('a', 'b')")
        try phone.run("UPDATE Folder SET related = NULL WHERE _recordName = 'x'")
        try phone.move("a", below: "y")
        try scenario.synchronise()
        #expect(try phone.recordsByZone() == ["a b y", "x"])
    }

    @Test("11, 6. A delete wins over a move, where it is known before the copies are sent", arguments: [false, true])
    func deletesWinOverMoves(deleteIsSent: Bool) throws {
        let (scenario, phone, laptop) = try devices()
        try laptop.run("DELETE FROM Folder WHERE _recordName = 'a'")
        try phone.move("a", below: "y")
        if deleteIsSent { try laptop.sync() }
        for _ in 0..<3 { try scenario.synchronise() }
        #expect(try phone.recordsByZone() == ["x", "y"])
        #expect(try laptop.recordsByZone() == ["x", "y"])
        #expect(try scenario.serviceRecords().compactMap(\.recordName).sorted() == ["x", "y"])
        #expect(try phone.moves() == 0)
        if deleteIsSent { #expect(try phone.recovery().count == 2) }
    }

    @Test("11, 40. The deletes of a move need no permission")
    func massDeletionGuardLetsMovesPass() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [Folder.self], zones: .perRoot) {
            $0.massDeletionLimit = MassDeletionLimit(records: 1, fraction: 0.1)
        }
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a'), ('c', 'a')"
        )
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try scenario.synchronise()
        #expect(try phone.pending() == [])
        #expect(try phone.recordsByZone() == ["a b c y", "x"])
        // What is removed counts as usual.
        try phone.run("DELETE FROM Folder WHERE _recordName = 'a'")
        try scenario.synchronise()
        #expect(try phone.pending().count == 3)
    }

    @Test(
        "11, 40. A record is in one zone after an undo of its delete, which was made while its copy was sent",
        arguments: [ScenarioDevice.Delivery.answered, .lostReply, .crashAfter, .lostRequest]
    )
    func undoneDeletesOfMovedRecords(delivery: ScenarioDevice.Delivery) async throws {
        let (scenario, phone, laptop) = try guardedDevices()
        try phone.run(
            "INSERT INTO Folder (_recordName) VALUES ('x'), ('y')",
            "INSERT INTO Folder (_recordName, above) VALUES ('a', 'x'), ('b', 'a'), ('c', 'a')"
        )
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try phone.sync { request in
            guard request.line.contains("create") else { return .answered }
            try phone.run("DELETE FROM Folder WHERE _recordName IN ('a', 'b', 'c')")
            return delivery
        }
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        #expect(try phone.value("SELECT count(*) FROM mist_tombstone WHERE NOT is_permitted") >= 3)
        #expect(try await phone.local.undoMassDeletion() >= 3)
        for _ in 0..<3 {
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
        }
        let isMoved = if case .lostRequest = delivery { false } else { true }
        let records = isMoved ? ["a b c y", "x"] : ["a b c x", "y"]
        #expect(try phone.recordsByZone() == records)
        #expect(try laptop.recordsByZone() == records)
        #expect(try scenario.serviceRecords().count == 5)
        #expect(try phone.pending() == [])
        #expect(try phone.moves() == 0)
    }

    @Test(
        "11, 36. A record that another device has added below a moved one follows with its file, which is fetched first",
        arguments: [false, true]
    )
    func filesOfFollowersAreFetched(onDemand: Bool) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                func open(_ name: String) throws -> MistStore {
                    var configuration = StoreConfiguration()
                    configuration.zones = .perRoot
                    if onDemand { configuration.setDownload(.onDemand, of: \.cover, in: Folder.self) }
                    return try MistStore(
                        at: folder.appending(path: name),
                        records: [Folder.self],
                        service: emulator.service(as: .user),
                        configuration: configuration
                    )
                }
                let stores = [try open("phone"), try open("laptop")]
                let (phone, laptop) = (stores[0].privateDatabase, stores[1].privateDatabase)
                let home = try await phone.add(Folder(title: "Home"), named: "home")
                let work = try await phone.add(Folder(title: "Work"), named: "work")
                let tax = try await phone.add(Folder(above: home.reference(), title: "Tax"), named: "tax")
                for store in stores { try await store.sync() }
                try await phone.move(tax, below: work.reference())
                let cover = try await laptop.addFile(Array("picture".utf8))
                try await laptop.add(Folder(above: tax.reference(), title: "2025", cover: cover), named: "year")
                try await stores[1].sync()
                for store in stores + stores { try await store.sync() }
                for local in [phone, laptop] {
                    let year = try await local.fetch(Folder.self, named: "year")
                    #expect(year.zoneID == work.zoneID)
                    let file = try #require(year.cover.flatMap { local.file(of: $0) })
                    #expect(try Data(contentsOf: file) == Data("picture".utf8))
                    #expect(try await local.status().isSynchronised)
                    #expect(try await local.recoveryLog().isEmpty)
                }
                for store in stores { try store.close() }
            }
        }
    }

    @Test("11, F5. A record that another device has bound to a moved one meanwhile stays; the reference has a receipt")
    func recordsBoundToAMovedOneStay() throws {
        let (scenario, phone, laptop) = try devices()
        try phone.move("a", below: "y")
        try laptop.run(
            "INSERT INTO Folder (_recordName, above, related, _related_action, opened) VALUES ('l', 'x', 'a', 1, 0)"
        )
        try laptop.sync()
        for _ in 0..<2 { try scenario.synchronise() }
        #expect(try phone.recordsByZone() == ["a b y", "l x"])
        #expect(try laptop.recordsByZone() == ["a b y", "l x"])
        #expect(try scenario.serviceRecords().count == 5)
        #expect(try phone.recovery() == ["phone: Folder l targetMoved related=→a"])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11, F5. Two records that are moved below each other: the later move is undone", arguments: [false, true])
    func cyclesAreUndone(laterIsFirst: Bool) throws {
        let (scenario, phone, laptop) = try devices()
        try phone.move("x", below: "y")
        try laptop.move("y", below: "b")
        let (first, second) = laterIsFirst ? (laptop, phone) : (phone, laptop)
        try first.sync { request in
            if request.line.contains("create") { try second.sync() }
            return .answered
        }
        for _ in 0..<5 { try scenario.synchronise() }
        let receipts = try phone.recovery() + laptop.recovery()
        #expect(receipts == ["laptop: Folder y moveUndone above=→b"])
        try scenario.expect(
            [
                "Folder a above=→x opened=0 title=a", "Folder b above=→a opened=0 title=b",
                "Folder x above=→y opened=0 title=x", "Folder y opened=0 title=y",
            ],
            recovery: receipts
        )
        #expect(try phone.recordsByZone() == ["a b x y"])
        #expect(try phone.moves() == 0 && laptop.moves() == 0)
    }

    @Test("11. A move into a zone that is deleted meanwhile is taken back")
    func movesToAPurgedZoneAreTakenBack() throws {
        let (scenario, phone, laptop) = try devices()
        let zone = try #require(try phone.zone(of: "y"))
        try phone.move("a", below: "y")
        try scenario.purge(zone)
        for _ in 0..<2 { try scenario.synchronise() }
        #expect(try phone.recordsByZone() == ["a b x"])
        #expect(try laptop.recordsByZone() == ["a b x"])
        #expect(try phone.moves() == 0)
        #expect(try phone.recovery() == ["phone: Folder a moveUndone above=→y"])
        // The records have the change tags that they had before.
        let known = "FROM Folder LEFT JOIN mist_record ON row = _id"
        #expect(try phone.value("SELECT count(*) \(known) WHERE tag IS NULL OR tag IS NOT _changeTag") == 0)
    }

    @Test("11. Only records of types with edit times move, and only in the private database")
    func otherMovesAreRefused() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [Folder.self], scope: .public)
        try phone.run("INSERT INTO Folder (_recordName, opened) VALUES ('x', 0), ('y', 0)")
        #expect(phone.refusal { try $0.move("x", below: "y") }?.code == .move)
        #expect(phone.refusal { try $0.moveToRoot("x") }?.code == .move)
    }

    @Test("11, F5, 36. Over HTTP: a record moves with the records below it, its file and an edit of the other store")
    func movesReachTheOtherStore() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let stores = try ["phone", "laptop"].map { name in
                    var configuration = StoreConfiguration()
                    configuration.zones = .perRoot
                    return try MistStore(
                        at: folder.appending(path: name),
                        records: [Folder.self],
                        service: emulator.service(as: .user),
                        configuration: configuration
                    )
                }
                let (phone, laptop) = (stores[0].privateDatabase, stores[1].privateDatabase)
                let source = folder.appending(path: "picture")
                try Data("picture".utf8).write(to: source)
                let cover = try await phone.addFile(at: source)
                let home = try await phone.add(Folder(title: "Home"), named: "home")
                let work = try await phone.add(Folder(title: "Work"), named: "work")
                let tax = try await phone.add(Folder(above: home.reference(), title: "Tax"), named: "tax")
                try await phone.add(Folder(above: tax.reference(), title: "2025", cover: cover), named: "year")
                try await stores[0].sync()
                try await stores[1].sync()
                try await laptop.update(Folder.self, named: "year") { $0.title = "2026" }
                let moved = try await phone.move(tax, below: work.reference())
                #expect(moved.zoneID == work.zoneID)
                #expect(moved.above?.recordName == "work")
                for store in stores + stores { try await store.sync() }
                for local in [phone, laptop] {
                    let year = try await local.fetch(Folder.self, named: "year")
                    #expect(year.title == "2026")
                    #expect(year.zoneID == work.zoneID)
                    let file = try #require(year.cover.flatMap { local.file(of: $0) })
                    #expect(try Data(contentsOf: file) == Data("picture".utf8))
                    #expect(try await local.status().isSynchronised)
                    #expect(try await local.recoveryLog().isEmpty)
                }
                for store in stores { try store.close() }
            }
        }
    }

    @Test("11, 22. Fields that no property has move with the record")
    func unknownFieldsMove() throws {
        let (scenario, phone, laptop) = try devices()
        let zone = try #require(try phone.zone(of: "b"))
        var record = try #require(try scenario.serviceRecord("b"))
        record.fields = ["later": .string("kept")]
        scenario.clock.advance(by: 1)
        let change = SyncRequest.modify([RecordOperation(.update, record: record)], zone: zone, isAtomic: false)
        _ = try scenario.service.result(of: change, in: .private).get()
        try scenario.synchronise()
        try phone.move("a", below: "y")
        try scenario.synchronise()
        #expect(try scenario.serviceRecord("b")?.fields["later"] == .string("kept"))
        try laptop.move("a", below: "x")
        try scenario.synchronise()
        #expect(try scenario.serviceRecord("b")?.fields["later"] == .string("kept"))
        #expect(try laptop.recordsByZone() == ["a b x", "y"])
        // A device that moves its own copy on has not fetched it.
        try laptop.run("INSERT INTO Folder (_recordName, title, opened) VALUES ('z', 'z', 0)")
        try scenario.synchronise()
        try laptop.move("a", below: "y")
        var isMovedOn = false
        try laptop.sync { request in
            if request.line.contains("delete"), !isMovedOn {
                isMovedOn = true
                try laptop.move("a", below: "z")
            }
            return .answered
        }
        for _ in 0..<3 { try scenario.synchronise() }
        #expect(try laptop.recordsByZone() == ["a b z", "x", "y"])
        #expect(try scenario.serviceRecord("b")?.fields["later"] == .string("kept"))
    }
}

extension ScenarioDevice {
    /// Moves a folder as the device's program does.
    func move(_ name: String, below parent: String) throws {
        try write { writer in
            let target = RecordReference<Folder>(recordName: parent)
            try writer.move(try writer.fetch(Folder.self, named: name), below: target)
        }
    }

    func moveToRoot(_ name: String) throws {
        try write { writer in try writer.moveToRoot(try writer.fetch(Folder.self, named: name)) }
    }

    /// The error of an operation, which has changed nothing.
    func refusal(_ body: (ScenarioDevice) throws -> Void) -> StoreError? {
        do {
            let before = try records()
            do {
                try body(self)
                return nil
            } catch let error as StoreError {
                #expect(try records() == before && moves() == 0)
                return error
            }
        } catch {
            Issue.record(error)
            return nil
        }
    }

    /// The number of moves, deletes and sent operations that are not at their end.
    func moves() throws -> Int64 {
        try value(
            """
            SELECT (SELECT count(*) FROM mist_move) + (SELECT count(*) FROM mist_held) + (SELECT count(*) FROM mist_sent)
            """
        )
    }
}
