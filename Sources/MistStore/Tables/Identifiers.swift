import GRDB
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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

/// A time by the clock of the service, in milliseconds since 1970.
package struct ServiceTime: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static func + (time: ServiceTime, milliseconds: Int64) -> ServiceTime {
        ServiceTime(time.rawValue + milliseconds)
    }
}

extension MachineTime {
    /// The time in the service's time.
    ///
    /// - Parameter offset: The service's time minus the machine's, in milliseconds.
    /// - Returns: The time by the service's clock.
    func service(offset: Int64) -> ServiceTime { ServiceTime(rawValue + offset) }
}

extension ColumnValue {
    init(_ number: (some TypedNumber)?) { self = number.map { .integer($0.rawValue) } ?? .null }
}
