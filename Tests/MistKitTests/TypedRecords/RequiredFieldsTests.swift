import Foundation
import MistKit
import Testing

/// The fields that a record must have, found by reading records without them.
struct RequiredFieldsTests {
    @Test func fieldsWithoutADefaultAreRequired() {
        #expect(Paint<String>.requiredFields() == ["name", "kind", "made"])
    }

    @Test func aFieldThatAcceptsNoSampleEndsTheSearch() {
        // "made" is read after "kind", whose values a program has chosen.
        #expect(Paint<Kind>.requiredFields() == ["name", "kind"])
    }

    private enum Kind: String, FieldStorable {
        case oil, chalk

        static var fieldType: FieldType { .string }
        var fieldValue: FieldValue { .string(rawValue) }

        init(fieldValue: FieldValue) throws(FieldError) {
            guard case .string(let text) = fieldValue, let kind = Self(rawValue: text) else {
                throw FieldError("expected oil or chalk")
            }
            self = kind
        }
    }

    private struct Paint<Kind: FieldStorable>: CloudKitRecord {
        struct Fields: RecordFieldSet {
            let name = RecordField<String>("name")
            let size = RecordField<Int>("size")
            let kind = RecordField<Kind>("kind")
            let tags = RecordField<[String]>("tags")
            let made = RecordField<Date>("made")
        }

        var name: String
        var size: Int?
        var kind: Kind
        var tags: [String] = []
        var made: Date

        static var recordType: String { "Paint" }
        static var fields: Fields { Fields() }
        static var fieldTable: FieldTable {
            FieldTable(fields.name, fields.size, fields.kind, fields.tags, fields.made)
        }

        init(fields reader: inout FieldReader) throws(FieldError) {
            var (name, kind, made): (String?, Kind?, Date?)
            while let field = try reader.next() {
                switch field {
                case 0: name = try reader.value()
                case 1: size = try reader.value()
                case 2: kind = try reader.value()
                case 3: tags = try reader.value() ?? []
                case 4: made = try reader.value()
                default: try reader.skip()
                }
            }
            self.name = try reader.required(name, 0)
            self.kind = try reader.required(kind, 2)
            self.made = try reader.required(made, 4)
        }

        func write(fields writer: inout FieldWriter) {
            writer.write(0, name)
            writer.write(1, size)
            writer.write(2, kind)
            writer.write(3, tags)
            writer.write(4, made)
        }
    }
}
