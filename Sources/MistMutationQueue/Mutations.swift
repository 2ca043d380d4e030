import GRDB
import SQLiteTables

/// The mutations of a file, `mist_mutation`, what they wait for, `mist_mutation_parent`, and the identifiers of those
/// that were discarded, `mist_discarded`.
///
/// A mutation is ready when no earlier one of its entity and none that it depends on is left. Whether it is ready is in
/// its row, so that the next ones to send are found by an index, however many wait. Each removal brings the rows up to
/// date that it may have made ready.
struct Mutations: OwnedTables {
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_mutation (
            -- Never used twice.
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            queue INTEGER NOT NULL,
            -- The identifier, which is the idempotency key.
            id TEXT NOT NULL UNIQUE,
            entity TEXT NOT NULL,
            -- The version of the program that wrote the JSON.
            version INTEGER NOT NULL,
            json TEXT NOT NULL,
            created INTEGER NOT NULL,
            state INTEGER NOT NULL,
            -- 0: it waits for another mutation.
            is_ready INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            attempt_limit INTEGER NOT NULL,
            next_attempt INTEGER NOT NULL,
            -- 1: it was sent at least once, so that the service may have done it.
            is_sent INTEGER NOT NULL,
            error TEXT,
            -- 1: the program was notified of its failure.
            is_reported INTEGER NOT NULL,
            -- The epoch of the lease in which it is being sent; of one that is unreadable, the program's version.
            epoch INTEGER
        );
        CREATE INDEX IF NOT EXISTS mist_mutation_entity ON mist_mutation (queue, entity, number);
        CREATE INDEX IF NOT EXISTS mist_mutation_due ON mist_mutation (queue, next_attempt, number)
            WHERE state = \(MutationState.waiting.number) AND is_ready = 1;
        CREATE INDEX IF NOT EXISTS mist_mutation_state ON mist_mutation (queue, state, number)
            WHERE state <> \(MutationState.waiting.number);
        CREATE TABLE IF NOT EXISTS mist_mutation_parent (
            mutation INTEGER NOT NULL,
            -- The mutation that has to be done before.
            parent INTEGER NOT NULL,
            PRIMARY KEY (mutation, parent)
        ) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS mist_mutation_child ON mist_mutation_parent (parent, mutation);
        CREATE TABLE IF NOT EXISTS mist_discarded (
            id TEXT PRIMARY KEY,
            discarded_at INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS mist_discarded_time ON mist_discarded (discarded_at)
        """

    /// The columns of a row, in the order in which ``mutation(_:)`` reads them: finding each by its name takes longer.
    private static let columns = """
        number, queue, id, entity, version, json, created, is_ready, epoch, state, attempts, attempt_limit, next_attempt, \
        is_sent, error, is_reported
        """
    private static let waiting = condition(.waiting)
    private static let notWaiting = "state <> \(MutationState.waiting.number)"
    private static let sending = condition(.sending)

    /// Finds the mutations in a state by an index.
    ///
    /// The index of those that do not wait is used only where the statement says so as well. The number is part of the
    /// statement, since SQLite compiles a statement again in each run if an index depends on a parameter.
    private static func condition(_ state: MutationState) -> String {
        state == .waiting ? "state = \(state.number)" : "\(notWaiting) AND state = \(state.number)"
    }

    /// For how long the identifiers of discarded mutations are kept: 30 days, in milliseconds.
    private static let discardedTime: Int64 = 30 * 86_400_000

    let db: Database
    let queue: QueueRowID

    // MARK: Adding

    /// Adds a mutation.
    func add(
        _ id: MutationID,
        entity: String,
        version: Int,
        json: String,
        parents: [MutationNumber],
        _ progress: MutationProgress,
        at now: MachineTime
    ) throws -> MutationNumber {
        try db.run(
            """
            INSERT INTO mist_mutation
                (queue, id, entity, version, json, created, state, is_ready, attempts, attempt_limit, next_attempt,
                is_sent, is_reported)
            VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, 0, 0)
            """,
            [
                queue, id.rawValue, entity, version, json, now, progress.state.number, progress.limit,
                progress.nextAttempt,
            ]
        )
        let number = db.lastInserted(MutationNumber.self)
        try add(parents, to: number)
        try updateReadiness(of: number)
        return number
    }

    /// Puts another content into a mutation, which depends on further ones from now on.
    func replace(_ number: MutationNumber, version: Int, json: String, parents: [MutationNumber]) throws {
        try db.run("UPDATE mist_mutation SET version = ?, json = ? WHERE number = ?", [version, json, number])
        try add(parents, to: number)
        try updateReadiness(of: number)
    }

    private func add(_ parents: [MutationNumber], to number: MutationNumber) throws {
        for parent in parents where parent != number {
            try db.run("INSERT OR IGNORE INTO mist_mutation_parent (mutation, parent) VALUES (?, ?)", [number, parent])
        }
    }

    // MARK: Finding

    func row(_ number: MutationNumber) throws -> MutationRow? {
        try db.row("SELECT \(Self.columns) FROM mist_mutation WHERE number = ?", [number]).map(Self.mutation)
    }

    /// The mutation of this queue with an identifier.
    func row(_ id: MutationID) throws -> MutationRow? {
        try db.row("SELECT \(Self.columns) FROM mist_mutation WHERE id = ? AND queue = ?", [id.rawValue, queue]).map(
            Self.mutation
        )
    }

    /// The number of a mutation of any queue of the file.
    func number(of id: MutationID) throws -> MutationNumber? {
        try db.value("SELECT number FROM mist_mutation WHERE id = ?", [id.rawValue], as: MutationNumber.self)
    }

    /// The last mutation of an entity.
    func last(of entity: String) throws -> MutationRow? {
        try db.row(
            "SELECT \(Self.columns) FROM mist_mutation WHERE queue = ? AND entity = ? ORDER BY number DESC LIMIT 1",
            [queue, entity]
        ).map(Self.mutation)
    }

    /// A page of mutations in their order.
    func page(
        of entity: String?,
        in state: MutationState?,
        after number: MutationNumber,
        limit: Int
    ) throws -> [MutationRow] {
        var condition = "queue = ? AND number > ?"
        var arguments: StatementArguments = [queue, number]
        if let entity {
            condition += " AND entity = ?"
            arguments += [entity]
        }
        if let state {
            condition += " AND \(Self.condition(state))"
        }
        return try db.rows(
            "SELECT \(Self.columns) FROM mist_mutation WHERE \(condition) ORDER BY number LIMIT ?",
            arguments + [limit]
        ).map(Self.mutation)
    }

    /// Mutations that are ready and whose time has come, the earliest time first.
    func due(at now: MachineTime, limit: Int) throws -> [MutationRow] {
        try db.rows(
            """
            SELECT \(Self.columns) FROM mist_mutation WHERE queue = ? AND \(Self.waiting) AND is_ready = 1 AND next_attempt <= ?
            ORDER BY next_attempt, number LIMIT ?
            """,
            [queue, now, limit]
        ).map(Self.mutation)
    }

    /// The time of the next attempt of a mutation that is ready.
    func earliestAttempt() throws -> MachineTime? {
        try db.value(
            "SELECT min(next_attempt) FROM mist_mutation WHERE queue = ? AND \(Self.waiting) AND is_ready = 1",
            [queue],
            as: MachineTime.self
        )
    }

    /// Whether mutations are being sent.
    var areBeingSent: Bool {
        get throws {
            try db.value(
                "SELECT EXISTS (SELECT 1 FROM mist_mutation WHERE queue = ? AND \(Self.sending))",
                [queue],
                as: Bool.self
            ) ?? false
        }
    }

    /// Mutations that are being sent, and not by one of the attempts that are under way in an epoch of the lease.
    func beingSent(besides underWay: [MutationNumber], in epoch: Int64) throws -> [MutationRow] {
        try db.rows(
            "SELECT number, epoch FROM mist_mutation WHERE queue = ? AND \(Self.sending)",
            [queue]
        ).compactMap { sent in
            let number: MutationNumber = sent[0]
            return sent[1] == epoch && underWay.contains(number) ? nil : try row(number)
        }
    }

    /// Mutations that an earlier version of the program could not read. Their column `epoch` has that version.
    func unreadable(before version: Int) throws -> [MutationRow] {
        try db.rows(
            "SELECT \(Self.columns) FROM mist_mutation WHERE queue = ? AND \(Self.condition(.unreadable)) AND epoch < ?",
            [queue, version]
        ).map(Self.mutation)
    }

    /// Failures that the program was not notified of, the earliest first.
    func unreported(limit: Int) throws -> [MutationRow] {
        try db.rows(
            """
            SELECT \(Self.columns) FROM mist_mutation
            WHERE queue = ? AND \(Self.notWaiting) AND state <> \(MutationState.sending.number) AND is_reported = 0
            ORDER BY number LIMIT ?
            """,
            [queue, limit]
        ).map(Self.mutation)
    }

    /// The mutations that depend on one.
    func children(of number: MutationNumber) throws -> [MutationNumber] {
        try MutationNumber.fetchAll(
            db.cachedStatement(sql: "SELECT mutation FROM mist_mutation_parent WHERE parent = ? ORDER BY mutation"),
            arguments: [number]
        )
    }

    /// The counts by state, and whether they are ready.
    func counts() throws -> [(state: MutationState, isReady: Bool, count: Int)] {
        try db.rows(
            "SELECT state, is_ready, count(*) AS count FROM mist_mutation WHERE queue = ? GROUP BY state, is_ready",
            [queue]
        ).compactMap { row in
            MutationState(number: row["state"]).map { ($0, row["is_ready"], row["count"]) }
        }
    }

    /// When the mutation was added that is in the queue for the longest time.
    func oldest() throws -> MachineTime? {
        try db.value(
            """
            SELECT created FROM mist_mutation WHERE number = (SELECT min(number) FROM mist_mutation WHERE queue = ?)
            """,
            [queue],
            as: MachineTime.self
        )
    }

    private static func mutation(_ row: Row) -> MutationRow {
        MutationRow(
            number: row[0],
            queue: row[1],
            id: MutationID(rawValue: row[2]),
            entity: row[3],
            version: row[4],
            json: row[5],
            created: row[6],
            isReady: row[7],
            epoch: row[8],
            progress: MutationProgress(
                // A state of another version of the library is not sent.
                state: MutationState(number: row[9]) ?? .unreadable,
                attempts: row[10],
                limit: row[11],
                nextAttempt: row[12],
                hasBeenSent: row[13],
                error: row[14],
                isReported: row[15]
            )
        )
    }

    // MARK: Changing

    /// Stores how far a mutation is.
    ///
    /// - Parameters:
    ///   - progress: The progress.
    ///   - row: The mutation, as it was.
    ///   - epoch: The epoch of the lease, for one that is being sent.
    /// - Throws: A `DatabaseError` when the file fails.
    func store(_ progress: MutationProgress, of row: MutationRow, epoch: Int64?) throws {
        try db.run(
            """
            UPDATE mist_mutation SET state = ?, attempts = ?, next_attempt = ?, is_sent = ?, error = ?, is_reported = ?,
                epoch = ?
            WHERE number = ?
            """,
            [
                progress.state.number, progress.attempts, progress.nextAttempt, progress.hasBeenSent, progress.error,
                progress.isReported, epoch, row.number,
            ]
        )
        // An adoption may have given the entity an earlier mutation, which waits for the end of this attempt.
        if row.progress.state == .sending, progress.state != .sending {
            try updateReadiness(of: row.number)
            try updateFirst(of: row.entity)
        }
    }

    func noteReported(_ number: MutationNumber) throws {
        try db.run("UPDATE mist_mutation SET is_reported = 1 WHERE number = ?", [number])
    }

    /// Lets all attempts be due: their times were made with another clock.
    func endWaits(at now: MachineTime) throws {
        try db.run(
            "UPDATE mist_mutation SET next_attempt = ?1 WHERE queue = ?2 AND \(Self.waiting) AND next_attempt > ?1",
            [now, queue]
        )
    }

    /// Removes a mutation. Those that waited for it alone are ready then.
    func remove(_ row: MutationRow) throws {
        let children = try children(of: row.number)
        try db.run("DELETE FROM mist_mutation_parent WHERE parent = ?1 OR mutation = ?1", [row.number])
        try db.run("DELETE FROM mist_mutation WHERE number = ?", [row.number])
        for child in children { try updateReadiness(of: child) }
        try updateFirst(of: row.entity)
    }

    /// Gives mutations another entity, in their order with those that it has.
    func rename(_ entity: String, to new: String) throws {
        guard entity != new else { return }
        // At most the first of each entity was ready.
        let former = try [first(of: entity), first(of: new)].compactMap(\.self)
        try db.run("UPDATE mist_mutation SET entity = ? WHERE queue = ? AND entity = ?", [new, queue, entity])
        for number in former { try updateReadiness(of: number) }
    }

    private func first(of entity: String) throws -> MutationNumber? {
        try db.value(
            "SELECT min(number) FROM mist_mutation WHERE queue = ? AND entity = ?",
            [queue, entity],
            as: MutationNumber.self
        )
    }

    private func updateFirst(of entity: String) throws {
        if let first = try first(of: entity) { try updateReadiness(of: first) }
    }

    private func updateReadiness(of number: MutationNumber) throws {
        try db.run(
            """
            UPDATE mist_mutation AS own SET is_ready =
                NOT EXISTS (
                    SELECT 1 FROM mist_mutation AS other
                    WHERE other.queue = own.queue AND other.entity = own.entity AND other.number < own.number
                ) AND NOT EXISTS (
                    SELECT 1 FROM mist_mutation AS other
                    WHERE other.queue = own.queue AND \(Self.sending)
                        AND other.entity = own.entity AND other.number <> own.number
                ) AND NOT EXISTS (SELECT 1 FROM mist_mutation_parent AS link WHERE link.mutation = own.number)
            WHERE number = ?
            """,
            [number]
        )
    }

    // MARK: Discarded mutations

    func noteDiscarded(_ id: MutationID, at now: MachineTime) throws {
        try db.run("INSERT OR REPLACE INTO mist_discarded (id, discarded_at) VALUES (?, ?)", [id.rawValue, now])
        try db.run("DELETE FROM mist_discarded WHERE discarded_at < ?", [now - Self.discardedTime])
    }

    func isDiscarded(_ id: MutationID) throws -> Bool {
        try db.value("SELECT EXISTS (SELECT 1 FROM mist_discarded WHERE id = ?)", [id.rawValue], as: Bool.self) ?? false
    }
}
