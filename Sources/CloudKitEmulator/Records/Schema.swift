import CloudKitModel
import GRDB
import Synchronization

/// The record types of a container's environment, as far as they are known: learned from what was written.
///
/// A development container that has no schema makes types and fields of what is saved. A field keeps the kind of its
/// first value.
struct Schema: Sendable {
    struct RecordType: Sendable {
        let id: Int64
        let name: String
        var fields: [String: Field] = [:]
    }

    struct Field: Sendable {
        let id: Int64
        let name: String
        let kind: FieldKind
    }

    private(set) var types: [String: RecordType] = [:]
    private var names: [Int64: String] = [:]
    private var translatedTypes: Set<Int64> = []

    subscript(name: String) -> RecordType? { types[name] }

    /// The name of the type with this row number.
    func name(of type: Int64) -> String? { names[type] }

    /// Whether replies have records of this type in another form than the stored one: shares say who of the people the caller is, and
    /// files have addresses.
    func isTranslated(_ type: Int64) -> Bool { translatedTypes.contains(type) }

    mutating func insert(_ type: RecordType) {
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

/// The schemas as they were last read, so that not every request need read them again.
///
/// Rows of types and fields are only ever added. So a look at the last row numbers tells whether what was read still
/// holds, whether this process added to it or another that has the file open.
final class SchemaCache: Sendable {
    private struct Stamp: Hashable {
        let lastType: Int64
        let lastField: Int64
    }

    private let schemas = Mutex<[Int64: (stamp: Stamp, schema: Schema)]>([:])

    /// The schema of a container. Within a transaction that has added to it, the transaction's own.
    func schema(of container: Int64, in db: Database) throws -> Schema {
        let row = try db.row(
            "SELECT coalesce((SELECT max(id) FROM record_type), 0), coalesce((SELECT max(id) FROM field), 0)"
        )
        let stamp = Stamp(lastType: row?[0] ?? 0, lastField: row?[1] ?? 0)
        if let known = schemas.withLock({ $0[container] }), known.stamp == stamp { return known.schema }
        let schema = try Schema.load(container: container, from: db)
        schemas.withLock { $0[container] = (stamp, schema) }
        return schema
    }
}
