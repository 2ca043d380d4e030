import CloudKitModel

/// The subject of a filter or a sort: a field of the record type, or a system field.
struct QuerySubject {
    /// The field's name, as errors print it.
    let name: String
    /// The value in SQL: a column with its table, or an expression.
    let sql: String
    /// The type of the value.
    let type: FieldType.Known
    /// Whether the field is encrypted, so that the service cannot compare it.
    var isEncrypted = false
    /// Whether ``QueryIndexes`` has an index of the value.
    var isIndexed = false

    /// Finds the subject of a filter or a sort.
    ///
    /// - Parameters:
    ///   - fieldName: The name of a field of the record type, or the name of a system field that begins with `___`.
    ///   - systemFieldName: The name of a system field.
    ///   - table: The table of the record type.
    /// - Throws: A ``StoreError`` with ``StoreError/Code-swift.struct/query``.
    init(fieldName: String?, systemFieldName: SystemFieldName?, in table: RecordTable) throws(StoreError) {
        guard let name = systemFieldName?.rawValue ?? fieldName else {
            throw StoreError(.query, "A filter or a sort names no field.", recordType: table.recordType)
        }
        if systemFieldName == nil, let field = table[name] {
            guard let type = field.knownType else {
                throw StoreError(
                    .query,
                    "Fields of type \(field.type) cannot be queried.",
                    recordType: table.recordType,
                    fieldName: name
                )
            }
            self.init(
                name: name,
                sql: "\(table.name).\(field.column)",
                type: type,
                isEncrypted: field.schema.isEncrypted,
                isIndexed: QueryIndexes.expression(of: field) != nil
            )
            return
        }
        guard let field = Self.systemFields[systemFieldName == nil ? name : "." + name] else {
            throw StoreError(
                .query,
                "The record type has no field of this name.",
                recordType: table.recordType,
                fieldName: name
            )
        }
        // A record's parent is what its parent field points to. Types without such a field have parents that other
        // programs set.
        if field.name == "parent", let parent = table.parentField {
            self.init(
                name: field.name,
                sql: "\(table.name).\(parent.column)",
                type: field.type,
                isIndexed: QueryIndexes.expression(of: parent) != nil
            )
        } else {
            self = field
        }
    }

    private init(name: String, sql: String, type: FieldType.Known, isEncrypted: Bool = false, isIndexed: Bool = false) {
        self.name = name
        self.sql = sql
        self.type = type
        self.isEncrypted = isEncrypted
        self.isIndexed = isIndexed
    }

    /// The record name. It is unique in its zone, and so has an index.
    static let recordName = QuerySubject(name: "recordName", sql: "_recordName", type: .reference)

    /// The system fields, by their names: a name of `systemFieldName` has a `.` before it, a name of `fieldName` has
    /// none (Apple's page "Types").
    private static let systemFields: [String: QuerySubject] = {
        func user(_ name: String, _ column: String) -> QuerySubject {
            QuerySubject(name: name, sql: Users.name(ofNumber: column), type: .reference)
        }
        func service(_ name: String, _ column: String, _ type: FieldType.Known) -> QuerySubject {
            QuerySubject(name: name, sql: KnownVersions.systemField(column), type: type)
        }
        let created = QuerySubject(name: "createdTimestamp", sql: "_createdTimestamp", type: .timestamp)
        let modified = QuerySubject(name: "modifiedTimestamp", sql: "_modifiedTimestamp", type: .timestamp)
        let creator = user("createdUserRecordName", "_createdUser")
        let modifier = user("modifiedUserRecordName", "_modifiedUser")
        let parent = service("parent", "parent", .reference)
        let share = service("share", "share", .reference)
        let tag = service("___etag", "tag", .string)
        return [
            ".recordName": recordName, "___recordID": recordName, "___recordId": recordName,
            ".createdTimestamp": created, "___createTime": created,
            ".modifiedTimestamp": modified, "___modTime": modified,
            ".createdUserRecordName": creator, "___createdBy": creator,
            ".modifiedUserRecordName": modifier, "___modifiedBy": modifier,
            ".parent": parent, "___parent": parent,
            ".share": share, "___share": share,
            "___etag": tag,
        ]
    }()
}
