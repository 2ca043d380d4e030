/// Which value of a field a local store keeps when this device and another one changed the field independently.
///
/// A policy belongs to a field of a type, and all devices follow it. The client alone does not merge:
/// ``CloudKitDatabase`` reports a conflict, and the program resolves it.
///
/// ```swift
/// let visits = RecordField<Int>("visits", merge: .counter)
/// let tags = RecordField<[String]>("tags", merge: .union)
/// ```
public enum FieldMerge: String, CaseIterable, Hashable, Sendable {
    /// The value that was written last, by the time of the edit.
    case latest

    /// The greatest value. A missing value is less than any other. For text, numbers and dates.
    case greatest

    /// The smallest value. A value wins over a missing value. For text, numbers and dates.
    case smallest

    /// The sum of all additions and subtractions of all devices. For an `INT64`, which can become negative when two
    /// devices subtract.
    case counter

    /// The elements of all lists, each once, ordered by their encoding. The list only grows. For lists of anything but
    /// files.
    case union

    /// The reason why a field of a type cannot have the policy, as the end of a sentence about the field; `nil` when it
    /// can.
    func objection(to type: FieldType) -> String? {
        switch self {
        case .latest:
            return nil
        case .greatest, .smallest:
            if type.known?.features.contains(.order) == true { return nil }
            return "cannot keep its \(rawValue) value: its type is \(type), which has no order"
        case .counter:
            return type == .int64 ? nil : "cannot be a counter: its type is \(type), and a counter is INT64"
        case .union:
            if type == .assetList { return "cannot be a union: its type is ASSETID_LIST, and files are not compared" }
            return type.known?.element != nil ? nil : "cannot be a union: its type is \(type), and a union is a list"
        }
    }
}
