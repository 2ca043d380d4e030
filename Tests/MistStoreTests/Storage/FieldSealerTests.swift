import CloudKitModel
import Crypto
import Foundation
import MistKit
import Testing

@testable import MistStore

struct FieldSealerTests {
    private static let key = SymmetricKey(data: Data(repeating: 7, count: 32))
    private static let sealer = FieldSealer(key: key, encryptedFields: ["Note": ["text"]])
    private static let subject = SealedSubject.value(of: "text", "Note", "a")

    private static func sealing(
        _ field: String = "text",
        of type: String = "Note",
        others: [String] = [],
        kind: FieldType.Known = .string,
        key: SymmetricKey = key
    ) -> FieldSealing {
        FieldSealing(FieldSealer(key: key), of: field, type, otherNames: others, type: kind)
    }

    @Test(
        "A sealed value comes back, and is not of the storage class of plain values",
        arguments: [
            (.text(""), .string), (.text("a\u{0}b 🥛"), .string), (.text("[1]"), .int64List),
            (.integer(.min), .int64), (.integer(.max), .timestamp), (.real(-0.1), .double),
            (.blob(Data()), .bytes), (.blob(Data([0, 255])), .bytes), (.text("misfit"), .int64),
        ] as [(ColumnValue, FieldType.Known)]
    )
    func valuesComeBack(value: ColumnValue, type: FieldType.Known) throws {
        let sealing = Self.sealing(kind: type)
        let sealed = try sealing.sealed(value, of: "a")
        #expect(try sealing.opened(sealed, of: "a") == value)
        switch sealed {
        case .text: #expect(type == .bytes)
        case .blob: #expect(type != .bytes)
        default: Issue.record("\(sealed)")
        }
        #expect(throws: ColumnError.self) { try sealed.fieldValue(as: type) }
    }

    @Test func aNullStaysANull() throws {
        #expect(try Self.sealing().sealed(.null, of: "a") == .null)
        #expect(try Self.sealing().opened(.null, of: "a") == .null)
    }

    @Test(
        "A value is opened for its record, field and type alone, and with its key",
        arguments: [
            ("b", "text", "Note", key), ("a", "other", "Note", key), ("a", "text", "Other", key),
            ("a", "text", "Note", SymmetricKey(data: Data(repeating: 8, count: 32))),
            // The same letters, parted in another way.
            ("a", "extN", "otet", key),
        ] as [(String, String, String, SymmetricKey)]
    )
    func valuesBelongToTheirField(name: String, field: String, type: String, key: SymmetricKey) throws {
        let sealed = try Self.sealing().sealed(.text("secret"), of: "a")
        let other = Self.sealing(field, of: type, key: key)
        #expect(throws: ColumnError.sealed) { try other.opened(sealed, of: name) }
    }

    @Test("Fields that replaced each other open the values of each other")
    func renamedFieldsShareValues() throws {
        let sealed = try Self.sealing("former").sealed(.text("secret"), of: "a")
        #expect(try Self.sealing(others: ["former"]).opened(sealed, of: "a") == .text("secret"))
    }

    @Test("A value that was cut, changed or never sealed is a typed error")
    func damageIsFound() throws {
        let sealed = try Self.sealer.seal(Data("secret".utf8), for: Self.subject)
        for count in sealed.indices {
            let expected = count < 4 ? SealingError.notSealed : .refused
            #expect(throws: expected) { try Self.sealer.open(sealed.prefix(count), for: Self.subject) }
        }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SealingError.self) { try Self.sealer.open(changed, for: Self.subject) }
        }
        for value in [ColumnValue.text("plain"), .integer(1), .blob(Data("plain".utf8))] {
            #expect(throws: ColumnError.sealed) { try Self.sealing().opened(value, of: "a") }
        }
    }

    @Test("An equal value keeps its sealed bytes, and a changed one gets another nonce")
    func equalValuesKeepTheirBytes() throws {
        let sealing = Self.sealing()
        let sealed = try sealing.sealed(.text("secret"), of: "a")
        #expect(try sealing.sealed(.text("secret"), over: sealed, of: "a") == sealed)
        #expect(try sealing.sealed(.text("other"), over: sealed, of: "a") != sealed)
        #expect(try sealing.sealed(.text("secret"), of: "a") != sealed)
        #expect(try sealing.sealed(.null, over: sealed, of: "a") == .null)
    }

    @Test("Of a record, the encrypted fields and the edit times are sealed: those of the type, and marked ones")
    func encryptedFieldsOfARecordAreSealed() throws {
        let fields: [String: FieldValue] = [
            "text": .string("secret"), "title": .string("plain"), "marked": .encrypted(.int64(4711)),
            EditTimes.fieldName: .bytes(Data("times".utf8)), FieldSealer.fieldName: .string("of another program"),
        ]
        let subject = SealedSubject.recovery("Note", "a")
        let sealed = try Self.sealer.sealed(fields, of: "Note", for: subject)
        #expect(sealed.keys.sorted() == [FieldSealer.fieldName, "title"])
        #expect(try Self.sealer.opened(sealed, for: subject) == fields)
        for other in [SealedSubject.recovery("Note", "b"), .foreign("Note", "a"), .version("a")] {
            #expect(throws: StoreError.sealedValueIsDamaged) { try Self.sealer.opened(sealed, for: other) }
        }
        // Nothing to seal.
        let plain: [String: FieldValue] = ["title": .string("plain"), EditTimes.fieldName: .bytes(Data())]
        #expect(try Self.sealer.sealed(plain, of: "Note", for: subject) == plain)
        #expect(try Self.sealer.opened(plain, for: subject) == plain)
    }

    @Test("A key has 32 bytes, and is not shown")
    func keysAreNotShown() throws {
        for count in [0, 16, 31, 33] {
            let error = #expect(throws: StoreError.self) { try StoreEncryptionKey(bytes: Data(count: count)) }
            #expect(error?.code == .wrongKey)
        }
        let key = try StoreEncryptionKey(bytes: Data(repeating: 77, count: 32))
        #expect(key.revealBytes() == Data(repeating: 77, count: 32))
        #expect(try StoreEncryptionKey(bytes: key.revealBytes()) == key)
        #expect(StoreEncryptionKey() != StoreEncryptionKey())
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key) \(String(reflecting: key))" == "<redacted> <redacted>")
        #expect(!dumped.contains("77"))
    }
}
