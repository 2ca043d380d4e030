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

    subscript(name: String) -> RecordType? { types[name] }

    /// How many types and fields there are.
    private(set) var count = 0

    /// The name of the type with this row number.
    func name(of type: Int64) -> String? { names[type] }

    mutating func insert(_ type: RecordType) {
        types[type.name] = type
        names[type.id] = type.name
        count += 1
    }

    mutating func insert(_ field: Field, in type: String) {
        types[type]?.fields[field.name] = field
        count += 1
    }

    static func load(container: Int64, from db: Database) throws -> Schema {
        var schema = Schema()
        for row in try Row.fetchAll(
            db.cachedStatement(sql: "SELECT id, name FROM record_type WHERE container = ?"),
            arguments: [container]
        ) {
            schema.insert(RecordType(id: row[0], name: row[1]))
        }
        for row in try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT record_type.name, field.id, field.name, field.kind
                    FROM field JOIN record_type ON record_type.id = field.type WHERE record_type.container = ?
                    """
            ),
            arguments: [container]
        ) {
            guard let kind = FieldKind(rawValue: row[3]) else { continue }
            schema.insert(Field(id: row[1], name: row[2], kind: kind), in: row[0])
        }
        return schema
    }
}

/// The committed schemas, so that no request need read them again.
final class SchemaCache: Sendable {
    private let schemas = Mutex<[Int64: Schema]>([:])

    /// The schema of a container.
    func schema(of container: Int64, in db: Database) throws -> Schema {
        if let schema = schemas.withLock({ $0[container] }) { return schema }
        let schema = try Schema.load(container: container, from: db)
        keep(schema, of: container)
        return schema
    }

    /// Keeps a schema that a writer has added to, once its transaction is committed.
    func keep(_ schema: Schema, of container: Int64, after db: Database) {
        db.afterNextTransaction { [self] _ in
            keep(schema, of: container)
        }
    }

    /// Schemas only grow, so of two the larger one is the newer.
    private func keep(_ schema: Schema, of container: Int64) {
        schemas.withLock { schemas in
            if let present = schemas[container], present.count > schema.count { return }
            schemas[container] = schema
        }
    }
}
