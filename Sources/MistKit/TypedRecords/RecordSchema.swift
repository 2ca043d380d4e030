/// What a record type looks like to the service: the type's name, and its fields with their types.
///
/// ```swift
/// User.schema.fields.map(\.name)  // ["firstName", "age", "tags"]
/// print(User.schema)
/// // User
/// //   firstName STRING QUERYABLE
/// //   age       INT64
/// //   tags      STRING_LIST
/// ```
public struct RecordSchema: Hashable, Sendable {
    /// One field.
    public struct Field: Hashable, Sendable {
        /// The field's name.
        public var name: String
        /// The type of its values, such as `STRING` or `STRING_LIST`.
        public var type: FieldType
        /// Whether the service keeps it encrypted.
        public var isEncrypted: Bool
        /// What queries may do with it.
        public var indexes: FieldIndexes

        /// Makes a field.
        public init(name: String, type: FieldType, isEncrypted: Bool = false, indexes: FieldIndexes = []) {
            self.name = name
            self.type = type
            self.isEncrypted = isEncrypted
            self.indexes = indexes
        }
    }

    /// The record type's name.
    public var recordType: String
    /// The fields, in the order of the properties.
    public var fields: [Field]

    /// Makes a schema.
    public init(recordType: String, fields: [Field]) {
        self.recordType = recordType
        self.fields = fields
    }
}

extension RecordSchema: CustomStringConvertible {
    /// The record type, and a line for each field.
    public var description: String {
        let width = fields.map(\.name.count).max() ?? 0
        return fields.reduce(into: recordType) { text, field in
            text += "\n  " + field.name + String(repeating: " ", count: width - field.name.count + 1)
            text += "\(field.isEncrypted ? "ENCRYPTED " : "")\(field.type)"
            if field.indexes.contains(.queryable) { text += " QUERYABLE" }
            if field.indexes.contains(.sortable) { text += " SORTABLE" }
            if field.indexes.contains(.searchable) { text += " SEARCHABLE" }
        }
    }
}

extension RecordField: FieldDescription {
    /// What the schema says of the field.
    public var schemaField: RecordSchema.Field {
        RecordSchema.Field(name: "\(key)", type: Value.fieldType, indexes: indexes)
    }
}

extension EncryptedRecordField: FieldDescription {
    /// What the schema says of the field.
    public var schemaField: RecordSchema.Field {
        RecordSchema.Field(name: "\(key)", type: Value.fieldType, isEncrypted: true)
    }
}
