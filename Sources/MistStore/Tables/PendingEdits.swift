import GRDB
import MistKit
import SQLiteTables

/// A row of `mist_edit`.
struct EditRow {
    /// `nil` for the insert.
    let field: StoredField?
    let time: ServiceTime
    /// The time by the machine's clock, without a correction.
    let raw: MachineTime
    /// The service's value before the edit.
    let base: FieldValue?
}

/// The changes of rows that were not acknowledged, `mist_edit`: with ``Tombstones`` the pending work. Triggers of the
/// record types' tables write them.
struct PendingEdits: TableOwner {
    static let definition = """
        -- Changes that were not acknowledged: a row for each field, written by the triggers of the types' tables.
        CREATE TABLE mist_edit (
            type INTEGER NOT NULL,
            row INTEGER NOT NULL,
            -- 0: the row was inserted.
            field INTEGER NOT NULL,
            -- In the service's time; and as the machine's clock had it.
            time INTEGER NOT NULL,
            raw INTEGER NOT NULL,
            -- The value of the service's version.
            base,
            PRIMARY KEY (type, row, field)
        ) WITHOUT ROWID;
        """

    let db: Database
}

// MARK: - SQL for others

extension PendingEdits {
    /// A statement of triggers that adds an edit of the row `NEW`. It reads `mist_state` once, for its condition and
    /// for the time.
    ///
    /// - Parameters:
    ///   - field: The number of the field, as an expression.
    ///   - base: The value of the service's version, as an expression.
    ///   - table: The number of the type.
    ///   - source: The SQL after `FROM mist_state`: a join, and the condition.
    /// - Returns: The statement.
    static func upsert(_ field: String, base: String, of table: TableID, _ source: String) -> String {
        """
        INSERT INTO mist_edit (type, row, field, time, raw, base)
            SELECT \(table), NEW._id, \(field), \(TriggerClock.edit), \(TriggerClock.machine), \(base) FROM \(FileState.source) \(source)
            ON CONFLICT (type, row, field) DO UPDATE SET time = max(excluded.time, time + 1), raw = excluded.raw;
        """
    }

    /// A statement of triggers that forgets the edits of rows.
    static func deletion(of table: TableID, rows condition: String) -> String {
        "DELETE FROM mist_edit WHERE type = \(table) AND row \(condition);"
    }

    /// A row if a row of a type's table was never sent.
    static func insert(of table: TableID, row: String) -> String {
        "SELECT 1 FROM mist_edit WHERE type = \(table) AND row = \(row) AND field = \(FieldID.insert)"
    }

    /// A row if the current row of a type's table was edited after a time of the machine.
    static func later(than time: String, of table: TableID) -> String {
        """
        SELECT 1 FROM mist_edit AS edit WHERE edit.type = \(table) AND edit.row = _id AND edit.raw > \(time)
        """
    }

    /// The rows of a type with edits. The conditions may use `type`, `row` and `field`.
    static func rows(where condition: String) -> String { "SELECT row FROM mist_edit WHERE \(condition)" }

    /// The zones of the rows of a type with edits.
    static func zones(of table: RecordTable) -> String {
        "SELECT _zone FROM mist_edit JOIN \(table.name) ON _id = row WHERE type = \(table.id)"
    }

    /// A row if the edit that ``Parking`` is asked about is later than the refused one: of the type `?3` and the row
    /// `?4`.
    static func laterOfParameters(than time: String) -> String {
        "SELECT 1 FROM mist_edit WHERE type = ?3 AND row = ?4 AND raw > \(time)"
    }
}

// MARK: - Reading

extension PendingEdits {
    /// The edits of a row. The edit of a field that only a newer program knows stays for that program.
    func edits(of row: RecordRowID, _ table: RecordTable) throws -> [EditRow] {
        let statement = try db.cachedStatement(
            sql: "SELECT field, time, raw, base FROM mist_edit WHERE type = ? AND row = ? ORDER BY field"
        )
        try statement.bind([ColumnValue(table.id), ColumnValue(row)])
        var edits: [EditRow] = []
        var name: String?
        let cursor = try Row.fetchCursor(statement)
        while let found = try cursor.next() {
            let number: FieldID = found[0]
            let field = table.fields.first { $0.id == number }
            if number != .insert, field == nil { continue }
            var value = ColumnValue(sqliteStatement: statement.sqliteStatement, index: 3)
            if let sealing = field?.sealing, value != .null {
                name = try name ?? table.recordName(of: row, db)
                // As a value that no field of the type can have, one that cannot be opened counts as absent.
                value = (try? sealing.opened(value, of: name ?? "")) ?? .null
            }
            let base = field?.serviceValue(value)
            edits.append(EditRow(field: field, time: found[1], raw: found[2], base: base))
        }
        return edits
    }

    /// Whether an edit in a zone replaces a reference to a name, so that the service has it until the edit is sent.
    func replaces(_ name: String, in field: StoredField, _ table: RecordTable, _ zone: ZoneRowID) throws -> Bool {
        try db.value(
            """
            SELECT EXISTS (
                SELECT 1 FROM mist_edit JOIN \(table.name) ON _id = row
                WHERE type = ? AND field = ? AND base = ? AND _zone = ?
            )
            """,
            [table.id, field.id, name, zone],
            as: Bool.self
        ) ?? false
    }

    func hasEdits(_ row: RecordRowID, of table: TableID) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_edit WHERE type = ? AND row = ?)",
            [table, row],
            as: Bool.self
        ) ?? false
    }

    var isEmpty: Bool {
        get throws { try db.value("SELECT NOT EXISTS (SELECT 1 FROM mist_edit)", as: Bool.self) ?? true }
    }

    /// The last of the next rows with edits: a page of 400.
    func endOfPage(after row: RecordRowID, of table: TableID) throws -> RecordRowID? {
        try db.value(
            """
            SELECT max(row) FROM (
                SELECT DISTINCT row FROM mist_edit WHERE type = ? AND row > ? ORDER BY row LIMIT 400
            )
            """,
            [table, row],
            as: RecordRowID.self
        )
    }

    /// Whether rows of a zone have edits.
    func hasEdits(in zone: ZoneRowID, of table: RecordTable) throws -> Bool {
        try db.value(
            """
            SELECT EXISTS (
                SELECT 1 FROM \(table.name) CROSS JOIN mist_edit ON type = ? AND row = _id WHERE _zone = ?
            )
            """,
            [table.id, zone],
            as: Bool.self
        ) ?? false
    }

    /// The number of rows with edits.
    func rowCount() throws -> Int {
        try db.value("SELECT count(*) FROM (SELECT DISTINCT type, row FROM mist_edit)", as: Int.self) ?? 0
    }

    /// The names of the rows with edits, sorted.
    func names(of table: RecordTable) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT DISTINCT _recordName FROM \(table.name) JOIN mist_edit ON type = ? AND row = _id ORDER BY 1
                """,
            arguments: [table.id]
        )
    }

    /// When the oldest edit was made.
    func oldest() throws -> MachineTime? { try db.value("SELECT min(raw) FROM mist_edit", as: MachineTime.self) }

    /// The time of the latest edit.
    func latestTime() throws -> ServiceTime? { try db.value("SELECT max(time) FROM mist_edit", as: ServiceTime.self) }
}

// MARK: - Writing

extension PendingEdits {
    /// Adds an edit that a merge leaves.
    func insert(
        _ field: StoredField,
        of row: RecordRowID,
        _ table: RecordTable,
        time: ServiceTime,
        raw: MachineTime,
        base: ColumnValue
    ) throws {
        let base = try field.sealing.map { try $0.sealed(base, of: table.recordName(of: row, db) ?? "") } ?? base
        try db.run(
            "INSERT INTO mist_edit (type, row, field, time, raw, base) VALUES (?, ?, ?, ?, ?, ?)",
            binding: [
                ColumnValue(table.id), ColumnValue(row), ColumnValue(field.id), ColumnValue(time), ColumnValue(raw),
                base,
            ]
        )
    }

    /// Seals the values of a field before its edits.
    func sealBases(of field: StoredField, _ table: RecordTable, _ sealing: FieldSealing) throws {
        try removeOrphans(of: table)
        let statement = try db.cachedStatement(
            sql: """
                SELECT row, _recordName, base FROM mist_edit JOIN \(table.name) ON _id = row
                WHERE type = ? AND field = ? AND base IS NOT NULL
                """
        )
        try statement.bind([ColumnValue(table.id), ColumnValue(field.id)])
        var sealed: [(RecordRowID, ColumnValue)] = []
        let cursor = try Row.fetchCursor(statement)
        while let found = try cursor.next() {
            let base = ColumnValue(sqliteStatement: statement.sqliteStatement, index: 2)
            sealed.append((found[0], try sealing.sealed(base, of: found[1])))
        }
        for (row, base) in sealed {
            try db.run(
                "UPDATE mist_edit SET base = ? WHERE type = ? AND row = ? AND field = ?",
                binding: [base, ColumnValue(table.id), ColumnValue(row), ColumnValue(field.id)]
            )
        }
    }

    /// Adds an edit of a field of a new record: its value was left out when the record was sent.
    ///
    /// - Parameters:
    ///   - field: The field.
    ///   - row: The row.
    ///   - table: Its table.
    ///   - time: When the value was set; `nil` where it was set with the record.
    /// - Throws: A `DatabaseError` when the file fails.
    func addForNext(_ field: FieldID, of row: RecordRowID, _ table: TableID, setAt time: ServiceTime?) throws {
        try db.run(
            """
            INSERT INTO mist_edit (type, row, field, time, raw, base)
                SELECT type, row, ?, coalesce(?, time), raw, NULL FROM mist_edit WHERE type = ? AND row = ? AND field = ?
                ON CONFLICT (type, row, field) DO NOTHING
            """,
            [field, time, table, row, FieldID.insert]
        )
    }

    /// Adds an edit, with the present value as its base: a counter adds nothing then that the service has already.
    func note(
        _ field: StoredField?,
        of row: RecordRowID,
        _ table: RecordTable,
        at time: ServiceTime,
        raw: MachineTime
    ) throws {
        try db.run(
            """
            INSERT INTO mist_edit (type, row, field, time, raw, base)
                SELECT ?, _id, ?, ?, ?, \(field?.column ?? "NULL") FROM \(table.name) WHERE _id = ?
                ON CONFLICT (type, row, field) DO NOTHING
            """,
            [table.id, field?.id ?? .insert, time, raw, row]
        )
    }

    /// Adds edits for fields that a newer program has added to the file since this program opened it. An insert is an
    /// edit of each of these fields, too; the edit stays until the newer program sends it.
    ///
    /// - Parameters:
    ///   - last: The last field that this program knows.
    ///   - row: The row.
    ///   - table: The number of its type.
    /// - Throws: A `DatabaseError` when the file fails.
    func noteFields(after last: FieldID, of row: RecordRowID, _ table: TableID) throws {
        guard try RecordTypes(db: db).hasFields(after: last) else { return }
        try db.run(
            """
            INSERT INTO mist_edit (type, row, field, time, raw, base)
                SELECT edit.type, edit.row, field.id, edit.time, edit.raw, NULL
                FROM mist_edit AS edit \(RecordTypes.fields(ofType: "edit.type")) AND field.id > ?3
                WHERE edit.type = ?1 AND edit.row = ?2 AND edit.field = ?4
                ON CONFLICT (type, row, field) DO NOTHING
            """,
            [table, row, last, FieldID.insert]
        )
    }

    /// Forgets the edits of a row, except for those of fields that only a newer program knows.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - table: The number of its type.
    ///   - last: The last field that this program knows.
    /// - Throws: A `DatabaseError` when the file fails.
    func forget(_ row: RecordRowID, of table: TableID, through last: FieldID) throws {
        try noteFields(after: last, of: row, table)
        try db.run("DELETE FROM mist_edit WHERE type = ? AND row = ? AND field <= ?", [table, row, last])
    }

    func forget(_ field: FieldID, of row: RecordRowID, _ table: TableID) throws {
        try db.run("DELETE FROM mist_edit WHERE type = ? AND row = ? AND field = ?", [table, row, field])
    }

    func forgetAll(of table: TableID) throws {
        try db.run("DELETE FROM mist_edit WHERE type = ?", [table])
    }

    /// Removes the edits of rows that are gone. `INSERT OR REPLACE` removes a row without its delete trigger, and no
    /// other table has a record that was never sent.
    func removeOrphans(of table: RecordTable) throws {
        try db.run("DELETE FROM mist_edit WHERE type = ? AND row NOT IN (SELECT _id FROM \(table.name))", [table.id])
    }

    /// Ends the edits of a row that were sent and stored: those with the time that was sent. An edit with another time
    /// was made later: its base is now the value that was sent.
    func acknowledge(_ record: KnownVersionID, row: RecordRowID, _ table: TableID) throws {
        let key = [ColumnValue(table), ColumnValue(row), ColumnValue(record)]
        try db.run(Self.deletionOfSent, binding: key)
        try db.run(Self.rebasing, binding: key)
    }

    private static let sentField = SentOperations.field("mist_edit.field", ofRecord: "?3")
    private static let deletionOfSent = """
        DELETE FROM mist_edit WHERE type = ?1 AND row = ?2
            AND EXISTS (SELECT 1 \(sentField) AND sent.time = mist_edit.time)
        """
    private static let rebasing = """
        UPDATE mist_edit SET base = (SELECT value \(sentField))
        WHERE type = ?1 AND row = ?2 AND EXISTS (SELECT 1 \(sentField))
        """
}

// MARK: - Times

extension PendingEdits {
    /// An edit that was not sent, with its key and its times.
    struct TimedEdit {
        let type: TableID
        let row: RecordRowID
        let field: FieldID
        let time: ServiceTime
        let raw: MachineTime
    }

    /// The edits of all types that were not sent, in the order of their times.
    func notSent() throws -> [TimedEdit] {
        try db.rows(
            """
            SELECT type, row, field, time, raw FROM mist_edit
            WHERE NOT EXISTS (
                \(SentOperations.sentFields(type: "mist_edit.type", row: "mist_edit.row"))
                    AND sent.field = mist_edit.field AND sent.time = mist_edit.time
            )
            ORDER BY time, raw
            """
        ).map { TimedEdit(type: $0["type"], row: $0["row"], field: $0["field"], time: $0["time"], raw: $0["raw"]) }
    }

    func setTime(_ time: ServiceTime, of edit: TimedEdit) throws {
        try db.run(
            "UPDATE mist_edit SET time = ? WHERE type = ? AND row = ? AND field = ?",
            [time, edit.type, edit.row, edit.field]
        )
    }
}
