public import CloudKitSchema

extension ContainerSchema {
    /// Makes the schema of a program's typed records, such as for a schema file.
    ///
    /// ```swift
    /// let schema = try ContainerSchema(of: Feed.self, Article.self)
    /// try schema.description.write(to: file, atomically: true, encoding: .utf8)
    /// // DEFINE SCHEMA
    /// //
    /// //     RECORD TYPE Feed (
    /// //         "___recordID" REFERENCE QUERYABLE,
    /// //         feedURL       STRING QUERYABLE SORTABLE,
    /// //         …
    /// //         GRANT WRITE TO "_creator",
    /// ```
    ///
    /// Record names get the index `QUERYABLE`, without which the service refuses a query that has no filter. Two
    /// structs of one record type make one record type with the fields of both.
    ///
    /// - Parameters:
    ///   - types: The typed records.
    ///   - grants: What users of each role may do in a public database; the same for all record types.
    /// - Throws: A ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/invalidArgument`` for a field whose type
    ///   the schema language does not have, and for two structs that give a field different types.
    public init(of types: any CloudKitRecord.Type..., grants: [Grant] = .publicDefault) throws {
        self.init()
        for type in types.map({ $0.schema }) {
            let recordType = try RecordType(type, grants: grants)
            guard let index = recordTypes.firstIndex(where: { $0.name == recordType.name }) else {
                recordTypes.append(recordType)
                continue
            }
            for field in recordType.fields {
                guard let known = recordTypes[index].fields.firstIndex(where: { $0.name == field.name }) else {
                    recordTypes[index].fields.append(field)
                    continue
                }
                let other = recordTypes[index].fields[known].type
                guard other == field.type else {
                    throw CloudKitError.invalidArgument(
                        """
                        The field "\(field.name)" of \(recordType.name) is \(other) in one struct and \(field.type) in another; give it one \
                        type
                        """
                    )
                }
                recordTypes[index].fields[known].indexes.formUnion(field.indexes)
            }
        }
    }
}

extension ContainerSchema.RecordType {
    /// Makes the record type of a typed record.
    ///
    /// - Parameters:
    ///   - schema: The schema of the typed record, such as `User.schema`.
    ///   - grants: What users of each role may do in a public database.
    /// - Throws: A ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/invalidArgument`` for a field whose type
    ///   the schema language does not have.
    public init(_ schema: RecordSchema, grants: [ContainerSchema.Grant] = .publicDefault) throws {
        let recordID = ContainerSchema.Field(
            name: SystemField.recordID.rawValue,
            type: SystemField.recordID.type,
            indexes: .queryable
        )
        let fields = try schema.fields.map { field in
            guard let type = SchemaFieldType(fieldType: field.type, isEncrypted: field.isEncrypted) else {
                let type = "\(field.isEncrypted ? "encrypted " : "")\(field.type.rawValue)"
                throw CloudKitError.invalidArgument(
                    "The field \"\(field.name)\" of \(schema.recordType) has the type \(type), which schemas do not have"
                )
            }
            return ContainerSchema.Field(name: field.name, type: type, indexes: field.indexes)
        }
        self.init(name: schema.recordType, fields: [recordID] + fields, grants: grants)
    }
}
