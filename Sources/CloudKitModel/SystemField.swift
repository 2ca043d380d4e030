/// A field that the service keeps for each record. A schema names it only to give it an index.
public enum SystemField: String, CaseIterable, Sendable {
    /// When the record was created.
    case createTime = "___createTime"
    /// The user who created the record.
    case createdBy = "___createdBy"
    /// The record change tag.
    case etag = "___etag"
    /// When the record was changed last.
    case modTime = "___modTime"
    /// The user who changed the record last.
    case modifiedBy = "___modifiedBy"
    /// The record's name.
    case recordID = "___recordID"
    /// The parent of the record in a shared hierarchy.
    case parent = "___parent"
    /// The share that the record is in.
    case share = "___share"
}

extension SystemField {
    /// The name in `systemFieldName`, and the type of the values. The source is the table of system fields on Apple's page
    /// "Types".
    private var row: (name: SystemFieldName?, type: FieldType.Known) {
        switch self {
        case .createTime: (.createdTimestamp, .timestamp)
        case .createdBy: (.createdUserRecordName, .reference)
        case .etag: (nil, .string)
        case .modTime: (.modifiedTimestamp, .timestamp)
        case .modifiedBy: (.modifiedUserRecordName, .reference)
        case .recordID: (.recordName, .reference)
        case .parent: (.parent, .reference)
        case .share: (.share, .reference)
        }
    }

    /// The name in the `systemFieldName` of a filter or a sort; `nil` for a field that has only its inner name.
    package var systemFieldName: SystemFieldName? { row.name }

    /// The type of its values.
    package var valueType: FieldType.Known { row.type }

    /// The name as the service's errors print it.
    package var queryName: String { row.name?.rawValue ?? rawValue }

    /// Finds the system field of a filter or a sort; `nil` where it names none.
    ///
    /// - Parameters:
    ///   - fieldName: The inner name, which begins with `___`. `___recordId`, as Apple's page has it, is accepted beside
    ///     `___recordID`.
    ///   - systemFieldName: The name of a system field, which goes before the inner name.
    package init?(fieldName: String?, systemFieldName: SystemFieldName?) {
        if let systemFieldName {
            guard let field = Self.allCases.first(where: { $0.systemFieldName == systemFieldName }) else { return nil }
            self = field
        } else {
            guard let fieldName else { return nil }
            self.init(rawValue: fieldName == "___recordId" ? "___recordID" : fieldName)
        }
    }
}
