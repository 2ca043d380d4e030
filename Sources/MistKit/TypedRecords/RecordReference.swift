/// A pointer to a typed record.
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
/// The type is a promise of the program's; the service does not look at it.
public struct RecordReference<Target: CloudKitRecord>: FieldConvertible, Hashable {
    /// The pointer without a type.
    public var reference: Reference

    /// Makes a pointer to a record of a name.
    ///
    /// - Parameters:
    ///   - recordName: The name of the record that is pointed to.
    ///   - action: What happens to the record with the pointer when the one it points to is deleted.
    ///   - zoneID: The zone of the record that is pointed to; `nil` means that of the one with the pointer.
    public init(recordName: String, action: Reference.Action = .none, zoneID: ZoneID? = nil) {
        reference = Reference(recordName: recordName, action: action, zoneID: zoneID)
    }

    /// Says of a pointer what it points to.
    ///
    /// - Parameter reference: The pointer.
    @inlinable
    public init(_ reference: Reference) {
        self.reference = reference
    }

    /// The name of the record that is pointed to.
    public var recordName: String {
        get { reference.recordName }
        set { reference.recordName = newValue }
    }

    /// What happens to the record with the pointer when the one it points to is deleted.
    public var action: Reference.Action {
        get { reference.action }
        set { reference.action = newValue }
    }

    /// The zone of the record that is pointed to.
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
