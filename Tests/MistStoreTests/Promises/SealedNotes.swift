import Foundation
import MistKit

// The conformances are written by hand, because the thread sanitizer builds these tests without the macro.

/// A note with an encrypted field of each type that can be encrypted.
struct Note: Hashable {
    var title: String?
    var text: String?
    var pin: Int?
    var weight: Double?
    var day: Date?
    var bytes: Data?
    var place: Location?
    var folder: RecordReference<Shelf>?
}

extension Note: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<String>("title")
        let text = EncryptedRecordField<String>("text")
        let pin = EncryptedRecordField<Int>("pin")
        let weight = EncryptedRecordField<Double>("weight")
        let day = EncryptedRecordField<Date>("day")
        let bytes = EncryptedRecordField<Data>("bytes")
        let place = EncryptedRecordField<Location>("place")
        let folder = RecordField<RecordReference<Shelf>>("folder", isParent: true)
    }

    static let recordType = "Note"
    static let fields = Fields()
    static let fieldTable = FieldTable(
        fields.title,
        fields.text,
        fields.pin,
        fields.weight,
        fields.day,
        fields.bytes,
        fields.place,
        fields.folder
    )

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            case 1: text = try reader.value()
            case 2: pin = try reader.value()
            case 3: weight = try reader.value()
            case 4: day = try reader.value()
            case 5: bytes = try reader.value()
            case 6: place = try reader.value()
            case 7: folder = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
        writer.write(1, text)
        writer.write(2, pin)
        writer.write(3, weight)
        writer.write(4, day)
        writer.write(5, bytes)
        writer.write(6, place)
        writer.write(7, folder)
    }
}

/// The version of the program before `text` was encrypted, and before the other fields.
struct PlainNote: Hashable {
    var title: String?
    var text: String?
}

extension PlainNote: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<String>("title")
        let text = RecordField<String>("text", indexes: [.queryable])
    }

    static let recordType = "Note"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title, fields.text)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            case 1: text = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
        writer.write(1, text)
    }
}

/// The version of the program that calls `text` by another name.
struct RenamedNote: Hashable {
    var title: String?
    var body: String?
}

extension RenamedNote: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<String>("title")
        let body = EncryptedRecordField<String>("body", formerly: ["text"])
    }

    static let recordType = "Note"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title, fields.body)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            case 1: body = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
        writer.write(1, body)
    }
}
