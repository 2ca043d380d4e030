import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import SQLiteTables
import TestSupport
import Testing

@testable import MistStore

/// Promises 10, 23, 30 and 32 for a program: the recovery log, followed queries, status and observation.
struct StatusPromiseTests {
    @Test("10. What is restored from the recovery log is a new edit; a deleted record is created again")
    func lostValuesAreRestored() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('a', 'A', 'N'), ('b', 'B', 'N')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'lost'")
        try laptop.run(
            "UPDATE Book SET title = 'won' WHERE _recordName = 'a'",
            "DELETE FROM Book WHERE _recordName = 'b'"
        )
        try laptop.sync()
        try phone.sync()
        let log = try await phone.local.recoveryLog()
        #expect(Set(log.map { "\($0.recordName) \($0.reason)" }) == ["a laterEdit", "b deleted"])
        try phone.run()
        for entry in log { try await phone.local.restore(entry) }
        try scenario.synchronise()
        try scenario.expect(
            ["Book a note=N title=lost", "Book b note=N title=lost"],
            recovery: try phone.recovery()
        )
    }

    @Test("10. A field that was cleared here and lost is in the log as cleared, and restoring clears it again")
    func lostClearingsAreRestored() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('a', 'A', 'N'), ('b', 'B', 'N')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = NULL")
        try laptop.run(
            "UPDATE Book SET title = 'won' WHERE _recordName = 'a'",
            "DELETE FROM Book WHERE _recordName = 'b'"
        )
        try laptop.sync()
        try phone.sync()
        #expect(
            Set(try phone.recovery()) == [
                "phone: Book a laterEdit title=null", "phone: Book b deleted note=N title=null",
            ]
        )
        let log = try await phone.local.recoveryLog()
        #expect(
            Set(log.map { $0.fields.map { "\($0.name) \($0.value.isNull)" } }) == [
                ["title true"], ["note false", "title true"],
            ]
        )
        try phone.run()
        for entry in log { try await phone.local.restore(entry) }
        try scenario.synchronise()
        try scenario.expect(["Book a note=N", "Book b note=N"], recovery: try phone.recovery())
    }

    @Test("10. The recovery log keeps entries for days and up to a size; the oldest go first")
    func oldEntriesGoFirst() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone") { $0.recoveryBytes = 200 }
        func lose(_ name: String) throws {
            try phone.run("INSERT INTO Book (_recordName, title) VALUES ('\(name)', '\(name)')")
            try phone.sync()
            try phone.run("UPDATE Book SET title = 'lost'")
            let tag = try scenario.serviceRecord(name)?.recordChangeTag
            try scenario.change(.delete, ServiceRecord(recordName: name, recordChangeTag: tag))
            try phone.sync()
        }
        for name in ["a", "b", "c", "d", "e", "f"] { try lose(name) }
        try phone.sync()
        let receipts = try phone.recovery()
        #expect(receipts.last == "phone: Book f deleted title=lost")
        #expect(receipts.count < 6)
        #expect(try phone.value("SELECT sum(size) FROM mist_recovery") <= 200)
        scenario.clock.advance(by: 31 * 24 * 60 * 60)
        try phone.sync()
        #expect(try phone.recovery() == [])
    }

    @Test("30, K4, M2. The status says what is pending, what is parked and why, and what a scope waits for")
    func statusSaysWhatWaits() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        // The store has not sent any request yet.
        #expect(try await !phone.local.status().isSynchronised)
        try phone.sync()
        #expect(try await phone.local.status().isSynchronised)
        try phone.run("INSERT INTO Book (_recordName) VALUES ('a'), ('refused')")
        #expect(try await phone.local.status().pending == 2)
        try phone.sync { _ in .reply(.failure(.broken(mayHaveBeenDone: false))) }
        #expect(try await phone.local.status().conditions == [.offline])
        try phone.sync { request in
            guard case .modify(let operations, let zone, let isAtomic) = request else { return .answered }
            let passed = operations.filter { $0.record.recordName != "refused" }
            var results: [Result<ServiceRecord, CloudKitError>] = []
            if !passed.isEmpty,
                case .records(let stored) = try phone.answer(.modify(passed, zone: zone, isAtomic: isAtomic)).get()
            {
                results = stored
            }
            return .reply(
                .success(.records(results + [.failure(.service(.badRequest, reason: "no", record: "refused"))]))
            )
        }
        let status = try await phone.local.status()
        #expect(status.parked.map { "\($0.recordName) \($0.reason)" } == ["refused BAD_REQUEST"])
        #expect(status.pending == 1)
        #expect(status.conditions == [])
        #expect(!status.isSynchronised)
        // The program can retry it.
        try await phone.local.retryParked()
        try scenario.synchronise()
        #expect(try await phone.local.status().isSynchronised)
        try scenario.expect(["Book a", "Book refused"])
    }

    @Test("30, M2. Pushes have totals, pulls count up; nothing is synchronised before all is fetched and acknowledged")
    func progressIsCounted() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = (try scenario.device("phone") { $0.batchSize = 2 }, try scenario.device("laptop"))
        try laptop.run("INSERT INTO Book (_recordName) VALUES ('x'), ('y')")
        try laptop.sync()
        try phone.run("INSERT INTO Book (_recordName) VALUES ('a'), ('b'), ('c')")
        var states: [ScopeStatus] = []
        func status() throws -> ScopeStatus { try phone.database.read { try phone.local.status($0) } }
        try phone.engine.requestPull(by: .program, at: phone.now)
        states.append(try status())
        try phone.go { _ in
            states.append(try status())
            return .answered
        }
        states.append(try status())
        #expect(
            states.map { "\($0.activity) \($0.progress.sent)/\($0.progress.total) \($0.progress.fetched)" } == [
                "idle 0/3 0", "fetching 0/3 0", "fetching 0/3 0", "sending 0/3 2", "sending 2/3 2", "idle 3/3 2",
            ]
        )
        #expect(states.map(\.isSynchronised) == [false, false, false, false, false, true])
        #expect(states.map(\.hasChangesToFetch) == [true, true, true, false, false, false])
        // The next synchronisation starts counting from zero.
        try phone.run("DELETE FROM Book WHERE _recordName IN ('a', 'b', 'c')")
        try phone.sync()
        let end = try status()
        #expect(end.progress == SyncProgress(sent: 3, remaining: 0, fetched: 0))
        #expect(end.isSynchronised)
    }

    @Test("30, M2. The status has every reason why a scope waits")
    func allReasonsAreTold() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run(
            "INSERT INTO Book (_recordName, title) VALUES ('a', 'A')",
            "INSERT INTO Shelf (_recordName) VALUES ('s')"
        )
        // First, the schema lacks a field of books; then the storage is full.
        try phone.sync { request in
            guard let operations = request.operations else { return .answered }
            guard operations.count == 2 else { return .reply(.failure(.service(.quotaExceeded))) }
            return .reply(
                .success(
                    .records(
                        operations.map { operation in
                            .failure(
                                operation.record.recordType == "Book"
                                    ? .service(
                                        .badRequest,
                                        reason: "Cannot create or modify field 'title' in record 'Book'",
                                        record: "a"
                                    )
                                    : .service(.tryAgainLater, record: "s")
                            )
                        }
                    )
                )
            )
        }
        scenario.clock.advance(by: 5)
        try phone.sync { $0.operations == nil ? .answered : .reply(.failure(.service(.quotaExceeded))) }
        let status = try await phone.local.status()
        #expect(status.conditions == [.quotaExceeded, .schema])
        #expect(status.parkedTypes == [ParkedRecordType(recordType: "Book", fieldName: "title")])
        #expect(status.parkedTypes.first?.message.contains("title") == true)
        #expect(!status.isSynchronised)
        let book = try await phone.local.status(of: Book.self, named: "a")
        #expect(book?.state == .parked)
        #expect(book?.parked?.reason == .schema)
        #expect(try await phone.local.status(of: Shelf.self, named: "s")?.state == .edited)
        for (error, condition) in [
            (CloudKitError.service(.throttled, retryAfter: 30), SyncCondition.throttled),
            (.broken(mayHaveBeenDone: false), .offline), (.service(.authenticationRequired), .signedOut),
        ] {
            let waiting = try scenario.device("\(condition)")
            try waiting.sync { _ in .reply(.failure(error)) }
            var configuration = StoreConfiguration()
            configuration.clock = { [clock = scenario.clock] in clock.now }
            let database = LocalDatabase(file: waiting.file, scope: .private, configuration: configuration)
            let status = try await database.status()
            #expect(status.conditions == [condition])
            #expect(status.restsUntil != nil || condition == .signedOut)
        }
    }

    @Test("30. Codes that a later version of the store wrote into the file are kept as they are")
    func codesOfLaterVersionsAreKept() async throws {
        let phone = try SyncScenario().device("phone")
        try phone.run(
            "INSERT INTO Book (_recordName, title) VALUES ('a', 'A')",
            """
            INSERT INTO mist_parked (zone, name, reason, message, since)
                SELECT _zone, 'a', 'later reason', 'No.', 4102444800000 FROM Book
            """,
            """
            INSERT INTO mist_recovery (time, scope, zone, owner, type, name, reason, fields, size)
                VALUES (0, 1, 'Records', '', 'Book', 'a', 'later loss', '{}', 2)
            """,
            "UPDATE mist_scope SET condition = 'later condition'"
        )
        let status = try await phone.local.status()
        #expect(status.conditions == [SyncCondition(rawValue: "later condition")])
        #expect(status.parked.map(\.reason) == [ParkingReason(rawValue: "later reason")])
        let book = try await phone.local.status(of: Book.self, named: "a")
        #expect(book?.parked == status.parked.first)
        #expect(try await phone.local.recoveryLog().map(\.reason) == [LossReason(rawValue: "later loss")])
    }

    /// Waits for a state of a record. States before it may be skipped.
    private func next(
        _ updates: inout StoreUpdates<RecordStatus?>.Iterator,
        _ isExpected: (RecordStatus?) -> Bool
    ) async throws -> RecordStatus? {
        while let status = try await updates.next(isolation: #isolation) { if isExpected(status) { return status } }
        return nil
    }

    @Test("30, M1. A record has a stream of its states: edited, sending, synchronised, merged, parked, removed")
    func recordsHaveStates() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        var updates = phone.local.statusUpdates(of: Book.self, named: "a").makeAsyncIterator()
        #expect(try await updates.next() == .some(nil))
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        #expect(
            try await next(&updates) { $0 != nil } == RecordStatus(state: .edited, exists: true, recordChangeTag: nil)
        )
        var sending: RecordStatus?
        try phone.sync { request in
            if request.operations != nil {
                sending = try phone.database.read {
                    try StoreReader(database: phone.local, db: $0).status(of: Book.self, named: "a")
                }
            }
            return .answered
        }
        #expect(sending?.state == .sending)
        let first = try await next(&updates) { $0?.state == .synchronised }
        let tag = try scenario.serviceRecord("a")?.recordChangeTag
        #expect(first == RecordStatus(state: .synchronised, exists: true, recordChangeTag: tag))
        // A remote edit makes another version.
        try laptop.sync()
        try laptop.run("UPDATE Book SET note = 'remote'")
        try laptop.sync()
        try phone.sync()
        let second = try await next(&updates) { $0?.recordChangeTag != tag }
        #expect(second?.state == .synchronised)
        // A merge after a conflict keeps the edits that are not sent yet.
        try laptop.run("UPDATE Book SET note = 'again'")
        try laptop.sync()
        try phone.run("UPDATE Book SET title = 'AA'")
        #expect(try await next(&updates) { $0?.state == .edited } != nil)
        try phone.sync { request in
            request.operations == nil
                ? .answered : .reply(.success(.records([.failure(.service(.badRequest, reason: "no", record: "a"))])))
        }
        let parked = try await next(&updates) { $0?.state == .parked }
        #expect(parked?.parked?.reason == .refused(.badRequest))
        #expect(parked?.parked?.message.contains("no") == true)
        // Another edit starts a new attempt.
        try phone.run("UPDATE Book SET title = 'AAA'")
        #expect(try await next(&updates) { $0?.state == .edited } != nil)
        try phone.run("DELETE FROM Book")
        #expect(try await next(&updates) { $0?.exists == false }?.state == .edited)
        try phone.sync()
        while let status = try await updates.next(), status != nil {}
        try scenario.synchronise()
        try scenario.expect([])
    }

    @Test("30. The status is a stream: the present one at once, then one after each commit that changes it")
    func statusIsAStream() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        var updates = phone.local.statusUpdates().makeAsyncIterator()
        #expect(try await updates.next()?.pending == 0)
        try phone.run("INSERT INTO Book (_recordName) VALUES ('a')")
        #expect(try await updates.next()?.pending == 1)
    }

    @Test("32. A query is a sequence of results: the present one at once, then one after each commit that changes it")
    func queriesAreObserved() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        var results = phone.local.recordUpdates(of: Query<Book>()).makeAsyncIterator()
        #expect(try await results.next()?.map(\.title) == ["A"])
        try phone.run("UPDATE Book SET title = 'AA'")
        #expect(try await results.next()?.map(\.title) == ["AA"])
        // Changes of other devices arrive in the same way. Intermediate results may be skipped, but never the last one.
        try phone.sync()
        try laptop.sync()
        try laptop.run("UPDATE Book SET title = 'remote'")
        try laptop.sync()
        try phone.sync()
        while let titles = try await results.next()?.map(\.title), titles != ["remote"] {}
        try laptop.sync()
        try scenario.expect(["Book a title=remote"])
    }

    @Test(
        "32. Commits of another process come too; one task asks the file, however many observe, and none when they have ended"
    )
    func otherProcessesAreObserved() async throws {
        try await inTemporaryFolder { folder in
            // Two stores in one folder have separate connections, like two processes.
            let (store, other) = try (
                MistStore(at: folder, records: [Shelf.self, Book.self]),
                MistStore(at: folder, records: [Shelf.self, Book.self])
            )
            let books = store.privateDatabase
            let watcher = books.file.commitWatcher
            #expect(watcher.counts == (observers: 0, isRunning: false, starts: 0))
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (seen, continuation) = AsyncStream<String>.makeStream()
                for _ in 0..<3 {
                    group.addTask {
                        for try await values in books.recordUpdates(of: Query<Book>()) {
                            for title in values.compactMap(\.title) { continuation.yield(title) }
                            if values.isEmpty { continuation.yield("empty") }
                        }
                    }
                }
                var signals = seen.makeAsyncIterator()
                for _ in 0..<3 { #expect(await signals.next() == "empty") }
                #expect(watcher.counts == (observers: 3, isRunning: true, starts: 1))
                try await other.privateDatabase.add(Book(title: "elsewhere"))
                for _ in 0..<3 { #expect(await signals.next() == "elsewhere") }
                group.cancelAll()
                while let result = await group.nextResult() { _ = result }
            }
            #expect(watcher.counts == (observers: 0, isRunning: false, starts: 1))
            // The next observation watches the file again.
            var again = books.recordUpdates(of: Query<Book>()).makeAsyncIterator()
            #expect(try await again.next()?.map(\.title) == ["elsewhere"])
            #expect(watcher.counts == (observers: 1, isRunning: true, starts: 2))
            try store.close()
            try other.close()
        }
    }

    @Test("23, L1. A followed query of the public scope is pulled by pages; a sweep finds the deletes")
    func publicQueriesAreFollowed() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public)
        let laptop = try scenario.device("laptop", scope: .public)
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try phone.sync()
        try await laptop.local.follow(Query<Book>())
        #expect(try laptop.sync().summary.fetched == 2)
        try phone.run(
            "UPDATE Book SET title = 'AA' WHERE _recordName = 'a'",
            "DELETE FROM Book WHERE _recordName = 'b'"
        )
        try phone.sync()
        #expect(try laptop.sync().summary.fetched == 1)
        scenario.clock.advance(by: 3600)
        #expect(try laptop.sync().summary.removed == 1)
        #expect(try laptop.records() == ["Book a title=AA"])
        #expect(try laptop.pending() == [])
    }

    @Test("23. A query that the service refuses is named by the status, and holds nothing else up")
    func refusedQueriesHoldNothingUp() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public)
        // The service does not know the record type before its first record.
        try await phone.local.follow(Query<Book>())
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        #expect(try await phone.local.status().conditions == [.schema])
        #expect(try await phone.local.status().detail?.contains("Did not find record type: Book") == true)
        #expect(try phone.pending() == [])
        try phone.sync()
        #expect(try await phone.local.status().conditions == [])
        #expect(try phone.records() == ["Book a title=A"])
    }

    @Test("23, L2. An unchanged poll of a followed query costs one request, and backs off while nothing changes")
    func unchangedPollsBackOff() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public)
        let laptop = try scenario.device("laptop", scope: .public)
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try phone.sync()
        try await laptop.local.follow(Query<Book>())
        // The first pass includes a sweep.
        #expect(try laptop.sync().lines == ["query", "query"])
        #expect(try laptop.sync().lines == ["query"])
        // By itself, the engine polls less and less often.
        func waits(_ count: Int) throws -> [Int64] {
            var waits: [Int64] = []
            var last = laptop.now
            while waits.count < count {
                scenario.clock.advance(by: 10)
                try laptop.engine.requestPull(by: .loop, at: laptop.now)
                guard try laptop.go().lines.contains("query") else { continue }
                waits.append((laptop.now - last) / 10_000)
                last = laptop.now
            }
            return waits
        }
        #expect(try waits(7) == [3, 6, 12, 24, 48, 96, 96])
        // A call of the program polls at once, and a change starts again with the shortest wait.
        try phone.run("UPDATE Book SET title = 'AA' WHERE _recordName = 'a'")
        try phone.sync()
        #expect(try laptop.sync().summary.fetched == 1)
        #expect(try waits(3) == [1, 3, 6])
    }

    @Test(
        "23. The wait of a poll doubles up to a limit",
        arguments: [(0, 30), (1, 60), (5, 960), (6, 960), (99, 960), (-1, 30)]
    )
    func pollIntervalsDoubleUpToALimit(idle: Int64, seconds: Int64) {
        #expect(PollInterval.next(afterIdle: idle, from: 30_000, doublings: 5) == seconds * 1000)
    }
}
