import Foundation
import Synchronization
import Testing

@testable import MistKit

/// The functions between the bytes of a response and a property, and from a property to the bytes of a request, whose
/// stages `Documentation/Design/HowAValueTravels.md` describes.
struct HotPathTests {
    // MARK: Reading

    /// A value that stores the stack when it is read.
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
        try keep(stack, as: "read")
    }

    /// Writes a stack to the folder that Scripts/check-hot-path names. The script counts and prints its functions.
    private func keep(_ stack: [String], as name: String) throws {
        guard let folder = ProcessInfo.processInfo.environment["MISTKIT_HOT_PATH"] else { return }
        try Data(stack.joined(separator: "\n").utf8).write(
            to: URL(fileURLWithPath: folder).appendingPathComponent(name)
        )
    }

    // MARK: Writing

    #if os(Linux)
        /// Bytes that store the stack when a record asks for them.
        private struct TracedBytes: FieldConvertible, Hashable {
            static let stack = Mutex<[String]>([])

            var data: Data

            static var fieldType: FieldType { .bytes }
            var fieldValue: FieldValue { .bytes(data) }

            init(_ data: Data) {
                self.data = data
            }

            init(fieldValue: FieldValue) throws(FieldError) {
                data = try Data(fieldValue: fieldValue)
            }

            func savedFieldValue() throws(FieldError) -> FieldValue {
                // Only the first stack is stored, since the service's response is compared with the record later.
                TracedBytes.stack.withLock { if $0.isEmpty, !data.isEmpty { $0 = Thread.callStackSymbols } }
                return fieldValue
            }
        }

        private struct TracedFile: CloudKitRecord {
            struct Fields: RecordFieldSet {
                let bytes = RecordField<TracedBytes>("bytes")
            }

            static let recordType = "File"
            static let fields = Fields()
            static let fieldTable = FieldTable(fields.bytes)

            var bytes: TracedBytes

            init(bytes: TracedBytes) {
                self.bytes = bytes
            }

            init(fields reader: inout FieldReader) throws(FieldError) {
                var bytes: TracedBytes?
                while try reader.next() != nil { bytes = try reader.value() }
                self.bytes = try reader.required(bytes, 0)
            }

            func write(fields writer: inout FieldWriter) {
                writer.write(0, bytes)
            }
        }

        /// Memory that is protected against reading. The first read stores its stack and removes the protection.
        private enum ProtectedMemory {
            private static let size = 4096
            nonisolated(unsafe) private static let start = mmap(
                nil,
                size,
                PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS,
                -1,
                0
            )
            static let stack = Mutex<[String]>([])

            private static func wasRead(at address: UnsafeMutableRawPointer) {
                guard let start, start..<(start + size) ~= address else { abort() }
                stack.withLock { $0 = Thread.callStackSymbols }
                mprotect(start, size, PROT_READ)
            }

            /// Runs a closure with data in the memory. Code that copies the `Data` value must not read its bytes.
            static func withData(count: Int, _ body: (Data) async throws -> Void) async throws {
                var action = sigaction()
                action.sa_flags = SA_SIGINFO
                action.__sigaction_handler.sa_sigaction = { _, info, _ in
                    guard let address = info?.pointee._sifields._sigfault.si_addr else { abort() }
                    ProtectedMemory.wasRead(at: address)
                }
                var earlier = sigaction()
                sigaction(SIGSEGV, &action, &earlier)
                defer { sigaction(SIGSEGV, &earlier, nil) }
                try await body(Data(bytesNoCopy: try #require(start), count: count, deallocator: .none))
            }
        }

        @Test func aFieldIsWrittenByFewFunctionsOfFewModules() async throws {
            let transport = FakeTransport(
                json: #"{"records":[{"recordName":"a","recordType":"File","recordChangeTag":"2"}]}"#
            )
            let database = fakeService(transport).publicDatabase
            try await ProtectedMemory.withData(count: 24) { data in
                var file = StoredRecord(
                    stored: TracedFile(bytes: TracedBytes(Data())),
                    recordName: "a",
                    recordChangeTag: "1"
                )
                file.bytes = TracedBytes(data)
                file = try await database.update(file)
                #expect(file.recordChangeTag == "2")
            }
            #expect(try transport.requests.first?.contains(String(repeating: "A", count: 32)) == true)
            let asked = TracedBytes.stack.withLock { $0 }
            let written = ProtectedMemory.stack.withLock { $0 }
            #expect(asked.count > 5 && written.count > 5)
            try keep(asked, as: "ask")
            try keep(written, as: "write")
        }
    #endif
}
