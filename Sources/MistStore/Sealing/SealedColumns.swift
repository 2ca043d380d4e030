import GRDB
import MistKit
import SQLiteTables

/// Seals the values that a file has as plain values: in the columns of fields, and in the copies of them.
///
/// Everything is within the transaction that opens the file, before its triggers are brought up to date.
struct SealedColumns {
    let table: RecordTable
    let sealer: FieldSealer
    let db: Database

    /// The column that has the sealed values until the plain ones are gone.
    private static let passing = quoted("_mist_sealing")

    /// Refuses types whose encrypted fields cannot be sealed: SQL reads references and files, and other tables have the
    /// parts of counters.
    static func check(_ schema: RecordSchema) throws(StoreError) {
        for field in schema.fields where field.isEncrypted {
            let reason: String
            switch field.type.known {
            case .reference, .referenceList, .asset, .assetList: reason = "its type is \(field.type)"
            default:
                guard field.merge == .counter else { continue }
                reason = "it is a counter, whose parts the edit times of the record have"
            }
            throw StoreError(
                .schema,
                "The store has a key, and the field cannot be sealed: \(reason). Let the field be a plain one.",
                recordType: schema.recordType,
                fieldName: field.name
            )
        }
    }

    /// Seals the values of fields. Their columns get the definition of sealed columns.
    ///
    /// - Parameter fields: Fields of the table, whose columns have plain values.
    /// - Throws: A ``StoreError`` with the code `schema` where a newer program, or a view, a trigger or an index of another
    ///   program, needs the columns as they are.
    func seal(_ fields: [StoredField]) throws {
        guard !fields.isEmpty else { return }
        try dropTriggersAndIndexes()
        try db.applying {
            for field in fields { try seal(field) }
        }
        try RecoveryEntries.seal(sealer, isSealed: true, db)
        try ForeignRecords.seal(sealer, isSealed: true, db)
        try KnownVersions(db: db, sealer: sealer).sealOther(sealer, isSealed: true)
        try Seals(db: db).noteUnclean()
    }

    /// Seals what a file has beside the columns, when it gets its key.
    static func sealCopies(_ sealer: FieldSealer, _ db: Database) throws {
        try RecoveryEntries.seal(sealer, isSealed: false, db)
        try ForeignRecords.seal(sealer, isSealed: false, db)
        let versions = KnownVersions(db: db, sealer: sealer)
        try versions.sealOther(sealer, isSealed: false)
        try versions.sealTimes()
        try SentOperations(db: db, sealer: sealer).sealTimes()
        try Moves(db: db, sealer: sealer).sealTimes()
        // Of all scopes.
        try Parking(scope: .private, db: db, sealer: sealer).sealMessages()
        try Transfers(scope: .private, db: db, sealer: sealer).sealMessages()
    }

    private func seal(_ field: StoredField) throws {
        let sealing = FieldSealing(sealer, of: field.name, table.recordType, otherNames: [], type: field.knownType)
        let definition = StoredField.sealedDefinition(of: field.name, in: Self.passing, isText: sealing.isText)
        do {
            try db.execute(sql: "ALTER TABLE \(table.name) ADD COLUMN \(definition)")
            try copyValues(of: field, sealing)
            try db.execute(sql: "ALTER TABLE \(table.name) DROP COLUMN \(field.column)")
            try db.execute(sql: "ALTER TABLE \(table.name) RENAME COLUMN \(Self.passing) TO \(field.column)")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw StoreError(
                .schema,
                """
                The values of the field cannot be sealed. SQLite reported: \(error.message ?? "no message"). Remove the view, the \
                trigger or the index of the other program that needs the column, and open the store again. Nothing was changed.
                """,
                recordType: table.recordType,
                fieldName: field.name
            )
        }
        try PendingEdits(db: db).sealBases(of: field, table, sealing)
        try SentOperations(db: db, sealer: sealer).sealValues(of: field, sealing)
        try RecordTypes(db: db).setIsSealed(field.id)
    }

    /// Copies the sealed values into the passing column. A few hundred are in memory at a time.
    private func copyValues(of field: StoredField, _ sealing: FieldSealing) throws {
        var last = RecordRowID(rawValue: .min)
        while true {
            let statement = try db.makeStatement(
                sql: """
                    SELECT _id, _recordName, \(field.column) FROM \(table.name)
                    WHERE _id > ? AND \(field.column) IS NOT NULL ORDER BY _id LIMIT 500
                    """
            )
            try statement.bind([ColumnValue(last)])
            var page: [(id: RecordRowID, value: ColumnValue)] = []
            let cursor = try Row.fetchCursor(statement)
            while let found = try cursor.next() {
                let value = ColumnValue(sqliteStatement: statement.sqliteStatement, index: 2)
                page.append((found[0], try sealing.sealed(value, of: found[1])))
            }
            guard let end = page.last?.id else { return }
            let update = try db.makeStatement(
                sql: "UPDATE \(table.name) SET \(Self.passing) = ? WHERE _id = ?"
            )
            for row in page {
                try update.bind([row.value, ColumnValue(row.id)])
                try update.execute()
            }
            last = end
        }
    }

    /// Drops the store's triggers and indexes of the table: SQLite drops no column that one of them names. The update of
    /// the schema creates them again.
    private func dropTriggersAndIndexes() throws {
        guard try RecordTypes(db: db).generation(of: table.id) <= RecordTable.generation else {
            throw StoreError(
                .schema,
                "A newer version of MistStore has written the triggers of the type. Open the store with it once.",
                recordType: table.recordType
            )
        }
        let rows = try db.rows(
            """
            SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'index') AND tbl_name = ?
                AND substr(name, 1, 5) = 'mist_' AND sql IS NOT NULL
            """,
            [table.recordType]
        )
        for row in rows { try db.execute(sql: "DROP \(row["type"] as String) \(quoted(row["name"]))") }
    }
}
