import CloudKitModel
import Foundation
import MistKit
import MistModels
import Testing

@testable import MistStore

/// Two types whose names, each joined with a field's name, are equal.
enum AlikeNames {
    @CloudKitRecord("A_B")
    struct First: Hashable {
        @CloudKitParent @CloudKitField("C") var above: RecordReference<Shelf>?
    }

    @CloudKitRecord("A")
    struct Second: Hashable {
        @CloudKitParent @CloudKitField("B_C") var above: RecordReference<Shelf>?
    }
}

/// Promises 31, 34 and 35: summaries, and types that change.
struct SchemaPromiseTests {
    @Test("34, A10. New types and new fields get tables and columns; rows that were there before are sent")
    func tablesFollowTheTypes() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [FirstVersion.Card.self])
        try phone.run("INSERT INTO Card (_recordName, title) VALUES ('c', 'C')")
        try phone.restart(records: [FirstVersion.Card.self, Shelf.self])
        try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')")
        #expect(try phone.sync().writes == ["zones/modify Records", "modify create c, create s"])
        try scenario.expect(["Card c title=C", "Shelf s name=S"])
    }

    @Test("34. An older program opens a newer file, and leaves what it does not know alone")
    func olderProgramsOpenNewerFiles() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [SecondVersion.Card.self, Shelf.self])
        try phone.run(
            "INSERT INTO Card (_recordName, name, rank) VALUES ('c', 'C', 7)",
            "INSERT INTO Shelf (name) VALUES ('S')"
        )
        try phone.restart(records: [FirstVersion.Card.self])
        try phone.run("UPDATE Card SET title = 'old'")
        try phone.sync()
        #expect(try phone.value("SELECT rank FROM Card") == 7)
        #expect(try phone.value("SELECT count(*) FROM Shelf") == 1)
        try phone.restart(records: [SecondVersion.Card.self, Shelf.self])
        try phone.sync()
        #expect(try scenario.serviceRecords().count == 2)
        #expect(try scenario.serviceRecord("c")?.fields["rank"] == .int64(7))
        #expect(try phone.pending() == [])
    }

    @Test("34. A field whose type has changed is an error that names both types, and nothing changes")
    func changedTypesAreErrors() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [FirstVersion.Card.self])
        try phone.run("INSERT INTO Card (_recordName, title) VALUES ('c', 'C')")
        let error = #expect(throws: StoreError.self) {
            try phone.restart(records: [Shelf.self, WrongVersion.Card.self])
        }
        #expect(error?.code == .schema)
        #expect(error?.description.contains("INT64") == true)
        #expect(error?.description.contains("STRING") == true)
        #expect(try phone.value("SELECT count(*) FROM sqlite_master WHERE name = 'Shelf'") == 0)
        #expect(try phone.records() == ["Card c title=C"])
    }

    @Test("34. A renamed field begins with the value of the old one, and the old column stays")
    func renamedFieldsKeepTheirValues() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [FirstVersion.Card.self])
        try phone.run("INSERT INTO Card (_recordName, title) VALUES ('c', 'C')")
        try phone.sync()
        try phone.restart(records: [SecondVersion.Card.self])
        #expect(try phone.value("SELECT name = 'C' AND title = 'C' FROM Card") == 1)
        #expect(try phone.pending() == [])
    }

    @Test("35, I2. A field that production does not know parks its type alone, and names the field")
    func unknownFieldsParkTheirType() throws {
        let scenario = try SyncScenario()
        let (phone, _) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')",
            "INSERT INTO Book (_recordName, best) VALUES ('b', 1)"
        )
        let trace = try phone.sync { request in
            guard case .modify(let operations, let zone, let isAtomic) = request else { return .answered }
            let shelves = operations.filter { $0.record.recordType == "Shelf" }
            guard case .records(let results) = try phone.answer(.modify(shelves, zone: zone, isAtomic: isAtomic)).get()
            else { return .answered }
            let reason = "Cannot create or modify field 'best' in record 'Book' in production schema"
            return .reply(.success(.records(results + [.failure(.service(.badRequest, reason: reason, record: "b"))])))
        }
        #expect(trace.summary.sent == 1)
        #expect(trace.summary.parked == 1)
        #expect(try phone.pending() == ["phone: edit Book 1", "phone: parked Book best"])
        try phone.run("UPDATE Shelf SET name = 'SS'")
        #expect(try phone.sync().writes == ["modify update s"])
        // After a restart, the engine tries again, since the schema may have the field by now.
        try phone.restart()
        #expect(try phone.sync().writes == ["modify create b"])
    }

    @Test("35. Where production has no `mist_edits`, the status names the field and the way out")
    func missingEditTimesAreExplained() async throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone")
        try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('s', 'S')")
        try phone.sync { request in
            guard request.operations != nil else { return .answered }
            let reason = "Cannot create or modify field 'mist_edits' in record 'Shelf' in production schema"
            return .reply(.success(.records([.failure(.service(.badRequest, reason: reason, record: "s"))])))
        }
        let parked = try await phone.local.status().parkedTypes
        #expect(parked.map(\.recordType) == ["Shelf"])
        #expect(parked.first?.fieldName == "mist_edits")
        #expect(parked.first?.message.contains("setEditTimes(.ofRecord, of: Shelf.self)") == true)
        #expect(try await !phone.local.status().isSynchronised)
    }

    @Test("31, M3. The summary of a synchronisation says what changed here and at the service")
    func summariesSayWhatChanged() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run(
            "INSERT INTO Book (_recordName, title, note) VALUES ('a', 'A', 'N'), ('b', 'B', 'N'), ('c', 'C', 'N')"
        )
        #expect(try phone.sync().summary == SyncSummary(sent: 3))
        #expect(try laptop.sync().summary == SyncSummary(fetched: 3))
        try laptop.run(
            "UPDATE Book SET note = 'laptop' WHERE _recordName = 'b'",
            "DELETE FROM Book WHERE _recordName = 'c'"
        )
        try phone.run("UPDATE Book SET title = 'lost', note = 'earlier' WHERE _recordName = 'b'")
        try laptop.run("UPDATE Book SET title = 'won' WHERE _recordName = 'b'")
        #expect(try laptop.sync().summary == SyncSummary(sent: 1, deleted: 1))
        #expect(try phone.sync().summary == SyncSummary(removed: 1, sent: 1, merged: 1, lost: 1))
        try scenario.synchronise()
        try scenario.expect(
            ["Book a note=N title=A", "Book b note=earlier title=won"],
            recovery: ["phone: Book b laterEdit title=lost"]
        )
    }
}

// MARK: - Renamed and added fields

extension SchemaPromiseTests {
    @Test("34. A renamed field is written under both names, by SQL and by models, whichever name was written")
    func renamedFieldsAreWrittenUnderBothNames() async throws {
        let scenario = try SyncScenario()
        // A file that only the newer program has opened has the former name as well.
        let phone = try scenario.device("phone", records: [SecondVersion.Card.self])
        try phone.run(
            "INSERT INTO Card (_recordName, name) VALUES ('a', 'A')",
            "INSERT INTO Card (_recordName, title) VALUES ('b', 'B')"
        )
        try await phone.local.add(SecondVersion.Card(name: "C"), named: "c")
        try phone.sync()
        try scenario.expect(["Card a name=A title=A", "Card b name=B title=B", "Card c name=C title=C"])
        try phone.run(
            "UPDATE Card SET name = 'AA' WHERE _recordName = 'a'",
            "UPDATE Card SET title = 'BB' WHERE _recordName = 'b'",
            "UPDATE Card SET title = 'old', name = 'new' WHERE _recordName = 'c'"
        )
        try phone.sync()
        try scenario.expect(["Card a name=AA title=AA", "Card b name=BB title=BB", "Card c name=new title=new"])
        try phone.run("UPDATE Card SET name = NULL")
        try phone.sync()
        try scenario.expect(["Card a", "Card b", "Card c"])
        #expect(try await phone.local.fetch(SecondVersion.Card.self, named: "a").name == nil)
    }

    @Test("34. The old field is read where the new one is absent or older; an older program and a newer one agree")
    func olderAndNewerProgramsShareARenamedField() async throws {
        let scenario = try SyncScenario()
        let old = try scenario.device("old", records: [FirstVersion.Card.self])
        let new = try scenario.device("new", records: [SecondVersion.Card.self])
        func names() async throws -> [String?] {
            [
                try await old.local.fetch(FirstVersion.Card.self, named: "c").title,
                try await new.local.fetch(SecondVersion.Card.self, named: "c").name,
            ]
        }
        try old.run("INSERT INTO Card (_recordName, title) VALUES ('c', 'first')")
        try scenario.synchronise()
        #expect(try await names() == ["first", "first"])
        // A change of another field does not make the absent field newer.
        try new.run("UPDATE Card SET rank = 1")
        try scenario.synchronise()
        #expect(try await names() == ["first", "first"])
        for (device, value) in [(new, "second"), (old, "third"), (new, "fourth"), (old, "fifth"), (old, "sixth")] {
            try device.run("UPDATE Card SET \(device.name == "old" ? "title" : "name") = '\(value)'")
            try scenario.synchronise()
            #expect(try await names() == [value, value])
            try new.run("UPDATE Card SET rank = rank + 1")
            try scenario.synchronise()
            #expect(try await names() == [value, value])
        }
        // If both are edited at once, the later edit wins under both names.
        try old.run("UPDATE Card SET title = 'earlier'")
        try new.run("UPDATE Card SET name = 'later'")
        try scenario.synchronise()
        #expect(try await names() == ["later", "later"])
        try new.run("UPDATE Card SET name = 'earlier'")
        try old.run("UPDATE Card SET title = 'latest'")
        try scenario.synchronise()
        #expect(try await names() == ["latest", "latest"])
        // A program that knows only the old name.
        var record = ServiceRecord(recordType: "Card", recordName: "c")
        record.fields["title"] = .string("console")
        record.recordChangeTag = try scenario.serviceRecord("c")?.recordChangeTag
        try scenario.change(.update, record)
        try scenario.synchronise()
        #expect(try await names() == ["console", "console"])
        #expect(try old.pending() + new.pending() == [])
    }

    @Test(
        "34. Which name of a renamed field counts",
        arguments: [
            // The former value and its time, the current value and its time, which of them changed, and whether the
            // former value counts.
            ("a", 5, "a", 4, "", false), ("a", 5, "b", 4, "", true), ("a", 4, "b", 5, "", false),
            ("a", nil, nil, nil, "", true), ("a", 1, nil, nil, "", true), ("a", 4, nil, 5, "", false),
            ("a", 5, nil, 4, "", true), (nil, nil, "b", nil, "", false), (nil, 5, "b", 4, "", true),
            (nil, nil, nil, nil, "", false), ("a", nil, "b", 9, "", true), ("a", nil, "b", nil, "", false),
            ("a", nil, "b", nil, "former", true), ("a", nil, "b", nil, "current", false),
            ("a", nil, "b", nil, "former current", false),
        ] as [(String?, Int64?, String?, Int64?, String, Bool)]
    )
    func latestOfTheFormerAndTheCurrentNameCounts(
        former: String?,
        formerTime: Int64?,
        current: String?,
        currentTime: Int64?,
        changed: String,
        counts: Bool
    ) {
        func field(_ value: String?, _ time: Int64?, _ name: String) -> FormerField {
            FormerField(
                value: value.map(FieldValue.string),
                noted: time.map { EditTime(milliseconds: $0, device: 1) },
                isChanged: changed.contains(name)
            )
        }
        #expect(
            FormerField.counts(
                field(former, formerTime, "former"),
                over: field(current, currentTime, "current"),
                modified: 10
            ) == counts
        )
    }

    @Test("34, I1. A field that is added later gets the values that the service had for it all the time")
    func addedFieldsGetKeptValues() async throws {
        let scenario = try SyncScenario()
        let new = try scenario.device("new", records: [SecondVersion.Card.self])
        let phone = try scenario.device("phone", records: [FirstVersion.Card.self])
        try new.run("INSERT INTO Card (_recordName, name, rank) VALUES ('c', 'C', 7)")
        try scenario.synchronise()
        try phone.restart(records: [SecondVersion.Card.self])
        #expect(try phone.records() == ["Card c name=C rank=7 title=C"])
        try phone.run("UPDATE Card SET rank = 8")
        #expect(try await phone.local.fetch(SecondVersion.Card.self, named: "c").rank == 8)
        try scenario.synchronise()
        try scenario.expect(["Card c name=C rank=8 title=C"])
    }

    @Test("34. Types and fields whose names are alike when joined have triggers and indexes of their own")
    func alikeNamesDoNotMeet() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", records: [AlikeNames.First.self, AlikeNames.Second.self])
        #expect(try phone.value("SELECT count(*) FROM sqlite_master WHERE name GLOB 'mist_link_*'") == 2)
        try phone.run("INSERT INTO A_B (_recordName) VALUES ('x'), ('y')", "INSERT INTO A (_recordName) VALUES ('a')")
        try phone.sync()
        try phone.run("UPDATE A_B SET C = 'x' WHERE _recordName = 'y'", "UPDATE A SET B_C = 'x'")
        #expect(try phone.sync().writes == ["modify update y, update a"])
        try scenario.expect(["A a B_C=→x", "A_B x", "A_B y C=→x"])
    }

    @Test("31, M3. After a lost reply the summary has the records as sent and deleted, and not as merged")
    func summariesAreRightAfterLostReplies() throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('a', 'A'), ('b', 'B'), ('c', 'C')")
        #expect(try phone.sync { $0.operations == nil ? .answered : .lostReply }.summary == SyncSummary())
        #expect(try phone.sync().summary == SyncSummary(sent: 3))
        try phone.run(
            "UPDATE Book SET title = 'AA' WHERE _recordName IN ('a', 'b')",
            "DELETE FROM Book WHERE _recordName = 'c'"
        )
        #expect(try phone.sync { $0.operations == nil ? .answered : .lostReply }.summary == SyncSummary())
        // Changes that another device has made since then are merged.
        try laptop.sync()
        try laptop.run("UPDATE Book SET note = 'N' WHERE _recordName = 'b'")
        try laptop.sync()
        #expect(try phone.sync().summary == SyncSummary(sent: 1, deleted: 1, merged: 1))
        try scenario.synchronise()
        try scenario.expect(["Book a title=AA", "Book b note=N title=AA"])
    }
}

extension SyncSummary {
    fileprivate init(
        fetched: Int = 0,
        removed: Int = 0,
        sent: Int = 0,
        deleted: Int = 0,
        merged: Int = 0,
        lost: Int = 0
    ) {
        self.init()
        self.fetched = fetched
        self.removed = removed
        self.sent = sent
        self.deleted = deleted
        self.merged = merged
        self.lost = lost
    }
}
