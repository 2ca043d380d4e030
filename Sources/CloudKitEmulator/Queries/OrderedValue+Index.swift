import CloudKitModel
import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The index holds these values, and SQLite compares them in the same order.
extension OrderedValue: DatabaseValueConvertible, StatementBinding {
    var databaseValue: DatabaseValue {
        switch self {
        case .integer(let value): value.databaseValue
        case .real(let value): value.databaseValue
        case .text(let value): value.databaseValue
        case .bytes(let value): Data(value).databaseValue
        }
    }

    static func fromDatabaseValue(_ value: DatabaseValue) -> OrderedValue? {
        switch value.storage {
        case .int64(let value): .integer(value)
        case .double(let value): .real(value)
        case .string(let value): .text(value)
        case .blob(let value): .bytes(Array(value))
        case .null: nil
        }
    }
}

extension OrderedValue {
    /// The number of bytes of a text or of a byte value that the index holds. Longer values are compared when the
    /// record is read.
    static let prefixLength = 1000

    /// The value of records that lack the field. It is less than all other values.
    static let absent = OrderedValue.real(-.infinity)

    /// The index values of a field's value: one for a scalar, one for each different element of a list, none for values
    /// without an order (assets, locations, encrypted values).
    static func values(of value: FieldValue) -> [OrderedValue] {
        switch value {
        // Long bytes are not copied.
        case .bytes(let data): return [.bytes(Array(data.prefix(prefixLength)))]
        case .encrypted, .verbatim: return []
        default:
            if let value = OrderedValue(value) { return [value.cut] }
            return unique((value.elements ?? []).compactMap { OrderedValue($0)?.cut })
        }
    }

    /// The index values of a field of a record: those of its value; without a value, ``absent`` if records can be
    /// sorted by the field.
    static func values(of value: FieldValue?, in kind: FieldKind) -> [OrderedValue] {
        if let value, !value.isNull { return values(of: value) }
        return kind.isSortable ? [absent] : []
    }

    /// Whether the value may be only the beginning of the value of the field.
    var isCut: Bool {
        switch self {
        // A text may be cut at the maximum length or at a NUL.
        case .text: true
        case .bytes(let bytes): bytes.count >= Self.prefixLength
        default: false
        }
    }

    static func unique(_ values: [OrderedValue]) -> [OrderedValue] {
        var seen = Set<OrderedValue>()
        return values.filter { seen.insert($0).inserted }
    }

    /// The text, cut at the last whole character that fits.
    static func prefix(_ text: String) -> String {
        // To SQLite a text ends at its first NUL.
        if let end = text.utf8.firstIndex(of: 0) { return prefix(String(text[..<end])) }
        guard text.utf8.count > prefixLength else { return text }
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: prefixLength)
        while text.utf8[end] & 0xC0 == 0x80 {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end])
    }
}
