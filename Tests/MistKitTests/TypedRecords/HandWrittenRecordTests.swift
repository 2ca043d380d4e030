import Foundation
import MistKit
import MistTesting
import Testing

/// The conformance without the macro, and stored records without a service.
@Suite(.serialized)
struct HandWrittenRecordTests {
    @Test func aRecordWrittenByHandIsSavedAndFound() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let saved = try await database.save(Memo(title: "Milk", count: 2), named: "milk")
            let found = try await database.records(matching: Query<Memo> { Filter(\.count >= 2) }).collect()
            #expect(found == [saved])
        }
    }

    @Test func aStoredRecordIsMadeWithoutAService() throws {
        var note = StoredRecord(stored: Memo(title: "Milk"), recordName: "milk", recordChangeTag: "1")
        #expect(!note.hasChanges)
        note.title = "Bread"
        note.parent = Reference(recordName: "list")
        #expect(note.hasChanges)
        #expect(note.changedFields == ["title": "Bread"])
        #expect(note.record["title"] == "Bread")
        #expect(note.record.parent?.recordName == "list")
        let copy = note
        #expect(copy == note)
        #expect(Set([copy, note]).count == 1)

        let new = StoredRecord(Memo(title: "Milk", count: nil))
        #expect(new.recordChangeTag == nil)
        #expect(new.changedFields == ["title": "Milk"])
        #expect(new.recordName != StoredRecord(Memo(title: "Milk")).recordName)
        #expect(UUID(uuidString: new.recordName) != nil)
    }

    @Test func aRecordOfAChangeFeedIsGivenItsType() throws {
        let record = Record(recordType: "Memo", recordName: "a", fields: ["title": "Milk", "colour": "red"])
        let note = try StoredRecord<Memo>(record)
        #expect(note.model == Memo(title: "Milk", count: nil))
        #expect(note.otherFields == ["colour": "red"])
        #expect(note.record == record)
        #expect(throws: CloudKitError.self) { try StoredRecord<Folder>(record) }
    }
}
