import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import SQLiteTables
import Testing

@testable import MistStore

/// Promise 40: many deletes wait for a permission, and many deletes of other devices are announced.
struct MassDeletionPromiseTests {
    private static let small = MassDeletionLimit(records: 3, fraction: 1.0 / 3)
    private static let names = (0...9).map { "b\($0)" }
    private static let tenBooks =
        "INSERT INTO Book (_recordName) VALUES "
        + names.map { "('\($0)')" }.joined(separator: ", ")

    private func books(_ numbers: some Sequence<Int>) -> [String] { numbers.map { "Book b\($0)" } }

    /// A phone with a small limit and a laptop without one, both with ten books.
    private func devicesWithTenBooks(_ body: (SyncScenario, ScenarioDevice, ScenarioDevice) async throws -> Void)
        async throws
    {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone") { $0.massDeletionLimit = Self.small }
        let laptop = try scenario.device("laptop") { $0.massDeletionLimit = nil }
        try phone.run(Self.tenBooks)
        try scenario.synchronise()
        try await body(scenario, phone, laptop)
    }

    @Test("40. A push rests that would delete more than the limit, in number and in part of the records")
    func theLimitHasTwoConditions() {
        let usual = MassDeletionLimit()
        for (deletes, records, isExceeded) in [
            (100, 100, false), (101, 101, true), (101, 303, false), (102, 303, true), (5000, 6000, true),
            (50, 10_000, false), (3000, 10_000, false), (0, 0, false),
        ] {
            #expect(usual.isExceeded(by: deletes, of: records) == isExceeded, "\(deletes) of \(records)")
            // More records than these are not counted.
            if isExceeded { #expect(records < usual.enough(for: deletes)) }
        }
        #expect(MassDeletionLimit(records: 0, fraction: 0).isExceeded(by: 1, of: 1_000_000))
        #expect(MassDeletionLimit(records: 0, fraction: 0).enough(for: 1) == .max)
    }

    @Test("40. A limit that makes no sense is an error")
    func limitsAreChecked() throws {
        for limit in [
            MassDeletionLimit(records: -1), MassDeletionLimit(fraction: 1.5), MassDeletionLimit(fraction: .nan),
        ] {
            var configuration = StoreConfiguration()
            configuration.massDeletionLimit = limit
            let changed = configuration
            let error = #expect(throws: StoreError.self) { try changed.check([]) }
            #expect(error?.code == .value)
        }
    }

    @Test("40. Deletes above the limit wait and edits go on; a permission is for the deletes that wait then")
    func manyDeletesWait() async throws {
        try await devicesWithTenBooks { scenario, phone, laptop in
            try phone.run(
                "DELETE FROM Book WHERE _recordName < 'b6'",
                "UPDATE Book SET title = 'edited' WHERE _recordName = 'b9'",
                "INSERT INTO Book (_recordName) VALUES ('new')"
            )
            #expect(try phone.sync().writes == ["modify update b9, create new"])
            let status = try await phone.local.status()
            #expect(status.conditions == [.massDeletion])
            #expect(status.massDeletion == MassDeletion(deletes: 6, sentBefore: 0, records: 11))
            #expect(!status.isSynchronised)
            try laptop.sync()
            #expect(try laptop.records().count == 11)
            try phone.restart()
            #expect(try phone.sync().writes == [])
            #expect(try await phone.local.allowMassDeletion() == 6)
            try phone.run("DELETE FROM Book")
            let trace = try phone.sync { $0.isWrite ? .lostReply : .answered }
            #expect(trace.writes == ["modify delete b0, delete b1, delete b2, delete b3, delete b4, delete b5"])
            try scenario.synchronise()
            let left = ["Book b6", "Book b7", "Book b8", "Book b9 title=edited", "Book new"]
            #expect(try laptop.records() == left)
            #expect(try await phone.local.status().massDeletion?.deletes == 5)
            try await phone.local.allowMassDeletion()
            try scenario.synchronise()
            try scenario.expect([])
        }
    }

    @Test("40. A program that deletes one record at a time, and synchronises after each, is stopped for a day")
    func slowDeletesAreCounted() async throws {
        try await devicesWithTenBooks { scenario, phone, _ in
            for number in 0...5 {
                try phone.run("DELETE FROM Book WHERE _recordName = 'b\(number)'")
                // The deletes of a lost reply and of a refused name count, too.
                try phone.sync { $0.isWrite && number == 1 ? .lostReply : .answered }
                try phone.sync()
            }
            #expect(try scenario.serviceRecords().count == 7)
            scenario.clock.advance(by: 25 * 3600)
            try scenario.synchronise()
            try scenario.expect(books(6...9))
        }
    }

    @Test("40. A program that deletes a few old records each day is never stopped")
    func retentionGoesOn() async throws {
        try await devicesWithTenBooks { scenario, phone, _ in
            for day in 0..<9 {
                try phone.run("DELETE FROM Book WHERE _recordName = 'b\(day)'")
                #expect(try phone.sync().writes == ["modify delete b\(day)"])
                scenario.clock.advance(by: 24 * 3600)
            }
            try scenario.synchronise()
            try scenario.expect(books(9...9))
        }
    }

    @Test(
        "40, A7. An undo brings the records back; a name that was used again and a delete elsewhere stay",
        arguments: 0...3
    )
    func undoBringsRecordsBack(fault: Int) async throws {
        try await devicesWithTenBooks { scenario, phone, laptop in
            try laptop.run("UPDATE Book SET title = 'laptop', loans = 7")
            try laptop.sync()
            try phone.run("UPDATE Book SET note = 'kept' WHERE _recordName = 'b9'")
            try phone.run("DELETE FROM Book WHERE _recordName < 'b9'")
            try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b0', 'second life')")
            try phone.sync()
            try laptop.run("DELETE FROM Book WHERE _recordName = 'b8'")
            try laptop.sync()
            #expect(try await phone.local.undoMassDeletion() == 8)
            let trace = try phone.sync { request in
                guard case .lookup = request else { return .answered }
                return switch fault {
                case 1: .lostReply
                case 2: .crashBefore
                case 3: .crashAfter
                default: .answered
                }
            }
            #expect(trace.lines.contains { $0.hasPrefix("lookup b1, b2") })
            scenario.clock.advance(by: 60)
            try scenario.synchronise()
            // A single delete is not more than the limit.
            try scenario.expect(
                ["Book b0 title=second life"] + (1...7).map { "Book b\($0) loans=7 title=laptop" }
                    + ["Book b9 loans=7 note=kept title=laptop"]
            )
        }
    }

    @Test("40, 12. The deletes of a cascade count")
    func cascadesCount() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone") { $0.massDeletionLimit = Self.small }
        try phone.run(
            "INSERT INTO Shelf (_recordName) VALUES ('s')",
            Self.tenBooks,
            "UPDATE Book SET shelf = 's' WHERE _recordName < 'b5'"
        )
        try phone.sync()
        try phone.run("DELETE FROM Shelf")
        #expect(try phone.sync().writes == [])
        #expect(try phone.pending().count == 6)
        #expect(try await phone.local.undoMassDeletion() == 6)
        try scenario.synchronise()
        try scenario.expect(
            ((0...4).map { "Book b\($0) shelf=→s" } + books(5...9) + ["Shelf s"]).sorted()
        )
    }

    @Test("40, 23. Deletes in the public database wait, too")
    func publicDeletesWait() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public) { $0.massDeletionLimit = Self.small }
        try await phone.local.follow(Query<Book>())
        try phone.run(Self.tenBooks)
        try phone.sync()
        try phone.run("DELETE FROM Book")
        #expect(try phone.sync().writes == [])
        #expect(try await phone.local.status().massDeletion?.records == 10)
        #expect(try await phone.local.undoMassDeletion() == 10)
        try phone.sync()
        #expect(try phone.records().count == 10)
        try phone.run("DELETE FROM Book")
        try await phone.local.allowMassDeletion()
        #expect(try phone.sync().writes.count == 1)
        #expect(try phone.pending().isEmpty)
    }

    @Test("40, 23. An undo in the public database keeps the records below one that the service never had")
    func undoKeepsWhatIsBelowAnUnsentRecord() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public) { $0.massDeletionLimit = Self.small }
        try await phone.local.follow(Query<Book>())
        try phone.run(
            "INSERT INTO Shelf (_recordName) VALUES ('s')",
            Self.tenBooks,
            "UPDATE Book SET shelf = 's'"
        )
        // The service stores the books, and is to get the shelf later.
        try phone.sync { request in
            guard case .modify(let operations, let zone, let isAtomic) = request else { return .answered }
            let others = operations.filter { $0.record.recordName != "s" }
            let reply = phone.answer(.modify(others, zone: zone, isAtomic: isAtomic))
            guard others.count < operations.count, case .records(let results) = try reply.get() else {
                return .answered
            }
            let failure = Result<ServiceRecord, CloudKitError>
                .failure(.service("THROTTLED", retryAfter: 3600, record: "s"))
            return .reply(.success(.records([failure] + results)))
        }
        try phone.run("DELETE FROM Shelf")
        #expect(try phone.sync().writes == [])
        #expect(try await phone.local.undoMassDeletion() == 11)
        scenario.clock.advance(by: 7200)
        #expect(try phone.sync().writes == [])
        #expect(try phone.records() == (0...9).map { "Book b\($0) shelf=→s" })
        #expect(try phone.pending().isEmpty)
    }

    @Test("40. The guard can be switched off")
    func theGuardCanBeSwitchedOff() async throws {
        try await devicesWithTenBooks { scenario, _, laptop in
            try laptop.run("DELETE FROM Book")
            #expect(try laptop.sync().writes.count == 1)
            #expect(try scenario.serviceRecords().isEmpty)
        }
    }

    // MARK: The other direction

    @Test(
        "40, 10, 18, 21. Many deletes from elsewhere are applied, with receipts and an announcement",
        arguments: 0...2
    )
    func manyRemovalsHaveReceipts(kind: Int) async throws {
        try await devicesWithTenBooks { scenario, phone, laptop in
            try phone.run("UPDATE Book SET title = 'edited' WHERE _recordName = 'b0'")
            try laptop.run(kind == 2 ? "DELETE FROM Book WHERE _recordName <> 'b9'" : "DELETE FROM Book")
            if kind == 1 { try scenario.purge() } else { try laptop.sync() }
            try phone.sync { request in
                guard kind == 2, case .zoneChanges(let cursors) = request, cursors[0].token != nil else {
                    return .answered
                }
                let error = CloudKitError.service("CHANGE_TOKEN_EXPIRED")
                return .reply(.success(.zoneChanges([.failure(error)])))
            }
            let removed = kind == 2 ? 9 : 10
            let reason = kind == 1 ? "zoneDeleted" : "deleted"
            #expect(try phone.records().count == 10 - removed)
            let receipts = try phone.recovery()
            #expect(
                Set(receipts)
                    == Set(
                        (0..<removed).map { number in
                            "phone: Book b\(number) \(reason)" + (number == 0 ? " title=edited" : "")
                        }
                    )
            )
            let removal = try #require(try await phone.local.status().massRemoval)
            #expect(removal.removed == removed)
            #expect(removal.records == 10)
            let entries = try await phone.local.recoveryLog()
            #expect(entries.count == removed)
            for entry in entries { try await phone.local.restore(entry) }
            #expect(try phone.records().count == 10)
        }
    }

    @Test("40, 10. A few deletes from elsewhere leave no receipts, also where they come in several pages")
    func fewRemovalsHaveNoReceipts() async throws {
        try await devicesWithTenBooks { scenario, phone, laptop in
            try laptop.run("DELETE FROM Book WHERE _recordName < 'b3'")
            try laptop.sync()
            try phone.sync()
            #expect(try await phone.local.status().massRemoval == nil)
            try scenario.expect(books(3...9))
        }
    }

    @Test("40, 10. The recovery log is trimmed to its size at once, the oldest entries first")
    func theLogIsTrimmed() async throws {
        try await devicesWithTenBooks { scenario, phone, laptop in
            try laptop.run("DELETE FROM Book")
            try laptop.sync()
            try phone.sync()
            let sizes = try phone.value("SELECT sum(size) FROM mist_recovery")
            try phone.database.write { db in
                let log = RecoveryEntries(scope: .private, db: db, sealer: nil)
                try log.trim(before: 0, toBytes: sizes)
                #expect(try log.latest(100).count == 10)
                try log.trim(before: 0, toBytes: sizes / 2)
                #expect(try log.latest(100).map(\.id) == [10, 9, 8, 7, 6])
                try log.trim(before: 0, toBytes: 0)
                #expect(try log.latest(100).isEmpty)
            }
        }
    }
}
