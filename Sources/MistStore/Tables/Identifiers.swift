package import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A number that stands for a row of a table, or for a time. Each kind has a type of its own, so that one cannot be
/// passed for another.
package protocol TypedNumber: RawRepresentable<Int64>, Hashable, Comparable, Sendable, CustomStringConvertible,
    ExpressibleByIntegerLiteral, DatabaseValueConvertible, StatementColumnConvertible
{
    init(rawValue: Int64)
}

extension TypedNumber {
    package init(_ number: Int64) { self.init(rawValue: number) }
    package init(integerLiteral value: Int64) { self.init(rawValue: value) }
    package var description: String { "\(rawValue)" }
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// `mist_zone.id`
package struct ZoneRowID: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// `_id` in the table of a record type.
package struct RecordRowID: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// `mist_record.id`: of one life of a record, also after it was deleted here.
package struct KnownVersionID: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// `mist_type.id`: of a record type and its table.
package struct TableID: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// `mist_field.id`: of a field of any type.
package struct FieldID: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// No field: in `mist_edit` it stands for the insert of the row.
    package static let insert: FieldID = 0
}

/// `mist_user.id`
package struct UserRowID: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// `mist_follow.id`
package struct FollowedQueryID: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// The number of a request in its scope. Later requests have larger numbers.
package struct RequestNumber: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A time by the clock of this machine, in milliseconds since 1970.
package struct MachineTime: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static func + (time: MachineTime, milliseconds: Int64) -> MachineTime {
        MachineTime(time.rawValue + milliseconds)
    }

    package static func - (time: MachineTime, milliseconds: Int64) -> MachineTime {
        MachineTime(time.rawValue - milliseconds)
    }

    /// The milliseconds between two times.
    package static func - (later: MachineTime, earlier: MachineTime) -> Int64 { later.rawValue - earlier.rawValue }

    /// The time in the service's time.
    ///
    /// - Parameter offset: The service's time minus the machine's, in milliseconds.
    /// - Returns: The time by the service's clock.
    func service(offset: Int64) -> ServiceTime { ServiceTime(rawValue + offset) }
}

/// A time by the clock of the service, in milliseconds since 1970.
package struct ServiceTime: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static func + (time: ServiceTime, milliseconds: Int64) -> ServiceTime {
        ServiceTime(time.rawValue + milliseconds)
    }
}

extension ColumnValue {
    init(_ number: (some TypedNumber)?) { self = number.map { .integer($0.rawValue) } ?? .null }
}

extension Database {
    /// The number of the row that was inserted last.
    func lastInserted<Number: TypedNumber>(_ type: Number.Type) -> Number { Number(lastInsertedRowID) }
}
