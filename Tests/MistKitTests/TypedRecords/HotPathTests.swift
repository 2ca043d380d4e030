import Foundation
import Synchronization
import Testing

@testable import MistKit

/// The functions between the bytes of a response and a property, as `Documentation/Design.md` names them.
struct HotPathTests {
    /// A value that keeps the stack on which it was read.
    private struct Traced: FieldConvertible, Hashable {
        static let stack = Mutex<[String]>([])

        var text: String

        static var fieldType: FieldType { .string }
        var fieldValue: FieldValue { .string(text) }

        init(fieldValue: FieldValue) throws(FieldError) {
            text = try String(fieldValue: fieldValue)
        }

        private init(text: String) {
            self.text = text
        }

        static func readField(from reader: inout FieldReader) throws(FieldError) -> Traced? {
            stack.withLock { $0 = Thread.callStackSymbols }
            return try reader.value(String.self).map(Traced.init(text:))
        }
    }

    private struct TracedNote: CloudKitRecord {
        struct Fields: RecordFieldSet {
            let title = RecordField<Traced>("title")
        }

        static let recordType = "Note"
        static let fields = Fields()
        static let fieldTable = FieldTable(fields.title)

        var title: Traced

        init(fields reader: inout FieldReader) throws(FieldError) {
            var title: Traced?
            while let field = try reader.next() {
                switch field {
                case 0: title = try reader.value()
                default: try reader.skip()
                }
            }
            self.title = try reader.required(title, 0)
        }

        func write(fields writer: inout FieldWriter) {
            writer.write(0, title)
        }
    }

    @Test func aFieldIsReadByFewFunctionsOfFewModules() async throws {
        let page = #"{"records":[{"recordName":"a","recordType":"Note","fields":{"title":{"value":"Hello"}}}]}"#
        let database = fakeService(FakeTransport(json: page)).publicDatabase
        let records = database.records(matching: Query<TracedNote>())
        #expect(try await records.collect().map(\.title.text) == ["Hello"])
        let stack = Traced.stack.withLock { $0 }
        #expect(stack.count > 10)
        // Scripts/check-hot-path compares the functions with the table in Documentation/Design.md.
        if let file = ProcessInfo.processInfo.environment["MISTKIT_HOT_PATH"] {
            try Data(stack.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
        }
    }
}
