import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import SQLiteTables
import Testing

@testable import MistStore

/// The service reports an error in place of a record, or of the changes of a zone.
struct UndeliveredPromiseTests {
    @Test("19. A record that the service could not deliver is looked up, and the pages behind it come meanwhile")
    func undeliveredRecordsAreLookedUp() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try phone.sync()
        try laptop.sync { try laptop.reply(to: $0, without: "b") }
        #expect(try laptop.records() == ["Book a title=A"])
        let status = try await laptop.local.status()
        #expect(status.conditions == [.undelivered] && !status.isSynchronised && !status.hasChangesToFetch)
        #expect(status.detail?.contains("INTERNAL_ERROR") == true)
        let trace = try laptop.sync()
        #expect(trace.lines == ["changes/database", "lookup b"])
        #expect(trace.summary.fetched == 1)
        #expect(try await laptop.local.status().isSynchronised)
        try scenario.expect(["Book a title=A", "Book b title=B"])
    }

    @Test("19. A record that the service never delivers holds nothing up, and is looked up less and less often")
    func undeliveredRecordsHoldNothingUp() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        for number in 1...8 {
            try phone.run("INSERT INTO Book (_recordName) VALUES ('p\(number)')")
            try phone.sync()
            try laptop.run("INSERT INTO Book (_recordName) VALUES ('n\(number)')")
            let trace = try laptop.sync { try laptop.reply(to: $0, without: "a") }
            #expect(trace.writes == ["modify create n\(number)"])
            #expect(try laptop.value("SELECT count(*) FROM Book WHERE _recordName = 'p\(number)'") == 1)
        }
        let until = MachineTime(try laptop.value("SELECT until FROM mist_undelivered"))
        #expect(until >= laptop.now + 100_000)
        #expect(try laptop.engine.next(at: laptop.now) == .wait(until: until))
        try scenario.synchronise()
        let names = (1...8).flatMap { ["Book n\($0)", "Book p\($0)"] }
        try scenario.expect(["Book a title=A"] + names.sorted())
    }

    @Test("21. A pull of everything keeps a record that the service could not deliver, with its edits")
    func undeliveredRecordsAreNotSwept() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try scenario.synchronise()
        try laptop.run("UPDATE Book SET title = 'edited' WHERE _recordName = 'b'")
        var isRefused = false
        try laptop.sync { request in
            guard case .zoneChanges(let cursors) = request, cursors[0].token != nil, !isRefused else {
                return try laptop.reply(to: request, without: "b")
            }
            isRefused = true
            return .reply(.success(.zoneChanges([.failure(.service(.badRequest))])))
        }
        // The zone was not stale before: it is read from its start now.
        try laptop.database.write { db in
            try db.execute(sql: "UPDATE mist_zone SET token = NULL, is_stale = 1")
        }
        let trace = try laptop.sync { try laptop.reply(to: $0, without: "b") }
        #expect(trace.summary.removed == 0)
        try scenario.synchronise()
        try scenario.expect(["Book a title=A", "Book b title=edited"])
    }

    @Test("19. A conflict whose record cannot be looked up holds up no other record")
    func undeliveredConflictsHoldNothingUp() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'AA'")
        try phone.sync()
        try laptop.run("UPDATE Book SET loans = 1", "INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        // The conflict shows when the change is sent, since the feed lacks the record.
        for _ in 1...2 { try laptop.sync { try laptop.reply(to: $0, without: "a") } }
        #expect(try scenario.serviceRecord("b") != nil)
        #expect(try laptop.pending().count == 1)
        try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('c', 'C')")
        #expect(try laptop.sync { try laptop.reply(to: $0, without: "a") }.writes == ["modify create c"])
        try scenario.synchronise()
        try scenario.expect(["Book a loans=1 title=AA", "Book b title=B", "Book c title=C"])
    }

    @Test("18. When the zone of a record that the service could not deliver is gone, nothing waits for the record")
    func undeliveredRecordsOfDeletedZonesAreForgotten() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        try laptop.sync { try laptop.reply(to: $0, without: "a") }
        try scenario.purge()
        #expect(try laptop.sync().lines == ["changes/database"])
        #expect(try await laptop.local.status().isSynchronised)
        try phone.sync()
        try scenario.expect([])
    }

    @Test("12. A record that was moved away and could not be delivered does not go with its former parent")
    func undeliveredChildrenAreNotDeletedWithTheirFormerParents() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S'), ('t', 'T')",
            "INSERT INTO Book (_recordName, title, shelf) VALUES ('a', 'A', 's'), ('b', 'B', 's')"
        )
        try scenario.synchronise()
        try phone.run(
            "UPDATE Book SET shelf = 't' WHERE _recordName = 'a'",
            "DELETE FROM Shelf WHERE _recordName = 's'"
        )
        try phone.sync()
        try laptop.sync { try laptop.reply(to: $0, without: "a") }
        #expect(try laptop.value("SELECT count(*) FROM Book WHERE _recordName = 'a'") == 1)
        try scenario.synchronise()
        try scenario.expect(["Book a shelf=→t title=A", "Shelf t name=T"])
        #expect(try laptop.value("SELECT count(*) FROM mist_deleted") == 0)
        #expect(try await laptop.local.status().isSynchronised)
    }

    @Test("3. A change whose reply was lost is not repeated before its record is delivered")
    func undeliveredOutcomesStayUnknown() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try laptop.run("UPDATE Book SET title = 'AA'")
        try laptop.sync { request in
            if case .modify = request { .lostReply } else { .answered }
        }
        for _ in 1...2 {
            #expect(try laptop.sync { try laptop.reply(to: $0, without: "a") }.writes == [])
            #expect(try laptop.value("SELECT count(*) FROM mist_sent") == 1)
        }
        try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        #expect(try laptop.sync().writes == ["modify create b"])
        try scenario.synchronise()
        try scenario.expect(["Book a title=AA", "Book b title=B"])
    }

    @Test(
        "3, P9. A create of unknown outcome, an error in place of the record, and a delete elsewhere: the record stays deleted",
        arguments: [true, false]
    )
    func undeliveredCreatesThatWereDeletedStayDeleted(isDeletedBeforeThePull: Bool) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync { $0.operations == nil ? .answered : .lostReply }
        func delete() throws {
            try laptop.sync()
            try laptop.run("DELETE FROM Book")
            try laptop.sync()
        }
        // The error is in place of the delete, or of the record.
        if isDeletedBeforeThePull { try delete() }
        try phone.sync { request in
            if case .lookup = request { return .reply(.failure(.service(.internalError))) }
            return try phone.reply(to: request, without: "a")
        }
        if !isDeletedBeforeThePull { try delete() }
        scenario.clock.advance(by: 600)
        let trace = try phone.go()
        #expect(trace.lines.first == "lookup a")
        #expect(trace.writes == [])
        try scenario.synchronise()
        try scenario.expect([], recovery: ["phone: Book a deleted title=A"])
        #expect(try phone.value("SELECT count(*) FROM mist_undelivered") == 0)
    }

    @Test("5, P9. An error in place of this device's own delete does not end the next life of the name")
    func undeliveredDeletesEndNoNextLife() throws {
        for wasDone in [true, false] {
            let scenario = try SyncScenario()
            let (phone, _) = try scenario.twoDevices()
            try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
            try scenario.synchronise()
            try phone.run("DELETE FROM Book", "INSERT INTO Book (_recordName, title) VALUES ('a', 'second')")
            for _ in 1...2 {
                try phone.sync { request in
                    if request.operations?.first?.operationType == .create {
                        return wasDone ? .lostReply : .lostRequest
                    }
                    return wasDone ? .answered : try phone.reply(to: request, without: "a")
                }
                scenario.clock.advance(by: 600)
            }
            try scenario.synchronise()
            try scenario.expect(["Book a title=second"])
        }
    }

    @Test("19. A lookup that fails as a whole delays no edit")
    func lookupsThatFailDelayNoEdit() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        try laptop.sync { try laptop.reply(to: $0, without: "a") }
        for number in 1...3 {
            try laptop.run("INSERT INTO Book (_recordName) VALUES ('n\(number)')")
            let trace = try laptop.sync { request in
                guard case .lookup = request else { return .answered }
                return .reply(.failure(.service(.badRequest)))
            }
            #expect(trace.writes == ["modify create n\(number)"])
            #expect(trace.lines.last == "lookup a")
        }
        #expect(try laptop.value("SELECT attempts FROM mist_undelivered") == 4)
        try scenario.synchronise()
        try scenario.expect(["Book a title=A", "Book n1", "Book n2", "Book n3"])
    }

    @Test("19. A reply that arrives after another process asked for changes is dropped")
    func repliesAfterAnotherProcessAskedAreDropped() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        try laptop.engine.requestPull(by: .program, at: laptop.now)
        guard case .send(let request, let number) = try laptop.engine.next(at: laptop.now) else {
            Issue.record("No request was sent.")
            return
        }
        try laptop.engine.requestPull(by: .program, at: laptop.now)
        _ = try laptop.engine.handle(laptop.answer(request), to: number, at: laptop.now)
        #expect(try laptop.value("SELECT count(*) FROM mist_zone WHERE is_stale = 1") == 0)
        try laptop.sync()
        try scenario.expect(["Book a title=A"])
    }

    @Test("19. A record that was deleted after the service could not deliver it is not looked up again")
    func undeliveredRecordsMayBeDeleted() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        try laptop.sync { try laptop.reply(to: $0, without: "a") }
        try phone.run("DELETE FROM Book")
        try phone.sync()
        #expect(try laptop.sync().lines.last == "lookup a")
        #expect(try await laptop.local.status().isSynchronised)
        try scenario.expect([])
    }

    @Test("19. Where the error names no record, the page is fetched again, and no token passes it")
    func pagesWithUnnamedErrorsAreFetchedAgain() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        try laptop.sync { try laptop.reply(to: $0, without: "a", isNamed: false) }
        #expect(try laptop.records() == [])
        #expect(try await laptop.local.status().conditions == [.undelivered])
        #expect(try laptop.value("SELECT count(*) FROM mist_zone WHERE token IS NOT NULL") == 0)
        #expect(try laptop.sync().lines == ["changes/database", "changes/zone"])
        #expect(try await laptop.local.status().isSynchronised)
        try scenario.expect(["Book a title=A"])
    }

    @Test(
        "C6. The changes of a zone whose state could not be listed are fetched",
        arguments: [ServerErrorCode.internalError, .accessDenied, .zoneNotFound]
    )
    func undeliveredZonesAreFetched(_ code: ServerErrorCode) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'AA'")
        try phone.sync()
        try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        let trace = try laptop.sync { request in
            guard case .databaseChanges = request,
                case .databaseChanges(var page) = try laptop.answer(request).get()
            else { return .answered }
            let zone = CloudKitError.Item.zone(name: SyncScenario.zone.zoneName)
            page.results = [.failure(CloudKitError(ErrorResponse(serverErrorCode: code), item: zone))]
            return .reply(.success(.databaseChanges(page)))
        }
        #expect(trace.summary.fetched == 1 && trace.summary.sent == 1)
        try scenario.synchronise()
        try scenario.expect(["Book a title=AA", "Book b title=B"])
    }

    @Test("18. A zone that the service does not find in its list is made where it is new here")
    func unknownZonesInTheListAreMade() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        let trace = try phone.sync { request in
            guard case .databaseChanges = request,
                case .databaseChanges(var page) = try phone.answer(request).get()
            else { return .answered }
            let zone = CloudKitError.Item.zone(name: SyncScenario.zone.zoneName)
            page.results.append(.failure(CloudKitError(ErrorResponse(serverErrorCode: .zoneNotFound), item: zone)))
            return .reply(.success(.databaseChanges(page)))
        }
        #expect(trace.writes == ["zones/modify Records", "modify create a"])
        try scenario.expect(["Book a title=A"])
    }

    @Test("23. A record of a followed query that the service could not deliver is looked up; the pass goes on")
    func undeliveredRecordsOfQueriesAreLookedUp() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public)
        let laptop = try scenario.device("laptop", scope: .public)
        for (name, title) in [("a", "A"), ("b", "B")] {
            try phone.run("INSERT INTO Book (_recordName, title) VALUES ('\(name)', '\(title)')")
            try phone.sync()
            scenario.clock.advance(by: 600)
        }
        #expect(try await laptop.local.status().isSynchronised)
        try await laptop.local.follow(Query<Book>())
        #expect(try await laptop.local.status().hasChangesToFetch)
        try laptop.sync { try laptop.reply(to: $0, without: "a") }
        #expect(try laptop.records() == ["Book b title=B"])
        #expect(try await laptop.local.status().conditions == [.undelivered])
        try laptop.sync()
        #expect(try laptop.records() == ["Book a title=A", "Book b title=B"])
        #expect(try await laptop.local.status().isSynchronised)
        // A sweep that meets the error does not take the record for deleted.
        scenario.clock.advance(by: 24 * 3600)
        try laptop.sync { try laptop.reply(to: $0, without: "a") }
        #expect(try laptop.records() == ["Book a title=A", "Book b title=B"])
    }

    @Test("A file of the first format is updated when it is opened")
    func filesOfTheFirstFormatAreUpdated() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        try laptop.takeAwayParts(sinceFormat: 1)
        try laptop.restart()
        try laptop.sync()
        try scenario.expect(["Book a title=A"])
    }
}
