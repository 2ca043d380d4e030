import GRDB
import SQLiteTables

/// The queues of a file, `mist_queue`, and the format of their tables, `mist_queue_format`.
struct Queues: OwnedTables {
    /// The version of the tables. A file of a later version is not used.
    static let format: Int64 = 1

    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_queue_format (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            format INTEGER NOT NULL
        );
        CREATE TABLE IF NOT EXISTS mist_queue (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            -- The latest time of the machine that the queue has seen, in milliseconds since 1970.
            clock INTEGER NOT NULL,
            -- Why the queue sends nothing; NULL where it sends.
            pause_reason TEXT,
            pause_message TEXT,
            -- Times of the machine. Without an end, the program ends the pause.
            paused_at INTEGER,
            paused_until INTEGER
        )
        """

    let db: Database

    /// Notes the format in a new file.
    func noteFormat() throws {
        try db.run("INSERT OR IGNORE INTO mist_queue_format (id, format) VALUES (1, ?)", [Self.format])
    }

    /// The format of the file; `nil` for none.
    func format() throws -> Int64? { try db.value("SELECT format FROM mist_queue_format", as: Int64.self) }

    /// The queue with a name, which is made where there is none.
    func queue(named name: String, at now: MachineTime) throws -> QueueRowID {
        let sql = "SELECT id FROM mist_queue WHERE name = ?"
        if let id = try db.value(sql, [name], as: QueueRowID.self) { return id }
        try db.run("INSERT INTO mist_queue (name, clock) VALUES (?, ?)", [name, now])
        return db.lastInserted(QueueRowID.self)
    }

    // MARK: The clock

    func clock(of queue: QueueRowID) throws -> MachineTime? {
        try db.value("SELECT clock FROM mist_queue WHERE id = ?", [queue], as: MachineTime.self)
    }

    func setClock(of queue: QueueRowID, to now: MachineTime) throws {
        try db.run("UPDATE mist_queue SET clock = ? WHERE id = ?", [now, queue])
    }

    // MARK: The pause

    func pause(of queue: QueueRowID) throws -> StoredPause? {
        let row = try db.row(
            "SELECT pause_reason, pause_message, paused_at, paused_until FROM mist_queue WHERE id = ?",
            [queue]
        )
        guard let row, let reason: String = row[0] else { return nil }
        return StoredPause(
            reason: MutationPause.Reason(rawValue: reason),
            message: row[1],
            since: row[2] ?? 0,
            until: row[3]
        )
    }

    func setPause(_ pause: StoredPause?, of queue: QueueRowID) throws {
        try db.run(
            """
            UPDATE mist_queue SET pause_reason = ?, pause_message = ?, paused_at = ?, paused_until = ? WHERE id = ?
            """,
            [pause?.reason.rawValue, pause?.message, pause?.since, pause?.until, queue]
        )
    }
}
