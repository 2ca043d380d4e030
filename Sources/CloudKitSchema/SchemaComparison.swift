public import CloudKitModel

/// The differences between two schemas, and which of them a production environment refuses.
///
/// ```swift
/// let comparison = SchemaComparison(from: deployed, to: schema)
/// print(comparison)
/// // + Note.tags LIST<STRING>
/// // ~ Note.title gets the index SORTABLE
/// // ! Note.count changes from INT64 to DOUBLE: production does not change the type of a field
/// ```
public struct SchemaComparison: Hashable, Sendable {
    /// The differences, by record type and field.
    public let changes: [SchemaChange]

    /// Whether the schemas do not differ.
    public var isEmpty: Bool { changes.isEmpty }

    /// The changes that production refuses.
    public var refused: [SchemaChange] { changes.filter { $0.refusal != nil } }

    /// Compares two schemas. Order does not matter, and a system field that one of them does not name has no index
    /// there.
    ///
    /// - Parameters:
    ///   - old: The present schema.
    ///   - new: The new schema.
    public init(from old: ContainerSchema, to new: ContainerSchema) {
        var changes: [SchemaChange] = []
        changes += Set(new.roles).subtracting(old.roles).sorted().map { .roleAdded($0) }
        changes += Set(old.roles).subtracting(new.roles).sorted().map { .roleDropped($0) }
        let (oldTypes, newTypes) = (old.byName, new.byName)
        for name in Set(oldTypes.keys).union(newTypes.keys).sorted() {
            switch (oldTypes[name], newTypes[name]) {
            case (let old?, let new?): changes += Self.changes(from: old, to: new)
            // The service has its own types, also when a file does not name them.
            case (nil, let new?) where !name.isServiceName: changes.append(.recordTypeAdded(new))
            case (let old?, nil) where !ContainerSchema.isServiceType(name): changes.append(.recordTypeDropped(old))
            default: break
            }
        }
        self.changes = changes
    }

    private static func changes(
        from old: ContainerSchema.RecordType,
        to new: ContainerSchema.RecordType
    ) -> [SchemaChange] {
        var changes: [SchemaChange] = []
        let (oldFields, newFields) = (old.fieldsByName, new.fieldsByName)
        for name in Set(oldFields.keys).union(newFields.keys).sorted() {
            switch (oldFields[name], newFields[name]) {
            case (let old?, let field?):
                if old.type != field.type {
                    changes.append(.fieldTypeChanged(recordType: new.name, field: name, from: old.type, to: field.type))
                }
                if old.indexes != field.indexes {
                    changes.append(
                        .indexesChanged(recordType: new.name, field: name, from: old.indexes, to: field.indexes)
                    )
                }
            case (nil, let field?) where !name.isServiceName:
                changes.append(.fieldAdded(recordType: new.name, field))
            case (let field?, nil) where !name.isServiceName:
                changes.append(.fieldDropped(recordType: new.name, field))
            default: break
            }
        }
        for role in Set((old.grants + new.grants).map(\.role)).sorted() {
            let (before, after) = (old.permissions(of: role), new.permissions(of: role))
            guard before != after else { continue }
            changes.append(.grantsChanged(recordType: new.name, role: role, from: before, to: after))
        }
        return changes
    }
}

/// One difference between two schemas.
public enum SchemaChange: Hashable, Sendable {
    /// A role is created.
    case roleAdded(String)
    /// A role is dropped.
    case roleDropped(String)
    /// A record type is new, with its fields and grants.
    case recordTypeAdded(ContainerSchema.RecordType)
    /// A record type is dropped, with all its records.
    case recordTypeDropped(ContainerSchema.RecordType)
    /// A field is new.
    case fieldAdded(recordType: String, ContainerSchema.Field)
    /// A field is dropped, with its values.
    case fieldDropped(recordType: String, ContainerSchema.Field)
    /// A field has another type, or its encryption changes.
    case fieldTypeChanged(recordType: String, field: String, from: SchemaFieldType, to: SchemaFieldType)
    /// A field has other indexes.
    case indexesChanged(recordType: String, field: String, from: FieldIndexes, to: FieldIndexes)
    /// The permissions of a role change.
    case grantsChanged(
        recordType: String,
        role: String,
        from: ContainerSchema.Permissions,
        to: ContainerSchema.Permissions
    )

    /// The reason why production refuses the change; `nil` for a change that it accepts.
    ///
    /// Source: Apple's page on the schema language. A change that would lose data is refused. So are the change of a
    /// field's type and the encryption of an existing field.
    public var refusal: String? {
        switch self {
        case .recordTypeDropped: "production does not drop record types"
        case .fieldDropped: "production does not drop fields"
        case .fieldTypeChanged(_, _, let old, let new):
            old.isEncrypted == new.isEncrypted
                ? "production does not change the type of a field"
                : "encryption is neither added to a field that exists nor removed from it"
        case .roleAdded, .roleDropped, .recordTypeAdded, .fieldAdded, .indexesChanged, .grantsChanged: nil
        }
    }
}

extension SchemaChange: CustomStringConvertible {
    /// The change on one line: `+` adds, `-` removes, `~` changes, `!` is refused by production.
    public var description: String {
        "\(mark) \(sentence)" + (refusal.map { ": \($0)" } ?? "")
    }

    private var mark: String {
        if refusal != nil { return "!" }
        return switch self {
        case .roleAdded, .recordTypeAdded, .fieldAdded: "+"
        case .roleDropped, .recordTypeDropped, .fieldDropped: "-"
        case .fieldTypeChanged, .indexesChanged, .grantsChanged: "~"
        }
    }

    /// The change in words.
    public var sentence: String {
        switch self {
        case .roleAdded(let name): "role \(name)"
        case .roleDropped(let name): "role \(name) is dropped"
        case .recordTypeAdded(let type):
            "record type \(type.name) (\(type.fields.map(\.name).filter { !$0.hasPrefix("_") }.joined(separator: ", ")))"
        case .recordTypeDropped(let type): "record type \(type.name) is dropped"
        case .fieldAdded(let type, let field):
            "\(type).\(field.name) \(([field.type.description] + field.indexes.names).joined(separator: " "))"
        case .fieldDropped(let type, let field): "\(type).\(field.name) is dropped"
        case .fieldTypeChanged(let type, let field, let old, let new):
            "\(type).\(field) changes from \(old) to \(new)"
        case .indexesChanged(let type, let field, let old, let new):
            "\(type).\(field) "
                + Self.difference(old.names, new.names, gains: "gets the index", loses: "loses the index")
        case .grantsChanged(let type, let role, let old, let new):
            "\(type): \(role) " + Self.difference(old.names, new.names, gains: "may", loses: "may no longer")
        }
    }

    private static func difference(_ old: [String], _ new: [String], gains: String, loses: String) -> String {
        let added = new.filter { !old.contains($0) }
        let removed = old.filter { !new.contains($0) }
        return [(gains, added), (loses, removed)].filter { !$0.1.isEmpty }
            .map { "\($0.0) \($0.1.joined(separator: ", "))" }.joined(separator: ", ")
    }
}

extension SchemaComparison: CustomStringConvertible {
    /// A line for each change.
    public var description: String { changes.map(\.description).joined(separator: "\n") }
}

extension ContainerSchema {
    fileprivate var byName: [String: RecordType] {
        Dictionary(recordTypes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension ContainerSchema.RecordType {
    /// The fields by their names. System fields are among them, with or without an index.
    fileprivate var fieldsByName: [String: ContainerSchema.Field] {
        let system = SystemField.allCases.map { ContainerSchema.Field(name: $0.rawValue, type: $0.type) }
        return Dictionary((fields + system).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}
