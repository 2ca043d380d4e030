import CloudKitModel
import Foundation
import MistStore

/// The form of a field's value in a column of a mirror.
///
/// | field | column |
/// | --- | --- |
/// | `STRING` | `TEXT` |
/// | `INT64` | `INTEGER` |
/// | `DOUBLE` | `REAL` |
/// | `TIMESTAMP` | `TEXT`: `2026-01-31T12:00:00.000Z`, which SQLite's date functions read; milliseconds outside of the years 0 to 9999 |
/// | `BYTES` | `BLOB` |
/// | `REFERENCE` | `TEXT`: the record name |
/// | `LOCATION`, `ASSETID` | `TEXT`: a JSON object |
/// | lists | `TEXT`: a JSON array |
/// | any other type | `TEXT`: as ``FieldText/plainText(_:)`` writes it |
///
/// An encrypted value is its plain value. A column is for reading: the exact record is kept beside it.
enum MirrorColumn {
    /// The value of a column.
    static func value(of field: FieldValue) -> ColumnValue {
        switch field.plain {
        case .null, .encrypted, .verbatim: return .null
        case .string(let text): return .text(text)
        case .int64(let number): return .integer(number)
        case .double(let number): return .real(number)
        case .timestamp(let date): return value(of: date)
        case .bytes(let data): return .blob(data)
        case .reference(let reference): return .text(reference.recordName)
        case .timestampList(let dates):
            let texts = dates.map { date in
                if case .text(let text) = value(of: date) { text } else { FieldText.describe(date) }
            }
            return .text(FieldText.plainText(.stringList(texts)))
        default: return .text(FieldText.plainText(field.plain))
        }
    }

    /// The SQLite type of the column that is made for a value; `nil` for a null, which needs no column.
    static func type(of field: FieldValue) -> String? {
        switch field.plain {
        case .null, .encrypted, .verbatim: nil
        case .int64: "INTEGER"
        case .double: "REAL"
        case .bytes: "BLOB"
        default: "TEXT"
        }
    }

    /// A point in time in ISO 8601, always with milliseconds, so that texts have the order of the times.
    static func value(of date: Date) -> ColumnValue {
        let exact = (date.timeIntervalSince1970 * 1000).rounded()
        guard let milliseconds = Int64(exactly: exact) else { return .null }
        return text(ofMilliseconds: milliseconds).map { .text($0) } ?? .integer(milliseconds)
    }

    /// `2026-01-31T12:00:00.000Z`; `nil` outside of the years 0 to 9999.
    ///
    /// A formatter of Foundation takes longer than everything else that is done for a record.
    private static func text(ofMilliseconds milliseconds: Int64) -> String? {
        guard (-62_167_219_200_000..<253_402_300_800_000).contains(milliseconds) else { return nil }
        // Days and milliseconds since the first of March of the year 0: leap days are at the end of such a year.
        let since = milliseconds + 719_468 * 86_400_000
        // The two months before that day are the end of the year -1.
        let shifted = since + 146_097 * 86_400_000
        let (day, time) = shifted.quotientAndRemainder(dividingBy: 86_400_000)
        let (era, dayOfEra) = day.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        let year = (era - 1) * 400 + yearOfEra + (month >= 10 ? 1 : 0)
        return String(unsafeUninitializedCapacity: 24) { buffer in
            var index = 0
            func put(_ number: Int64, digits: Int, then end: Unicode.Scalar) {
                var rest = number
                for position in stride(from: index + digits - 1, through: index, by: -1) {
                    buffer[position] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                buffer[index + digits] = UInt8(ascii: end)
                index += digits + 1
            }
            put(year, digits: 4, then: "-")
            put(month < 10 ? month + 3 : month - 9, digits: 2, then: "-")
            put(dayOfMonth, digits: 2, then: "T")
            put(time / 3_600_000, digits: 2, then: ":")
            put(time / 60_000 % 60, digits: 2, then: ":")
            put(time / 1000 % 60, digits: 2, then: ".")
            put(time % 1000, digits: 3, then: "Z")
            return index
        }
    }
}
