import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Promises 6 to 10: which edit wins.
struct ConflictPromiseTests {
    /// A phone and a laptop that both have one book.
    private func withOneBook(_ body: (SyncScenario, ScenarioDevice, ScenarioDevice) throws -> Void) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('b', 'B', 'N')")
        try scenario.synchronise()
        try body(scenario, phone, laptop)
    }

    @Test(
        "6, D6. A delete wins over every edit of the same life, whichever device synchronises first",
        arguments: [true, false]
    )
    func deletesWin(deleteIsFirst: Bool) throws {
        try withOneBook { scenario, phone, laptop in
            try phone.run("DELETE FROM Book")
            try laptop.run("UPDATE Book SET title = 'later'")
            let (first, second) = deleteIsFirst ? (phone, laptop) : (laptop, phone)
            try first.sync()
            try second.sync()
            try scenario.synchronise()
            try scenario.expect([], recovery: deleteIsFirst ? ["laptop: Book b deleted note=N title=later"] : [])
        }
    }

    @Test("6, D6. After CONFLICT the record is looked up, and deleted with its new tag; never forced")
    func conflictingDeletesAreLookedUp() throws {
        try withOneBook { scenario, phone, laptop in
            try phone.run("DELETE FROM Book")
            try laptop.run("UPDATE Book SET title = 'later'")
            var isEdited = false
            let trace = try phone.sync { request in
                guard let operation = request.operations?.first else { return .answered }
                #expect(operation.operationType == .delete)
                #expect(operation.record.recordChangeTag != nil)
                // The laptop synchronises just before.
                if !isEdited { try laptop.sync() }
                isEdited = true
                return .answered
            }
            #expect(trace.lines.suffix(3) == ["modify delete b", "lookup b", "modify delete b"])
            try scenario.synchronise()
            try scenario.expect([])
        }
    }

    @Test("6, D7. A record deleted and created elsewhere is a new life: edits of the old one are in the log")
    func newLivesAreNotSuppressed() throws {
        try withOneBook { scenario, phone, laptop in
            try laptop.run("UPDATE Book SET note = 'of the first life'")
            try phone.run("DELETE FROM Book")
            try phone.sync()
            try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'second')")
            try phone.sync()
            try scenario.synchronise()
            let receipt = "laptop: Book b replaced note=of the first life title=B"
            try scenario.expect(["Book b title=second"], recovery: [receipt])
        }
    }

    @Test("6, D7. A delete of the old life does not touch the new one")
    func deletesEndOneLife() throws {
        try withOneBook { scenario, phone, laptop in
            try laptop.run("DELETE FROM Book")
            try phone.run("DELETE FROM Book")
            try phone.sync()
            try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'second')")
            try phone.sync()
            try scenario.synchronise()
            try scenario.expect(["Book b title=second"])
        }
    }

    @Test(
        "7, D1. Edits of different fields are all kept, whichever order of send and receive",
        arguments: [true, false]
    )
    func fieldsAreMerged(phoneIsFirst: Bool) throws {
        try withOneBook { scenario, phone, laptop in
            try phone.run("UPDATE Book SET title = 'phone'")
            try laptop.run("UPDATE Book SET note = 'laptop'")
            try (phoneIsFirst ? phone : laptop).sync()
            try scenario.synchronise()
            try scenario.expect(["Book b note=laptop title=phone"])
        }
    }

    @Test("7. The latest edit wins by the time of the edit, and not of its arrival", arguments: [true, false])
    func latestEditWins(laterArrivesFirst: Bool) throws {
        try withOneBook { scenario, phone, laptop in
            try phone.run("UPDATE Book SET title = 'earlier'")
            try laptop.run("UPDATE Book SET title = 'later'")
            let (first, second) = laterArrivesFirst ? (laptop, phone) : (phone, laptop)
            try first.sync()
            try second.sync()
            try scenario.synchronise()
            try scenario.expect(
                ["Book b note=N title=later"],
                recovery: laterArrivesFirst ? ["phone: Book b laterEdit title=earlier"] : []
            )
        }
    }

    @Test(
        "7, D4. A field that was cleared is an edit as well: null against a value, both directions",
        arguments: [true, false]
    )
    func clearingAFieldIsAnEdit(nullIsLater: Bool) throws {
        for phoneIsFirst in [true, false] {
            try withOneBook { scenario, phone, laptop in
                try phone.run("UPDATE Book SET title = \(nullIsLater ? "'value'" : "NULL")")
                try laptop.run("UPDATE Book SET title = \(nullIsLater ? "NULL" : "'value'")")
                try (phoneIsFirst ? phone : laptop).sync()
                try scenario.synchronise()
                try scenario.expect(
                    [nullIsLater ? "Book b note=N" : "Book b note=N title=value"],
                    recovery: phoneIsFirst ? [] : ["phone: Book b laterEdit title=\(nullIsLater ? "value" : "null")"]
                )
            }
        }
    }

    @Test("7, D4. At equal times the larger device wins, on all devices", arguments: [true, false])
    func devicesBreakTies(phoneIsFirst: Bool) throws {
        try withOneBook { scenario, phone, laptop in
            try phone.run("UPDATE Book SET title = 'phone'")
            laptop.clockError = -1000
            try laptop.run("UPDATE Book SET title = 'laptop'")
            laptop.clockError = 0
            try (phoneIsFirst ? phone : laptop).sync()
            try scenario.synchronise()
            try scenario.expect(
                ["Book b note=N title=laptop"],
                recovery: phoneIsFirst ? [] : ["phone: Book b laterEdit title=phone"]
            )
        }
    }

    @Test("7. A program that does not know edit times edits at the time of its version")
    func otherProgramsEditAtTheTimeOfTheirVersion() throws {
        try withOneBook { scenario, phone, laptop in
            try phone.run("UPDATE Book SET title = 'before', note = 'before'")
            var record = ServiceRecord(recordType: "Book", recordName: "b")
            record.fields["title"] = .string("console")
            record.recordChangeTag = try scenario.serviceRecord("b")?.recordChangeTag
            try scenario.change(.update, record)
            try laptop.run("UPDATE Book SET note = 'after'")
            try scenario.synchronise()
            try scenario.expect(
                ["Book b note=after title=console"],
                recovery: ["phone: Book b laterEdit title=before"]
            )
        }
    }

    /// A phone and a laptop that both have one page. Its type has no edit times of fields.
    private func withOnePage(_ body: (SyncScenario, ScenarioDevice, ScenarioDevice) throws -> Void) throws {
        let scenario = try SyncScenario()
        let devices = try ["phone", "laptop"].map { name in
            try scenario.device(name, records: [Shelf.self, Page.self]) { $0.setEditTimes(.ofRecord, of: Page.self) }
        }
        try devices[0].run("INSERT INTO Page (_recordName, title, text) VALUES ('p', 'P', 'T')")
        try scenario.synchronise()
        try body(scenario, devices[0], devices[1])
        for record in try scenario.serviceRecords() { #expect(record.fields["mist_edits"] == nil) }
    }

    @Test(
        "7. With the record's modification time, a field that arrived after an edit here wins, and an earlier one loses"
    )
    func withoutEditTimesTheModificationTimeDecides() throws {
        try withOnePage { scenario, phone, laptop in
            try phone.run("UPDATE Page SET title = 'before it arrived'")
            try laptop.run("UPDATE Page SET title = 'laptop'")
            try laptop.sync()
            try phone.run("UPDATE Page SET text = 'after it arrived'")
            try scenario.synchronise()
            try scenario.expect(
                ["Page p text=after it arrived title=laptop"],
                recovery: ["phone: Page p laterEdit title=before it arrived"]
            )
        }
    }

    @Test("7. With the record's modification time, edits of different fields are all kept", arguments: [true, false])
    func fieldsAreMergedWithoutEditTimes(phoneIsFirst: Bool) throws {
        try withOnePage { scenario, phone, laptop in
            try phone.run("UPDATE Page SET title = 'phone'")
            try laptop.run("UPDATE Page SET text = 'laptop'")
            try (phoneIsFirst ? phone : laptop).sync()
            try scenario.synchronise()
            try scenario.expect(["Page p text=laptop title=phone"])
        }
    }

    @Test("7. With the record's modification time, an edit after a lost reply does not lose to the device's own write")
    func ownWritesDoNotWin() throws {
        try withOnePage { scenario, phone, laptop in
            try phone.run("UPDATE Page SET title = 'sent'")
            try phone.sync { request in
                guard request.operations != nil else { return .answered }
                try phone.run("UPDATE Page SET title = 'later'")
                scenario.clock.advance(by: 5)
                return .lostReply
            }
            #expect(try phone.sync().summary.sent == 2)
            try scenario.synchronise()
            try scenario.expect(["Page p text=T title=later"])
        }
    }

    @Test("9. A counter needs the edit times of fields: a store with another choice is not opened")
    func countersNeedEditTimes() async throws {
        try await inTemporaryFolder { folder in
            var configuration = StoreConfiguration()
            configuration.setEditTimes(.ofRecord, of: Book.self)
            let error = #expect(throws: StoreError.self) {
                try MistStore(at: folder, records: [Shelf.self, Book.self], configuration: configuration)
            }
            #expect(error?.code == .schema)
            #expect(error?.recordType == "Book")
            #expect(error?.fieldName == "loans")
        }
    }

    @Test(
        "8, D8. A clock a day ahead: edits that other devices make afterwards still win",
        arguments: [86_400, -86_400]
    )
    func wrongClocksAreCorrected(error: Int) throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", clockError: error)
        let laptop = try scenario.device("laptop")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        try scenario.synchronise()
        // After one round trip, the phone knows the service's time.
        try phone.run("UPDATE Book SET title = 'phone'")
        try laptop.run("UPDATE Book SET title = 'laptop'")
        try scenario.synchronise()
        try scenario.expect(["Book b title=laptop"])
        try laptop.run("UPDATE Book SET title = 'laptop 2'")
        try phone.run("UPDATE Book SET title = 'phone 2'")
        try scenario.synchronise()
        try scenario.expect(["Book b title=phone 2"], recovery: ["laptop: Book b laterEdit title=laptop 2"])
    }

    @Test("8. An edit is never later than five minutes after its version: a wrong clock cannot win for a day")
    func timesAreClamped() throws {
        let version: Int64 = 1_000_000_000
        let day: Int64 = 86_400_000
        var times = EditTimes()
        times.set(EditTime(milliseconds: version + day, device: 9), of: "title", .string("wrong"))
        let remote = RemoteVersion(fields: ["title": .string("wrong")], times: times, modified: version)
        #expect(remote.time(of: "title") == EditTime(milliseconds: version + 300_000, device: 9))
    }

    @Test("8. The order of one device's edits is kept when its clock is corrected")
    func orderOfEditsIsKept() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        _ = try scenario.device("laptop")
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B')")
        try scenario.synchronise()
        phone.clockError = 3_600_000
        try phone.run("UPDATE Book SET title = 'first' WHERE _recordName = 'a'")
        phone.clockError = -3_600_000
        try phone.run("UPDATE Book SET title = 'second' WHERE _recordName = 'b'")
        phone.clockError = 0
        try phone.run("UPDATE Book SET note = 'third' WHERE _recordName = 'a'")
        try scenario.synchronise()
        try scenario.expect(["Book a note=third title=first", "Book b title=second"])
    }

    @Test("9, D9. Counters, greatest values and unions of three devices converge")
    func mergePoliciesOfThreeDevicesConverge() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        let tablet = try scenario.device("tablet")
        try phone.run("INSERT INTO Book (_recordName, loans, best, tags) VALUES ('b', 10, 1, '[\"a\"]')")
        try scenario.synchronise()
        for round in 1...3 {
            try phone.run("UPDATE Book SET loans = loans + 1, best = \(round * 10), tags = '[\"a\",\"p\(round)\"]'")
            try laptop.run("UPDATE Book SET loans = loans - 2, best = \(round * 20), tags = '[\"a\",\"l\(round)\"]'")
            try tablet.run("UPDATE Book SET loans = loans + 5, best = \(round)")
            try [phone, tablet, laptop][round - 1].sync()
            try scenario.synchronise()
        }
        // Smaller values of a field that only grows were put back, and so were the elements that were taken out of the
        // list; counters and unions have merged all edits.
        try scenario.expect(
            ["Book b best=60 loans=22 tags=[a,l1,l2,l3,p1,p2,p3]"],
            recovery: [
                "phone: Book b policy tags=[a,p2]",
                "phone: Book b policy best=30 tags=[a,p3]",
                "laptop: Book b policy tags=[a,l2]",
                "laptop: Book b policy tags=[a,l3]",
                "tablet: Book b policy best=2",
                "tablet: Book b policy best=3",
            ]
        )
    }

    @Test("9, D9. A merge closure decides with base, local and remote; one that throws parks its record alone")
    func mergeClosuresDecideConflicts() throws {
        struct Unclear: Error {}
        let scenario = try SyncScenario()
        let merge: MergeClosure = { base, local, remote in
            guard local != .string("unclear") else { throw Unclear() }
            return .string([base, local, remote].map { $0?.stringValue ?? "-" }.joined(separator: " "))
        }
        let change: (inout StoreConfiguration) -> Void = { $0.closures = ["Book": ["note": merge]] }
        let phone = try scenario.device("phone", change: change)
        let laptop = try scenario.device("laptop", change: change)
        try phone.run("INSERT INTO Book (_recordName, note) VALUES ('a', 'base'), ('b', 'base')")
        try scenario.synchronise()
        try phone.run("UPDATE Book SET note = 'phone'")
        try laptop.run("UPDATE Book SET note = iif(_recordName = 'a', 'laptop', 'unclear')")
        try phone.sync()
        let trace = try laptop.sync()
        #expect(trace.writes == ["modify update a"])
        #expect(trace.summary.parked == 1)
        #expect(try laptop.pending() == ["laptop: edit Book 2 note", "laptop: parked b merge"])
        try phone.sync()
        #expect(try phone.records() == ["Book a note=base laptop phone", "Book b note=phone"])
        #expect(try laptop.records() == ["Book a note=base laptop phone", "Book b note=unclear"])
        // Another edit is another attempt, which ends as well.
        try laptop.run("UPDATE Book SET title = 'T' WHERE _recordName = 'b'")
        #expect(try laptop.sync().lines.count < 8)
        #expect(try laptop.pending().last == "laptop: parked b merge")
    }

    @Test("9. A version contains exactly what one of this file's writes added, also an earlier one that arrived late")
    func countsThatArriveLateCountOnce() {
        func part(_ sequence: Int64, _ sum: Int64) -> EditTimes.Part {
            EditTimes.Part(field: Checksum.of(name: "loans"), device: 1, sequence: sequence, sum: sum)
        }
        func times(_ part: EditTimes.Part) -> EditTimes {
            var times = EditTimes()
            times.parts = [part]
            return times
        }
        func version(_ part: EditTimes.Part) -> RemoteVersion {
            RemoteVersion(fields: [:], times: times(part), modified: 20)
        }
        let known = part(5, 7)
        // Sent and given up, sent and refused.
        let writes = CounterParts.writes([part(3, 4), part(20, 8)], adding: times(part(30, 9)), to: times(known))
        #expect(Set(writes) == [part(20, 8), part(30, 9)])
        let edit = PendingEdit(value: .int64(12), base: .int64(10), time: EditTime(milliseconds: 30, device: 1))
        var history = CounterHistory(known: times(known), writes: writes, devices: [1])
        for isUncertain in [false, true] {
            history.isUncertain = isUncertain
            for (theirs, sum) in [(known, 0), (part(20, 8), 1), (part(30, 9), 2), (part(25, -3), 0)] {
                let stored = CounterParts.stored(of: "loans", edit, history, in: version(theirs))
                #expect(stored == StoredCount(sum: Int64(sum)), "\(theirs)")
            }
        }
        // Another copy of the file has written over the write whose outcome is unknown.
        let overwritten = CounterParts.stored(of: "loans", edit, history, in: version(part(40, 1)))
        #expect(overwritten == StoredCount(sum: 2, isCertain: false))
        history.isUncertain = false
        #expect(CounterParts.stored(of: "loans", edit, history, in: version(part(40, 1))) == StoredCount(sum: 0))
    }

    @Test("9, D10. Fifty rounds of conflicts about one record end, and each is one merge")
    func fiftyRoundsOfConflictsEnd() throws {
        try withOneBook { scenario, phone, laptop in
            try phone.run("UPDATE Book SET note = 'phone'")
            var rounds = 0
            let trace = try phone.sync { request in
                if request.operations != nil, rounds < 50 {
                    rounds += 1
                    try laptop.run("UPDATE Book SET title = 'laptop \(rounds)'")
                    try laptop.sync()
                }
                return .answered
            }
            #expect(trace.requests.filter { $0.operations != nil }.count == 51)
            try scenario.synchronise()
            try scenario.expect(["Book b note=phone title=laptop 50"])
        }
    }

    @Test("9, D11. The same name chosen on two devices is one record")
    func sameNamesAreOneRecord() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note) VALUES ('key', 'phone', 'phone')")
        try laptop.run("INSERT INTO Book (_recordName, title) VALUES ('key', 'laptop')")
        try scenario.synchronise()
        try scenario.expect(["Book key note=phone title=laptop"])
    }

    @Test("10, O3. Values that lost and edits that a delete ended are in the recovery log, with the reason")
    func nothingIsLostWithoutAReceipt() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')",
            "INSERT INTO Book (_recordName, title, note) VALUES ('a', 'A', 'N'), ('b', 'B', 'N')"
        )
        try scenario.synchronise()
        try phone.run("UPDATE Book SET title = 'lost' WHERE _recordName = 'a'")
        try phone.run("UPDATE Book SET title = 'killed', note = 'killed' WHERE _recordName = 'b'")
        try phone.run("INSERT INTO Book (_recordName, title, shelf) VALUES ('c', 'with its shelf', 's')")
        try laptop.run("UPDATE Book SET title = 'won' WHERE _recordName = 'a'")
        try laptop.run("DELETE FROM Book WHERE _recordName = 'b'", "DELETE FROM Shelf")
        try laptop.sync()
        let summary = try phone.sync().summary
        // Three records.
        #expect(summary.lost == 3)
        try scenario.synchronise()
        try scenario.expect(
            ["Book a note=N title=won"],
            recovery: [
                "phone: Book a laterEdit title=lost",
                "phone: Book b deleted note=killed title=killed",
                "phone: Book c deletedWithTarget shelf=→s title=with its shelf",
            ]
        )
    }

    @Test(
        "10, 9. A value that a policy puts back has a receipt: a lowered extreme, elements removed from a list",
        arguments: [true, false]
    )
    func valuesThatPoliciesPutBackHaveReceipts(isMerged: Bool) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, best, tags) VALUES ('b', 5, '[\"a\",\"b\"]')")
        try scenario.synchronise()
        // With a change on the other side, the values are merged; without one, they are joined before they are sent.
        if isMerged { try laptop.run("UPDATE Book SET title = 'remote', best = 6, tags = '[\"a\",\"b\",\"l\"]'") }
        try laptop.sync()
        try phone.run("UPDATE Book SET best = 1, tags = '[\"a\",\"p\"]'")
        try phone.sync()
        try scenario.synchronise()
        try scenario.expect(
            [isMerged ? "Book b best=6 tags=[a,b,l,p] title=remote" : "Book b best=5 tags=[a,b,p]"],
            recovery: ["phone: Book b policy best=1 tags=[a,p]"]
        )
    }

    @Test("8. The clock of the configuration is that of the triggers, and other programs keep the machine's")
    func configuredClocksReachTheTriggers() async throws {
        try await inTemporaryFolder { folder in
            let clock = DeviceClock(TestClock(), ahead: .seconds(3600))
            var configuration = StoreConfiguration()
            configuration.clock = { clock.now }
            let store = try MistStore(at: folder, records: [Shelf.self, Book.self], configuration: configuration)
            try await store.privateDatabase.add(Book(title: "A"), named: "a")
            clock.ahead = .zero
            try await store.privateDatabase.add(Book(title: "B"), named: "b")
            struct Refused: Error {}
            await #expect(throws: Refused.self) { try await store.privateDatabase.write { _ in throw Refused() } }
            let (raws, kept) = try await store.file(of: .private).database.read { db in
                (
                    try Int64.fetchAll(db, sql: "SELECT raw FROM mist_edit ORDER BY row"),
                    try Int64.fetchOne(db, sql: "SELECT count(clock) FROM mist_state")
                )
            }
            #expect(raws == [1_767_229_200_000, 1_767_225_600_000])
            #expect(kept == 0)
            try store.close()
        }
    }
}
