import CloudKitModel
import Foundation
import MistKit
import MistTesting
import SQLiteTables
import Testing

@testable import MistStore

/// Promises 24 to 27: changes that go to the service, and the handling of failures.
struct PushPromiseTests {
    @Test("24, B1. A thousand changes go out in requests of at most 200")
    func requestsKeepToTheLimit() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            """
            WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
            INSERT INTO Book (_recordName, best) SELECT 'b' || n, n FROM numbers
            """
        )
        let trace = try phone.sync()
        #expect(trace.requests.compactMap { $0.operations?.count } == [200, 200, 200, 200, 200])
        #expect(trace.summary.sent == 1000)
        #expect(try laptop.sync().summary.fetched == 1000)
        try phone.sync()
        try scenario.expect((1...1000).map { "Book b\($0) best=\($0)" })
    }

    @Test("24, B1. No request exceeds the limit of bytes")
    func requestsKeepToTheLimitOfBytes() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        let text = String(repeating: "x", count: 15_000)
        try phone.run(
            """
            WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 300)
            INSERT INTO Book (_recordName, title) SELECT 'b' || n, '\(text)' FROM numbers
            """
        )
        let sizes = try phone.sync().requests.compactMap(\.operations).map { operations in
            operations.reduce(0) { $0 + ($1.record.fields["title"]?.stringValue?.utf8.count ?? 0) }
        }
        #expect(sizes.count > 2)
        #expect(sizes.allSatisfy { $0 <= 2_000_000 })
        #expect(try scenario.serviceRecords().count == 300)
        #expect(try phone.pending() == [])
    }

    @Test("24, B2. A request that is too large is halved down to the one record, which is parked; the rest is sent")
    func tooLargeRequestsAreHalved() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run(
            """
            WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 40)
            INSERT INTO Book (_recordName, title) SELECT printf('b%02d', n), iif(n = 17, 'large', 'small') FROM numbers
            """
        )
        let tooLarge: (SyncRequest) -> ScenarioDevice.Delivery = { request in
            let isLarge = request.operations?.contains { $0.record.fields["title"] == .string("large") } ?? false
            return isLarge ? .reply(.failure(.service("LIMIT_EXCEEDED"))) : .answered
        }
        let trace = try phone.sync(tooLarge)
        #expect(trace.summary.parked == 1)
        #expect(trace.summary.sent == 39)
        #expect(try phone.pending() == ["phone: edit Book 17", "phone: parked b17 LIMIT_EXCEEDED"])
        #expect(try phone.value("SELECT batch FROM mist_scope WHERE id = 1") > 2)
        // An edit makes the record smaller, and starts a new attempt.
        try phone.run("UPDATE Book SET title = 'small'")
        try phone.sync(tooLarge)
        try scenario.expect((1...40).map { "Book b\($0 < 10 ? "0" : "")\($0) title=small" })
    }

    @Test(
        "25, B6, K6. A failed item excludes nothing else: throttled, conflict, missing and refused, each by its own rule"
    )
    func failedItemsDoNotBlock() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('conflict', 'C'), ('missing', 'M'), ('fine', 'F')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET note = 'phone'")
        try phone.run("INSERT INTO Book (_recordName) VALUES ('refused'), ('later')")
        try laptop.run(
            "UPDATE Book SET title = 'laptop' WHERE _recordName = 'conflict'",
            "DELETE FROM Book WHERE _recordName = 'missing'"
        )
        var isFirst = true
        // The two refused records are removed from the request, so the service never gets them.
        func withoutRefused(_ request: SyncRequest) throws -> ScenarioDevice.Delivery {
            guard case .modify(let operations, let zone, let isAtomic) = request else { return .answered }
            if isFirst { try laptop.sync() }
            let refused: Set = isFirst ? ["refused", "later"] : ["refused"]
            let passed = operations.filter { !refused.contains($0.record.recordName ?? "") }
            var replies: [String: Result<ServiceRecord, CloudKitError>] = [
                "refused": .failure(.service(.badRequest, reason: "no", record: "refused")),
                "later": .failure(.service(.throttled, retryAfter: 30, record: "later")),
            ]
            if !passed.isEmpty,
                case .records(let results) = try phone.answer(.modify(passed, zone: zone, isAtomic: isAtomic)).get()
            {
                for (operation, result) in zip(passed, results) { replies[operation.record.recordName ?? ""] = result }
            }
            isFirst = false
            return .reply(.success(.records(operations.compactMap { replies[$0.record.recordName ?? ""] })))
        }
        let trace = try phone.sync(withoutRefused)
        guard case .wait(let until)? = trace.end else {
            Issue.record("\(String(describing: trace.end))")
            return
        }
        // The wait that the service demands, and a second of jitter.
        #expect(until - phone.now == 31_000)
        scenario.clock.advance(by: 32)
        #expect(try phone.go(withoutRefused).end == .idle)
        #expect(try phone.pending() == ["phone: edit Book 4", "phone: parked refused BAD_REQUEST"])
        try laptop.sync()
        #expect(
            try laptop.records() == [
                "Book conflict note=phone title=laptop", "Book fine note=phone title=F", "Book later",
            ]
        )
        #expect(try phone.records() == (try laptop.records() + ["Book refused"]).sorted())
        #expect(try phone.recovery() == ["phone: Book missing deleted note=phone title=M"])
    }

    @Test(
        "4, 25. An edit made while a push that is refused was in flight is a new attempt: the record does not stay parked"
    )
    func editsInFlightAreNewAttempts() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'refused')")
        var isFirst = true
        let trace = try phone.sync { request in
            guard request.operations != nil, isFirst else { return .answered }
            isFirst = false
            try phone.run("UPDATE Book SET title = 'fine'")
            scenario.clock.advance(by: 1)
            return .reply(.success(.records([.failure(.service(.badRequest, reason: "no", record: "b"))])))
        }
        #expect(trace.writes == ["zones/modify Records", "modify create b", "modify create b"])
        try scenario.expect(["Book b title=fine"])
    }

    @Test("25, B5. A new parent and its new children are one atomic request; everything else is not atomic")
    func familiesAreAtomic() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Book (_recordName, shelf, sequel) VALUES ('b1', 's', 'loose'), ('b2', 's', NULL)",
            "INSERT INTO Book (_recordName) VALUES ('loose'), ('other')",
            "INSERT INTO Shelf (_recordName) VALUES ('s'), ('empty')"
        )
        let trace = try phone.sync()
        #expect(
            trace.writes == [
                "zones/modify Records", "modify create s, create loose, create b1, create b2",
                "modify create empty, create other",
            ]
        )
        #expect(trace.requests.filter { $0.operations != nil }.map(\.isAtomic) == [true, false])
        // A child whose parent the service already has is sent alone.
        try phone.run("INSERT INTO Book (_recordName, shelf) VALUES ('b3', 's')")
        #expect(try phone.sync().requests.filter { $0.operations != nil }.map(\.isAtomic) == [false])
        try scenario.synchronise()
        try scenario.expect([
            "Book b1 sequel=→loose shelf=→s", "Book b2 shelf=→s", "Book b3 shelf=→s", "Book loose", "Book other",
            "Shelf empty", "Shelf s",
        ])
    }

    @Test("25. The default zone of the public database takes no atomic requests")
    func publicRequestsAreNotAtomic() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public)
        try phone.run(
            "INSERT INTO Book (_recordName, shelf) VALUES ('b', 's')",
            "INSERT INTO Shelf (_recordName) VALUES ('s')"
        )
        #expect(try phone.sync().requests.filter { $0.operations != nil }.map(\.isAtomic) == [false])
    }

    @Test(
        "25, B5. After an atomic failure nothing is stored; the conflict is resolved, and the innocent are sent again"
    )
    func innocentItemsAreSentAgain() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try scenario.synchronise()
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S'), ('t', 'T')",
            "INSERT INTO Book (_recordName, shelf, title) VALUES ('key', 's', 'phone'), ('b', 's', 'B'), ('c', 't', 'C')"
        )
        try laptop.run("INSERT INTO Book (_recordName, note) VALUES ('key', 'laptop')")
        var isFirst = true
        let trace = try phone.sync { request in
            guard request.operations != nil, isFirst else { return .answered }
            isFirst = false
            // The laptop synchronises just before.
            try laptop.sync()
            let reply = phone.answer(request)
            #expect(try scenario.serviceRecords().map(\.recordName) == ["key"])
            return .reply(reply)
        }
        #expect(
            trace.lines.suffix(4) == [
                "modify create s, create key, create b, create t, create c", "lookup key",
                "modify create s, create b, create t, create c", "modify update key",
            ]
        )
        try scenario.synchronise()
        try scenario.expect([
            "Book b shelf=→s title=B", "Book c shelf=→t title=C", "Book key note=laptop shelf=→s title=phone",
            "Shelf s name=S", "Shelf t name=T",
        ])
    }

    @Test(
        "25, 6. A refusal of a record that was deleted meanwhile parks no record, and no delete",
        arguments: [false, true],
        [ServerErrorCode.badRequest, .validatingReferenceError]
    )
    func refusalsOfDeletedRecordsParkNothing(isNew: Bool, code: ServerErrorCode) throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        if !isNew {
            try phone.sync()
            try phone.run("UPDATE Book SET title = 'B'")
        }
        var isRefused = false
        try phone.sync { request in
            guard request.operations != nil, !isRefused else { return .answered }
            isRefused = true
            try phone.run("DELETE FROM Book")
            return .reply(.success(.records([.failure(.service(code, reason: "no", record: "a"))])))
        }
        try scenario.synchronise()
        #expect(isRefused)
        try scenario.expect([])
        #expect(try phone.pending() == [])
    }

    @Test("25. An atomic failure that names no item is sent once more, not atomic", arguments: [true, false])
    func unexplainedFailuresAreSentApart(isOfWholeRequest: Bool) throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run(
            "INSERT INTO Shelf (_recordName) VALUES ('s')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('b', 's')"
        )
        let trace = try phone.sync { request in
            guard let operations = request.operations, request.isAtomic else { return .answered }
            guard !isOfWholeRequest else { return .reply(.failure(.service(.atomicError))) }
            return .reply(
                .success(
                    .records(operations.map { .failure(.service(.atomicError, record: $0.record.recordName)) })
                )
            )
        }
        #expect(trace.writes.suffix(2) == ["modify create s, create b", "modify create s, create b"])
        #expect(trace.requests.filter { $0.operations != nil }.map(\.isAtomic) == [true, false])
        try scenario.expect(["Book b shelf=→s", "Shelf s"])
        // The next family is atomic again.
        try phone.run(
            "INSERT INTO Shelf (_recordName) VALUES ('t')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('c', 't')"
        )
        #expect(try phone.sync().requests.filter { $0.operations != nil }.map(\.isAtomic) == [true])
    }

    @Test("25. A request that was not atomic and is answered with ATOMIC_ERROR rests, and does not go round in circles")
    func atomicErrorsOfRequestsThatWereNotAtomicWait() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b')")
        let trace = try phone.sync { request in
            request.operations == nil ? .answered : .reply(.failure(.service(.atomicError)))
        }
        #expect(trace.writes == ["zones/modify Records", "modify create b"])
        #expect(trace.end == .wait(until: phone.now + 1001))
        scenario.clock.advance(by: 2)
        #expect(try phone.go().end == .idle)
        try scenario.expect(["Book b"])
    }

    @Test(
        "25. What is below a refused record is not sent, and its status says that it waits for that; everything else is sent"
    )
    func childrenWaitForRefusedParents() async throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('refused', 'R'), ('fine', 'F')",
            "INSERT INTO Book (_recordName, shelf) VALUES ('child', 'refused'), ('b', 'fine')",
            "INSERT INTO Book (_recordName, sequel) VALUES ('loose', 'child')"
        )
        func refusing(_ request: SyncRequest) throws -> ScenarioDevice.Delivery {
            guard let operations = request.operations,
                operations.contains(where: { $0.record.recordName == "refused" })
            else { return .answered }
            #expect(request.isAtomic)
            return .reply(
                .success(
                    .records(
                        operations.map { operation in
                            let name = operation.record.recordName
                            return .failure(.service(name == "refused" ? .badRequest : .atomicError, record: name))
                        }
                    )
                )
            )
        }
        #expect(try phone.sync(refusing).writes.suffix(2) == ["modify create fine, create b", "modify create loose"])
        #expect(
            try phone.pending() == ["phone: edit Shelf 1", "phone: edit Book 1", "phone: parked refused BAD_REQUEST"]
        )
        let status = try await phone.local.status()
        #expect(status.parked.map { "\($0.recordName) \($0.reason)" } == ["refused BAD_REQUEST", "child parent"])
        #expect(status.parked.last?.message.contains("refused") == true)
        // A record that is added below the refused one waits as well.
        try phone.run("INSERT INTO Book (_recordName, shelf) VALUES ('later', 'refused')")
        #expect(try phone.sync(refusing).writes == [])
        try phone.run("UPDATE Shelf SET name = 'accepted' WHERE _recordName = 'refused'")
        #expect(try phone.sync().writes == ["modify create refused, create child, create later"])
        #expect(try await phone.local.status().parked == [])
        try scenario.synchronise()
        try scenario.expect([
            "Book b shelf=→fine", "Book child shelf=→refused", "Book later shelf=→refused", "Book loose sequel=→child",
            "Shelf fine name=F", "Shelf refused name=accepted",
        ])
    }

    @Test(
        "26. Every outcome of every item has a rule",
        arguments: [
            (nil, .create, .acknowledged), (nil, .update, .acknowledged), (nil, .delete, .acknowledged),
            (.conflict, .update, .lookUp), (.conflict, .delete, .lookUp), (.exists, .create, .lookUp),
            (.conflict, .create, .lookUp), (.notFound, .create, .parkType(field: "")),
            (.notFound, .update, .deletedElsewhere), (.notFound, .delete, .acknowledged),
            (.zoneNotFound, .create, .zoneIsGone), (.throttled, .update, .later), (.tryAgainLater, .update, .later),
            (.zoneBusy, .update, .later), (.internalError, .update, .later), (.quotaExceeded, .create, .quota),
            (.authenticationRequired, .update, .signIn), (.authenticationFailed, .update, .signIn),
            (.atomicError, .update, .again), (.validatingReferenceError, .delete, .fetchZone),
            (.badRequest, .create, .park), (.uniqueFieldError, .create, .park), (.accessDenied, .update, .park),
        ] as [(ServerErrorCode?, SentOperation.Kind, ItemOutcome)]
    )
    func everyErrorCodeHasAnOutcome(code: ServerErrorCode?, operation: SentOperation.Kind, outcome: ItemOutcome) {
        #expect(ItemOutcome.of(code.map { .service($0, record: "b") }, operation) == outcome)
    }

    @Test(
        "27, K2. Without a time from the service the scope rests longer after each failure, with jitter, up to five minutes"
    )
    func waitsGrowWithEachFailure() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone") { $0.random = { 0.5 } }
        var waits: [Int64] = []
        try phone.engine.requestPull(by: .program, at: phone.now)
        for _ in 1...11 {
            let trace = try phone.go { _ in .reply(.failure(.service(.internalError))) }
            guard case .wait(let until)? = trace.end else { continue }
            waits.append(until - phone.now)
            scenario.clock.advance(by: Double(until - phone.now) / 1000)
        }
        #expect(waits == [501, 1001, 2001, 4001, 8001, 16_001, 32_001, 64_001, 128_001, 150_001, 150_001])
        // After a success, the waits start from the first one again.
        try phone.sync()
        guard case .wait(let until)? = try phone.sync({ _ in .reply(.failure(.service(.internalError))) }).end else {
            Issue.record("does not rest")
            return
        }
        #expect(until - phone.now == 501)
    }

    @Test("27. Throttled: the scope rests as long as the service says, then with jitter; other scopes continue")
    func throttledScopesRest() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b')")
        let trace = try phone.sync { _ in .reply(.failure(.service(.throttled, retryAfter: 20))) }
        #expect(trace.lines == ["changes/database"])
        #expect(trace.end == .wait(until: phone.now + 21_000))
        #expect(try phone.go().lines == [])
        let other = try scenario.device("other", scope: .public)
        try other.run("INSERT INTO Book (_recordName) VALUES ('public')")
        #expect(try other.sync().lines == ["modify create public"])
        scenario.clock.advance(by: 21)
        #expect(try phone.go().end == .idle)
        #expect(try phone.pending() == [])
    }

    @Test("27, K3. Storage full: pushes rest, pulls continue, nothing is dropped, and it resumes when there is space")
    func fullStorageStopsPushesAlone() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName) VALUES ('a')")
        try scenario.synchronise()
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b'), ('c')")
        try laptop.run("UPDATE Book SET title = 'A'")
        try laptop.sync()
        let full: (SyncRequest) -> ScenarioDevice.Delivery = { request in
            request.operations == nil ? .answered : .reply(.failure(.service(.quotaExceeded)))
        }
        let first = try phone.sync(full)
        #expect(first.summary.fetched == 1)
        #expect(first.writes.count == 1)
        guard case .wait? = first.end else {
            Issue.record("\(String(describing: first.end))")
            return
        }
        try laptop.run("UPDATE Book SET note = 'N'")
        try laptop.sync()
        #expect(try phone.sync(full).summary.fetched == 1)
        #expect(try phone.pending() == ["phone: edit Book 2", "phone: edit Book 3"])
        scenario.clock.advance(by: 600)
        try scenario.synchronise()
        try scenario.expect(["Book a note=N title=A", "Book b", "Book c"])
    }

    @Test("27, H4. Signed out: the scope is blocked with the address to sign in, and nothing is dropped")
    func signedOutScopesAreBlocked() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b')")
        let address = "https://www.icloud.com/sign-in"
        let trace = try phone.sync { _ in
            let response = ErrorResponse(serverErrorCode: .authenticationRequired, redirectURL: address)
            return .reply(.failure(CloudKitError(response)))
        }
        #expect(trace.lines == ["changes/database"])
        #expect(trace.end == .blocked(.signedOut))
        #expect(try phone.value("SELECT detail = '\(address)' FROM mist_scope WHERE id = 1") == 1)
        scenario.clock.advance(by: 3600)
        #expect(try phone.go().lines == [])
        // A new session continues.
        try scenario.synchronise()
        try scenario.expect(["Book b"])
    }

    @Test("27, K5. Offline: the edits stay, and the next synchronisation sends them")
    func offlineEditsStay() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b')")
        let errors: [CloudKitError] = [
            .broken(mayHaveBeenDone: false), CloudKitError(code: .serviceUnavailable, message: ""),
            CloudKitError(code: .unexpectedResponse, message: ""), CloudKitError(code: .decoding, message: ""),
            CloudKitError(code: .cancelled, message: ""), CloudKitError(code: .responseTooLarge, message: ""),
        ]
        for error in errors {
            let trace = try phone.sync { _ in .reply(.failure(error)) }
            #expect(trace.lines.count == 1, "\(error)")
            #expect(try phone.pending() == ["phone: edit Book 1"], "\(error)")
        }
        try scenario.synchronise()
        try scenario.expect(["Book b"])
    }

    @Test("O4. When all devices agree, a synchronisation sends one request for each scope")
    func devicesThatAgreeSendOneRequestForEachScope() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, loans) VALUES ('b', 'B', 1)")
        try laptop.run("INSERT INTO Book (_recordName, title, loans) VALUES ('b', 'BB', 2)")
        try scenario.synchronise()
        for device in scenario.devices { #expect(try device.sync().lines == ["changes/database"]) }
    }
}
