import GRDB
import MistKit
import SQLiteTables
import StreamingJSON

/// The records of types that the program does not know, whole: `mist_foreign`.
struct ForeignRecords: TableOwner {
    static let definition = """
        -- Records of types that the program does not know, whole.
        CREATE TABLE mist_foreign (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            record TEXT NOT NULL,
            epoch INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        """

    /// Finds out quickly that nothing was kept for a type. Files of all formats get it.
    static let index = "CREATE INDEX IF NOT EXISTS mist_foreign_type ON mist_foreign (type)"

    let scope: DatabaseScope
    let db: Database
    let sealer: FieldSealer?

    /// The tag of a record, as an expression.
    static let tag = "json_extract(record, '$.recordChangeTag')"

    /// The records of a zone, beginning with `FROM`.
    static func all(in zone: String) -> String { "FROM mist_foreign WHERE zone = \(zone)" }

    /// Keeps a record, as JSON.
    func keep(_ record: Record, named name: String, in zone: StoredZone) throws {
        let record = try sealed(record, named: name)
        try db.run(
            "INSERT OR REPLACE INTO mist_foreign (zone, name, type, record, epoch) VALUES (?, ?, ?, ?, ?)",
            [
                zone.id, name, record.recordType ?? "",
                String(decoding: try JSONWriter.bytes(of: record), as: UTF8.self), zone.epoch,
            ]
        )
    }

    /// Whether records of a type were kept, in any scope.
    func has(_ recordType: String) throws -> Bool {
        try db.value("SELECT EXISTS (SELECT 1 FROM mist_foreign WHERE type = ?)", [recordType], as: Bool.self) ?? false
    }

    /// The records of a type in the scope that were kept.
    func records(of recordType: String) throws -> [(zone: ZoneRowID, name: String, record: Record)] {
        try db.rows(
            "SELECT zone, name, record FROM mist_foreign WHERE type = ? AND zone IN (\(Zones.ids(in: "?")))",
            [recordType, scope.number]
        ).map { row in
            let record = try JSONReader.read(Record.self, from: row["record"] as String)
            return (row["zone"], row["name"], try opened(record, named: row["name"]))
        }
    }

    private func sealed(_ record: Record, named name: String) throws -> Record {
        guard let sealer else { return record }
        let type = record.recordType ?? ""
        let fields = Dictionary(record.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        return with(try sealer.sealed(fields, of: type, for: .foreign(type, name)), in: record)
    }

    private func opened(_ record: Record, named name: String) throws -> Record {
        guard let sealer else { return record }
        let fields = Dictionary(record.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        return with(try sealer.opened(fields, for: .foreign(record.recordType ?? "", name)), in: record)
    }

    private func with(_ fields: [String: FieldValue], in record: Record) -> Record {
        var changed = record
        changed.fields = Record.Fields(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        return changed
    }

    /// Seals the records of all scopes again, with the encrypted fields that are known now.
    ///
    /// - Parameters:
    ///   - sealer: The sealer.
    ///   - isSealed: Whether they are sealed already.
    ///   - db: The connection.
    /// - Throws: A `DatabaseError` when the file fails.
    static func seal(_ sealer: FieldSealer, isSealed: Bool, _ db: Database) throws {
        let foreign = ForeignRecords(scope: .private, db: db, sealer: sealer)
        for key in try db.rows("SELECT zone, name FROM mist_foreign") {
            let (zone, name): (ZoneRowID, String) = (key["zone"], key["name"])
            let text = try db.value(
                "SELECT record FROM mist_foreign WHERE zone = ? AND name = ?",
                [zone, name],
                as: String.self
            )
            let stored = try JSONReader.read(Record.self, from: text ?? "{}")
            let record = try foreign.sealed(isSealed ? try foreign.opened(stored, named: name) : stored, named: name)
            try db.run(
                "UPDATE mist_foreign SET record = ? WHERE zone = ? AND name = ?",
                [String(decoding: try JSONWriter.bytes(of: record), as: UTF8.self), zone, name]
            )
        }
    }

    /// Notes that a refetch has met a record.
    func note(_ epoch: Int64, named name: String, in zone: ZoneRowID) throws {
        try db.run("UPDATE mist_foreign SET epoch = ? WHERE zone = ? AND name = ?", [epoch, zone, name])
    }

    func forget(_ name: String, in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_foreign WHERE zone = ? AND name = ?", [zone, name])
    }

    /// Forgets the records that a refetch did not meet: they are gone.
    func forgetMissed(by epoch: Int64, in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_foreign WHERE zone = ? AND epoch <> ?", [zone, epoch])
    }

    func forgetAll(in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_foreign WHERE zone = ?", [zone])
    }
}
