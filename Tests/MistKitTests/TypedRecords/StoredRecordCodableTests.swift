import Foundation
import MistKit
import MistTesting
import Testing

/// Stored records in a cache.
@Suite(.serialized)
struct StoredRecordCodableTests {
    private func decoded(_ record: StoredRecord<Memo>) throws -> StoredRecord<Memo> {
        try JSONDecoder().decode(StoredRecord<Memo>.self, from: JSONEncoder().encode(record))
    }

    @Test func aCachedRecordCanBeUpdated() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let zone = try await database.createZone("Notes").zoneID
            var untyped = Record(
                recordType: "Memo",
                recordName: "memo",
                fields: ["title": "A", "count": 1, "color": "red"]
            )
            try await database.save(&untyped, inZone: zone)
            let fetched = try await database.fetch(Memo.self, named: "memo", inZone: zone)

            let cached = try decoded(fetched)
            #expect(cached == fetched)
            #expect(!cached.hasChanges)
            #expect(cached.original == fetched.model)
            #expect(cached.created == fetched.created)
            #expect(cached.modified == fetched.modified)
            #expect(cached.zoneID == fetched.zoneID)
            #expect(cached.otherFields == ["color": "red"])

            // Unsaved changes, of which one clears a field.
            var changed = fetched
            changed.title = "B"
            changed.count = nil
            changed.parent = Reference(recordName: "folder")
            var again = try decoded(changed)
            #expect(again == changed)
            #expect(again.original == fetched.model)
            #expect(again.changedFields == ["title": "B", "count": .null])
            #expect(again.parent == changed.parent)
            again.parent = nil
            try await database.update(&again)
            let saved = try await database.fetch("memo", inZone: zone)
            #expect(saved["title"] == "B")
            #expect(saved["count"]?.isNull ?? true)
            #expect(saved["color"] == "red")
        }
    }

    @Test func aRecordThatWasNeverSavedIsStillNew() throws {
        let new = StoredRecord(Memo(title: "A"), recordName: "memo")
        let cached = try decoded(new)
        #expect(cached == new)
        #expect(cached.original == nil)
        #expect(cached.recordChangeTag == nil)
        #expect(cached.changedFields == ["title": "A"])
    }

    @Test func theJSONIsThatOfRecords() throws {
        var record = StoredRecord(stored: Memo(title: "A", count: 1), recordName: "memo", recordChangeTag: "1e")
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let saved = """
            "saved":{"fields":{"count":{"type":"INT64","value":1},"title":{"type":"STRING","value":"A"}},"recordChangeTag":"1e",\
            "recordName":"memo","recordType":"Memo"}
            """
        #expect(String(decoding: try encoder.encode(record), as: UTF8.self) == "{\(saved)}")
        record.count = nil
        let changed = """
            "changed":{"fields":{"title":{"type":"STRING","value":"A"}},"recordChangeTag":"1e","recordName":"memo",\
            "recordType":"Memo"}
            """
        #expect(String(decoding: try encoder.encode(record), as: UTF8.self) == "{\(changed),\(saved)}")
    }

    @Test(arguments: [
        (#"{}"#, "There is no record."),
        (
            #"{"saved":{"recordName":"a","recordType":"Memo","fields":{"count":{"value":1}}}}"#,
            #"The record cannot be read as Memo: the field "title" "#
        ),
        (#"{"saved":{"recordName":"a","recordType":"Folder"}}"#, "The record cannot be read as Memo: "),
    ])
    func aCacheThatDoesNotFitIsADecodingError(json: String, message: String) throws {
        do {
            _ = try JSONDecoder().decode(StoredRecord<Memo>.self, from: Data(json.utf8))
            Issue.record("The record does not fit.")
        } catch DecodingError.dataCorrupted(let context) {
            #expect(context.debugDescription.hasPrefix(message))
        }
    }
}
