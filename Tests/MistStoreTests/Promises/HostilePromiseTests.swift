import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import SQLiteTables
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

    @Test("27, P11. No call sends a request of a scope before the time that the service named")
    func noRequestIsSentBeforeTheTimeThatTheServiceNames() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.sync { _ in .reply(.failure(.service(.throttled, retryAfter: 30))) }
        let end = phone.now + 31_000
        scenario.clock.advance(by: 4)
        // A local edit, the program, and the loop of the store ask.
        try phone.run("INSERT INTO Book (_recordName) VALUES ('b')")
        #expect(try phone.sync().lines == [])
        try phone.engine.requestPull(by: .loop, at: phone.now)
        #expect(try phone.go().end == .wait(until: end))
        try await phone.local.retryParked()
        #expect(try phone.sync().end == .wait(until: end))
        try phone.restart()
        #expect(try phone.sync().end == .wait(until: end))
        var configuration = StoreConfiguration()
        configuration.clock = { [clock = scenario.clock] in clock.now }
        let database = LocalDatabase(file: phone.file, scope: .private, configuration: configuration)
        #expect(try await database.status().restsUntil.map(\.machineTime) == end)
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
            page.results = [.failure(.service(.tryAgainLater, retryAfter: 30, record: "a"))]
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

    /// Both devices change two records, and synchronise: the later edit is the laptop's of one, and the phone's of the
    /// other.
    private func editInTurns(_ phone: ScenarioDevice, _ laptop: ScenarioDevice) throws {
        try phone.run("UPDATE Book SET title = 'earlier' WHERE _recordName = 'a'")
        try laptop.run("UPDATE Book SET title = 'later' WHERE _recordName = 'a'")
        try laptop.run("UPDATE Book SET title = 'earlier' WHERE _recordName = 'b'")
        try phone.run("UPDATE Book SET title = 'later' WHERE _recordName = 'b'")
        try laptop.sync()
        try phone.sync()
    }

    @Test("8, P5. A clock a day ahead or behind on a device that never sent anything", arguments: [86_400, -86_400])
    func clocksAreCorrectedBeforeTheFirstWrite(error: Int) throws {
        let scenario = try SyncScenario()
        let laptop = try scenario.device("laptop")
        let phone = try scenario.device("phone", clockError: error)
        try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try laptop.sync()
        try phone.sync()
        try editInTurns(phone, laptop)
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
        try editInTurns(phone, laptop)
        try scenario.synchronise()
        try scenario.expect(
            ["Book a note=later title=later", "Book b note=N title=later"],
            recovery: ["phone: Book a laterEdit title=earlier"]
        )
    }

    // MARK: Copies and backups

    @Test("9, P2. Two copies of a file that both edit, count and delete for ten rounds converge, with the sum of both")
    func copiesOfAFileConverge() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, loans) VALUES ('b', 'B', 0)")
        try scenario.synchronise()
        let copy = try scenario.device("copy", of: phone)
        var notes: [String] = []
        for round in 1...10 {
            try phone.run(
                "UPDATE Book SET loans = loans + 1, note = 'phone \(round)' WHERE _recordName = 'b'",
                "INSERT INTO Book (_recordName, loans) VALUES ('p\(round)', 1)"
            )
            try copy.run(
                "UPDATE Book SET loans = loans + 1, title = 'copy \(round)' WHERE _recordName = 'b'",
                "INSERT INTO Book (_recordName, loans) VALUES ('c\(round)', 1)"
            )
            if round % 2 == 0 {
                try phone.run("DELETE FROM Book WHERE _recordName = 'c\(round - 1)'")
                try copy.run("DELETE FROM Book WHERE _recordName = 'p\(round - 1)'")
            } else {
                notes += ["Book c\(round + 1) loans=1", "Book p\(round + 1) loans=1"]
            }
            try (round % 3 == 0 ? copy : phone).sync()
            try scenario.synchronise()
        }
        try scenario.expect(["Book b loans=20 note=phone 10 title=copy 10"] + notes)
        #expect(Set(try scenario.devices.map { try $0.value("SELECT device FROM mist_state") }).count == 3)
        let changed = try await [phone, copy].asyncMap { try await $0.local.status().copyNoticed != nil }
        #expect(changed.contains(true))
        #expect(try await laptop.local.status().copyNoticed == nil)
    }

    @Test(
        "9, P2. A copy of a file with pending counts sends them once, and what is counted later on both sides is added"
    )
    func copiedEditsCountOnce() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, loans) VALUES ('a', 10)")
        try scenario.synchronise()
        try phone.run(
            "UPDATE Book SET loans = loans + 1 WHERE _recordName = 'a'",
            "INSERT INTO Book (_recordName, loans) VALUES ('b', 5)"
        )
        let copy = try scenario.device("copy", of: phone)
        try scenario.synchronise()
        try scenario.expect(["Book a loans=11", "Book b loans=5"])
        try phone.run("UPDATE Book SET loans = loans + 1")
        try copy.run("UPDATE Book SET loans = loans + 2")
        try scenario.synchronise()
        try scenario.expect(["Book a loans=14", "Book b loans=8"])
    }

    @Test("9, P2. A count that is refused because the other copy has counted is added as a whole")
    func refusedCountsOfCopiesAreAdded() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, loans) VALUES ('b', 0)")
        try scenario.synchronise()
        let copy = try scenario.device("copy", of: phone)
        try phone.run("UPDATE Book SET loans = loans - 3")
        try phone.go()
        try copy.run("UPDATE Book SET loans = loans - 5")
        // It has not fetched the other count yet.
        #expect(try copy.go().lines.first == "modify update b")
        try scenario.synchronise()
        try scenario.expect(["Book b loans=-8"])
    }

    @Test("9, P3. A backup with a pending count that is restored adds the count, and takes nothing back")
    func restoredCountersAreNotTakenBack() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, loans) VALUES ('b', 10)")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET loans = loans + 1")
        let backup = try scenario.device("backup", of: phone)
        try scenario.synchronise(except: backup)
        for _ in 1...50 {
            try phone.run("UPDATE Book SET loans = loans + 1")
            try phone.sync()
        }
        try laptop.sync()
        #expect(try laptop.records() == ["Book b loans=61"])
        try backup.sync()
        #expect(try await backup.local.status().copyNoticed != nil)
        try scenario.synchronise()
        // The edit that was pending in the backup counts again: nothing shows that it was sent meanwhile.
        try scenario.expect(["Book b loans=62"])
    }

    @Test("9, P3. A backup with a count under way that is restored: the log says that it may have been counted")
    func unclearCountsAreInTheLog() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, loans) VALUES ('b', 10)")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET loans = loans + 1")
        var backup: ScenarioDevice?
        try phone.sync { request in
            if request.operations != nil, backup == nil { backup = try scenario.device("backup", of: phone) }
            return .answered
        }
        for _ in 1...50 {
            try phone.run("UPDATE Book SET loans = loans + 1")
            try phone.sync()
        }
        try laptop.sync()
        try scenario.synchronise()
        try scenario.expect(["Book b loans=61"], recovery: ["backup: Book b unclearCount loans=11"])
    }

    // MARK: The size of the edit times

    @Test("9, P13. Sixty devices count once each: the size of `mist_edits` is bounded, and no count is lost")
    func countersOfManyDevicesAreFolded() throws {
        let scenario = try SyncScenario()
        let devices = try (1...60).map { try scenario.device("device \($0)") }
        try devices[0].run("INSERT INTO Book (_recordName, loans) VALUES ('b', 0)")
        try devices[0].sync()
        for device in devices {
            try device.sync()
            try device.run("UPDATE Book SET loans = loans + 1")
            try device.sync()
        }
        let times = try scenario.serviceRecord("b")?.fields[EditTimes.fieldName]
        guard case .bytes(let bytes)? = times else {
            Issue.record("The record has no edit times.")
            return
        }
        #expect(bytes.count < 450)
        #expect(EditTimes(bytes)?.parts.count == CounterParts.kept)
        // A late write of a device whose part was folded.
        try devices[0].run("UPDATE Book SET loans = loans + 5")
        try devices[0].sync()
        try devices[0].run("UPDATE Book SET loans = loans - 1")
        try devices[0].sync()
        try devices[1].sync()
        #expect(try devices[1].records() == ["Book b loans=64"])
    }

    @Test(
        "9, P13. A count of unknown outcome after its part may have been folded is in the log, and is not counted twice"
    )
    func foldedCountsOfUnknownOutcomeAreInTheLog() throws {
        for wasDone in [true, false] {
            for others in [5, 18] {
                let scenario = try SyncScenario()
                let late = try scenario.device("late")
                try late.run("INSERT INTO Book (_recordName, loans) VALUES ('b', 0)")
                try late.sync()
                try late.run("UPDATE Book SET loans = loans + 7")
                try late.sync { $0.isWrite ? (wasDone ? .lostReply : .lostRequest) : .answered }
                for number in 1...others {
                    let device = try scenario.device("device \(number)")
                    try device.sync()
                    try device.run("UPDATE Book SET loans = loans + 1")
                    try device.sync()
                }
                try late.sync()
                try scenario.synchronise()
                let isCounted = wasDone || others == 5
                try scenario.expect(
                    ["Book b loans=\(others + (isCounted ? 7 : 0))"],
                    recovery: others == 5 ? [] : ["late: Book b unclearCount loans=7"]
                )
            }
        }
    }

    @Test("P13. Twenty devices edit one record a hundred times each: the size of `mist_edits` is bounded")
    func manyEditsAreBounded() throws {
        let scenario = try SyncScenario()
        let devices = try (1...20).map { try scenario.device("device \($0)") }
        try devices[0].run("INSERT INTO Book (_recordName, title, loans) VALUES ('b', 'B', 0)")
        try scenario.synchronise()
        for round in 1...100 {
            for (number, device) in devices.enumerated() {
                try device.run("UPDATE Book SET title = '\(number) \(round)', loans = loans + 1")
                if (round + number) % 25 == 0 { try device.sync() }
            }
        }
        try scenario.synchronise()
        guard case .bytes(let bytes)? = try scenario.serviceRecord("b")?.fields[EditTimes.fieldName] else {
            Issue.record("The record has no edit times.")
            return
        }
        #expect(bytes.count < 450)
        #expect(try Set(devices.map { try $0.records() }).count == 1)
        #expect(try devices[0].value("SELECT loans FROM Book") == 2000)
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
