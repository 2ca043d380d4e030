import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import Testing

@testable import MistStore

/// Scenarios P2 to P13: what other programs, other copies of the file, wrong clocks and a struggling service do.
struct HostilePromiseTests {
    // MARK: Deleted records do not come back

    @Test(
        "3, P9. A create that the service refuses because the record exists was stored: a lookup without a result is a delete",
        arguments: [ServerErrorCode.exists, .conflict]
    )
    func existingRecordsThatAreGoneWereDeleted(_ code: ServerErrorCode) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        try phone.sync { request in
            guard request.operations?.first?.operationType == .create else { return .answered }
            // The request arrives twice. Between the reply to the second one and the lookup, the laptop deletes the record.
            _ = phone.answer(request)
            try laptop.sync()
            try laptop.run("DELETE FROM Book")
            try laptop.sync()
            return .reply(.success(.records([.failure(.service(code, record: "b"))])))
        }
        try scenario.synchronise()
        try scenario.expect([], recovery: ["phone: Book b deleted title=B"])
    }

    @Test("3, P9. In the public scope, too, a create that was refused because the record exists was stored")
    func existingPublicRecordsThatAreGoneWereDeleted() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public)
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        let trace = try phone.sync { request in
            guard request.operations?.first?.operationType == .create else { return .answered }
            return .reply(.success(.records([.failure(.service(.exists, record: "b"))])))
        }
        #expect(trace.lines == ["modify create b", "lookup b"])
        #expect(try phone.records() == [])
        #expect(try phone.recovery() == ["phone: Book b deleted title=B"])
        #expect(try phone.pending() == [])
    }

    // MARK: The service names a time

    @Test("27, P11. No request of a scope is sent before the time that the service named, whoever asks")
    func namedTimesHold() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.sync { _ in .reply(.failure(.service(.throttled, retryAfter: 30))) }
        let end = phone.now + 31_000
        scenario.clock.advance(by: 4)
        // A local edit, the program, and the loop of the store ask.
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b')")
        #expect(try phone.sync().lines == [])
        try phone.engine.requestPull(at: phone.now, isAutomatic: true)
        #expect(try phone.go().end == .wait(until: end))
        try await phone.local.retryParked()
        #expect(try phone.sync().end == .wait(until: end))
        try phone.restart()
        #expect(try phone.sync().end == .wait(until: end))
        var configuration = StoreConfiguration()
        configuration.clock = { [clock = scenario.clock] in clock.now }
        let database = LocalDatabase(file: phone.file, scope: .private, configuration: configuration)
        #expect(try await database.status().restsUntil.map(\.milliseconds) == end)
        scenario.clock.advance(by: 30)
        #expect(try phone.sync().writes == ["zones/modify Records", "modify create b"])
    }

    @Test("27, P11. A time that the service named holds after a later failure without a time")
    func namedTimesHoldAfterLaterFailures() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Book (_recordName) VALUES ('a'), ('b')")
        try phone.sync { request in
            guard request.operations != nil else { return .answered }
            return .reply(
                .success(
                    .records([
                        .failure(.service(.throttled, retryAfter: 30, record: "a")),
                        .failure(.service(.tryAgainLater, record: "b")),
                    ])
                )
            )
        }
        scenario.clock.advance(by: 20)
        #expect(try phone.sync().lines == [])
        scenario.clock.advance(by: 11)
        #expect(try phone.sync().writes == ["modify create a, create b"])
    }

    @Test("27, P11. A wait of the store's own choice ends when the program or a local edit asks")
    func ownWaitsAreCutShort() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.sync { _ in .reply(.failure(.broken(mayHaveBeenDone: false))) }
        #expect(try phone.go().lines == [])
        #expect(try phone.sync().lines == ["changes/database"])
    }

    @Test("27, P11. A clock that is set back does not make a named time longer")
    func clocksThatAreSetBackEndNamedTimes() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", clockError: 86_400)
        try phone.sync { _ in .reply(.failure(.service(.throttled, retryAfter: 30))) }
        phone.clockError = 0
        #expect(try phone.sync().lines == ["changes/database"])
    }

    @Test("27, P11. The time that the service named for a zone or for a record holds for this zone and this record")
    func namedTimesOfZonesAndRecordsHold() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        try laptop.sync { request in
            guard case .zoneChanges = request else { return .answered }
            return .reply(.success(.zoneChanges([.failure(.service(.zoneBusy, retryAfter: 30))])))
        }
        scenario.clock.advance(by: 20)
        #expect(try laptop.sync().lines == ["changes/database"])
        scenario.clock.advance(by: 11)
        #expect(try laptop.sync().lines == ["changes/database", "changes/zone"])
        try phone.run("UPDATE Book SET title = 'AA'")
        try phone.sync()
        try laptop.sync { request in
            guard case .zoneChanges = request, case .zoneChanges(let pages) = try laptop.answer(request).get(),
                var page = try pages.first?.get()
            else { return .answered }
            page.records = []
            page.failures = [.service(.tryAgainLater, retryAfter: 30, record: "a")]
            return .reply(.success(.zoneChanges([.success(page)])))
        }
        scenario.clock.advance(by: 20)
        #expect(try laptop.sync().lines == ["changes/database"])
        scenario.clock.advance(by: 11)
        #expect(try laptop.sync().lines == ["changes/database", "lookup a"])
        try scenario.expect(["Book a title=AA"])
    }

    // MARK: A request for changes is refused as a whole

    @Test(
        "21, P12. A request for changes that is refused as a whole is sent once more without the token, and nothing is lost",
        arguments: [ServerErrorCode.badRequest, .notFound, "CHANGE_TOKEN_EXPIRED", "SOMETHING_NEW"]
    )
    func refusedTokensAreNotSentAgain(_ code: ServerErrorCode) throws {
        for refusesDatabase in [true, false] {
            let scenario = try SyncScenario()
            let (phone, laptop) = try scenario.twoDevices()
            try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
            try scenario.synchronise()
            try phone.run(
                "UPDATE Book SET title = 'AA' WHERE _recordName = 'a'",
                "DELETE FROM Book WHERE _recordName = 'b'"
            )
            try phone.sync()
            try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('c', 'C')")
            func refused(_ request: SyncRequest) -> ScenarioDevice.Delivery {
                let isRefused =
                    switch request {
                    case .databaseChanges(let token): refusesDatabase && token != nil
                    case .zoneChanges(let cursors): !refusesDatabase && cursors.contains { $0.token != nil }
                    default: false
                    }
                return isRefused ? .reply(.failure(.service(code))) : .answered
            }
            let trace = try laptop.sync(refused)
            #expect(trace.end == .idle)
            #expect(trace.writes == ["modify create c"])
            #expect(try laptop.records() == ["Book a title=AA", "Book c title=C"])
            // A notification, and an edit, while requests with a token are refused.
            try phone.run("UPDATE Book SET note = 'N' WHERE _recordName = 'a'")
            try phone.sync()
            try laptop.run("UPDATE Book SET note = 'N' WHERE _recordName = 'c'")
            #expect(try laptop.sync(refused).end == .idle)
            try scenario.synchronise()
            try scenario.expect(["Book a note=N title=AA", "Book c note=N title=C"])
        }
    }

    @Test(
        "21, P12. A request for changes without a token that is refused as a whole rests, and changes are sent nevertheless"
    )
    func refusalsWithoutATokenHoldNoEditUp() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A')")
        try phone.sync()
        let trace = try laptop.sync { request in
            guard case .zoneChanges = request else { return .answered }
            return .reply(.failure(.service(.badRequest)))
        }
        guard case .wait? = trace.end else {
            Issue.record("\(String(describing: trace.end))")
            return
        }
        #expect(trace.lines == ["changes/database", "changes/zone"])
        try laptop.sync()
        try scenario.expect(["Book a title=A"])
    }

    // MARK: Clocks

    @Test("8, P5. A clock a day ahead or behind on a device that never sent anything", arguments: [86_400, -86_400])
    func clocksAreCorrectedBeforeTheFirstWrite(error: Int) throws {
        let scenario = try SyncScenario()
        let laptop = try scenario.device("laptop")
        let phone = try scenario.device("phone", clockError: error)
        try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try laptop.sync()
        try phone.sync()
        try phone.run("UPDATE Book SET title = 'earlier' WHERE _recordName = 'a'")
        try laptop.run("UPDATE Book SET title = 'later' WHERE _recordName = 'a'")
        try laptop.run("UPDATE Book SET title = 'earlier' WHERE _recordName = 'b'")
        try phone.run("UPDATE Book SET title = 'later' WHERE _recordName = 'b'")
        try laptop.sync()
        try phone.sync()
        try scenario.synchronise()
        try scenario.expect(
            ["Book a title=later", "Book b title=later"],
            recovery: ["phone: Book a laterEdit title=earlier"]
        )
    }

    @Test("8, P5. Edits from before the first contact are corrected by the first reply", arguments: [86_400, -86_400])
    func clocksAreCorrectedByTheFirstReply(error: Int) throws {
        let scenario = try SyncScenario()
        let laptop = try scenario.device("laptop")
        let phone = try scenario.device("phone", clockError: error)
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('key', 'earlier')")
        scenario.clock.advance(by: 60)
        try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('key', 'later')")
        try laptop.sync()
        try phone.sync()
        try scenario.synchronise()
        try scenario.expect(["Book key title=later"], recovery: ["phone: Book key laterEdit title=earlier"])
    }

    @Test("8, P5. A clock that goes wrong on an established device", arguments: [86_400, -86_400])
    func clocksOfEstablishedDevicesAreCorrected(error: Int) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('a', 'A', 'N'), ('b', 'B', 'N')")
        try scenario.synchronise()
        // An edit that was made while the clock was right keeps its time.
        try laptop.run("UPDATE Book SET note = 'earlier' WHERE _recordName = 'a'")
        try phone.run("UPDATE Book SET note = 'later' WHERE _recordName = 'a'")
        try phone.sync { $0.isWrite ? .lostRequest : .answered }
        phone.clockError = Int64(error) * 1000
        try phone.run("UPDATE Book SET title = 'earlier' WHERE _recordName = 'a'")
        try laptop.run("UPDATE Book SET title = 'later' WHERE _recordName = 'a'")
        try laptop.run("UPDATE Book SET title = 'earlier' WHERE _recordName = 'b'")
        try phone.run("UPDATE Book SET title = 'later' WHERE _recordName = 'b'")
        try laptop.sync()
        try phone.sync()
        try scenario.synchronise()
        try scenario.expect(
            ["Book a note=later title=later", "Book b note=N title=later"],
            recovery: ["phone: Book a laterEdit title=earlier"]
        )
    }
}
