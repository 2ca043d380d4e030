import GRDB
import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Puts back what another program has removed from the store's own tables, when the file is opened.
///
/// Triggers refuse to delete most of these rows (`SystemTables`). They do not see a table that is dropped, and older
/// files do not have them.
struct StoreRepair {
    let schemas: [RecordSchema]
    /// The scopes of the file, with the zone of records that are added without a zone.
    let scopes: [DatabaseScope: ZoneID]

    /// The zone of rows that are inserted without one: the first zone that the file ever had.
    private static let firstZone: Int64 = 1

    /// Puts the row of `mist_state` back, with the format that the other tables show.
    ///
    /// - Parameters:
    ///   - db: The connection, within a transaction.
    ///   - newDevice: The number of the file, since its own is lost.
    /// - Returns: Whether the row was missing.
    /// - Throws: A `DatabaseError` when the file fails.
    static func repairState(_ db: Database, newDevice: () -> Int64) throws -> Bool {
        guard try db.value("SELECT EXISTS (SELECT 1 FROM mist_state)", as: Bool.self) == false else { return false }
        let isFirst = try !db.tableExists("mist_undelivered")
        let format = isFirst ? 1 : try db.tableExists("mist_former_device") ? SystemTables.format : 2
        try db.execute(
            sql: "INSERT INTO mist_state (id, format, device) VALUES (1, ?, ?)",
            arguments: [format, newDevice()]
        )
        return true
    }

    /// Notes the edits that triggers did not record while the row of `mist_state` was missing.
    ///
    /// Every field whose value is not the one that the service's version noted counts as edited just after that version,
    /// and a record that was never sent counts as inserted.
    ///
    /// - Parameter db: The connection, within a transaction, with tables of the present format.
    /// - Throws: A `DatabaseError` when the file fails.
    static func noteUnrecordedEdits(_ db: Database) throws {
        for table in try SchemaUpdate.tables(in: db) where try db.tableExists(table.recordType) {
            try noteUnrecordedEdits(of: table, db)
        }
    }

    private static func noteUnrecordedEdits(of table: RecordTable, _ db: Database) throws {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        // The base is the present value, so that a counter adds nothing that the service has already.
        func note(_ row: Int64, _ field: StoredField?, at time: Int64) throws {
            try db.run(
                """
                INSERT INTO mist_edit (type, row, field, time, raw, base)
                    SELECT ?, _id, ?, ?, ?, \(field?.column ?? "NULL") FROM \(table.name) WHERE _id = ?
                    ON CONFLICT (type, row, field) DO NOTHING
                """,
                [table.id, field?.id ?? 0, time, now, row]
            )
        }
        for row in try table.rows("true", [], db) {
            guard let known = try KnownVersion.fetch(named: row.name, in: row.zone, db), known.tag != nil else {
                try note(row.id, nil, at: now)
                continue
            }
            let changed = table.fields.filter { field in
                let value = row.fields[field.name]
                let isNoted = known.times.time(of: field.name, value) != nil
                return row.misfits[field.name] != nil || !isNoted && (value != nil || known.times != EditTimes())
            }
            for field in changed { try note(row.id, field, at: (known.modified ?? 0) + 1) }
        }
    }

    /// Puts back rows and tables, and lets what was lost be fetched again.
    func repair(_ db: Database) throws {
        try repairTypes(db)
        try forgetDroppedTables(db)
        try repairFirstZone(db)
        try fetchForgottenVersions(db)
    }

    /// Finds the number of a type, and those of its fields, in the triggers of its table. The rows of all other tables
    /// refer to these numbers.
    private func repairTypes(_ db: Database) throws {
        for schema in schemas where try db.tableExists(schema.recordType) {
            let name = schema.recordType
            let known = try db.value("SELECT id FROM mist_type WHERE name = ?", [name], as: Int64.self)
            let fields = try db.rows("SELECT name FROM mist_field WHERE type = ?", [known]).map { $0["name"] as String }
            let missing = schema.fields.filter { !fields.contains($0.name) }
            guard known == nil || !missing.isEmpty else { continue }
            for field in missing {
                let sql = try db.value(
                    "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = ?",
                    ["mist_update_\(name).\(field.name)"],
                    as: String.self
                )
                guard let match = sql?.firstMatch(of: /SELECT ([0-9]+), NEW\._id, ([0-9]+),/),
                    let type = Int64(match.1), let number = Int64(match.2)
                else { continue }
                try db.run("INSERT INTO mist_type (id, name) VALUES (?, ?) ON CONFLICT DO NOTHING", [type, name])
                try db.run(
                    """
                    INSERT INTO mist_field (id, type, name, kind, is_parent) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                    """,
                    [number, type, field.name, field.type.rawValue, field.isParent]
                )
            }
            guard try db.value("SELECT EXISTS (SELECT 1 FROM mist_type WHERE name = ?)", [name], as: Bool.self) == true
            else {
                throw StoreError(
                    .schema,
                    """
                    The file has a table \(name) that is not the store's. Rename that table; or, if it was the store's, move the file away \
                    and open the store again, which fetches what was synchronised.
                    """,
                    recordType: name
                )
            }
        }
    }

    /// A table that was dropped or renamed is no delete of its records: they are fetched again.
    private func forgetDroppedTables(_ db: Database) throws {
        let types = try db.rows("SELECT id, name FROM mist_type")
        for row in types where try !db.tableExists(row["name"]) {
            let type: Int64 = row["id"]
            try db.applying {
                try db.run("DELETE FROM mist_type WHERE id = ?", [type])
                for table in ["mist_field", "mist_edit", "mist_record"] {
                    try db.run("DELETE FROM \(table) WHERE type = ?", [type])
                }
            }
            try fetchEverything(db)
        }
        // A table that was renamed has taken its triggers and indexes along.
        let strays = try db.rows(
            """
            SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'index') AND substr(name, 1, 5) = 'mist_'
                AND substr(tbl_name, 1, 5) <> 'mist_' AND tbl_name NOT IN (SELECT name FROM mist_type)
            """
        )
        for row in strays { try db.execute(sql: "DROP \(row["type"] as String) \(quoted(row["name"]))") }
    }

    private func repairFirstZone(_ db: Database) throws {
        let isLost = """
            SELECT NOT EXISTS (SELECT 1 FROM mist_zone WHERE id = ?) AND EXISTS (SELECT 1 FROM mist_type)
            """
        guard try db.value(isLost, [Self.firstZone], as: Bool.self) == true,
            let (scope, zone) = scopes.min(by: { $0.key.number < $1.key.number })
        else { return }
        let isKnown = try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_record WHERE zone = ? AND tag IS NOT NULL)",
            [Self.firstZone],
            as: Bool.self
        )
        let exists = isKnown == true || zone.zoneName == ZoneID.default.zoneName
        try db.run(
            """
            INSERT INTO mist_zone (id, scope, name, state, is_stale, epoch)
                SELECT ?1, ?2, ?3, ?4, ?5, coalesce(max(epoch), 0) FROM mist_record WHERE zone = ?1
                ON CONFLICT DO NOTHING
            """,
            [Self.firstZone, scope.number, zone.zoneName, exists ? 1 : 0, isKnown == true]
        )
        try db.run("UPDATE mist_scope SET token = NULL")
    }

    /// Fetches everything again where a program has emptied `mist_record`.
    private func fetchForgottenVersions(_ db: Database) throws {
        let isSuspicious = """
            SELECT EXISTS (SELECT 1 FROM mist_zone WHERE token IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM mist_record)
            """
        guard try db.value(isSuspicious, as: Bool.self) == true else { return }
        let tables = try SchemaUpdate.tables(in: db)
        let isForgotten = try tables.contains { table in
            try db.value(
                "SELECT EXISTS (SELECT 1 FROM \(table.name) WHERE _changeTag IS NOT NULL)",
                as: Bool.self
            ) == true
        }
        if isForgotten { try fetchEverything(db) }
    }

    private func fetchEverything(_ db: Database) throws {
        try db.run("UPDATE mist_zone SET token = NULL, is_stale = 1 WHERE token IS NOT NULL")
        try db.run("UPDATE mist_scope SET token = NULL")
        try db.run("UPDATE mist_follow SET newest = 0, newest_of_pass = 0, due_at = 0")
    }
}
