import StreamingJSON
import Testing

@testable import MistKit

/// The items of a response, decoded into a model.
struct TypedRecordsTests {
    private struct Note: CloudKitRecord {
        struct Fields: RecordFieldSet {
            let title = RecordField<String>("title")
            let count = RecordField<Int>("count")
        }

        static let recordType = "Note"
        static let fields = Fields()
        static let fieldTable = FieldTable(fields.title, fields.count)

        var title: String?
        var count: Int?

        init(fields reader: inout FieldReader) throws(FieldError) {
            while let field = try reader.next() {
                switch field {
                case 0: title = try reader.value()
                case 1: count = try reader.value()
                default: try reader.skip()
                }
            }
        }

        func write(fields writer: inout FieldWriter) {
            writer.write(0, title)
            writer.write(1, count)
        }
    }

    @Test(arguments: [
        (
            #"{"recordName":"a","recordType":"Note","fields":{"title":{"value":"A","type":"STRING"}},"recordChangeTag":"1"}"#,
            "a 1: A nil []"
        ),
        // The fields come first, with white space, in another order, without a type, and with a field that the model
        // does not have.
        (
            #"{"fields": {"count" : { "type":"INT64", "value" : 1 }, "x":{"value":2}, "title":{"value":"A"}}, "recordName":"a"}"#,
            #"a -: A 1 ["x"]"#
        ),
        // If several members have the same name, the last one counts.
        (
            #"{"recordName":"a","fields":{"title":{"value":"A"},"count":{"value":1}},"fields":{"title":{"value":"B"}}}"#,
            "a -: B nil []"
        ),
        (#"{"recordName":"a","recordType":"Note"}"#, "a -: nil nil []"),
        (#"{"recordName":"a","fields":null}"#, "a -: nil nil []"),
        (
            #"{"recordName":"a","fields":{"count":{"value":"1","type":"STRING"}}}"#,
            #"decoding a: The record cannot be read as Note: the field "count" does not fit: expected INT64, found STRING."#
        ),
        (
            #"{"recordName":"a","fields":{"count":{"value":"1","type":"STRING"}},"recordType":"Feed"}"#,
            "decoding a: The record cannot be read as Note: its record type is Feed."
        ),
        (#"{"fields":{}}"#, "decoding -: The record cannot be read as Note: it has no record name."),
        (
            #"{"recordName":"a","fields":{},"serverErrorCode":"NOT_FOUND","reason":"gone"}"#,
            "NOT_FOUND a: There is no such record. It may have been deleted, or be in another zone, database or environment."
        ),
    ])
    func itemsOfAnyShapeAreRead(item: String, expected: String) throws {
        // Items before and after an item do not matter.
        let page = "{\"records\":[\(item),\(item)]}"
        let records = try JSONReader.read(TypedRecords<Note>.self, from: page)
        let found = records.results.map { result in
            switch result {
            case .success(let note):
                "\(note.recordName) \(note.recordChangeTag ?? "-"): \(note.model.title ?? "nil") "
                    + "\(note.model.count.map { "\($0)" } ?? "nil") \(Array(note.otherFields.names))"
            case .failure(let error): "\(error.code) \(name(of: error) ?? "-"): \(error.message)"
            }
        }
        #expect(found == [expected, expected])
    }

    private func name(of error: CloudKitError) -> String? {
        guard case .record(let name)? = error.item else { return nil }
        return name
    }

    @Test(arguments: [
        #"{"records":[{"recordName":"a","fields":{"title":{"value":"A","type":"STRING"}"#,
        #"{"records":[{"recordName":"a","fields":{"title":{"value":"\x","type":"STRING"}}}]}"#,
        #"{"records":[{"recordName":"a","fields":{"count":{"value":01,"type":"INT64"}}}]}"#,
        #"{"records":[{"recordName":"a","fields":{"x":tru}}]}"#,
        #"{"records":[{"recordName":1,"fields":{}}]}"#,
        #"{"records":[1]}"#,
    ])
    func whatIsNotARecordIsAnErrorOfThePage(page: String) throws {
        let typed = #expect(throws: JSONError.self) { try JSONReader.read(TypedRecords<Note>.self, from: page) }
        let untyped = #expect(throws: JSONError.self) {
            try JSONReader.read(from: page) as [String: [RecordResult]]
        }
        #expect(typed?.offset == untyped?.offset)
        #expect(typed?.message == untyped?.message)
    }
}
