import Foundation
import MistModels
import MistTesting
import Testing

/// Typed records against the emulator.
@Suite(.serialized)
struct TypedRecordTests {
    @Test(arguments: EmulatorConnection.allCases)
    func everyTypeComesBackAsItWas(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Notes").zoneID
            var full = Everything(number: 1)
            full.text = "Blåbær"
            full.count = 0
            full.maybe = .active
            full.list = []
            full.secret = "x"
            full.hidden = [1, 2]
            full.extra = ["a": 1]
            full.cloaked = Settings()
            full.score = 8
            full.observed = 2
            full.isSelected = false
            let empty = Everything(number: 2)
            for (name, model) in [("full", full), ("empty", empty)] {
                let saved = try await database.save(model, named: name, inZone: zone)
                let fetched = try await database.fetch(Everything.self, named: name, inZone: zone)
                for record in [saved, fetched] {
                    var read = record.model
                    // The service adds the zone to references.
                    for reference in [read.pointer, read.feed.reference] {
                        #expect(reference.zoneID?.zoneName == "Notes")
                    }
                    read.pointer.zoneID = nil
                    read.feed.zoneID = nil
                    read.pointers[0].zoneID = nil
                    #expect(read == model)
                    #expect(record.recordName == name)
                    #expect(record.recordChangeTag != nil)
                    #expect(record.zoneID?.zoneName == "Notes")
                    #expect(!record.hasChanges)
                }
                let untyped = try await database.fetch(name, inZone: zone)
                #expect(Set(untyped.fields.filter { !$0.value.isNull }.map(\.name)) == Set(fetched.record.fields.names))
            }
            let untyped = try await database.fetch("full", inZone: zone)
            #expect(untyped["number"] == 1)
            #expect(untyped["secret"]?.isEncrypted == true)
            #expect(untyped["settings"] == #"{"sizes":{"a":1,"b":2},"theme":"dark"}"#)
            #expect(untyped["hiddenScore"] == 8)
            #expect(untyped["isSelected"] == nil)
            #expect(untyped["constant"] == nil)
        }
    }

    @Test func anUpdateSendsWhatChangedAndLosesNothing() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            try await database.create(
                Record(
                    recordType: "Feed",
                    recordName: "a",
                    fields: [
                        "feedURL": "https://example.com", "title": "A", "category": "news", "qualityScore": 3,
                        "summary": "S", "ofALaterVersion": .list(["kept"]),
                    ]
                )
            )
            var feed = try await database.fetch(Feed.self, named: "a")
            #expect(feed.isActive)
            #expect(feed.tags == [])
            #expect(feed.otherFields == ["ofALaterVersion": .list(["kept"])])
            feed.title = "B"
            feed.summary = nil
            #expect(feed.changedFields == ["title": "B", "summary": .null])
            #expect(feed.original?.title == "A")
            let updated = try await database.update(feed)
            #expect(updated.recordChangeTag != feed.recordChangeTag)
            #expect(updated.title == "B")
            #expect(updated.summary == nil)
            #expect(!updated.hasChanges)
            #expect(updated.otherFields == ["ofALaterVersion": .list(["kept"])])
            // Without changes, nothing is sent.
            #expect(try await database.update(updated).recordChangeTag == updated.recordChangeTag)

            var replaced = updated
            replaced.tags = ["swift"]
            replaced = try await database.replace(replaced)
            let untyped = try await database.fetch("a")
            #expect(untyped["ofALaterVersion"] == .list(["kept"]))
            #expect(untyped["tags"] == .list(["swift"]))
            #expect(untyped["summary"]?.isNull ?? true)
            #expect(untyped["isActive"] == 1)
        }
    }

    @Test func aReferenceWithoutAZoneLeadsIntoTheZoneOfItsRecord() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let model = Everything(number: 1)
            try await database.save(model, named: "a")
            var record = try await database.fetch(Everything.self, named: "a")
            // The service names the zone.
            #expect(record.feed.zoneID?.zoneName == ZoneID.default.zoneName)
            record.model = model
            #expect(record.changedFields.map(\.name) == [])
            record.feed = RecordReference(recordName: "feed-1", zoneID: ZoneID(zoneName: "Elsewhere"))
            record.pointers = [RecordReference(recordName: "feed-2", action: .deleteSelf)]
            #expect(Set(record.changedFields.map(\.name)) == ["feed", "pointers"])
            record.model = model
            record.pointers.append(RecordReference(recordName: "feed-3"))
            #expect(record.changedFields.map(\.name) == ["pointers"])
        }
    }

    @Test func whatDoesNotFitIsAnErrorOfItsRecordAlone() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            let fields: Record.Fields = [
                "feedURL": "https://example.com", "title": "A", "category": "c", "qualityScore": 1,
            ]
            func save(_ name: String, _ type: String = "Feed", _ change: (inout Record.Fields) -> Void) async throws {
                var fields = fields
                change(&fields)
                try await database.create(Record(recordType: type, recordName: name, fields: fields))
            }
            try await save("good") { _ in }
            try await save("missing") { $0["title"] = nil }
            try await save("noURL") { $0["feedURL"] = "" }
            try await save("other", "Story") { $0["qualityScore"] = "high" }
            let results = try await database.fetch(Feed.self, named: ["good", "missing", "noURL", "other", "absent"])
            let texts = results.map { result in
                switch result {
                case .success(let feed): feed.recordName
                case .failure(let error): "\(error.code) \(error.item.map { "\($0)" } ?? "-"): \(error.message)"
                }
            }
            #expect(texts[0] == "good")
            #expect(
                texts[1].hasPrefix(
                    #"decoding record(name: "missing"): The record cannot be read as Feed: the field "title" "#
                )
            )
            #expect(texts[2].contains(#"the field "feedURL" does not fit: the STRING is not a URL"#))
            #expect(texts[3].hasSuffix("The record cannot be read as Feed: its record type is Story."))
            #expect(texts[4].hasPrefix("NOT_FOUND"))

            var ends: [String] = []
            for try await result in database.records(matching: Query<Feed> { Sort(\.qualityScore) }).results {
                ends.append((try? result.get().recordName) ?? "-")
            }
            #expect(ends.sorted() == ["-", "-", "good"])
        }
    }

    @Test func numbersThatDoNotFitNameRecordAndField() async throws {
        var record = try Record(fields: Everything(number: 1))
        record["small"] = 300
        do {
            _ = try StoredRecord<Everything>(record)
            Issue.record("300 does not fit Int8")
        } catch let error as CloudKitError {
            #expect(error.code == .decoding)
            #expect(error.item == .record(name: "numbers"))
            #expect(error.message.contains(#"the field "small" does not fit: the INT64 300 does not fit Int8"#))
        }
        for (name, value, text) in [
            ("status", "archived", "Status has no value archived"), ("uuid", "x", "the STRING is not a UUID"),
            ("number", "x", "expected INT64, found STRING"), ("place", "x", "expected LOCATION, found STRING"),
            ("date", "x", "expected TIMESTAMP, found STRING"), ("ints", "x", "expected INT64_LIST, found STRING"),
            ("settings", "{", "the STRING is not the JSON of Settings"),
        ] {
            var record = try Record(fields: Everything(number: 1))
            record[name] = .string(value)
            do {
                _ = try StoredRecord<Everything>(record)
                Issue.record("\(name) does not fit")
            } catch let error as CloudKitError {
                #expect(error.message.contains(#"the field "\#(name)" does not fit: \#(text)"#), "\(error)")
            }
        }
    }

    @Test func aConflictCarriesTheServersRecord() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            var mine = try await database.save(Feed.sample, named: "a")
            var theirs = try await database.fetch(Feed.self, named: "a")
            theirs.title = "Theirs"
            try await database.update(theirs)
            mine.tags = ["mine"]
            do {
                try await database.update(mine)
                Issue.record("this is a conflict")
            } catch let error as CloudKitError {
                #expect(error.code == .conflict)
                #expect(error.serverRecord(as: Feed.self)?.title == "Theirs")
            }
            do {
                try await database.save(Feed.sample, named: "a")
                Issue.record("this is a conflict")
            } catch let error as CloudKitError {
                #expect(error.code == .conflict || error.code == .exists)
                #expect(error.serverRecord(as: Feed.self)?.title == "Theirs")
            }
            do {
                try await database.delete(mine)
                Issue.record("this is a conflict")
            } catch let error as CloudKitError {
                #expect(error.serverRecord(as: Feed.self)?.title == "Theirs")
            }
        }
    }
}

extension Record {
    /// The record of a model, with the name `numbers`.
    init(fields model: some CloudKitRecord) throws {
        self = StoredRecord(model, recordName: "numbers").record
    }
}

extension Feed {
    static let sample = Feed(
        feedURL: URL(string: "https://example.com/feed")!,
        title: "Title",
        category: "news",
        qualityScore: 5
    )
}
