import GRDB
import MistKit
import SQLiteTables

/// The record types of the file and their fields by number: `mist_type` and `mist_field`.
struct RecordTypes: TableOwner {
    static let guarded = ["mist_type", "mist_field"]

    static let definition = """
        CREATE TABLE mist_type (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            -- Of the triggers: a program replaces older ones only.
            generation INTEGER NOT NULL DEFAULT 0,
            -- The field that the service does not know: records of the type wait.
            parked TEXT
        );
        -- The fields of all types by number. 0 is no field: in mist_edit it stands for the insert.
        CREATE TABLE mist_field (
            id INTEGER PRIMARY KEY,
            type INTEGER NOT NULL,
            name TEXT NOT NULL,
            kind TEXT NOT NULL,
            -- 1: a reference to the record above.
            is_parent INTEGER NOT NULL DEFAULT 0,
            -- Of a field that was renamed: the one that has its place now.
            successor INTEGER,
            \(sealed),
            UNIQUE (type, name)
        );
        """

    /// 1: the values in the column, and in its copies, are sealed.
    private static let sealed = "is_sealed INTEGER NOT NULL DEFAULT 0"

    static func update(from format: Int64) -> [String] {
        format < 7 ? ["ALTER TABLE mist_field ADD COLUMN \(sealed)"] : []
    }

    let db: Database
}

// MARK: - SQL for others

extension RecordTypes {
    /// A join with the fields of a type, as `field`.
    static func fields(ofType type: String) -> String { "JOIN mist_field AS field ON field.type = \(type)" }

    /// Whether a type waits, as an expression.
    static func isParked(_ type: TableID) -> String {
        "EXISTS (SELECT 1 FROM mist_type WHERE id = \(type) AND parked IS NOT NULL)"
    }

    /// The numbers and the names of all types.
    static let numbers = "SELECT id, name FROM mist_type"

    /// The names of all types.
    static let names = "SELECT name FROM mist_type"
}

// MARK: - Types and fields

extension RecordTypes {
    /// All tables of the file in the order of their numbers, including those of types that the program does not know.
    ///
    /// - Parameter sealer: Opens sealed values. Without it, they are not read.
    /// - Returns: The tables.
    /// - Throws: A `DatabaseError` when the file fails.
    func tables(_ sealer: FieldSealer?) throws -> [RecordTable] {
        // A backup may have an earlier format.
        let sealed = try hasSealedFields ? "is_sealed" : "0"
        let fields = try db.rows(
            "SELECT id, type, name, kind, is_parent, successor, \(sealed) AS is_sealed FROM mist_field ORDER BY id"
        )
        let byType = Dictionary(grouping: fields) { row -> TableID in row["type"] }
        return try db.rows("SELECT id, name FROM mist_type ORDER BY id").map { row in
            let id: TableID = row["id"]
            let recordType: String = row["name"]
            let rows = byType[id] ?? []
            return RecordTable(
                id: id,
                recordType: recordType,
                fields: rows.map { field in
                    let kind: String = field["kind"]
                    let isSealed: Bool = field["is_sealed"]
                    let sealing = sealer.flatMap { sealer in
                        isSealed ? Self.sealing(of: field, among: rows, recordType, sealer) : nil
                    }
                    return StoredField(
                        id: field["id"],
                        schema: RecordSchema.Field(
                            name: field["name"],
                            type: FieldType(rawValue: kind),
                            isParent: field["is_parent"]
                        ),
                        successor: field["successor"],
                        sealing: sealing
                    )
                }
            )
        }
    }

    /// How a sealed field is sealed. Fields that replaced each other have the same sealed values.
    private static func sealing(
        of field: Row,
        among fields: [Row],
        _ recordType: String,
        _ sealer: FieldSealer
    ) -> FieldSealing {
        let name: String = field["name"]
        let successors = fields.reduce(into: [FieldID: FieldID]()) { $0[$1["id"]] = $1["successor"] as FieldID? }
        func latest(_ row: Row) -> FieldID {
            var id: FieldID = row["id"]
            var seen: Set<FieldID> = []
            while let next = successors[id], seen.insert(id).inserted { id = next }
            return id
        }
        let related = fields.filter { latest($0) == latest(field) }
        return FieldSealing(
            sealer,
            of: name,
            recordType,
            otherNames: related.map { $0["name"] as String }.filter { $0 != name },
            type: FieldType(rawValue: field["kind"]).known
        )
    }

    /// Whether the file is of a format that has sealed fields.
    private var hasSealedFields: Bool {
        get throws { try db.columns(in: "mist_field").contains { $0.name == "is_sealed" } }
    }

    /// The names of the sealed fields, by the name of the type.
    func sealedFields() throws -> [String: Set<String>] {
        guard try hasSealedFields else { return [:] }
        let rows = try db.rows(
            """
            SELECT mist_type.name AS type, mist_field.name AS field
            FROM mist_field JOIN mist_type ON mist_type.id = mist_field.type WHERE is_sealed
            """
        )
        return rows.reduce(into: [:]) { $0[$1["type"], default: []].insert($1["field"]) }
    }

    /// Notes that the values of a field are sealed.
    func setIsSealed(_ field: FieldID) throws {
        try db.run("UPDATE mist_field SET is_sealed = 1 WHERE id = ?", [field])
    }

    /// The numbers and names of all types.
    func all() throws -> [(id: TableID, name: String)] {
        try db.rows("SELECT id, name FROM mist_type").map { ($0["id"], $0["name"]) }
    }

    func number(of recordType: String) throws -> TableID? {
        try db.value("SELECT id FROM mist_type WHERE name = ?", [recordType], as: TableID.self)
    }

    /// Adds a type.
    func insert(_ recordType: String) throws -> TableID {
        try db.run("INSERT INTO mist_type (name) VALUES (?)", [recordType])
        return db.lastInserted(TableID.self)
    }

    /// Adds a field of a type.
    func insert(_ field: RecordSchema.Field, of type: TableID) throws -> FieldID {
        try db.run(
            "INSERT INTO mist_field (type, name, kind, is_parent) VALUES (?, ?, ?, ?)",
            [type, field.name, field.type.rawValue, field.isParent]
        )
        return db.lastInserted(FieldID.self)
    }

    /// Adds a type and a field with the numbers that they had, unless the file has them.
    func restore(_ field: RecordSchema.Field, _ number: FieldID, of recordType: String, _ type: TableID) throws {
        try db.run("INSERT INTO mist_type (id, name) VALUES (?, ?) ON CONFLICT DO NOTHING", [type, recordType])
        try db.run(
            """
            INSERT INTO mist_field (id, type, name, kind, is_parent) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [number, type, field.name, field.type.rawValue, field.isParent]
        )
    }

    /// Removes a type and its fields.
    func delete(_ type: TableID) throws {
        try db.run("DELETE FROM mist_type WHERE id = ?", [type])
        try db.run("DELETE FROM mist_field WHERE type = ?", [type])
    }

    /// The names of the fields of a type.
    func fieldNames(of type: TableID?) throws -> [String] {
        try db.rows("SELECT name FROM mist_field WHERE type = ?", [type]).map { $0["name"] as String }
    }

    func setIsParent(_ isParent: Bool, _ field: FieldID) throws {
        try db.run("UPDATE mist_field SET is_parent = ? WHERE id = ?", [isParent, field])
    }

    func setSuccessor(_ successor: FieldID, of field: FieldID) throws {
        try db.run("UPDATE mist_field SET successor = ? WHERE id = ?", [successor, field])
    }

    /// Whether there is a field with a larger number.
    func hasFields(after last: FieldID) throws -> Bool {
        try db.value("SELECT max(id) > ? FROM mist_field", [last], as: Bool.self) ?? false
    }

    /// The generation of a type's triggers.
    func generation(of type: TableID) throws -> Int64 {
        try db.value("SELECT generation FROM mist_type WHERE id = ?", [type], as: Int64.self) ?? 0
    }

    func setGeneration(_ generation: Int64, of type: TableID) throws {
        try db.run("UPDATE mist_type SET generation = ? WHERE id = ?", [generation, type])
    }
}

// MARK: - Types that the service does not know

extension RecordTypes {
    /// The field that the service lacks of a type, empty where it lacks the type; `nil` where the type does not wait.
    func missingField(of type: TableID) throws -> String? {
        try db.value("SELECT parked FROM mist_type WHERE id = ?", [type], as: String.self)
    }

    /// Lets the records of a type wait, because the service lacks the type or a field of it.
    func park(_ type: TableID, missing field: String?) throws {
        try db.run("UPDATE mist_type SET parked = ? WHERE id = ?", [field ?? "", type])
    }

    /// Lets the records of all types be sent again.
    func retryParked() throws {
        try db.run("UPDATE mist_type SET parked = NULL")
    }

    /// The types that wait, in the order of their names.
    func parked() throws -> [ParkedRecordType] {
        try db.rows("SELECT name, parked FROM mist_type WHERE parked IS NOT NULL ORDER BY name").map { row in
            ParkedRecordType(recordType: row["name"], missing: row["parked"])
        }
    }
}

extension ParkedRecordType {
    /// Makes the description of a type that waits.
    ///
    /// - Parameters:
    ///   - recordType: The type.
    ///   - field: The field that the service lacks; empty where it lacks the type.
    init(recordType: String, missing field: String) {
        self.init(recordType: recordType, fieldName: field.isEmpty ? nil : field)
    }
}
