import CloudKitModel

/// The subject of a filter or a sort: a field of the record type, or a system field.
struct QueryColumn {
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
                isEncrypted: field.isEncrypted,
                isIndexed: QueryIndexes.expression(of: field) != nil
            )
            return
        }
        guard let systemField = SystemField(fieldName: fieldName, systemFieldName: systemFieldName) else {
            throw StoreError(
                .query,
                "The record type has no field of this name.",
                recordType: table.recordType,
                fieldName: name
            )
        }
        // A record's parent is what its parent field points to. Types without such a field have parents that other
        // programs set.
        if systemField == .parent, let parent = table.parentField {
            self.init(
                name: systemField.queryName,
                sql: "\(table.name).\(parent.column)",
                type: systemField.valueType,
                isIndexed: QueryIndexes.expression(of: parent) != nil
            )
        } else {
            self.init(systemField)
        }
    }

    init(name: String, sql: String, type: FieldType.Known, isEncrypted: Bool = false, isIndexed: Bool = false) {
        self.name = name
        self.sql = sql
        self.type = type
        self.isEncrypted = isEncrypted
        self.isIndexed = isIndexed
    }

    private init(_ field: SystemField) {
        let sql =
            switch field {
            case .recordID: "_recordName"
            case .createTime: "_createdTimestamp"
            case .modTime: "_modifiedTimestamp"
            case .createdBy: Users.name(ofNumber: "_createdUser")
            case .modifiedBy: Users.name(ofNumber: "_modifiedUser")
            case .parent: KnownVersions.systemField("parent")
            case .share: KnownVersions.systemField("share")
            case .etag: KnownVersions.systemField("tag")
            }
        self.init(name: field.queryName, sql: sql, type: field.valueType)
    }

    /// The record name. It is unique in its zone, and so has an index.
    static let recordName = QueryColumn(.recordID)
}
