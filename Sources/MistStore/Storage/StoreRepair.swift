import GRDB
import MistKit
import SQLiteTables

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
    /// Opens sealed values; `nil` in a file that is not sealed.
    let sealer: FieldSealer?

    /// The zone of rows that are inserted without one: the first zone that the file ever had.
    private static let firstZone: ZoneRowID = 1

    /// Puts the row of `mist_state` back, with the format that the other tables show.
    ///
    /// - Parameters:
    ///   - db: The connection, within a transaction.
    ///   - newDevice: The number of the file, since its own is lost.
    /// - Returns: Whether the row was missing.
    /// - Throws: A `DatabaseError` when the file fails.
    static func repairState(_ db: Database, newDevice: () -> Int64) throws -> Bool {
        guard try FileState.format(db) == nil else { return false }
        try FileState.insert(format: try SystemTables.formatByTables(db), device: newDevice(), into: db)
        return true
    }

    /// Notes the edits that triggers did not record while the row of `mist_state` was missing.
    ///
    /// Every field whose value is not the one that the service's version noted counts as edited just after that version,
    /// and a record that was never sent counts as inserted.
    ///
    /// - Parameters:
    ///   - sealer: Opens sealed values; `nil` in a file that is not sealed.
    ///   - db: The connection, within a transaction, with tables of the present format.
    /// - Throws: A `DatabaseError` when the file fails.
    static func noteUnrecordedEdits(_ sealer: FieldSealer?, _ db: Database) throws {
        for table in try RecordTypes(db: db).tables(sealer) where try db.tableExists(table.recordType) {
            try noteUnrecordedEdits(of: table, sealer, db)
        }
    }

    private static func noteUnrecordedEdits(
        of table: RecordTable,
        _ sealer: FieldSealer?,
        _ db: Database
    ) throws {
        let now = MachineTime(Int64(Date().timeIntervalSince1970 * 1000))
        let edits = PendingEdits(db: db)
        for row in try table.rows("true", [], db) {
            guard let known = try KnownVersion.fetch(named: row.name, in: row.zone, sealer, db), known.tag != nil else {
                try edits.note(nil, of: row.id, table, at: now.service(offset: 0), raw: now)
                continue
            }
            let changed = table.fields.filter { field in
                let value = row.fields[field.name]
                let isNoted = known.times.time(of: field.name, value) != nil
                return row.misfits[field.name] != nil || !isNoted && (value != nil || known.times != EditTimes())
            }
            for field in changed {
                try edits.note(field, of: row.id, table, at: (known.modified ?? 0) + 1, raw: now)
            }
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
        let types = RecordTypes(db: db)
        for schema in schemas where try db.tableExists(schema.recordType) {
            let name = schema.recordType
            let known = try types.number(of: name)
            let fields = try types.fieldNames(of: known)
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
                try types.restore(field, FieldID(number), of: name, TableID(type))
                if try isSealed(field, of: name, db) { try types.setIsSealed(FieldID(number)) }
            }
            guard try types.number(of: name) != nil else {
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

    /// Whether the column of a field has sealed values, by its definition.
    private func isSealed(_ field: RecordSchema.Field, of recordType: String, _ db: Database) throws -> Bool {
        let sql = try db.value(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?",
            [recordType],
            as: String.self
        )
        return sql?.contains(quoted(StoredField.sealedConstraint(of: field.name))) == true
    }

    /// A table that was dropped or renamed is no delete of its records: they are fetched again.
    private func forgetDroppedTables(_ db: Database) throws {
        for type in try RecordTypes(db: db).all() where try !db.tableExists(type.name) {
            try db.applying {
                try RecordTypes(db: db).delete(type.id)
                try PendingEdits(db: db).forgetAll(of: type.id)
                try KnownVersions(db: db, sealer: sealer).forgetAll(of: type.id)
            }
            try fetchEverything(db)
        }
        // A table that was renamed has taken its triggers and indexes along.
        let strays = try db.rows(
            """
            SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'index') AND substr(name, 1, 5) = 'mist_'
                AND substr(tbl_name, 1, 5) <> 'mist_' AND tbl_name NOT IN (\(RecordTypes.names))
            """
        )
        for row in strays { try db.execute(sql: "DROP \(row["type"] as String) \(quoted(row["name"]))") }
    }

    private func repairFirstZone(_ db: Database) throws {
        guard try Zones.lacks(Self.firstZone, db), try !RecordTypes(db: db).all().isEmpty,
            let (scope, zone) = scopes.min(by: { $0.key.number < $1.key.number })
        else { return }
        let isKnown = try KnownVersions(db: db, sealer: sealer).hasAcknowledged(in: Self.firstZone)
        let exists = isKnown || zone.zoneName == ZoneID.default.zoneName
        try Zones(scope: scope, db: db).restore(
            Self.firstZone,
            name: zone.zoneName,
            state: exists ? .exists : .unknown,
            isStale: isKnown
        )
        try ScopeState.forgetTokens(db)
    }

    /// Fetches everything again where a program has emptied the table of known versions.
    private func fetchForgottenVersions(_ db: Database) throws {
        guard try Zones.hasTokens(db), try KnownVersions(db: db, sealer: sealer).isEmpty else { return }
        let isForgotten = try RecordTypes(db: db).tables(sealer).contains { table in
            try db.value(
                "SELECT EXISTS (SELECT 1 FROM \(table.name) WHERE _changeTag IS NOT NULL)",
                as: Bool.self
            ) == true
        }
        if isForgotten { try fetchEverything(db) }
    }

    private func fetchEverything(_ db: Database) throws {
        try Zones.forgetTokens(db)
        try ScopeState.forgetTokens(db)
        try FollowedQueries(db: db).forgetPositions()
    }
}
