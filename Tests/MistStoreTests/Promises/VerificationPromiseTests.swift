import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import SQLiteTables
import TestSupport
import Testing

@testable import MistStore

/// Promise 38: one call says whether a device equals the service, says what differs, and repairs it.
struct VerificationPromiseTests {
    private static let threeBooks = """
        INSERT INTO Book (_recordName, title, note, loans)
            VALUES ('a', 'A', 'x', 0), ('b', 'B', 'y', 0), ('c', 'C', 'z', 0)
        """
    private static let three = [
        "Book a loans=0 note=x title=A", "Book b loans=0 note=y title=B", "Book c loans=0 note=z title=C",
    ]

    /// A phone and a laptop with the same three books.
    private func devices() throws -> (SyncScenario, ScenarioDevice, ScenarioDevice) {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(Self.threeBooks)
        try scenario.synchronise()
        return (scenario, phone, laptop)
    }

    // MARK: The decision

    private typealias Kept = VerificationComparison.Kept
    private typealias Listed = VerificationComparison.Listed
    private typealias Waiting = VerificationComparison.Waiting

    @Test("38. A record is compared by its tag; what waits, moves or was not delivered is no difference")
    func theDecision() {
        let cases: [(Kept?, Listed?, Waiting, VerificationComparison.Finding)] = [
            (Kept(tag: "1"), Listed(tag: "1"), Waiting(), .equal),
            (Kept(tag: "1"), Listed(tag: "2"), Waiting(), .different(.otherVersion)),
            (Kept(tag: nil), Listed(tag: "2"), Waiting(), .different(.otherVersion)),
            (Kept(tag: "1"), Listed(tag: "1", hasOtherValues: true), Waiting(), .different(.otherValues)),
            (Kept(tag: "1"), nil, Waiting(), .different(.missingThere)),
            (Kept(tag: nil), nil, Waiting(), .different(.missingThere)),
            (Kept(tag: "1"), Listed(tag: nil, isDeleted: true), Waiting(), .different(.missingThere)),
            (nil, Listed(tag: "1"), Waiting(), .different(.missingHere)),
            (nil, Listed(tag: nil, isDeleted: true), Waiting(), .pending),
            (Kept(tag: nil, isNew: true), nil, Waiting(), .pending),
            (Kept(tag: nil, isNew: true), Listed(tag: "1"), Waiting(), .pending),
            (Kept(tag: "1", isExpected: false), nil, Waiting(), .pending),
            (Kept(tag: "1", isExpected: false), Listed(tag: "1"), Waiting(), .equal),
            (nil, Listed(tag: "1"), Waiting(isDeletedHere: true), .pending),
            (Kept(tag: "1"), Listed(tag: "2"), Waiting(isParked: true), .pending),
            (nil, Listed(tag: "1"), Waiting(isUndelivered: true), .skipped),
            (Kept(tag: "1"), Listed(tag: nil), Waiting(), .skipped),
            (Kept(tag: "1"), Listed(tag: "2", isMoving: true), Waiting(), .skipped),
            (Kept(tag: "1"), Listed(tag: nil, isMoving: true, isDeleted: true), Waiting(), .skipped),
        ]
        for (here, there, waiting, finding) in cases {
            let found = VerificationComparison.compare(here, there, waiting)
            #expect(found == finding, "\(String(describing: here)), \(String(describing: there)), \(waiting)")
        }
    }

    @Test("38. Without a feed, a record that changed after the list was begun is left out")
    func theDecisionWithoutAFeed() {
        let cases: [(Kept?, Listed?, VerificationComparison.Finding)] = [
            (Kept(tag: "1", modified: 100), nil, .skipped),
            (Kept(tag: "1", modified: 99), nil, .different(.missingThere)),
            (Kept(tag: "2", modified: 100), Listed(tag: "1", modified: 50), .skipped),
            (Kept(tag: "2", modified: 60), Listed(tag: "1", modified: 50), .skipped),
            (Kept(tag: "1", modified: 50), Listed(tag: "2", modified: 60), .different(.otherVersion)),
            (Kept(tag: "1", modified: 50), Listed(tag: "2", modified: 50), .different(.otherVersion)),
            (nil, Listed(tag: "1", modified: 500), .different(.missingHere)),
        ]
        for (here, there, finding) in cases {
            #expect(VerificationComparison.compare(here, there, Waiting(), since: 100) == finding)
        }
    }

    // MARK: Equal devices

    @Test("38. Equal devices have no differences and the same digest, and a verification sends nothing")
    func equalDevices() throws {
        let (scenario, phone, laptop) = try devices()
        var digests: Set<String> = []
        for device in [phone, laptop] {
            for depth in VerificationDepth.allCases {
                for mode in VerificationMode.allCases {
                    try device.engine.requestVerification(mode, comparing: depth)
                    let trace = try device.sync()
                    #expect(trace.end == .idle)
                    #expect(trace.writes.isEmpty)
                    let zone = try #require(try device.engine.verification().zones.first)
                    #expect(zone.compared == 3)
                    #expect(zone.differences.isEmpty)
                    #expect(zone.failure == nil)
                    #expect(zone.digestHere == zone.digestThere)
                    digests.insert(zone.digestHere)
                }
            }
        }
        #expect(digests.count == 1)
        try scenario.expect(Self.three)
    }

    @Test("38. A verification lists names without fields, fetches once more, and lists on until that brings nothing")
    func theRequests() throws {
        let (_, phone, _) = try devices()
        try phone.engine.requestVerification(.compare, comparing: .versions)
        let trace = try phone.sync()
        #expect(
            trace.lines == [
                "changes/database", "changes/zone", "changes/zone list", "changes/zone", "changes/zone list",
            ]
        )
        for case .zoneListing(_, let keys) in trace.requests { #expect(keys == []) }
        #expect(try phone.sync().lines == ["changes/database"])
    }

    @Test("38. Pending edits, new records and deletes of this device are no differences")
    func pendingWorkIsNoDifference() throws {
        let (_, phone, _) = try devices()
        try phone.run("UPDATE Book SET title = 'edited' WHERE _recordName = 'a'")
        try phone.run("DELETE FROM Book WHERE _recordName = 'b'")
        try phone.run("INSERT INTO Book (_recordName) VALUES ('new')")
        try phone.engine.requestVerification(.repair, comparing: .values)
        // The storage is full.
        try phone.sync { $0.operations == nil ? .answered : .reply(.failure(.service(.quotaExceeded))) }
        let verification = try phone.engine.verification()
        #expect(verification.isDone)
        #expect(verification.zones.map(\.compared) == [2])
        #expect(verification.zones.flatMap(\.differences).isEmpty)
        #expect(try phone.pending() == ["phone: edit Book 1 title", "phone: edit Book 4", "phone: delete b"])
    }

    // MARK: Damage

    /// A mistake in the file, and what a verification finds and does.
    struct Damage: CustomStringConvertible {
        let description: String
        let statements: [String]
        var depth = VerificationDepth.versions
        let differences: [String]
        /// The receipts of a repair, and the records of a resync where they are others.
        var receipts: [String] = []
        var resynced: [String]?
        var resyncReceipts: [String]?
    }

    private static let fakeTag =
        "INSERT INTO mist_record (type, zone, name, row, tag) SELECT type, zone, 'x', 99, 'fake' FROM mist_record LIMIT 1"

    private static let damages = [
        Damage(
            description: "a row is removed",
            statements: ["DELETE FROM Book WHERE _recordName = 'a'"],
            differences: ["Book a: missing here; fetched"]
        ),
        Damage(
            description: "a row and its version are removed",
            statements: ["DELETE FROM Book WHERE _recordName = 'a'", "DELETE FROM mist_record WHERE name = 'a'"],
            differences: ["Book a: missing here; fetched"]
        ),
        Damage(
            description: "a version is removed",
            statements: ["DELETE FROM mist_record WHERE name = 'a'", "UPDATE Book SET title = '?' WHERE title = 'A'"],
            differences: ["Book a: another version; fetched"],
            receipts: ["phone: Book a verification loans=0 note=x title=?"]
        ),
        Damage(
            description: "a tag is changed",
            statements: ["UPDATE mist_record SET tag = 'fake' WHERE name = 'b'"],
            differences: ["Book b: another version; fetched"]
        ),
        Damage(
            description: "a tag and a value are changed",
            statements: [
                "UPDATE mist_record SET tag = 'fake' WHERE name = 'b'",
                "UPDATE Book SET title = '?' WHERE _recordName = 'b'",
            ],
            differences: ["Book b: another version; fetched"],
            receipts: ["phone: Book b verification loans=0 note=y title=?"]
        ),
        Damage(
            description: "a row is added with a tag that the service does not have",
            statements: [fakeTag, "INSERT INTO Book (_id, _recordName, title) VALUES (99, 'x', 'X')"],
            differences: ["Book x: missing at the service; removed here"],
            receipts: ["phone: Book x verification title=X"],
            resynced: ["Book x title=X"],
            resyncReceipts: []
        ),
        Damage(
            description: "a row is added without a version",
            statements: ["INSERT INTO Book (_recordName, title) VALUES ('x', 'X')"],
            differences: ["Book x: missing at the service; removed here"],
            receipts: ["phone: Book x verification title=X"],
            resynced: ["Book x title=X"],
            resyncReceipts: []
        ),
        Damage(
            description: "a value is changed",
            statements: ["UPDATE Book SET note = '?', title = '?' WHERE _recordName = 'c'"],
            depth: .values,
            differences: ["Book c: other values; fetched"],
            receipts: ["phone: Book c verification loans=0 note=? title=?"]
        ),
        Damage(
            description: "everything at once",
            statements: [
                "DELETE FROM Book WHERE _recordName = 'a'", "UPDATE mist_record SET tag = 'fake' WHERE name = 'b'",
                "UPDATE Book SET note = '?' WHERE _recordName = 'c'",
                "INSERT INTO Book (_recordName, title) VALUES ('x', 'X')",
            ],
            depth: .values,
            differences: [
                "Book a: missing here; fetched", "Book b: another version; fetched", "Book c: other values; fetched",
                "Book x: missing at the service; removed here",
            ],
            receipts: [
                "phone: Book c verification loans=0 note=? title=C", "phone: Book x verification title=X",
            ],
            resynced: ["Book x title=X"],
            resyncReceipts: ["phone: Book c verification loans=0 note=? title=C"]
        ),
    ]

    @Test(
        "38. What another program has damaged is found and repaired, with receipts, by the service",
        arguments: damages
    )
    func damageIsRepaired(damage: Damage) throws {
        let (scenario, phone, _) = try devices()
        try phone.damage(damage.statements)
        try phone.engine.requestVerification(.compare, comparing: damage.depth)
        #expect(try phone.sync().writes.isEmpty)
        let reported = try phone.engine.verification()
        #expect(reported.isDone)
        #expect(
            reported.zones.flatMap(\.differences).map(\.description)
                == damage.differences.map { String($0.prefix { $0 != ";" }) }
        )
        try phone.engine.requestVerification(.repair, comparing: damage.depth)
        let trace = try phone.sync()
        #expect(trace.writes.isEmpty)
        let repaired = try phone.engine.verification()
        #expect(repaired.zones.flatMap(\.differences).map(\.description) == damage.differences)
        try scenario.expect(Self.three, recovery: damage.receipts)
        try phone.expectEqual()
    }

    @Test("38. A resync removes nothing here: what the service lacks is sent as a new record", arguments: damages)
    func damageIsResynced(damage: Damage) throws {
        let (scenario, phone, _) = try devices()
        try phone.damage(damage.statements)
        try phone.engine.requestVerification(.resync, comparing: damage.depth)
        try phone.sync()
        let differences = damage.differences.map {
            $0.replacing("removed here", with: "kept, and sent as a new record")
        }
        #expect(try phone.engine.verification().zones.flatMap(\.differences).map(\.description) == differences)
        try scenario.synchronise()
        try scenario.expect(
            Self.three + (damage.resynced ?? []),
            recovery: damage.resyncReceipts ?? damage.receipts
        )
        try phone.expectEqual()
    }

    @Test("38. Another device writes during a verification: no difference is invented, and the damage is found")
    func anotherDeviceWrites() throws {
        let (scenario, phone, laptop) = try devices()
        try phone.damage(["DELETE FROM Book WHERE _recordName = 'b'"])
        try phone.engine.requestVerification(.repair, comparing: .versions)
        var count = 0
        let trace = try phone.sync { request in
            // Before and after each request of the list.
            guard case .zoneListing = request else { return .answered }
            count += 1
            if count < 8 {
                try laptop.run("UPDATE Book SET title = '\(count)' WHERE _recordName = 'a'")
                try laptop.run("INSERT INTO Book (_recordName) VALUES ('n\(count)')")
                if count == 2 { try laptop.run("DELETE FROM Book WHERE _recordName = 'c'") }
                try laptop.sync()
            }
            let reply = phone.answer(request)
            if count < 8 {
                try laptop.run("UPDATE Book SET note = '\(count)' WHERE _recordName = 'a'")
                try laptop.sync()
            }
            return .reply(reply)
        }
        #expect(trace.end == .idle)
        let zone = try #require(try phone.engine.verification().zones.first)
        #expect(zone.differences.map(\.description) == ["Book b: missing here; fetched"])
        #expect(zone.skipped > 0)
        try scenario.synchronise()
        #expect(try phone.records() == laptop.records())
        try phone.expectEqual()
    }

    @Test("38. An edit of a damaged record is merged and sent; the damaged values have a receipt")
    func editsOfDamagedRecordsStay() throws {
        let (scenario, phone, _) = try devices()
        try phone.damage([
            "UPDATE mist_record SET tag = 'fake' WHERE name = 'b'",
            "UPDATE Book SET note = '?' WHERE _recordName = 'b'",
        ])
        try phone.engine.requestVerification(.repair, comparing: .versions)
        try phone.sync { request in
            // The list is complete, and its last page is under way.
            if case .zoneListing(let cursor, _) = request, cursor.token != nil {
                try phone.run("UPDATE Book SET title = 'mine' WHERE _recordName = 'b'")
            }
            return .answered
        }
        try scenario.synchronise()
        try scenario.expect(
            [Self.three[0], "Book b loans=0 note=y title=mine", Self.three[2]],
            recovery: ["phone: Book b verification loans=0 note=? title=mine"]
        )
        try phone.expectEqual()
    }

    @Test("38. A record that is removed by a repair takes the records below it with it, each with a receipt")
    func repairsCascade() throws {
        let (scenario, phone, _) = try devices()
        try phone.damage([
            "INSERT INTO Shelf (_id, _recordName, name) VALUES (99, 's', 'S')",
            """
            INSERT INTO mist_record (type, zone, name, row, tag)
                SELECT (SELECT id FROM mist_type WHERE name = 'Shelf'), zone, 's', 99, 'fake' FROM mist_record LIMIT 1
            """,
        ])
        try phone.run("INSERT INTO Book (_recordName, shelf, title, loans) VALUES ('below', 's', 'B', 0)")
        try phone.engine.requestVerification(.repair, comparing: .versions)
        for _ in 0..<3 { try phone.sync() }
        try scenario.synchronise()
        try scenario.expect(
            Self.three,
            recovery: [
                "phone: Shelf s verification name=S", "phone: Book below verification loans=0 shelf=→s title=B",
            ]
        )
    }

    @Test(
        "38. A refused token, a lost reply and a crash at each request of a verification change nothing in its result",
        arguments: 0..<40
    )
    func failuresOfRequests(kind: Int) throws {
        let (scenario, phone, _) = try devices()
        try phone.damage([
            "DELETE FROM Book WHERE _recordName = 'a'", "INSERT INTO Book (_recordName, title) VALUES ('x', 'X')",
            "UPDATE mist_record SET tag = 'fake' WHERE name = 'b'",
        ])
        try phone.engine.requestVerification(.repair, comparing: .versions)
        var count = 0
        for _ in 0..<4 {
            try phone.sync { request in
                count += 1
                guard count == kind / 5 + 3 else { return .answered }
                switch kind % 5 {
                case 0: return .lostReply
                case 1: return .crashBefore
                case 2: return .crashAfter
                case 3: return .reply(.failure(.service("CHANGE_TOKEN_EXPIRED")))
                default: return .reply(.failure(.service(.tryAgainLater)))
                }
            }
            scenario.clock.advance(by: 3600)
        }
        let verification = try phone.engine.verification()
        #expect(verification.isDone)
        // After a refused token of the zone, everything is fetched, and the record with the wrong tag comes by itself.
        let isFetchedBefore = kind == 8
        #expect(
            verification.zones.flatMap(\.differences).map(\.description)
                == ["Book a: missing here; fetched"] + (isFetchedBefore ? [] : ["Book b: another version; fetched"])
                + ["Book x: missing at the service; removed here"]
        )
        try scenario.synchronise()
        try scenario.expect(Self.three, recovery: ["phone: Book x verification title=X"])
        try phone.expectEqual()
    }

    @Test("38. A zone that the file lost is found, with its records")
    func lostZonesAreFound() throws {
        let (scenario, phone, _) = try devices()
        let other = ZoneID(zoneName: "Other")
        try scenario.addZone(other, with: "o")
        try phone.sync()
        #expect(try phone.records().contains { $0.contains(" o") })
        try phone.damage([
            "DELETE FROM Book WHERE _recordName = 'o'", "DELETE FROM mist_record WHERE name = 'o'",
            "DELETE FROM mist_zone WHERE name = 'Other'",
        ])
        try phone.engine.requestVerification(.repair, comparing: .versions)
        try phone.sync()
        #expect(try phone.records().contains { $0.contains(" o") })
        try phone.expectEqual()
    }

    @Test("38. A record of a type that the program does not know is compared and fetched again")
    func foreignRecordsAreCompared() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        let old = try scenario.device("old", records: [Shelf.self])
        try phone.run(Self.threeBooks)
        try scenario.synchronise()
        try old.damage([
            "DELETE FROM mist_foreign WHERE name = 'a'",
            "UPDATE mist_foreign SET record = replace(record, 'recordChangeTag', 'else') WHERE name = 'b'",
            "INSERT INTO mist_foreign (zone, name, type, record) SELECT zone, 'x', type, record FROM mist_foreign LIMIT 1",
        ])
        try old.engine.requestVerification(.repair, comparing: .versions)
        #expect(try old.sync().writes.isEmpty)
        #expect(
            try old.engine.verification().zones.flatMap(\.differences).map { "\($0.recordName) \($0.kind)" }
                == ["a missing here", "b another version", "x missing at the service"]
        )
        #expect(try old.value("SELECT count(*) FROM mist_foreign") == 3)
        try old.expectEqual()
    }

    // MARK: The public database

    @Test("38, 23. Followed queries of the public database are compared; what leaves them is looked up")
    func publicDatabases() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public)
        let laptop = try scenario.device("laptop", scope: .public)
        for device in [phone, laptop] {
            try device.database.write { db in
                var query = RecordQuery(recordType: "Book")
                query.filters = [QueryFilter("note", .equals, .string("k"))]
                try FollowedQuery.insert(query, into: db)
            }
        }
        try phone.run("INSERT INTO Book (_recordName, note) VALUES ('a', 'k'), ('b', 'k')")
        try scenario.synchronise()
        scenario.clock.advance(by: 600)
        try phone.run("INSERT INTO Book (_recordName, note) VALUES ('c', 'k'), ('d', 'k')")
        try scenario.synchronise()
        scenario.clock.advance(by: 600)
        try phone.expectEqual()
        try phone.damage([
            "DELETE FROM Book WHERE _recordName = 'a'", "UPDATE mist_record SET tag = 'fake' WHERE name = 'b'",
            Self.fakeTag, "INSERT INTO Book (_id, _recordName, note) VALUES (99, 'x', 'k')",
        ])
        // It matches the query no more, and the pull does not bring it.
        try laptop.run("UPDATE Book SET note = 'z' WHERE _recordName = 'd'")
        try laptop.sync()
        try phone.engine.requestVerification(.repair, comparing: .versions)
        #expect(try phone.sync().writes.isEmpty)
        let zone = try #require(try phone.engine.verification().zones.first)
        #expect(
            zone.differences.map(\.description) == [
                "Book a: missing here; fetched", "Book b: another version; fetched",
                "Book d: missing at the service; fetched", "Book x: missing at the service; removed here",
            ]
        )
        #expect(
            try phone.recovery() == ["phone: Book d verification note=k", "phone: Book x verification note=k"]
        )
        #expect(try phone.records() == ["Book a note=k", "Book b note=k", "Book c note=k", "Book d note=z"])
        scenario.clock.advance(by: 600)
        try phone.expectEqual()
    }
}

extension ScenarioDevice {
    /// Changes the file while the triggers of record types rest, as a program does that has removed them.
    fileprivate func damage(_ statements: [String]) throws {
        try database.write { db in
            try db.execute(sql: "UPDATE mist_state SET applying = 1")
            for statement in statements { try db.execute(sql: statement) }
            try db.execute(sql: "UPDATE mist_state SET applying = 0")
        }
    }

    /// Expects that a verification finds no difference, and sends nothing.
    fileprivate func expectEqual(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try engine.requestVerification(.compare, comparing: .values)
        let trace = try sync()
        let verification = try engine.verification()
        #expect(trace.writes.isEmpty, sourceLocation: sourceLocation)
        #expect(verification.isDone, sourceLocation: sourceLocation)
        let zones = verification.zones
        #expect(zones.allSatisfy { $0.failure == nil && $0.compared > 0 }, "\(zones)", sourceLocation: sourceLocation)
        #expect(zones.flatMap(\.differences).isEmpty, "\(zones)", sourceLocation: sourceLocation)
        #expect(zones.allSatisfy { $0.digestHere == $0.digestThere }, sourceLocation: sourceLocation)
    }
}

extension SyncScenario {
    /// Another program creates a zone with a book.
    fileprivate func addZone(_ zone: ZoneID, with name: String) throws {
        clock.advance(by: 1)
        _ = try service.result(of: .createZones([zone]), in: .private).get()
        var book = ServiceRecord(recordType: "Book", recordName: name)
        book.fields["title"] = .string("other")
        let create = RecordOperation(.create, record: book)
        _ = try service.result(of: .modify([create], zone: zone, isAtomic: false), in: .private).get()
    }
}
