/// A reference to a typed record.
///
/// ```swift
/// @CloudKitRecord struct Article {
///     var feed: RecordReference<Feed>
/// }
/// let article = Article(feed: feed.reference(.deleteSelf))
/// // "feed":{"value":{"recordName":"feed-1","action":"DELETE_SELF"},"type":"REFERENCE"}
/// let feed = try await database.fetch(article.feed)
/// ```
///
/// The target type exists only in your program: the service does not check the record type of a reference.
public struct RecordReference<Target: CloudKitRecord>: FieldConvertible, Hashable {
    /// The reference without the target type.
    public var reference: Reference

    /// Makes a reference to a record by its name.
    ///
    /// - Parameters:
    ///   - recordName: The name of the target record.
    ///   - action: What happens to the record that has this field when the target record is deleted.
    ///   - zoneID: The zone of the target record; `nil` means the zone of the record that has this field.
    public init(recordName: String, action: Reference.Action = .none, zoneID: ZoneID? = nil) {
        reference = Reference(recordName: recordName, action: action, zoneID: zoneID)
    }

    /// Makes a typed reference from one without a target type.
    ///
    /// - Parameter reference: The reference.
    @inlinable
    public init(_ reference: Reference) {
        self.reference = reference
    }

    /// The name of the target record.
    public var recordName: String {
        get { reference.recordName }
        set { reference.recordName = newValue }
    }

    /// What happens to the record that has this field when the target record is deleted.
    public var action: Reference.Action {
        get { reference.action }
        set { reference.action = newValue }
    }

    /// The zone of the target record; `nil` means the zone of the record that has this field.
    public var zoneID: ZoneID? {
        get { reference.zoneID }
        set { reference.zoneID = newValue }
    }

    /// `REFERENCE`
    public static var fieldType: FieldType { .reference }
    /// The `REFERENCE`.
    public var fieldValue: FieldValue { .reference(reference) }
    /// Takes a `REFERENCE`.
    public init(fieldValue: FieldValue) throws(FieldError) {
        reference = try Reference(fieldValue: fieldValue)
    }
    /// Reads a `REFERENCE`.
    @inlinable
    public static func readField(from reader: inout FieldReader) throws(FieldError) -> RecordReference? {
        try Reference.readField(from: &reader).map { RecordReference($0) }
    }
}
