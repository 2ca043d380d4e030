import CloudKitModel
import Foundation
import GRDB
import MistKit
import TestSupport
import Testing

@testable import MistStore

/// Promises 12 to 16: links between records. A book's shelf is its parent; its sequel is another book.
struct RelationPromiseTests {
    @Test("12, E4. Removing cascades: to children, and to what refers with deleteSelf; other links stay")
    func rowsDeletedWithSQLCascade() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('child', 's')",
            "INSERT INTO Book (_recordName, sequel, _sequel_action) VALUES ('bound', 'child', 1)",
            "INSERT INTO Book (_recordName, sequel) VALUES ('loose', 'child')"
        )
        try scenario.synchronise()
        try phone.run("DELETE FROM Shelf")
        try scenario.synchronise()
        try scenario.expect(["Book loose sequel=→child"])
    }

    @Test("12. `remove` cascades in its own transaction")
    func removeCascadesInItsOwnTransaction() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self])
            let shelf = try await store.privateDatabase.write { records in
                let shelf = try records.add(Shelf(name: "Home"), named: "home")
                try records.add(Book(shelf: shelf.reference(), title: "Emma"), named: "emma")
                return shelf
            }
            try await store.privateDatabase.remove(shelf)
            await #expect(throws: StoreError.self) { try await store.privateDatabase.fetch(Book.self, named: "emma") }
            try store.close()
        }
    }

    @Test("12, B3. Plain SQL deletes the first of six books in a row: the engine completes the cascade, children first")
    func theEngineCompletesCascades() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b1')")
        for number in 2...6 {
            try phone.run(
                "INSERT INTO Book (_recordName, sequel, _sequel_action) VALUES ('b\(number)', 'b\(number - 1)', 1)"
            )
        }
        try scenario.synchronise()
        try phone.run("DELETE FROM Book WHERE _recordName = 'b1'")
        let trace = try phone.sync()
        #expect(trace.writes == ["modify delete b6, delete b5, delete b4, delete b3, delete b2, delete b1"])
        try scenario.synchronise()
        try scenario.expect([])
    }

    @Test(
        "5, 12. A record that refers to the next life of a name does not go with the delete of the earlier one",
        arguments: [true, false]
    )
    func nextLivesKeepWhatRefersToThem(isNew: Bool) throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'first life')")
        if !isNew { try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')") }
        try scenario.synchronise()
        try phone.run(
            "DELETE FROM Book WHERE _recordName = 'a'",
            "INSERT INTO Book (_recordName, title) VALUES ('a', 'second life')",
            isNew
                ? "INSERT INTO Book (_recordName, title, sequel, _sequel_action) VALUES ('b', 'B', 'a', 1)"
                : "UPDATE Book SET sequel = 'a', _sequel_action = 1 WHERE _recordName = 'b'"
        )
        let trace = try phone.sync()
        #expect(trace.writes == ["modify delete a", "modify create a, \(isNew ? "create" : "update") b"])
        try scenario.synchronise()
        try scenario.expect(["Book a title=second life", "Book b sequel=→a title=B"])
    }

    @Test("12, E4. A record created elsewhere below a deleted parent goes with it")
    func newChildrenGoWithTheirParent() throws {
        for parentIsDeletedFirst in [true, false] {
            let scenario = try SyncScenario()
            let (phone, laptop) = try scenario.twoDevices()
            try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')")
            try scenario.synchronise()
            try phone.run("DELETE FROM Shelf")
            try laptop.run("INSERT INTO Book (_recordName, shelf) VALUES ('new', 's')")
            try (parentIsDeletedFirst ? phone : laptop).sync()
            try scenario.synchronise()
            try scenario.expect(
                [],
                recovery: parentIsDeletedFirst ? ["laptop: Book new deletedWithTarget shelf=→s"] : []
            )
        }
    }

    @Test("12, E4. A record moved below a parent that is deleted elsewhere goes with it")
    func movedChildrenGoWithTheirParent() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName) VALUES ('s'), ('t')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('b', 's')"
        )
        try scenario.synchronise()
        try laptop.run("UPDATE Book SET shelf = 't'")
        try phone.run("DELETE FROM Shelf WHERE _recordName = 't'")
        try phone.sync()
        try scenario.synchronise()
        try scenario.expect(["Shelf s"], recovery: ["laptop: Book b deletedWithTarget shelf=→t"])
    }

    @Test("13, B4. Targets are sent first and children last, in whichever order they were made")
    func targetsAreSentFirst() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Book (_recordName, sequel, shelf) VALUES ('b3', 'b2', 's'), ('b2', 'b1', 's'), ('b1', NULL, 's')",
            "INSERT INTO Shelf (_recordName) VALUES ('s')"
        )
        let trace = try phone.sync()
        #expect(trace.writes == ["zones/modify Records", "modify create s, create b1, create b2, create b3"])
        try scenario.synchronise()
        try scenario.expect([
            "Book b1 shelf=→s", "Book b2 sequel=→b1 shelf=→s", "Book b3 sequel=→b2 shelf=→s", "Shelf s",
        ])
    }

    @Test("13, B3, B7. Cycles are created with an empty link that the next request fills; no name twice in a request")
    func cyclesAreClosedLater() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, sequel) VALUES ('a', 'b'), ('b', 'a'), ('self', 'self')")
        let trace = try phone.sync()
        for request in trace.requests {
            let names = request.operations?.map { $0.record.recordName } ?? []
            #expect(Set(names).count == names.count)
        }
        #expect(
            trace.writes == [
                "zones/modify Records", "modify create b, create a, create self", "modify update b, update self",
            ]
        )
        try scenario.synchronise()
        try scenario.expect(["Book a sequel=→b", "Book b sequel=→a", "Book self sequel=→self"])
    }

    @Test(
        "12, E7. Of 800 records with deleteSelf to one target the service takes 750; the others are parked until there is space"
    )
    func theServiceLimitsDeleteSelf() async throws {
        let scenario = try SyncScenario()
        // The guard against many deletes has tests of its own.
        let phone = try scenario.device("phone") { $0.massDeletionLimit = nil }
        _ = try scenario.device("laptop")
        try phone.run(
            "INSERT INTO Book (_recordName) VALUES ('target')",
            """
            WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 800)
            INSERT INTO Book (_recordName, sequel, _sequel_action) SELECT printf('b%03d', n), 'target', 1 FROM numbers
            """
        )
        let trace = try phone.sync()
        #expect(trace.end == .idle)
        #expect(trace.summary.sent == 751)
        #expect(trace.summary.parked == 50)
        let parked = try await phone.local.status().parked
        #expect(parked.map(\.recordName) == (751...800).map { "b\($0)" })
        #expect(parked.first?.message.contains("750") == true)
        // When some of them are deleted, the others can be sent.
        try phone.run("DELETE FROM Book WHERE _recordName BETWEEN 'b001' AND 'b050'")
        try phone.sync()
        try await phone.local.retryParked()
        #expect(try phone.sync().summary.sent == 50)
        #expect(try scenario.serviceRecords().count == 751)
        // The store itself deletes the records that refer to the target, children first, without a limit of their
        // number.
        try phone.run("DELETE FROM Book WHERE _recordName = 'target'")
        #expect(try phone.sync().writes.last?.hasSuffix("delete target") == true)
        try scenario.synchronise()
        try scenario.expect([])
    }

    @Test(
        "13. A chain of 5,000 new records is sent, targets first, whichever end was made first",
        arguments: [true, false]
    )
    func chainsOfThousandsOfNewRecordsAreSent(targetIsFirst: Bool) throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run(
            """
            WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 5000)
            INSERT INTO Book (_recordName, sequel) SELECT 'b' || n, iif(n = 1, NULL, 'b' || (n - 1))
                FROM numbers ORDER BY \(targetIsFirst ? "n" : "n DESC")
            """
        )
        let trace = try phone.sync()
        let sent = trace.requests.compactMap(\.operations).flatMap { $0 }
        #expect(sent.map { $0.record.recordName ?? "" } == (1...5000).map { "b\($0)" })
        #expect(sent.allSatisfy { $0.operationType == .create })
        #expect(try phone.pending() == [])
    }

    @Test("14, E1, E3. What arrives before its target is kept, and shown with the target missing")
    func targetsMayArriveLater() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, sequel) VALUES ('b', 'B', 'missing')")
        try scenario.synchronise()
        #expect(try laptop.records() == ["Book b sequel=→missing title=B"])
        try laptop.restart()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('missing', 'M')")
        try scenario.synchronise()
        try scenario.expect(["Book b sequel=→missing title=B", "Book missing title=M"])
    }

    @Test("14, E2. Three records, of which two are deleted while they arrive, leave nothing that waits")
    func recordsDeletedWhileTheyArriveLeaveNothingPending() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Book (_recordName) VALUES ('a')",
            "INSERT INTO Book (_recordName, sequel) VALUES ('b', 'a')"
        )
        try phone.sync()
        try laptop.sync()
        try phone.run("INSERT INTO Book (_recordName, sequel, _sequel_action) VALUES ('c', 'b', 1)")
        try phone.run("DELETE FROM Book WHERE _recordName IN ('b', 'c')")
        try scenario.synchronise()
        try scenario.expect(["Book a"])
    }

    @Test("7, E3. A link changed on both sides: the later edit wins, in both orders", arguments: [true, false])
    func laterEditOfALinkWins(laterArrivesFirst: Bool) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName) VALUES ('a'), ('b'), ('c')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET sequel = 'a' WHERE _recordName = 'c'")
        try laptop.run("UPDATE Book SET sequel = 'b' WHERE _recordName = 'c'")
        try (laterArrivesFirst ? laptop : phone).sync()
        try scenario.synchronise()
        try scenario.expect(
            ["Book a", "Book b", "Book c sequel=→b"],
            recovery: laterArrivesFirst ? ["phone: Book c laterEdit sequel=→a"] : []
        )
    }

    @Test("15. A link into another zone is refused with an error that names both, and nothing changes")
    func linksAcrossZonesAreRefused() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self])
            let shelf = RecordReference<Shelf>(recordName: "home", zoneID: ZoneID(zoneName: "Elsewhere"))
            let error = await #expect(throws: StoreError.self) {
                try await store.privateDatabase.add(Book(shelf: shelf, title: "Emma"), named: "emma")
            }
            #expect(error?.code == .link)
            #expect(error?.description.contains("Elsewhere") == true)
            #expect(error?.description.contains("Records") == true)
            await #expect(throws: StoreError.self) { try await store.privateDatabase.fetch(Book.self, named: "emma") }
            try store.close()
        }
    }

    @Test("15. A reference is read with the zone of its record: a model equals itself after a round trip")
    func modelsEqualThemselvesAfterARoundTrip() async throws {
        try await inTemporaryFolder { folder in
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self])
            let shelf = try await store.privateDatabase.add(Shelf(name: "Home"), named: "home")
            let first = try await store.privateDatabase.add(Book(title: "Emma"), named: "emma")
            let book = Book(shelf: shelf.reference(), sequel: first.reference(.deleteSelf), title: "Emma II")
            let added = try await store.privateDatabase.add(book, named: "emma 2")
            #expect(added.model == book)
            #expect(try await store.privateDatabase.fetch(Book.self, named: "emma 2").model == book)
            let found = try await store.privateDatabase.find(Query<Book>())
            #expect(found.map(\.model) == [Book(title: "Emma"), book])
            try store.close()
        }
    }

    @Test("16. A fetch includes targets and children to a depth; siblings of a record reached as a target stay out")
    func fetchesIncludeRelatedRecords() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S'), ('other', 'O')",
            "INSERT INTO Book (_recordName, title, shelf, sequel) VALUES ('b1', 'B1', 's', 'b2'), ('b2', 'B2', 'other', 'b3')",
            "INSERT INTO Book (_recordName, title, shelf) VALUES ('b3', 'B3', NULL), ('sibling', 'X', 'other')",
            "INSERT INTO Book (_recordName, title, sequel, _sequel_action) VALUES ('bound', 'Y', 'b1', 1)",
            "INSERT INTO Book (_recordName, title, sequel) VALUES ('loose', 'Z', 'b1')"
        )
        func names(_ depth: RelationDepth) async throws -> [String] {
            let result = try await phone.local.fetch(Shelf.self, named: "s", including: depth)
            #expect(result.record.name == "S")
            let names =
                try result.records(of: Shelf.self).map(\.recordName) + result.records(of: Book.self).map(\.recordName)
            #expect(result.count == names.count)
            return names
        }
        #expect(try await names(.depth(0)) == [])
        #expect(try await names(.depth(1)) == ["b1"])
        #expect(try await names(.depth(2)) == ["b1", "b2", "bound"])
        #expect(try await names(.depth(3)) == ["other", "b1", "b2", "b3", "bound"])
        #expect(try await names(.all) == ["other", "b1", "b2", "b3", "bound"])
        // Beginning with a book: its targets, and the records that belong to the book, but not the other books of the
        // shelf.
        let book = try await phone.local.fetch(RecordReference<Book>(recordName: "b1"), including: .all)
        #expect(try book.records(of: Book.self).map(\.recordName) == ["b2", "b3", "bound"])
        let second = try book[book.record.sequel]
        #expect(second?.title == "B2")
        #expect(try book[second?.sequel]?.title == "B3")
        #expect(try book[second?.shelf]?.name == "O")
        #expect(try book[RecordReference<Book>(recordName: "sibling")] == nil)
        #expect(try book[book.record.sequel?.in(ZoneID(zoneName: "Elsewhere"))] == nil)
        #expect(try book.children(Book.self).map(\.recordName) == ["bound"])
        let other = try #require(try book[second?.shelf])
        #expect(try book.children(Book.self, of: other).isEmpty)
        await #expect(throws: StoreError.self) {
            try await phone.local.fetch(Book.self, named: "missing", including: .all)
        }
    }

    @Test(
        "16. Circles of references end, missing targets are left out, and a target that is also a child brings its children"
    )
    func circlesOfReferencesEnd() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run(
            "INSERT INTO Book (_recordName, sequel) VALUES ('a', 'b'), ('self', 'self'), ('alone', 'missing')",
            "INSERT INTO Book (_recordName, sequel, _sequel_action) VALUES ('b', 'a', 1), ('c', 'b', 1)"
        )
        let circle = try await phone.local.fetch(Book.self, named: "a", including: .all)
        #expect(try circle.records(of: Book.self).map(\.recordName) == ["b", "c"])
        // The references lead back to the record itself.
        #expect(try circle[circle[circle.record.sequel]?.sequel]?.recordName == "a")
        #expect(try circle.children(Book.self).map(\.recordName) == ["b"])
        #expect(try await phone.local.fetch(Book.self, named: "self", including: .all).count == 0)
        let alone = try await phone.local.fetch(Book.self, named: "alone", including: .all)
        #expect(alone.count == 0)
        #expect(try alone[alone.record.sequel] == nil)
    }

    @Test("16. The number of statements depends on the depth, not on the number of records")
    func relatedRecordsAreReadByLevels() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        func statements(of shelf: String) async throws -> Int {
            try await phone.local.read { reader in
                let counter = StatementCounter()
                reader.db.trace { _ in counter.count += 1 }
                defer { reader.db.trace() }
                let result = try reader.fetch(Shelf.self, named: shelf, including: .all)
                #expect(result.count == (shelf == "few" ? 2 : 400))
                return counter.count
            }
        }
        try phone.run("INSERT INTO Shelf (_recordName) VALUES ('few'), ('many')")
        for (shelf, count) in [("few", 2), ("many", 400)] {
            try phone.run(
                """
                WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
                INSERT INTO Book (_recordName, shelf) SELECT '\(shelf)' || n, '\(shelf)' FROM number
                """
            )
        }
        try scenario.synchronise()
        let (few, many) = (try await statements(of: "few"), try await statements(of: "many"))
        #expect(few == many)
        #expect(many < 30)
    }

    @Test("E7. Linked records of three levels are added in one transaction, or none of them")
    func linkedRecordsAreAddedTogether() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", zones: .perRoot)
        struct Stop: Error {}
        @Sendable func addLinked(_ records: StoreWriter) throws {
            let shelf = try records.add(Shelf(name: "S"), named: "s")
            let first = try records.add(Book(shelf: shelf.reference(), title: "1"), named: "b1")
            try records.add(Book(shelf: shelf.reference(), sequel: first.reference(.deleteSelf)), named: "b2")
        }
        await #expect(throws: Stop.self) {
            try await phone.local.write { records in
                try addLinked(records)
                throw Stop()
            }
        }
        #expect(try phone.records().isEmpty)
        #expect(try phone.value("SELECT count(*) FROM mist_zone WHERE name <> 'Records'") == 0)
        try await phone.local.write { try addLinked($0) }
        #expect(try phone.recordsByZone() == ["b1 b2 s"])
        #expect(try phone.sync().requests.last?.operations?.count == 3)
        try scenario.expect([
            "Book b1 loans=0 shelf=→s tags=[] title=1", "Book b2 loans=0 sequel=→b1 shelf=→s tags=[]", "Shelf s name=S",
        ])
    }

    @Test("A14. A record whose name is changed is deleted and created, and the links follow")
    func linksFollowANewName() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('old', 'S')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('b', 'old')"
        )
        try scenario.synchronise()
        try phone.run("UPDATE Shelf SET _recordName = 'new'")
        try scenario.synchronise()
        try scenario.expect(["Book b shelf=→new", "Shelf new name=S"])
    }
}

/// A counter of statements within one read.
private final class StatementCounter {
    var count = 0
}

extension RecordReference {
    fileprivate func `in`(_ zone: ZoneID) -> RecordReference {
        RecordReference(recordName: recordName, action: action, zoneID: zone)
    }
}
