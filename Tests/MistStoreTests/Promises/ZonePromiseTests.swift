import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Promises 17 and 18: zones.
struct ZonePromiseTests {
    @Test("18, F3. A zone that this device created, and that was deleted before the first list of zones, is gone")
    func zonesMayGoBeforeTheFirstList() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.go()
        try scenario.purge()
        try phone.run("UPDATE Book SET title = 'lost'")
        try scenario.synchronise()
        try scenario.expect([], recovery: ["phone: Book a zoneDeleted title=lost"])
    }

    @Test("17, F2. The zone is created once and before its first record, on whichever device")
    func zonesAreCreatedOnce() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        #expect(try phone.sync().writes == [])
        try phone.run("INSERT INTO Book (_recordName) VALUES ('p')")
        try laptop.run("INSERT INTO Book (_recordName) VALUES ('l')")
        // Both devices found no zone, and try to create it at the same time.
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
        // The next record creates a new zone.
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('d', 'D')")
        #expect(try phone.sync().writes == ["zones/modify Records", "modify create d"])
        try scenario.synchronise()
        try scenario.expect(["Book d title=D"], recovery: receipts)
    }

    @Test("18. A zone that was purged is gone, also where the database's token expired meanwhile")
    func purgesAreNoticedWithoutAToken() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try scenario.purge()
        var isRefused = false
        try laptop.sync { request in
            guard case .databaseChanges(let token) = request else { return .answered }
            if token != nil {
                isRefused = true
                return .reply(.failure(.service("CHANGE_TOKEN_EXPIRED")))
            }
            guard case .databaseChanges(var page) = try laptop.answer(request).get() else { return .answered }
            page.results.removeAll { (try? $0.get().isDeleted) == true }
            return .reply(.success(.databaseChanges(page)))
        }
        #expect(isRefused)
        #expect(try laptop.value("SELECT count(*) FROM Book") == 0)
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

    @Test(
        "18, F2. ZONE_NOT_FOUND to a lookup means the same, for the request or for its record",
        arguments: [true, false]
    )
    func lookupsNoticeThatTheZoneIsGone(isWholeRequest: Bool) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'pending'")
        try laptop.run("UPDATE Book SET title = 'faster'")
        var isEdited = false
        let trace = try phone.sync { request in
            if request.operations != nil {
                if !isEdited { try laptop.sync() }
                isEdited = true
            }
            guard case .lookup = request else { return .answered }
            try scenario.purge()
            let error = ErrorResponse(serverErrorCode: .zoneNotFound)
            guard !isWholeRequest else { return .reply(.failure(CloudKitError(error))) }
            return .reply(.success(.records([.failure(CloudKitError(error, item: .record(name: "a")))])))
        }
        #expect(trace.lines.last == "lookup a")
        // This needs no further request.
        #expect(trace.summary.removed == 1)
        try scenario.synchronise()
        try scenario.expect([], recovery: ["phone: Book a zoneDeleted title=pending"])
    }
}

/// Promises 15, 17 and 18 with a zone for each record without a parent. A book's shelf is its parent.
struct RootZonePromiseTests {
    private func twoDevices() throws -> (SyncScenario, ScenarioDevice, ScenarioDevice) {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", zones: .perRoot)
        let laptop = try scenario.device("laptop", zones: .perRoot)
        return (scenario, phone, laptop)
    }

    @Test("17, F1. A root has its own zone, and the records below it are in the same, whichever is inserted first")
    func rootsHaveZones() throws {
        let (scenario, phone, laptop) = try twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S'), ('t', 'T')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('s1', 's'), ('s2', 's'), ('t1', 't')",
            "INSERT INTO Book (_recordName) VALUES ('root')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('u1', 'u'), ('u2', 'u')",
            "INSERT INTO Shelf (_recordName) VALUES ('u')"
        )
        let zones = ["root", "s s1 s2", "t t1", "u u1 u2"]
        #expect(try phone.recordsByZone() == zones)
        let name = try #require(try phone.zone(of: "s")?.zoneName)
        #expect(UUID(uuidString: name) != nil)
        let trace = try phone.sync()
        // One request creates all zones, before the first of their records.
        #expect(trace.lines.filter { $0.hasPrefix("zones/modify") }.count == 1)
        #expect(trace.writes.first?.hasPrefix("zones/modify") == true)
        #expect(trace.requests.compactMap(\.operations).map(\.count) == [3, 2, 1, 3])
        try scenario.synchronise()
        #expect(try laptop.recordsByZone() == zones)
        #expect(try laptop.zone(of: "s1") == phone.zone(of: "s"))
        #expect(try scenario.serviceZones().count == 4)
        // A child that the other device adds follows its parent.
        try laptop.run("INSERT INTO Book (_recordName, shelf) VALUES ('s3', 's')")
        try scenario.synchronise()
        #expect(try phone.recordsByZone() == ["root", "s s1 s2 s3", "t t1", "u u1 u2"])
        try scenario.expect([
            "Book root", "Book s1 shelf=→s", "Book s2 shelf=→s", "Book s3 shelf=→s", "Book t1 shelf=→t",
            "Book u1 shelf=→u",
            "Book u2 shelf=→u", "Shelf s name=S", "Shelf t name=T", "Shelf u",
        ])
    }

    @Test("17, F1. What the program adds goes to the same zones; a record keeps its zone when its parent is cleared")
    func addedRecordsHaveZones() async throws {
        try await inTemporaryFolder { folder in
            var configuration = StoreConfiguration()
            configuration.zones = .perRoot
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self], configuration: configuration)
            let books = store.privateDatabase
            let shelf = try await books.add(Shelf(name: "S"), named: "s")
            var book = try await books.add(Book(shelf: shelf.reference(), title: "B"), named: "b")
            let other = try await books.add(Shelf(name: "T"), named: "t")
            let early = try await books.add(Book(shelf: RecordReference(recordName: "u")), named: "early")
            let late = try await books.add(Shelf(name: "U"), named: "u")
            #expect(book.zoneID == shelf.zoneID)
            #expect(other.zoneID != shelf.zoneID)
            #expect(early.zoneID == late.zoneID)
            book.shelf = nil
            book = try await books.add(book)
            #expect(book.zoneID == shelf.zoneID)
            #expect(try await books.find(Query<Shelf>()).map(\.zoneID) == [shelf.zoneID, other.zoneID, late.zoneID])
            #expect(try await books.find(Query<Book>()).map(\.recordName) == ["b", "early"])
            // Public records are in the default zone.
            #expect(try await store.publicDatabase.add(Shelf(name: "P")).zoneID == .default)
            try await books.remove(other)
            #expect(try await books.find(Query<Shelf>()).map(\.recordName) == ["s", "u"])
            try store.close()
        }
    }

    @Test("15, F1. A link into the zone of another root is refused, and nothing changes, in SQL too")
    func linksBetweenRootsAreRefused() async throws {
        let (_, phone, _) = try twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName) VALUES ('s'), ('t')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('a', 's'), ('b', 't')"
        )
        for statement in [
            "UPDATE Book SET sequel = 'b' WHERE _recordName = 'a'",
            "UPDATE Book SET shelf = 't' WHERE _recordName = 'a'",
            "INSERT INTO Book (shelf, sequel) VALUES ('s', 'b')", "INSERT INTO Book (sequel) VALUES ('b')",
            "INSERT OR REPLACE INTO Book (shelf, sequel) VALUES ('s', 'b')",
            "INSERT INTO Book (_zone, _recordName, shelf) SELECT _zone, 'c', 't' FROM Shelf WHERE _recordName = 's'",
        ] {
            let error = #expect(throws: DatabaseError.self) { try phone.run(statement) }
            #expect(error.map { StoreError($0).code } == .link)
        }
        let shelves = [try phone.zone(of: "s")?.zoneName ?? "", try phone.zone(of: "t")?.zoneName ?? ""]
        for book in [
            Book(shelf: RecordReference(recordName: "s"), sequel: RecordReference(recordName: "b")),
            Book(sequel: RecordReference(recordName: "b")),
        ] {
            let error = await #expect(throws: StoreError.self) { try await phone.local.add(book, named: "new") }
            #expect(error?.code == .link)
            #expect(error?.fieldName == "sequel")
            #expect(error?.message.contains(shelves[1]) == true)
        }
        let error = await #expect(throws: StoreError.self) {
            try await phone.local.add(Book(shelf: RecordReference(recordName: "t")), named: "a")
        }
        #expect(error?.code == .link)
        #expect(error?.message.contains(shelves[0]) == true && error?.message.contains(shelves[1]) == true)
        // A target that does not exist anywhere yet is not an error.
        try phone.run("UPDATE Book SET sequel = 'later' WHERE _recordName = 'a'")
        #expect(try phone.records() == ["Book a sequel=→later shelf=→s", "Book b shelf=→t", "Shelf s", "Shelf t"])
        #expect(try phone.value("SELECT count(*) FROM mist_zone WHERE name <> 'Records'") == 2)
    }

    @Test("12. A page of changes is applied to the zone that was asked for, whatever has changed meanwhile")
    func pagesBelongToTheirRequest() throws {
        let (scenario, phone, laptop) = try twoDevices()
        try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')")
        try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('t', 'T')")
        try scenario.synchronise()
        try laptop.run("INSERT INTO Book (_recordName, title, shelf) VALUES ('b', 'B', 't')")
        try laptop.sync()
        let first = try phone.value("SELECT min(_zone) FROM Shelf")
        try phone.sync { request in
            // Another program lets a zone be fetched that is not part of the request, and comes before it.
            if case .zoneChanges = request { try phone.run("UPDATE mist_zone SET is_stale = 1 WHERE id = \(first)") }
            return .answered
        }
        try scenario.expect(["Book b shelf=→t title=B", "Shelf s name=S", "Shelf t name=T"])
        #expect(try phone.zone(of: "b") == phone.zone(of: "t"))
    }

    @Test("17. A name that is taken in another zone is refused, and a parent that is in two zones too")
    func namesAreUnique() async throws {
        let (scenario, phone, laptop) = try twoDevices()
        try phone.run("INSERT INTO Shelf (_recordName) VALUES ('s')")
        let taken = #expect(throws: DatabaseError.self) {
            try phone.run("INSERT INTO Shelf (_recordName) VALUES ('s')")
        }
        #expect(taken.map { StoreError($0).code } == .nameTaken)
        #expect(throws: DatabaseError.self) { try phone.run("INSERT OR REPLACE INTO Shelf (_recordName) VALUES ('s')") }
        // A row that is given with its zone replaces the old row; the record stays the same.
        try phone.run("INSERT OR REPLACE INTO Shelf (_zone, _recordName, name) SELECT _zone, 's', 'N' FROM Shelf")
        #expect(try phone.records() == ["Shelf s name=N"])
        // If two devices choose the same name at the same time, there are two records.
        try laptop.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', 'L')")
        try scenario.synchronise()
        #expect(try phone.records() == ["Shelf s name=L", "Shelf s name=N"])
        try scenario.expect(["Shelf s name=L", "Shelf s name=N"])
        let parent = #expect(throws: DatabaseError.self) { try phone.run("INSERT INTO Book (shelf) VALUES ('s')") }
        #expect(parent.map { StoreError($0).code } == .link)
        let error = await #expect(throws: StoreError.self) {
            try await phone.local.add(Book(shelf: RecordReference(recordName: "s")))
        }
        #expect(error?.code == .link)
        // A reference that names the zone is unambiguous.
        for shelf in try await phone.local.find(Query<Shelf>()) {
            let book = try await phone.local.add(Book(shelf: shelf.reference()))
            #expect(book.zoneID == shelf.zoneID)
        }
    }

    @Test("17. From 900 zones on a new root is refused with an error; below a parent records are still added")
    func tooManyZonesAreRefused() async throws {
        let (_, phone, _) = try twoDevices()
        func insert(_ count: Int) throws {
            try phone.run(
                """
                WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
                INSERT INTO Shelf (name) SELECT n FROM number
                """
            )
        }
        // Roots that were deleted before they were sent do not count.
        try insert(10)
        try phone.run("DELETE FROM Shelf")
        try insert(898)
        let last = try await phone.local.add(Shelf(name: "last but one"))
        let refused = #expect(throws: DatabaseError.self) { try insert(2) }
        #expect(refused.map { StoreError($0).code } == .tooManyZones)
        try insert(1)
        let error = await #expect(throws: StoreError.self) { try await phone.local.add(Shelf(name: "too many")) }
        #expect(error?.code == .tooManyZones)
        #expect(error?.message.contains("900") == true)
        try await phone.local.add(Book(shelf: last.reference()))
        #expect(try phone.value("SELECT count(*) FROM Shelf") == 900)
        // A request creates at most 200 zones.
        let trace = try phone.sync { request in
            if request.operations != nil { return .reply(.failure(.service(.throttled, retryAfter: 60))) }
            return .answered
        }
        let created = trace.requests.compactMap { request -> Int? in
            if case .createZones(let zones) = request { zones.count } else { nil }
        }
        #expect(created == [200, 200, 200, 200, 100])
        #expect(try phone.value("SELECT count(*) FROM mist_zone WHERE state = 0 AND name <> 'Records'") == 0)
    }

    @Test("17, C6. The changes of 300 zones come in grouped requests; one zone that fails blocks no other")
    func manyZonesAreFetchedInGroups() throws {
        let (_, phone, laptop) = try twoDevices()
        try phone.run(
            """
            WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 300)
            INSERT INTO Shelf (_recordName, name) SELECT 's' || n, n FROM number
            """
        )
        try phone.sync()
        var failed: ZoneID?
        let trace = try laptop.sync { request in
            guard case .zoneChanges(let cursors) = request, failed == nil else { return .answered }
            failed = cursors[3].zoneID
            guard case .success(.zoneChanges(var pages)) = laptop.answer(request) else { return .answered }
            pages[3] = .failure(.service(.internalError))
            return .reply(.success(.zoneChanges(pages)))
        }
        // The zone that failed rests for a second, in which the others are fetched.
        #expect(trace.summary.fetched == 300)
        #expect(trace.lines.count { $0 == "changes/zone" } == 16)
        #expect(try laptop.value("SELECT count(*) FROM mist_zone WHERE token IS NOT NULL AND failures = 0") == 300)
        #expect(try laptop.recordsByZone() == phone.recordsByZone())
        #expect(try laptop.sync().lines == ["changes/database"])
        #expect(try laptop.pending() == [])
    }

    @Test(
        "18, F3. A root's zone that is purged takes its records; the other zones stay, and the next root has a new one"
    )
    func purgedRootZonesStayEmpty() throws {
        let (scenario, phone, laptop) = try twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName) VALUES ('s'), ('t')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('a', 's'), ('b', 't')"
        )
        try scenario.synchronise()
        let purged = try #require(try phone.zone(of: "s"))
        try phone.run("UPDATE Book SET title = 'pending'")
        try scenario.purge(purged)
        try scenario.synchronise()
        let receipts = ["phone: Book a zoneDeleted shelf=→s title=pending"]
        try scenario.expect(["Book b shelf=→t title=pending", "Shelf t"], recovery: receipts)
        try phone.run("INSERT INTO Shelf (_recordName) VALUES ('s')")
        try scenario.synchronise()
        try scenario.expect(["Book b shelf=→t title=pending", "Shelf s", "Shelf t"], recovery: receipts)
        #expect(try phone.zone(of: "s") != purged)
        #expect(try laptop.recordsByZone() == ["b t", "s"])
        #expect(try scenario.serviceZones().contains(purged) == false)
    }

    @Test("18. What a purged zone left in the recovery log is restored into a new zone")
    func purgedRecordsAreRestored() async throws {
        let (scenario, phone, _) = try twoDevices()
        try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')")
        try scenario.synchronise()
        let purged = try #require(try phone.zone(of: "s"))
        try phone.run("UPDATE Shelf SET name = 'pending'")
        try scenario.purge(purged)
        try scenario.synchronise()
        try phone.run()
        for entry in try await phone.local.recoveryLog() { try await phone.local.restore(entry) }
        #expect(try phone.zone(of: "s") != purged)
        try scenario.synchronise()
        try scenario.expect(["Shelf s name=pending"], recovery: ["phone: Shelf s zoneDeleted name=pending"])
    }

    @Test("18. What is restored into a new zone does not overwrite a record of the same name below another root")
    func restoredRecordsKeepToTheirZone() async throws {
        let (scenario, phone, laptop) = try twoDevices()
        try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', 'of the phone')")
        try phone.sync()
        let purged = try #require(try phone.zone(of: "s"))
        try laptop.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', 'of the laptop')")
        try scenario.synchronise()
        try phone.run("UPDATE Shelf SET name = 'pending' WHERE name = 'of the phone'")
        try scenario.purge(purged)
        try scenario.synchronise()
        for entry in try await phone.local.recoveryLog() { try await phone.local.restore(entry) }
        let shelves = try await phone.local.find(Query<Shelf>()).map(\.name)
        #expect(Set(shelves) == ["of the laptop", "pending"])
    }

    @Test("17, F2. A zone whose creation has an unknown outcome is created once")
    func lostRepliesCreateOneZone() throws {
        let (scenario, phone, _) = try twoDevices()
        try phone.run("INSERT INTO Shelf (_recordName) VALUES ('s')")
        try phone.sync { request in
            if case .createZones = request { .lostReply } else { .answered }
        }
        try phone.restart()
        scenario.clock.advance(by: 5)
        try scenario.synchronise()
        try scenario.expect(["Shelf s"])
        #expect(try scenario.serviceZones().count == 1)
    }

    @Test("17. The layout of a folder can be changed: records stay where they are, and children follow their parents")
    func layoutsCanBeChanged() async throws {
        try await inTemporaryFolder { folder in
            func open(_ zones: ZoneLayout) throws -> MistStore {
                var configuration = StoreConfiguration()
                configuration.zones = zones
                return try MistStore(at: folder, records: [Shelf.self, Book.self], configuration: configuration)
            }
            let single = try open(.single("Home"))
            let old = try await single.privateDatabase.add(Shelf(name: "old"), named: "old")
            #expect(old.zoneID?.zoneName == "Home")
            try single.close()
            let perRoot = try open(.perRoot)
            let child = try await perRoot.privateDatabase.add(Book(shelf: old.reference()), named: "child")
            let root = try await perRoot.privateDatabase.add(Shelf(name: "new"), named: "new")
            #expect(child.zoneID?.zoneName == "Home")
            #expect(root.zoneID?.zoneName != "Home")
            #expect(try await perRoot.privateDatabase.find(Query<Shelf>()).map(\.recordName) == ["new", "old"])
            try perRoot.close()
            let again = try open(.single("Home"))
            #expect(try await again.privateDatabase.add(Shelf(name: "last")).zoneID?.zoneName == "Home")
            #expect(try await again.privateDatabase.fetch(Shelf.self, named: "new").zoneID == root.zoneID)
            try again.close()
        }
    }

    @Test("17. A zone name that the service does not accept is an error", arguments: ["", "_defaultZone", "Zürich"])
    func wrongZoneNamesAreRefused(name: String) async throws {
        try await inTemporaryFolder { folder in
            var configuration = StoreConfiguration()
            configuration.zones = .single(name)
            let error = #expect(throws: StoreError.self) {
                try MistStore(at: folder, records: [Shelf.self], configuration: configuration)
            }
            #expect(error?.code == .value)
        }
    }
}
