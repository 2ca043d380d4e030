import GRDB
import MistKit
import SQLiteTables

/// A row of `mist_scope`.
struct ScopeRow {
    let token: DatabaseChangeToken?
    let isStale: Bool
    let restsUntil: MachineTime
    let pushRestsUntil: MachineTime
    /// When the service named a time, and the time.
    let held: (since: MachineTime, until: MachineTime)
    let condition: SyncCondition?
    /// What the service says about the condition.
    let detail: String?
    let failures: Int64
    /// The most records of the next request, as far as the replies tell.
    let batch: Int64
    /// The records that were sent and fetched since the synchronisation began.
    let sent: Int
    let fetched: Int
    /// The rows that deletes elsewhere have removed, since everything was fetched last.
    let removed: Int
    /// The last time that they were more than the limit.
    let massRemoval: MassRemoval?

    fileprivate init(_ row: Row?) {
        let condition: String? = row?["condition"]
        let token: String? = row?["token"]
        self.token = token.flatMap(DatabaseChangeToken.init)
        isStale = row?["is_stale"] ?? false
        restsUntil = row?["rests_until"] ?? 0
        pushRestsUntil = row?["push_rests_until"] ?? 0
        held = (row?["held_since"] ?? 0, row?["held_until"] ?? 0)
        self.condition = condition.map { SyncCondition(rawValue: $0) }
        detail = row?["detail"]
        failures = row?["failures"] ?? 0
        batch = row?["batch"] ?? 200
        sent = row?["sent"] ?? 0
        fetched = row?["fetched"] ?? 0
        removed = row?["removed"] ?? 0
        massRemoval = (row?["mass_removed_at"] as MachineTime?).map {
            MassRemoval(
                time: ColumnValue.date($0),
                removed: row?["mass_removed"] ?? 0,
                records: row?["mass_removed_of"] ?? 0
            )
        }
    }

    /// Whether the changed zones were listed, since the beginning of the last synchronisation.
    var isListed: Bool { token != nil && !isStale }

    /// The end of the wait of all requests; `nil` when none has to wait.
    ///
    /// A time that the service named holds, unless the clock was set back since then.
    func end(at now: MachineTime) -> MachineTime? {
        let end = max(restsUntil, held.since <= now ? held.until : 0)
        return end > now ? end : nil
    }

    /// The end of the wait of requests that push; `nil` when only all requests may have to wait.
    func endOfRest(at now: MachineTime) -> MachineTime? { pushRestsUntil > now ? pushRestsUntil : nil }

    /// The end of the waits of all requests and of those that push; `nil` when neither has to wait.
    func endOfPushes(at now: MachineTime) -> MachineTime? {
        [end(at: now), endOfRest(at: now)].compactMap(\.self).max()
    }
}

/// The state of a scope's synchronisation, its row of `mist_scope`.
struct ScopeState: TableOwner {
    static let guarded = ["mist_scope"]

    static let definition = """
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
            fetched INTEGER NOT NULL DEFAULT 0,
            \(removals.joined(separator: ", "))
        );
        """

    /// The columns for rows that deletes elsewhere have removed since everything was fetched last; then for the last time
    /// that they were more than the limit: when, how many, and of how many records.
    private static let removals = [
        "removed INTEGER NOT NULL DEFAULT 0", "mass_removed_at INTEGER", "mass_removed INTEGER",
        "mass_removed_of INTEGER",
    ]

    static func update(from format: Int64) -> [String] {
        let waits = format < 3 ? ["held_since", "held_until"].map { "\($0) INTEGER NOT NULL DEFAULT 0" } : []
        return (waits + (format < 5 ? removals : [])).map { "ALTER TABLE mist_scope ADD COLUMN \($0)" }
    }

    let scope: DatabaseScope
    let db: Database

    /// Adds the row, unless the file has it.
    func insert() throws {
        try db.run("INSERT OR IGNORE INTO mist_scope (id) VALUES (?)", [scope.number])
    }

    func row() throws -> ScopeRow {
        ScopeRow(try db.row("SELECT * FROM mist_scope WHERE id = ?", [scope.number]))
    }

    /// The number of the next request.
    func nextRequestNumber() throws -> RequestNumber {
        try db.run("UPDATE mist_scope SET last_request = last_request + 1 WHERE id = ?", [scope.number])
        return try db.value(
            "SELECT last_request FROM mist_scope WHERE id = ?",
            [scope.number],
            as: RequestNumber.self
        ) ?? 0
    }

    // MARK: What is to be fetched

    /// Asks for the list of changed zones. A wait of the store's own choice ends, and one for a person who signs in.
    func markStale() throws {
        try db.run(
            """
            UPDATE mist_scope SET is_stale = 1, rests_until = 0,
                condition = CASE condition WHEN ?2 THEN NULL ELSE condition END
            WHERE id = ?1
            """,
            [scope.number, SyncCondition.signedOut.rawValue]
        )
    }

    /// Stores the token behind a page of the list of changed zones, and whether there is another page.
    func store(token: DatabaseChangeToken, moreComing: Bool) throws {
        try db.run(
            "UPDATE mist_scope SET token = ?, is_stale = ? WHERE id = ?",
            [token.text, moreComing, scope.number]
        )
    }

    /// Lets the list of zones be fetched from its start.
    func forgetToken() throws {
        try db.run("UPDATE mist_scope SET token = NULL WHERE id = ?", [scope.number])
    }

    /// Asks for the list of all zones.
    func listAgain() throws {
        try db.run("UPDATE mist_scope SET token = NULL, is_stale = 1 WHERE id = ?", [scope.number])
    }

    /// Lets the lists of zones of all scopes be fetched from their start.
    static func forgetTokens(_ db: Database) throws {
        try db.run("UPDATE mist_scope SET token = NULL")
    }

    // MARK: Waits

    /// Ends the wait after a reply.
    ///
    /// A missing type or index is not forgotten by it, and a full storage only when a push succeeds.
    ///
    /// - Parameters:
    ///   - kind: The kind of the request.
    ///   - reply: The reply.
    /// - Throws: A `DatabaseError` when the file fails.
    func endWait(after kind: SyncRequest.Kind, _ reply: SyncReply) throws {
        try db.run(
            """
            UPDATE mist_scope SET failures = CASE WHEN ?3 THEN failures ELSE 0 END, condition = NULL,
                detail = NULL, rests_until = 0
            WHERE id = ?1 AND condition IS NOT ?4 AND (condition IS NOT ?5 OR ?2)
            """,
            [
                scope.number, kind == .modify, reply.isPartOfList, SyncCondition.schema.rawValue,
                SyncCondition.quotaExceeded.rawValue,
            ]
        )
    }

    /// Lets all requests rest until a time, or only those that push where the storage is full.
    func rest(until time: MachineTime, because condition: SyncCondition, _ detail: String?) throws {
        let column = condition == .quotaExceeded ? "push_rests_until" : "rests_until"
        try db.run(
            "UPDATE mist_scope SET \(column) = ?, failures = failures + 1, condition = ?, detail = ? WHERE id = ?",
            [time, condition.rawValue, detail, scope.number]
        )
    }

    /// Lets all requests rest until a time that the service has named.
    func hold(until time: MachineTime, since now: MachineTime) throws {
        try db.run(
            """
            UPDATE mist_scope SET
                held_until = CASE WHEN held_since <= ?2 THEN max(held_until, ?3) ELSE ?3 END, held_since = ?2
            WHERE id = ?1
            """,
            [scope.number, now, time]
        )
    }

    /// Notes a failure after which nothing rests.
    func noteFailure() throws {
        try db.run("UPDATE mist_scope SET failures = 1 WHERE id = ?", [scope.number])
    }

    /// Notes why something waits, although no request rests.
    func note(_ condition: SyncCondition, _ detail: String) throws {
        try db.run(
            "UPDATE mist_scope SET failures = 0, rests_until = 0, condition = ?, detail = ? WHERE id = ?",
            [condition.rawValue, detail, scope.number]
        )
    }

    /// Forgets that the service's schema lacks something.
    func forgetMissingSchema() throws {
        try db.run(
            "UPDATE mist_scope SET condition = NULL, detail = NULL WHERE id = ? AND condition = ?",
            [scope.number, SyncCondition.schema.rawValue]
        )
    }

    /// Ends all waits, except for a time that the service has named.
    func endWaits(at now: MachineTime) throws {
        try db.run(
            """
            UPDATE mist_scope SET rests_until = 0, push_rests_until = 0,
                condition = CASE WHEN ?2 >= held_since AND ?2 < held_until THEN condition END
            WHERE id = ?1
            """,
            [scope.number, now]
        )
    }

    // MARK: Batches and progress

    /// Sets the most operations of the next request.
    func setBatch(_ count: Int64) throws {
        try db.run("UPDATE mist_scope SET batch = max(1, ?) WHERE id = ?", [count, scope.number])
    }

    /// Lets the next request have more operations, after one was answered.
    func growBatch() throws {
        try db.run("UPDATE mist_scope SET batch = min(200, batch + batch / 4 + 1) WHERE id = ?", [scope.number])
    }

    /// Begins to count what is sent and fetched.
    func beginProgress() throws {
        try db.run("UPDATE mist_scope SET sent = 0, fetched = 0 WHERE id = ?", [scope.number])
    }

    /// Counts rows that deletes elsewhere have removed.
    func addRemoved(_ rows: Int) throws {
        guard rows > 0 else { return }
        try db.run("UPDATE mist_scope SET removed = removed + ? WHERE id = ?", [rows, scope.number])
    }

    /// Begins to count removed rows from zero, and notes that they were more than the limit.
    func endRemoval(_ mass: (removed: Int, records: Int, time: MachineTime)?) throws {
        try db.run("UPDATE mist_scope SET removed = 0 WHERE id = ?", [scope.number])
        guard let mass else { return }
        try db.run(
            "UPDATE mist_scope SET mass_removed_at = ?, mass_removed = ?, mass_removed_of = ? WHERE id = ?",
            [mass.time, mass.removed, mass.records, scope.number]
        )
    }

    func addProgress(_ summary: SyncSummary) throws {
        try db.run(
            "UPDATE mist_scope SET sent = sent + ?, fetched = fetched + ? WHERE id = ?",
            [summary.sent + summary.deleted, summary.fetched + summary.removed, scope.number]
        )
    }
}
