import CloudKitModel
import Crypto
import GRDB
import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Seals values of encrypted fields with the key of a file, and opens them: AES-GCM with a random nonce for each value.
///
/// Each sealed value is tied to what it belongs to (``SealedSubject``). A value that was copied to another record, another
/// field or another table is not opened.
struct FieldSealer: Sendable {
    private let key: SymmetricKey
    /// The encrypted fields of each record type that the program or the file knows.
    private let encryptedFields: [String: Set<String>]

    /// The beginning of every sealed value.
    private static let magic = Data("MSL1".utf8)

    /// Makes a sealer.
    ///
    /// - Parameters:
    ///   - key: The key of the file.
    ///   - encryptedFields: The names of the encrypted fields, by record type.
    init(key: SymmetricKey, encryptedFields: [String: Set<String>] = [:]) {
        self.key = key
        self.encryptedFields = encryptedFields
    }

    /// Seals bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - subject: What they belong to.
    /// - Returns: Four bytes that mark the form, the nonce, the encrypted bytes, and the tag: 32 bytes more than `bytes`.
    /// - Throws: A `CryptoKitError`, for a key of a size that AES does not have.
    func seal(_ bytes: Data, for subject: SealedSubject) throws -> Data {
        let box = try AES.GCM.seal(bytes, using: key, authenticating: subject.bytes)
        return Self.magic + Data(box.nonce) + box.ciphertext + box.tag
    }

    /// Opens sealed bytes.
    ///
    /// - Parameters:
    ///   - sealed: The result of ``seal(_:for:)``.
    ///   - subject: What it belongs to.
    /// - Returns: The bytes.
    /// - Throws: A ``SealingError``.
    func open(_ sealed: Data, for subject: SealedSubject) throws(SealingError) -> Data {
        guard sealed.starts(with: Self.magic) else { throw .notSealed }
        do {
            let box = try AES.GCM.SealedBox(combined: Data(sealed.dropFirst(Self.magic.count)))
            return try AES.GCM.open(box, using: key, authenticating: subject.bytes)
        } catch {
            throw .refused
        }
    }
}

/// The reason why a sealed value is not opened.
enum SealingError: Error, Hashable {
    /// The bytes are no sealed value.
    case notSealed
    /// The value was sealed with another key, belongs to something else, or was changed.
    case refused
}

/// What a sealed value belongs to. It is authenticated together with the value.
///
/// Zones and numbers of rows are not part of it: a record that is moved to another zone keeps its sealed values.
struct SealedSubject: Hashable {
    private let parts: [String]

    /// The value of a field: in its column, and in the copies of the column in the tables of edits.
    static func value(of field: String, _ recordType: String, _ recordName: String) -> Self {
        Self(parts: ["value", recordType, recordName, field])
    }

    /// The encrypted fields of an entry of the recovery log.
    static func recovery(_ recordType: String, _ recordName: String) -> Self {
        Self(parts: ["recovery", recordType, recordName])
    }

    /// The encrypted fields of a record of a type that the program does not know.
    static func foreign(_ recordType: String, _ recordName: String) -> Self {
        Self(parts: ["foreign", recordType, recordName])
    }

    /// The encrypted fields of a version of the service that have no column.
    static func version(_ recordName: String) -> Self { Self(parts: ["version", recordName]) }

    /// The edit times of a record. They have checksums of values.
    static func times(_ recordName: String) -> Self { Self(parts: ["times", recordName]) }

    /// What the service said about a record, or about the transfer of a file of it, that it refused.
    static func message(_ recordName: String) -> Self { Self(parts: ["message", recordName]) }

    /// The parts, each with its length before it.
    var bytes: Data {
        parts.reduce(into: Data()) { bytes, part in
            withUnsafeBytes(of: UInt32(part.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: part.utf8)
        }
    }
}

// MARK: - Fields as JSON

extension FieldSealer {
    /// The field that has the encrypted fields of a dictionary.
    static let fieldName = "mist_sealed"

    /// Replaces the encrypted fields of a record, and the edit times, which have checksums of them, by one sealed field.
    ///
    /// Values that the service has marked as encrypted are sealed too, whatever the type.
    ///
    /// - Parameters:
    ///   - fields: The values.
    ///   - recordType: The record's type.
    ///   - subject: What the values belong to.
    /// - Returns: The fields as they are written to the file.
    /// - Throws: A `JSONError` for a value without a form in JSON.
    func sealed(
        _ fields: [String: FieldValue],
        of recordType: String,
        for subject: SealedSubject
    ) throws -> [String: FieldValue] {
        let names = encryptedFields[recordType] ?? []
        // A record of another program may have a field of this name.
        var secrets = fields.filter { $1.isEncrypted || names.contains($0) || $0 == Self.fieldName }
        guard !secrets.isEmpty else { return fields }
        secrets[EditTimes.fieldName] = fields[EditTimes.fieldName]
        var rest = fields.filter { secrets[$0.key] == nil }
        let text = try OtherFields.text(secrets) ?? "{}"
        rest[Self.fieldName] = .bytes(try seal(Data(text.utf8), for: subject))
        return rest
    }

    /// Gives the fields back that ``sealed(_:of:for:)`` has sealed.
    ///
    /// - Throws: A ``StoreError`` with the code `damaged` where they cannot be opened.
    func opened(_ fields: [String: FieldValue], for subject: SealedSubject) throws -> [String: FieldValue] {
        guard let sealed = fields[Self.fieldName] else { return fields }
        var opened = fields
        opened[Self.fieldName] = nil
        guard let bytes = sealed.bytesValue, let text = try? open(bytes, for: subject) else {
            throw StoreError.sealedValueIsDamaged
        }
        return opened.merging(try OtherFields.read(String(decoding: text, as: UTF8.self))) { $1 }
    }
}

extension Optional where Wrapped == FieldSealer {
    /// The fields as they are written to a file, with or without a key.
    func sealed(
        _ fields: [String: FieldValue],
        of recordType: String,
        for subject: SealedSubject
    ) throws -> [String: FieldValue] {
        guard let self else { return fields }
        return try self.sealed(fields, of: recordType, for: subject)
    }

    /// The fields as they were before ``sealed(_:of:for:)``.
    func opened(_ fields: [String: FieldValue], for subject: SealedSubject) throws -> [String: FieldValue] {
        guard let self, !fields.isEmpty else { return fields }
        return try self.opened(fields, for: subject)
    }

    /// Edit times as they are written to a file.
    func sealed(times: Data?, of recordName: String) throws -> Data? {
        guard let self, let times else { return times }
        return try self.seal(times, for: .times(recordName))
    }

    /// A message about a record as it is written to a file: text, or sealed bytes.
    func sealed(message: String, of recordName: String) throws -> DatabaseValue {
        guard let self else { return message.databaseValue }
        return try self.seal(Data(message.utf8), for: .message(recordName)).databaseValue
    }

    /// A message as it was before ``sealed(message:of:)``. One that cannot be opened says so: it hides no record.
    func opened(message: DatabaseValue, of recordName: String) -> String {
        guard case .blob(let sealed) = message.storage else { return String.fromDatabaseValue(message) ?? "" }
        guard let bytes = try? self?.open(sealed, for: .message(recordName)) else {
            return "The message is sealed, and cannot be opened."
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Edit times as they were before ``sealed(times:of:)``.
    ///
    /// - Throws: A ``StoreError`` with the code `damaged` where they cannot be opened.
    func opened(times: Data?, of recordName: String) throws -> Data? {
        guard let self, let times else { return times }
        do throws(SealingError) {
            return try self.open(times, for: .times(recordName))
        } catch {
            throw StoreError.sealedValueIsDamaged
        }
    }
}

extension StoreError {
    /// The error of a sealed value of the engine's own tables that cannot be opened.
    static let sealedValueIsDamaged = StoreError(
        .damaged,
        """
        A sealed value cannot be opened with the key of the file: another program has changed it. Restore the file from a \
        backup; or move it away and open the store again, which fetches what was synchronised.
        """
    )
}

// MARK: - Columns

/// How the values of one field are sealed in its column, and in the copies of the column.
final class FieldSealing: Sendable {
    private let sealer: FieldSealer
    private let recordType: String
    private let fieldName: String
    /// The other names of a renamed field. Triggers copy sealed values from one of these columns to another.
    private let otherNames: [String]
    /// Whether the sealed values are texts. They are not of the storage class that plain values of the field have: so a
    /// process that has the file open without the key takes none for a value.
    let isText: Bool

    init(
        _ sealer: FieldSealer,
        of fieldName: String,
        _ recordType: String,
        otherNames: [String],
        type: FieldType.Known?
    ) {
        (self.sealer, self.recordType, self.fieldName, self.otherNames) = (sealer, recordType, fieldName, otherNames)
        isText = Self.isText(type)
    }

    static func isText(_ type: FieldType.Known?) -> Bool { type?.form == .base64 }

    /// Seals a value of a record. A null stays a null.
    func sealed(_ value: ColumnValue, of recordName: String) throws -> ColumnValue {
        guard value != .null else { return .null }
        let bytes = try sealer.seal(value.sealedForm, for: .value(of: fieldName, recordType, recordName))
        return isText ? .text(bytes.base64EncodedString()) : .blob(bytes)
    }

    /// Opens a value of a record. A null is a null.
    ///
    /// - Throws: ``ColumnError/sealed``.
    func opened(_ value: ColumnValue, of recordName: String) throws(ColumnError) -> ColumnValue {
        let bytes: Data?
        switch value {
        case .null: return .null
        case .blob(let data) where !isText: bytes = data
        case .text(let text) where isText: bytes = Data(base64Encoded: text)
        default: bytes = nil
        }
        guard let bytes else { throw .sealed }
        for name in [fieldName] + otherNames {
            let opened = try? sealer.open(bytes, for: .value(of: name, recordType, recordName))
            if let opened, let value = ColumnValue(sealedForm: opened) { return value }
        }
        throw .sealed
    }

    /// Seals a value that replaces another one. An equal value keeps its bytes, so that triggers see no edit.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - present: The present content of the column.
    ///   - recordName: The name of the record.
    /// - Returns: The new content of the column.
    /// - Throws: A `CryptoKitError`.
    func sealed(_ value: ColumnValue, over present: ColumnValue, of recordName: String) throws -> ColumnValue {
        if let same = try? opened(present, of: recordName), same == value { return present }
        return try sealed(value, of: recordName)
    }
}

extension ColumnValue {
    /// The value as bytes: its storage class, and its content.
    fileprivate var sealedForm: Data {
        func bytes(_ tag: UInt8, _ number: UInt64) -> Data {
            withUnsafeBytes(of: number.littleEndian) { Data([tag]) + Data($0) }
        }
        return switch self {
        case .null: Data([0])
        case .integer(let number): bytes(1, UInt64(bitPattern: number))
        case .real(let number): bytes(2, number.bitPattern)
        case .text(let text): Data([3]) + Data(text.utf8)
        case .blob(let data): Data([4]) + data
        }
    }

    fileprivate init?(sealedForm: Data) {
        let content = sealedForm.dropFirst()
        var number: UInt64 {
            content.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        switch sealedForm.first {
        case 1 where content.count == 8: self = .integer(Int64(bitPattern: number))
        case 2 where content.count == 8: self = .real(Double(bitPattern: number))
        case 3: self = .text(String(decoding: content, as: UTF8.self))
        case 4: self = .blob(Data(content))
        default: return nil
        }
    }
}
