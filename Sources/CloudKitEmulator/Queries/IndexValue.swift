import CloudKitModel
import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value as the index holds it: comparable in SQLite and here in the same order.
///
/// Integers and floating-point numbers are compared by value: 10 equals 10.0.
enum IndexValue: Hashable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

extension IndexValue: Comparable {
    /// SQLite's order: numbers, then text by its UTF-8 bytes, then bytes.
    static func < (left: IndexValue, right: IndexValue) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.real(let left), .real(let right)): left < right
        case (.integer(let left), .real(let right)): isLess(left, right)
        case (.real(let left), .integer(let right)): !isLess(right, left) && Int64(exactly: left) != right
        case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
        default: left.rank < right.rank
        }
    }

    static func == (left: IndexValue, right: IndexValue) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.integer(let left), .real(let right)): Int64(exactly: right) == left
        case (.real(let left), .integer(let right)): Int64(exactly: left) == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.bytes(let left), .bytes(let right)): left == right
        default: false
        }
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .integer(let value): hasher.combine(value)
        case .real(let value):
            if let whole = Int64(exactly: value) { hasher.combine(whole) } else { hasher.combine(value) }
        case .text(let value): hasher.combine(value)
        case .bytes(let value): hasher.combine(value)
        }
    }

    /// Whether an integer is less than a floating-point number. The result is exact, although a double cannot represent
    /// every integer.
    private static func isLess(_ left: Int64, _ right: Double) -> Bool {
        if right >= 0x1p63 { return true }
        guard right > -0x1p63 else { return false }
        let whole = Int64(right)
        return left == whole ? Double(whole) < right : left < whole
    }

    private var rank: Int {
        switch self {
        case .integer, .real: 0
        case .text: 1
        case .bytes: 2
        }
    }
}

extension IndexValue: DatabaseValueConvertible, StatementBinding {
    var databaseValue: DatabaseValue {
        switch self {
        case .integer(let value): value.databaseValue
        case .real(let value): value.databaseValue
        case .text(let value): value.databaseValue
        case .bytes(let value): Data(value).databaseValue
        }
    }

    static func fromDatabaseValue(_ value: DatabaseValue) -> IndexValue? {
        switch value.storage {
        case .int64(let value): .integer(value)
        case .double(let value): .real(value)
        case .string(let value): .text(value)
        case .blob(let value): .bytes(Array(value))
        case .null: nil
        }
    }
}

extension IndexValue {
    /// The number of bytes of a text or of a byte value that the index holds. Longer values are compared when the
    /// record is read.
    static let prefixLength = 1000

    /// The value of records that lack the field. It is less than all other values.
    static let absent = IndexValue.real(-.infinity)

    /// The index values of a field of a record: those of its value; without a value, ``absent`` if records can be
    /// sorted by the field.
    static func values(of value: FieldValue?, in kind: FieldKind) -> [IndexValue] {
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

    static func milliseconds(_ date: Date) -> IndexValue {
        .integer(date.milliseconds)
    }

    static func unique(_ values: [IndexValue]) -> [IndexValue] {
        var seen = Set<IndexValue>()
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
