import CloudKitModel
import CloudKitSchema
import GRDB
import Synchronization

/// The record types of a container's environment: those of the imported or deployed schema, and those that writes
/// added.
///
/// In a development container without an imported schema, writes create types and fields. A field keeps the kind of its
/// first value.
struct Schema: Sendable {
    struct RecordType: Sendable {
        let id: Int64
        let name: String
        var fields: [String: Field] = [:]
        /// The declaration of the type in the imported schema; `nil` for a type that writes added.
        var declaration: ContainerSchema.RecordType?

        /// The declaration that requests must obey; `nil` for the service's own types and for types that writes added.
        var enforcedDeclaration: ContainerSchema.RecordType? { FieldRules.isSystemType(name) ? nil : declaration }
    }

    struct Field: Sendable {
        let id: Int64
        let name: String
        let kind: FieldKind
    }

    private(set) var types: [String: RecordType] = [:]
    /// The imported schema; `nil` where none was imported.
    private(set) var declaration: ContainerSchema?
    private var names: [Int64: String] = [:]
    private var translatedTypes: Set<Int64> = []

    subscript(name: String) -> RecordType? { types[name] }

    /// The name of the type with this row number.
    func name(of type: Int64) -> String? { names[type] }

    /// The type with this row number.
    func type(_ id: Int64) -> RecordType? { names[id].flatMap { types[$0] } }

    /// Whether replies have records of this type in another form than the stored one. A share names the participant who
    /// is the caller, and files have addresses.
    func isTranslated(_ type: Int64) -> Bool { translatedTypes.contains(type) }

    mutating func insert(_ type: RecordType) {
        var type = type
        type.declaration = declaration?[recordType: type.name]
        types[type.name] = type
        names[type.id] = type.name
        if type.name == Record.shareType { translatedTypes.insert(type.id) }
    }

    mutating func insert(_ field: Field, in type: String) {
        types[type]?.fields[field.name] = field
        if field.kind.element == .asset, let id = types[type]?.id { translatedTypes.insert(id) }
    }

    static func load(container: Int64, from db: Database) throws -> Schema {
        var schema = Schema()
        let text: String? = try db.row("SELECT schema FROM container WHERE id = ?", [container])?[0]
        schema.declaration = try text.map { try ContainerSchema(parsing: $0) }
        for row in try db.rows("SELECT id, name FROM record_type WHERE container = ?", [container]) {
            schema.insert(RecordType(id: row[0], name: row[1]))
        }
        for row in try db.rows(
            """
            SELECT record_type.name, field.id, field.name, field.kind
            FROM field JOIN record_type ON record_type.id = field.type WHERE record_type.container = ?
            """,
            [container]
        ) {
            guard let kind = FieldKind(rawValue: row[3]) else { continue }
            schema.insert(Field(id: row[1], name: row[2], kind: kind), in: row[0])
        }
        return schema
    }
}

/// A cache of the schemas, so that not every request reads them again.
///
/// Writes only add rows of types and fields, and every other change increments the container's revision. So the last
/// row numbers and the revision show whether a cached schema is still valid, also when another process changed it.
final class SchemaCache: Sendable {
    private struct Stamp: Hashable {
        let lastType: Int64
        let lastField: Int64
        let revisions: Int64
    }

    private let schemas = Mutex<[Int64: (stamp: Stamp, schema: Schema)]>([:])

    /// The schema of a container, with the additions of the current transaction.
    func schema(of container: Int64, in db: Database) throws -> Schema {
        let row = try db.row(
            """
            SELECT coalesce((SELECT max(id) FROM record_type), 0), coalesce((SELECT max(id) FROM field), 0),
                (SELECT schema_revision FROM container WHERE id = ?)
            """,
            [container]
        )
        let stamp = Stamp(lastType: row?[0] ?? 0, lastField: row?[1] ?? 0, revisions: row?[2] ?? 0)
        if let known = schemas.withLock({ $0[container] }), known.stamp == stamp { return known.schema }
        let schema = try Schema.load(container: container, from: db)
        schemas.withLock { $0[container] = (stamp, schema) }
        return schema
    }
}

/// The columns and tables of imported schemas and security roles.
enum SchemaTables {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE container ADD COLUMN schema TEXT;
                ALTER TABLE container ADD COLUMN schema_revision INTEGER NOT NULL DEFAULT 0;
                CREATE TABLE user_role (
                    container INTEGER NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL,
                    PRIMARY KEY (container, user, role)
                ) WITHOUT ROWID;
                """
        )
    }
}

// MARK: - The schema language

extension Schema {
    /// The schema in the schema language.
    ///
    /// Types and fields that writes added have every index that their type can have, since the emulator treats them so.
    /// The service's own types are left out, except for the users' type where the app added fields to it.
    var exported: ContainerSchema {
        var schema = ContainerSchema(roles: declaration?.roles ?? [])
        for type in types.values.sorted(by: { $0.name < $1.name }) {
            if FieldRules.isSystemType(type.name), type.name != ContainerSchema.userType || type.fields.isEmpty {
                continue
            }
            schema.recordTypes.append(type.exported)
        }
        return schema
    }
}

extension Schema.RecordType {
    fileprivate var exported: ContainerSchema.RecordType {
        var exported = declaration ?? ContainerSchema.RecordType(name: name, grants: .publicDefault)
        if declaration == nil {
            exported.fields = SystemField.allCases.map {
                ContainerSchema.Field(name: $0.rawValue, type: $0.type, indexes: $0.type.possibleIndexes)
            }
        }
        for field in fields.values.sorted(by: { $0.name < $1.name }) where exported[field: field.name] == nil {
            let type = field.kind.schemaType
            exported.fields.append(ContainerSchema.Field(name: field.name, type: type, indexes: type.possibleIndexes))
        }
        return exported
    }
}

extension FieldKind {
    /// The kind of a field that the schema declares.
    init(_ type: SchemaFieldType) {
        let element = type.element.valueType
        if type.isList {
            self.init((element ?? .double).list, isEncrypted: type.isEncrypted)
        } else if type.element.isNumber {
            self = .number
        } else {
            self.init(element, isEncrypted: type.isEncrypted)
        }
    }

    /// The type in the schema language.
    fileprivate var schemaType: SchemaFieldType {
        guard let type else { return .number }
        return SchemaFieldType(of: type, isEncrypted: isEncrypted)
    }
}
