import Foundation
import MistModels
import MistTesting
import Testing

struct Note: Hashable {
    var title: String
    var count: Int?
}

extension Note: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<String>("title")
        let count = RecordField<Int>("count")
    }

    static let recordType = "Note"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title, fields.count)

    init(fields reader: inout FieldReader) throws(FieldError) {
        var title: String?
        var count: Int?
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            case 1: count = try reader.value()
            default: try reader.skip()
            }
        }
        self.title = try reader.required(title, 0)
        self.count = count
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
        writer.write(1, count)
    }
}

/// The conformance without the macro, and stored records without a service.
@Suite(.serialized)
struct HandWrittenRecordTests {
    @Test func aRecordWrittenByHandIsSavedAndFound() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let saved = try await database.save(Note(title: "Milk", count: 2), named: "milk")
            let found = try await database.records(matching: Query<Note> { Filter(\.count >= 2) }).collect()
            #expect(found == [saved])
        }
    }

    @Test func aStoredRecordIsMadeWithoutAService() throws {
        var note = StoredRecord(stored: Note(title: "Milk"), recordName: "milk", recordChangeTag: "1")
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

        let new = StoredRecord(Note(title: "Milk", count: nil))
        #expect(new.recordChangeTag == nil)
        #expect(new.changedFields == ["title": "Milk"])
        #expect(new.recordName != StoredRecord(Note(title: "Milk")).recordName)
        #expect(UUID(uuidString: new.recordName) != nil)
    }

    @Test func aRecordOfAChangeFeedIsGivenItsType() throws {
        let record = Record(recordType: "Note", recordName: "a", fields: ["title": "Milk", "colour": "red"])
        let note = try StoredRecord<Note>(record)
        #expect(note.model == Note(title: "Milk", count: nil))
        #expect(note.otherFields == ["colour": "red"])
        #expect(note.record == record)
        #expect(throws: CloudKitError.self) { try StoredRecord<Feed>(record) }
    }
}
