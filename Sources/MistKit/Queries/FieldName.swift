/// The name of a field in filters and sorts: a field of the record type, or a system field, which every record has.
///
/// ```swift
/// let own: FieldName = "lastName"
/// let ofEveryRecord = FieldName.createdTimestamp
/// ```
public struct FieldName: Hashable, Sendable, ExpressibleByStringLiteral {
    enum Kind: Hashable, Sendable {
        case own(String)
        case system(SystemFieldName)
    }

    let kind: Kind

    /// Names a field of the record type.
    ///
    /// - Parameter name: The name in the schema.
    public init(_ name: String) {
        kind = .own(name)
    }

    /// Names a system field, which every record has.
    ///
    /// - Parameter name: The name, which may be one that this version does not list.
    public init(system name: SystemFieldName) {
        kind = .system(name)
    }

    /// Names a field of the record type.
    ///
    /// - Parameter name: The name in the schema.
    public init(stringLiteral name: String) {
        kind = .own(name)
    }

    /// The record's name; compared with a reference.
    public static let recordName = FieldName(system: .recordName)
    /// The share of the record; compared with a reference.
    public static let share = FieldName(system: .share)
    /// The parent of the record, with which it is shared; compared with a reference.
    public static let parent = FieldName(system: .parent)
    /// The user who created the record; compared with a reference.
    public static let createdUserRecordName = FieldName(system: .createdUserRecordName)
    /// When the record was created.
    public static let createdTimestamp = FieldName(system: .createdTimestamp)
    /// The user who changed the record last; compared with a reference.
    public static let modifiedUserRecordName = FieldName(system: .modifiedUserRecordName)
    /// When the record was changed last.
    public static let modifiedTimestamp = FieldName(system: .modifiedTimestamp)
}
