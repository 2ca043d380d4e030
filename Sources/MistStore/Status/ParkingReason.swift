public import MistKit

/// The reason why a record is parked: a code of the store, or the code with which the service refused the record.
///
/// ```swift
/// for record in try await todos.status().parked {
///     switch record.reason {
///     case .parent: continue
///     case .refused(.accessDenied): print("You may not change \(record.recordName).")
///     default: print(record.recordName, record.message)
///     }
/// }
/// ```
///
/// Later versions may add reasons, so a `switch` over them has a `default`. A reason that a later version wrote into
/// the file is kept as it is.
public struct ParkingReason: RawRepresentable, Hashable, Sendable {
    /// The code of the store, such as `value`, or that of the service, such as `BAD_REQUEST`.
    public let rawValue: String

    /// Makes the reason with a code, known to this version or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The service refused the record.
    ///
    /// - Parameter code: The code of the refusal.
    /// - Returns: The reason.
    public static func refused(_ code: CloudKitError.Code) -> ParkingReason { Self(rawValue: code.description) }

    /// The record cannot be sent, or the program on another device could not read it: a value does not fit its field,
    /// or a field lacks its value.
    public static let value = Self(rawValue: "value")

    /// The record refers to a record that the service lacks, or that this device does not know.
    public static let reference = Self(rawValue: "reference")

    /// A file of the record cannot be uploaded: it is missing or too large, or the service refused it.
    public static let file = Self(rawValue: "file")

    /// The closure that merges a field of the record threw an error.
    public static let merge = Self(rawValue: "merge")

    /// A record of another type has the name.
    public static let nameTaken = Self(rawValue: "nameTaken")

    /// The record is new, and its parent waits.
    public static let parent = Self(rawValue: "parent")

    /// This file does not have the zone of the record.
    public static let zone = Self(rawValue: "zone")

    /// The service's schema lacks the record type, or a field of it.
    public static let schema = Self(rawValue: "schema")
}

extension ParkingReason: CustomStringConvertible {
    /// The code.
    public var description: String { rawValue }
}
