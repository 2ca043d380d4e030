import CloudKitModel
import Foundation
import MistKit
import TestSupport
import Testing

@testable import MistStore

/// What a program's calls write: only what the program changed.
struct EditPromiseTests {
    /// A phone and a laptop with one book, which the phone's program holds. Then the laptop changes it, and both
    /// synchronise.
    private func withHeldBook(
        _ remote: String,
        _ body: (SyncScenario, ScenarioDevice, StoredRecord<Book>) async throws -> Void
    ) async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Book (_recordName, title, note, loans, best, tags) VALUES ('b', 'B', 'N', 1, 3, '[\"a\"]')"
        )
        try scenario.synchronise()
        let held = try await phone.local.fetch(Book.self, named: "b")
        try laptop.run(remote)
        try laptop.sync()
        try phone.sync()
        try phone.run()
        try await body(scenario, phone, held)
    }

    @Test("7, P1. A record that was held over a synchronisation writes only the fields that the program changed")
    func heldRecordsKeepWhatArrived() async throws {
        try await withHeldBook("UPDATE Book SET note = 'arrived', loans = loans + 10, best = 5") {
            scenario,
            phone,
            held in
            var held = held
            held.title = "held"
            let added = try await phone.local.add(held)
            #expect(added.model == Book(title: "held", note: "arrived", loans: 11, best: 5, tags: ["a"]))
            #expect(try phone.pending() == ["phone: edit Book 1 title"])
            try scenario.synchronise()
            try scenario.expect(["Book b best=5 loans=11 note=arrived tags=[a] title=held"])
        }
    }

    @Test(
        "9, P1. A held counter adds what the program added, a held list its elements; a smaller extreme has a receipt"
    )
    func heldPoliciesAreJoined() async throws {
        try await withHeldBook("UPDATE Book SET loans = loans + 10, best = 5, tags = '[\"a\",\"l\"]'") {
            scenario,
            phone,
            held in
            var held = held
            held.loans += 2
            held.tags.append("p")
            held.best = 4
            let added = try await phone.local.add(held)
            #expect(added.model == Book(title: "B", note: "N", loans: 13, best: 5, tags: ["a", "l", "p"]))
            try scenario.synchronise()
            try scenario.expect(
                ["Book b best=5 loans=13 note=N tags=[a,l,p] title=B"],
                recovery: ["phone: Book b policy best=4"]
            )
        }
    }

    @Test("7, P1. A record that was read and not changed writes nothing")
    func unchangedRecordsWriteNothing() async throws {
        try await withHeldBook("UPDATE Book SET title = 'arrived', loans = 7") { scenario, phone, held in
            let added = try await phone.local.add(held)
            #expect(added.title == "arrived")
            #expect(try phone.pending() == [])
            #expect(added.modified == (try await phone.local.fetch(Book.self, named: "b").modified))
            try scenario.synchronise()
            try scenario.expect(["Book b best=3 loans=7 note=N tags=[a] title=arrived"])
        }
    }

    @Test("6, P1. A delete wins over a record that was held: adding it throws notFound; its values make a new record")
    func heldRecordsAreNotCreatedAgain() async throws {
        try await withHeldBook("DELETE FROM Book") { scenario, phone, held in
            var held = held
            held.title = "held"
            let stale = held
            let error = await #expect(throws: StoreError.self) { try await phone.local.add(stale) }
            #expect(error?.code == .notFound)
            #expect(error?.message.contains("add(record.model, named: record.recordName)") == true)
            try scenario.synchronise()
            try scenario.expect([])
            try await phone.local.add(stale.model, named: stale.recordName)
            try scenario.synchronise()
            try scenario.expect(["Book b best=3 loans=1 note=N tags=[a] title=held"])
            // The new record is not the one that was read.
            let again = await #expect(throws: StoreError.self) { try await phone.local.add(stale) }
            #expect(again?.code == .notFound)
            #expect(again?.message.contains("another record has its name") == true)
        }
    }

    @Test("5, P1. A record that was held before its first push is the same record after it")
    func heldRecordsMayBeAcknowledged() async throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        var held = try await phone.local.add(Book(title: "A"), named: "a")
        try scenario.synchronise()
        held.note = "held"
        #expect(try await phone.local.add(held).note == "held")
        try phone.run("DELETE FROM Book")
        let removed = held
        let error = await #expect(throws: StoreError.self) { try await phone.local.add(removed) }
        #expect(error?.code == .notFound)
        try scenario.synchronise()
        try scenario.expect([])
    }

    @Test("7, P1. A record of the client, or of another store, writes what the program changed in it")
    func recordsOfTheClientAreChanged() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title, note, loans) VALUES ('b', 'B', 'N', 1)")
        try scenario.synchronise()
        var ofClient = try StoredRecord<Book>(try #require(try scenario.serviceRecord("b")))
        var ofLaptop = try await laptop.local.fetch(Book.self, named: "b")
        try phone.run("UPDATE Book SET title = 'later', loans = 5")
        ofClient.note = "client"
        ofLaptop.loans += 1
        try await phone.local.add(ofClient)
        try await phone.local.add(ofLaptop)
        try scenario.synchronise()
        try scenario.expect(["Book b loans=6 note=client title=later"])
        // A record that this store never had is not created by a change of it.
        let tablet = try scenario.device("tablet")
        let unknown = ofClient
        let error = await #expect(throws: StoreError.self) { try await tablet.local.add(unknown) }
        #expect(error?.code == .notFound)
    }

    @Test("1, P1. A record that is constructed with an existing name sets all fields, as before")
    func constructedRecordsSetAllFields() async throws {
        try await withHeldBook("UPDATE Book SET note = 'arrived', loans = 5") { scenario, phone, _ in
            try await phone.local.add(Book(title: "new", loans: 2, best: 9, tags: ["a"]), named: "b")
            try scenario.synchronise()
            try scenario.expect(["Book b best=9 loans=2 tags=[a] title=new"])
        }
    }

    @Test("7, P1. A change in the closure of update begins with the present values, and writes only what it changes")
    func updatesChangeThePresentValues() async throws {
        try await withHeldBook("UPDATE Book SET note = 'arrived', loans = loans + 10") { scenario, phone, _ in
            let updated = try await phone.local.update(Book.self, named: "b") { $0.loans += 1 }
            #expect(updated.loans == 12)
            #expect(try phone.pending() == ["phone: edit Book 1 loans"])
            struct Refused: Error {}
            await #expect(throws: Refused.self) {
                try await phone.local.update(Book.self, named: "b") {
                    $0.title = "kept only with its transaction"
                    throw Refused()
                }
            }
            let error = await #expect(throws: StoreError.self) {
                try await phone.local.update(Book.self, named: "nowhere") { $0.loans += 1 }
            }
            #expect(error?.code == .notFound)
            try await phone.local.write { books in try books.update(Book.self, named: "b") { $0.title = "T" } }
            try scenario.synchronise()
            try scenario.expect(["Book b best=3 loans=12 note=arrived tags=[a] title=T"])
        }
    }

    @Test("9, P1. Increments of all devices add up; other fields and sums of more than 64 bits are refused")
    func incrementsAddUp() async throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        try scenario.synchronise()
        #expect(try await phone.local.increment(\.loans, of: Book.self, named: "b").loans == 1)
        #expect(try await phone.local.increment(\.loans, of: Book.self, named: "b", by: -4).loans == -3)
        try await laptop.local.write { try $0.increment(\.loans, of: Book.self, named: "b", by: 10) }
        try scenario.synchronise()
        try scenario.expect(["Book b loans=7 title=B"])
        let notACounter = await error { try await phone.local.increment(\.best, of: Book.self, named: "b") }
        #expect(notACounter?.code == .value)
        let tooLarge = await error { try await phone.local.increment(\.loans, of: Book.self, named: "b", by: .max) }
        #expect(tooLarge?.code == .value)
        let unknown = await error { try await phone.local.increment(\.loans, of: Book.self, named: "c") }
        #expect(unknown?.code == .notFound)
        try scenario.expect(["Book b loans=7 title=B"])
    }

    private func error(_ body: () async throws -> StoredRecord<Book>) async -> StoreError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    @Test(
        "9, P1. The value of a change by policy, what was read, what was written, and what is there",
        arguments: [
            (FieldMerge.latest, FieldValue.int64(1), FieldValue.int64(2), FieldValue.int64(3), FieldValue.int64(2)),
            (.latest, .int64(1), nil, .int64(3), .null),
            (.counter, .int64(1), .int64(2), .int64(11), .int64(12)),
            (.counter, .int64(1), .int64(0), .int64(1), .int64(0)),
            (.counter, .int64(5), nil, .int64(7), .int64(2)),
            (.counter, nil, .int64(2), .int64(7), .int64(9)),
            (.counter, .int64(0), .int64(1), .int64(.max), nil),
            (.counter, .int64(.min), .int64(1), .int64(0), nil),
            (.greatest, .int64(3), .int64(4), .int64(5), .int64(5)),
            (.greatest, .int64(3), .int64(6), .int64(5), .int64(6)),
            (.greatest, .int64(3), .int64(1), .int64(3), .int64(1)),
            (.smallest, .int64(3), nil, .int64(2), .int64(2)),
            (.union, .stringList(["a"]), .stringList(["c"]), .stringList(["a", "b"]), .stringList(["a", "b", "c"])),
            (.union, .stringList(["b"]), .stringList(["b", "a"]), .stringList(["b"]), .stringList(["b", "a"])),
        ] as [(FieldMerge, FieldValue?, FieldValue?, FieldValue?, FieldValue?)]
    )
    func changesOfAHeldRecordFollowTheMergePolicy(
        policy: FieldMerge,
        read: FieldValue?,
        written: FieldValue?,
        present: FieldValue?,
        expected: FieldValue?
    ) {
        #expect(FieldChange(read: read, written: written, present: present).value(by: policy) == expected)
    }
}
