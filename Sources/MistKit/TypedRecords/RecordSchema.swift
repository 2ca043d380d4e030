/// A record type as the service knows it: its name, and its fields with their types.
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
        /// Its indexes, which decide what queries can do with it.
        public var indexes: FieldIndexes
        /// Which of two values a local store keeps when both sides changed the field. The service does not know it.
        public var merge: FieldMerge
        /// The names that the field had in earlier versions of the program. The service does not know them.
        public var formerNames: [String]
        /// Whether the field points to the record's parent.
        public var isParent: Bool

        /// Makes a field.
        public init(
            name: String,
            type: FieldType,
            isEncrypted: Bool = false,
            indexes: FieldIndexes = [],
            merge: FieldMerge = .latest,
            formerNames: [String] = [],
            isParent: Bool = false
        ) {
            self.name = name
            self.type = type
            self.isEncrypted = isEncrypted
            self.indexes = indexes
            self.merge = merge
            self.formerNames = formerNames
            self.isParent = isParent
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
            text += field.indexes.names.map { " \($0)" }.joined()
        }
    }
}

extension RecordSchema {
    /// The mistakes of the schema that a local store cannot work with, one sentence for each; empty when there is no
    /// mistake.
    ///
    /// The macro `@CloudKitRecord` refuses the same mistakes where it can see them in the source. Behind a type alias,
    /// and in a conformance written by hand, only this method finds them.
    ///
    /// ```swift
    /// RecordSchema(
    ///     recordType: "Todo",
    ///     fields: [RecordSchema.Field(name: "title", type: .string, merge: .counter)]
    /// ).problems()
    /// // ["The field \"title\" of Todo cannot be a counter: its type is STRING, and a counter is INT64."]
    /// ```
    ///
    /// - Returns: The sentences, in the order of the fields.
    public func problems() -> [String] {
        var problems: [String] = []
        // Each name, with the field that had it first.
        var owners: [String: String] = [:]
        for field in fields {
            if owners.updateValue(field.name, forKey: field.name) != nil {
                problems.append("Two fields of \(recordType) have the name \"\(field.name)\".")
            }
        }
        var parent: String?
        for field in fields {
            let name = "The field \"\(field.name)\" of \(recordType)"
            if let reason = field.merge.objection(to: field.type) { problems.append("\(name) \(reason).") }
            if field.isParent {
                if field.type != .reference {
                    problems.append("\(name) cannot point to a parent: its type is \(field.type), not REFERENCE.")
                }
                if let parent {
                    problems.append("\(name) cannot point to a parent: \"\(parent)\" does so already.")
                }
                parent = parent ?? field.name
            }
            for formerName in field.formerNames {
                if let owner = owners[formerName] {
                    let reason =
                        owner == formerName ? "a field has it now" : "the field \"\(owner)\" has it as a former name"
                    problems.append("\(name) cannot have the former name \"\(formerName)\": \(reason).")
                } else {
                    owners[formerName] = field.name
                }
            }
        }
        return problems
    }
}

extension RecordField: FieldDescription {
    /// The field in the schema.
    public var schemaField: RecordSchema.Field {
        RecordSchema.Field(
            name: "\(key)",
            type: Value.fieldType,
            indexes: indexes,
            merge: merge,
            formerNames: formerNames,
            isParent: isParent
        )
    }
}

extension EncryptedRecordField: FieldDescription {
    /// The field in the schema.
    public var schemaField: RecordSchema.Field {
        RecordSchema.Field(
            name: "\(key)",
            type: Value.fieldType,
            isEncrypted: true,
            merge: merge,
            formerNames: formerNames
        )
    }
}
