import GRDB
import GRDBSQLite
import SQLiteTables

/// The triggers in the file that are not the store's.
///
/// A trigger that keeps a table of its own up to date, such as a full-text index, is harmless. A trigger that changes
/// records while the engine writes a version of the service is not: the change would not be recorded, so this device
/// would differ from the service forever. To record the change would be no better, since two devices with the same
/// trigger would answer each other without end. So such a trigger is an error.
enum ForeignTriggers {
    /// Checks that no trigger changes records while the engine writes.
    ///
    /// A trigger that reads `mist_state.applying` is accepted: it decides itself to rest meanwhile.
    ///
    /// - Parameter db: The connection.
    /// - Throws: A ``StoreError``: `schema`, with the name of the trigger and the way out.
    static func check(_ db: Database) throws {
        let isForeign = "type = 'trigger' AND substr(name, 1, 5) <> 'mist_'"
        guard try db.value("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE \(isForeign))", as: Bool.self) == true
        else { return }
        let types = try RecordTypes(db: db).all().map(\.name)
        let statements = try db.rows(
            """
            SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN ('table', 'view', 'trigger')
            ORDER BY type = 'trigger', type = 'view', rowid
            """
        ).map { row -> String in row["sql"] }
        guard let found = TriggerInspection(of: statements).writer(to: types) else { return }
        throw StoreError(
            .schema,
            """
            The trigger \(found.trigger) changes \(found.table) whenever a record of \(found.source) is written. It would change versions \
            of the service while they are stored, and this device would differ from the others. Let it rest meanwhile, with \
            WHEN \(FileState.recordsEdits), or remove it: DROP TRIGGER \(quoted(found.trigger)).
            """,
            recordType: found.source
        )
    }
}

/// A copy of a schema in memory, without rows. When SQLite compiles a statement, it reports what the triggers of the
/// statement would do, and the name of each trigger.
private final class TriggerInspection {
    struct Writer {
        let trigger: String
        /// The table that it changes.
        let table: String
        /// The record type whose change starts it.
        let source: String
    }

    private var connection: SQLiteConnection?
    /// What the triggers of the statement write: the name of a trigger, and the table.
    private var writes: [(trigger: String, table: String)] = []
    /// The triggers that ask whether the engine writes.
    private var resting: Set<String> = []

    /// - Parameter statements: The statements that create the tables, the views and the triggers. One that this SQLite
    ///   cannot carry out, such as the table of an extension, is left out.
    init(of statements: [String]) {
        guard sqlite3_open(":memory:", &connection) == SQLITE_OK else { return }
        for statement in statements { sqlite3_exec(connection, statement, nil, nil, nil) }
        sqlite3_set_authorizer(
            connection,
            { context, action, first, second, _, trigger in
                guard let context, let first, let trigger else { return SQLITE_OK }
                Unmanaged<TriggerInspection>.fromOpaque(context).takeUnretainedValue().note(
                    action,
                    String(cString: first),
                    second.map { String(cString: $0) },
                    by: String(cString: trigger)
                )
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    deinit {
        sqlite3_close(connection)
    }

    private func note(_ action: CInt, _ table: String, _ column: String?, by trigger: String) {
        switch action {
        case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE: writes.append((trigger, table))
        case SQLITE_READ where FileState.asksWhetherEngineWrites(table, column): resting.insert(trigger)
        default: break
        }
    }

    /// The first foreign trigger that changes a record, or the store's own tables, when a record is written.
    func writer(to types: [String]) -> Writer? {
        for type in types {
            let name = quoted(type)
            (writes, resting) = ([], [])
            let update = "UPDATE \(name) SET \(assignments(of: name))"
            for statement in ["INSERT INTO \(name) (_id) VALUES (1)", "DELETE FROM \(name)", update] {
                var compiled: SQLiteStatement?
                sqlite3_prepare_v2(connection, statement, -1, &compiled, nil)
                sqlite3_finalize(compiled)
            }
            let found = writes.first { write in
                let isOfStore = types.contains(write.table) || write.table.hasPrefix("mist_")
                return isOfStore && !write.trigger.hasPrefix("mist_") && !resting.contains(write.trigger)
            }
            if let found { return Writer(trigger: found.trigger, table: found.table, source: type) }
        }
        return nil
    }

    /// Assignments of all columns, so that triggers of every column are compiled.
    private func assignments(of name: String) -> String {
        var compiled: SQLiteStatement?
        defer { sqlite3_finalize(compiled) }
        guard sqlite3_prepare_v2(connection, "SELECT * FROM \(name)", -1, &compiled, nil) == SQLITE_OK else {
            return "_id = 1"
        }
        let columns = (0..<sqlite3_column_count(compiled)).compactMap { index in
            sqlite3_column_name(compiled, index).map { quoted(String(cString: $0)) }
        }
        return columns.map { "\($0) = \($0)" }.joined(separator: ", ")
    }
}
