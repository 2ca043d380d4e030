import GRDB

/// The tables in which the store keeps its own state, beside those of the record types.
///
/// Everything that the engine knows is in them: after a process has died between two transactions, the next one
/// continues there.
enum SystemTables {
    /// The version of these tables. A file of a later version is not opened, and one of an earlier version is updated.
    static let format: Int64 = 3

    /// The value of `PRAGMA application_id`, by which the store's files differ from other SQLite databases: "Mist".
    static let applicationID: Int64 = 0x4D69_7374

    static func create(in db: Database, device: Int64) throws {
        try db.execute(
            sql: """
                CREATE TABLE mist_state (
                    id INTEGER PRIMARY KEY CHECK (id = 1),
                    format INTEGER NOT NULL,
                    -- This copy of the file, 63 random bits.
                    device INTEGER NOT NULL,
                    -- 1 while the engine writes: the triggers of record types rest. Never committed as 1.
                    applying INTEGER NOT NULL DEFAULT 0,
                    -- The machine's time in milliseconds since 1970, where a simulation sets it; NULL reads the clock.
                    clock INTEGER,
                    -- The service's time minus the machine's, in milliseconds, and when a reply last confirmed it, in the
                    -- service's time.
                    clock_offset INTEGER NOT NULL DEFAULT 0,
                    offset_learned INTEGER NOT NULL DEFAULT 0,
                    -- By how much the stamps of records are later than the header field Date, where the two differ.
                    date_bias INTEGER NOT NULL DEFAULT 0,
                    -- The latest time of an edit that came from elsewhere.
                    heard INTEGER NOT NULL DEFAULT 0,
                    \(owner[0]),
                    \(owner[1])
                );
                CREATE TABLE mist_scope (
                    -- 0 public, 1 private, 2 shared.
                    id INTEGER PRIMARY KEY,
                    -- The token of changes/database.
                    token TEXT,
                    -- 1: changes/database is to be asked.
                    is_stale INTEGER NOT NULL DEFAULT 0,
                    -- No request before this time; no push before that one. The machine's time.
                    rests_until INTEGER NOT NULL DEFAULT 0,
                    push_rests_until INTEGER NOT NULL DEFAULT 0,
                    -- The service has named a time: no request is sent before it. And when it did so, because a clock that
                    -- was set back ends the wait.
                    held_since INTEGER NOT NULL DEFAULT 0,
                    held_until INTEGER NOT NULL DEFAULT 0,
                    -- Why it rests: offline, throttled, quotaExceeded, signedOut, …
                    condition TEXT,
                    detail TEXT,
                    -- Failures in a row.
                    failures INTEGER NOT NULL DEFAULT 0,
                    last_request INTEGER NOT NULL DEFAULT 0,
                    -- The most operations of the next request.
                    batch INTEGER NOT NULL DEFAULT 200,
                    -- Records that were sent and fetched since the synchronisation began.
                    sent INTEGER NOT NULL DEFAULT 0,
                    fetched INTEGER NOT NULL DEFAULT 0
                );
                CREATE TABLE mist_zone (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    scope INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    owner TEXT NOT NULL DEFAULT '',
                    -- 0 not known to exist, 1 exists, 2 gone.
                    state INTEGER NOT NULL DEFAULT 0,
                    token TEXT,
                    -- 1: there are changes to be fetched.
                    is_stale INTEGER NOT NULL DEFAULT 0,
                    -- 1: operations of unknown outcome were sent; nothing is sent before the zone was read to its end.
                    is_uncertain INTEGER NOT NULL DEFAULT 0,
                    -- 1: an atomic request failed and named no item; the next one is not atomic.
                    avoids_atomic INTEGER NOT NULL DEFAULT 0,
                    -- A pull of everything after a lost token: its number, and whether it is under way.
                    epoch INTEGER NOT NULL DEFAULT 0,
                    is_refetching INTEGER NOT NULL DEFAULT 0,
                    -- The zone's changes are not fetched before this time, because the service reported an error for them.
                    rests_until INTEGER NOT NULL DEFAULT 0,
                    failures INTEGER NOT NULL DEFAULT 0,
                    failure TEXT,
                    -- When the service named that time; NULL: the time is the store's own choice.
                    held_since INTEGER,
                    UNIQUE (scope, owner, name)
                );
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
                    UNIQUE (type, name)
                );
                CREATE TABLE mist_user (
                    id INTEGER PRIMARY KEY,
                    name TEXT NOT NULL UNIQUE
                );
                -- What the service has, or may have: a row for each record that was ever sent or received and is not deleted here.
                CREATE TABLE mist_record (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    type INTEGER NOT NULL,
                    zone INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    -- The row of the type's table, _id.
                    row INTEGER NOT NULL,
                    -- NULL while the outcome of the first create is unknown.
                    tag TEXT,
                    -- Creation: with the name and the zone it tells one life of a record from another.
                    created INTEGER,
                    creator INTEGER,
                    modified INTEGER,
                    modifier INTEGER,
                    parent TEXT,
                    share TEXT,
                    -- mist_edits of the service's version.
                    times BLOB,
                    -- JSON: the fields that have no column.
                    other TEXT,
                    -- The last refetch that met the record.
                    epoch INTEGER NOT NULL DEFAULT 0,
                    -- 1: to be looked up before it is sent again.
                    is_conflicting INTEGER NOT NULL DEFAULT 0,
                    -- In the form of mist_edits: the parts of counters that this file has sent. They show what the service has stored.
                    written BLOB,
                    UNIQUE (zone, name)
                );
                CREATE INDEX mist_record_conflict ON mist_record (zone) WHERE is_conflicting = 1;
                CREATE INDEX mist_record_other ON mist_record (type, row) WHERE other IS NOT NULL;
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
                -- Deletes that were not acknowledged.
                CREATE TABLE mist_tombstone (
                    record INTEGER PRIMARY KEY,
                    type INTEGER NOT NULL,
                    zone INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    tag TEXT,
                    created INTEGER,
                    creator INTEGER,
                    time INTEGER NOT NULL,
                    -- How far below a deleted record: children are deleted first.
                    depth INTEGER NOT NULL DEFAULT 0,
                    epoch INTEGER NOT NULL DEFAULT 0,
                    is_conflicting INTEGER NOT NULL DEFAULT 0,
                    UNIQUE (zone, name)
                );
                -- Deleted records whose cascade is to be continued.
                CREATE TABLE mist_cascade (
                    zone INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    PRIMARY KEY (zone, name)
                ) WITHOUT ROWID;
                -- Deletes that the zone was not read past yet: by this device and acknowledged, or by another device, with records
                -- here that refer to the deleted one.
                CREATE TABLE mist_deleted (
                    zone INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    is_own INTEGER NOT NULL,
                    PRIMARY KEY (zone, name)
                ) WITHOUT ROWID;
                -- The request under way, at most one for each scope, and what it carries.
                CREATE TABLE mist_request (
                    scope INTEGER PRIMARY KEY,
                    number INTEGER NOT NULL,
                    kind TEXT NOT NULL,
                    zone INTEGER,
                    sent INTEGER NOT NULL,
                    -- 1: of its operations the service does all or nothing.
                    is_atomic INTEGER NOT NULL DEFAULT 0
                );
                CREATE TABLE mist_sent (
                    record INTEGER PRIMARY KEY,
                    zone INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    -- create, update, delete
                    operation TEXT NOT NULL,
                    -- mist_edits and the other fields as sent.
                    times BLOB,
                    -- 1: the reply was lost.
                    is_uncertain INTEGER NOT NULL DEFAULT 0
                );
                CREATE TABLE mist_sent_field (
                    record INTEGER NOT NULL,
                    field INTEGER NOT NULL,
                    time INTEGER NOT NULL,
                    value,
                    PRIMARY KEY (record, field)
                ) WITHOUT ROWID;
                -- What the service refused: it waits for an edit, for a newer program, or for retryParked().
                CREATE TABLE mist_parked (
                    zone INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    reason TEXT NOT NULL,
                    message TEXT NOT NULL,
                    -- When what was refused was read from the tables: a later edit is a new attempt.
                    since INTEGER NOT NULL,
                    -- Tried again by itself at this time; NULL: not by itself.
                    until INTEGER,
                    attempts INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (zone, name)
                ) WITHOUT ROWID;
                -- Queries of the public database that are kept here.
                CREATE TABLE mist_follow (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    query TEXT NOT NULL UNIQUE,
                    -- The latest modification that was fetched, of all passes and of the one under way.
                    newest INTEGER NOT NULL DEFAULT 0,
                    newest_of_pass INTEGER NOT NULL DEFAULT 0,
                    -- 0 nothing to do, 1 fetching records, 2 fetching names.
                    phase INTEGER NOT NULL DEFAULT 0,
                    continuation TEXT,
                    swept_at INTEGER NOT NULL DEFAULT 0,
                    -- Passes and sweeps in a row that found nothing new, and when the next pass of its own accord is due.
                    idle_passes INTEGER NOT NULL DEFAULT 0,
                    idle_sweeps INTEGER NOT NULL DEFAULT 0,
                    due_at INTEGER NOT NULL DEFAULT 0
                );
                -- Values that lost, with the reason.
                CREATE TABLE mist_recovery (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    time INTEGER NOT NULL,
                    scope INTEGER NOT NULL,
                    zone TEXT NOT NULL,
                    owner TEXT NOT NULL,
                    type TEXT NOT NULL,
                    name TEXT NOT NULL,
                    reason TEXT NOT NULL,
                    -- JSON of the fields that lost.
                    fields TEXT NOT NULL,
                    size INTEGER NOT NULL
                );
                -- Records of types that the program does not know, whole.
                CREATE TABLE mist_foreign (
                    zone INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    type TEXT NOT NULL,
                    record TEXT NOT NULL,
                    epoch INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (zone, name)
                ) WITHOUT ROWID;
                \(undelivered)
                \(formerDevices)
                """
        )
        try db.execute(
            sql: "INSERT INTO mist_state (id, format, device) VALUES (1, ?, ?)",
            arguments: [format, device]
        )
        try db.execute(sql: "PRAGMA application_id = \(applicationID)")
    }

    /// Records that the service reported with an error in place of their fields. Each is looked up.
    private static let undelivered = """
        CREATE TABLE mist_undelivered (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            message TEXT NOT NULL,
            -- When it is looked up. The machine's time.
            until INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            -- When the service named this time; NULL: the time is the store's own choice.
            held_since INTEGER,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        """

    /// The numbers that this file had before another copy of it was noticed.
    private static let formerDevices = """
        CREATE TABLE mist_former_device (
            device INTEGER PRIMARY KEY,
            -- When the file got another number. The machine's time.
            until INTEGER NOT NULL
        );
        """

    /// The tables whose rows only the store removes.
    private static let guarded = ["mist_state", "mist_scope", "mist_zone", "mist_type", "mist_field", "mist_user"]

    /// Adds what a program without it does not miss, so that it needs no new format.
    ///
    /// - Throws: A `DatabaseError` when the file fails.
    static func addLaterParts(to db: Database) throws {
        // Records of the service that do not fit the program's type. A row that fits meanwhile may be noted, too.
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS mist_unreadable (
                    type INTEGER NOT NULL,
                    row INTEGER NOT NULL,
                    UNIQUE (type, row)
                )
                """
        )
        for table in guarded {
            try db.execute(
                sql: """
                    CREATE TRIGGER IF NOT EXISTS mist_keep_\(table) BEFORE DELETE ON \(table)
                    WHEN (SELECT applying FROM mist_state) = 0
                    BEGIN
                        SELECT RAISE(ABORT, 'mist: the row is needed in \(table)');
                    END
                    """
            )
        }
    }

    /// The columns of `mist_state` for the user whose records the file has, and for the user who is signed in where that
    /// is another user: the user record names.
    private static let owner = ["owner TEXT", "visitor TEXT"]

    /// Updates the tables of an earlier version.
    ///
    /// - Throws: A `DatabaseError` when the file fails.
    static func update(_ db: Database) throws {
        let found = try db.value("SELECT format FROM mist_state", as: Int64.self) ?? format
        guard found < format else { return }
        if found < 2 {
            try db.execute(
                sql: """
                    \(undelivered)
                    ALTER TABLE mist_zone ADD COLUMN rests_until INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE mist_zone ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE mist_zone ADD COLUMN failure TEXT;
                    """
            )
        } else {
            try db.execute(sql: "ALTER TABLE mist_undelivered ADD COLUMN held_since INTEGER")
        }
        try db.execute(
            sql: """
                \(formerDevices)
                ALTER TABLE mist_state ADD COLUMN date_bias INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE mist_scope ADD COLUMN held_since INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE mist_scope ADD COLUMN held_until INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE mist_zone ADD COLUMN held_since INTEGER;
                ALTER TABLE mist_record ADD COLUMN written BLOB;
                ALTER TABLE mist_state ADD COLUMN \(owner[0]);
                ALTER TABLE mist_state ADD COLUMN \(owner[1]);
                UPDATE mist_record SET written = (SELECT times FROM mist_sent WHERE record = id);
                UPDATE mist_state SET format = \(format);
                """
        )
    }
}
