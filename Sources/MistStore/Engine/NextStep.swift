import CloudKitModel
import GRDB
import MistKit

/// A row of `mist_request`.
struct RequestRow {
    let number: Int64
    let kind: SyncRequest.Kind
    let zone: Int64?
    let sent: Int64
    /// Whether it was an atomic `modify`.
    let isAtomic: Bool
}

// MARK: - What to do next

extension SyncEngine.Transaction {
    /// Decides on the next step, the first of these that applies: wait, find out which zones changed, fetch their
    /// changes, fetch a page of a followed query, look up the records that conflict, create zones, send changes, look up
    /// the records that the service could not deliver.
    func next(at now: Int64) throws -> SyncEngine.Step {
        // The caller sends one request at a time.
        try abandonRequest()
        let row = try scopeRow()
        if row.condition == .signedOut { return .blocked(.signedOut) }
        if let end = row.end(at: now) { return .wait(until: end) }
        if scope != .public {
            if let step = try userStep(at: now) { return step }
            if row.isStale {
                return try begin(.databaseChanges(since: row.token), zone: nil, at: now)
            }
            // A zone that is read from its start may be a new zone of the same name: records that do not come are gone.
            try db.run(
                """
                UPDATE mist_zone SET is_refetching = 1, epoch = epoch + 1
                WHERE scope = ? AND is_stale = 1 AND state = 1 AND token IS NULL AND is_refetching = 0
                """,
                [scope.number]
            )
            let stale = try zonesToFetch(at: now)
            if !stale.isEmpty {
                let cursors = stale.map { SyncRequest.ZoneCursor(zoneID: $0.zoneID, token: $0.token) }
                return try begin(.zoneChanges(cursors), zone: nil, at: now)
            }
        }
        if scope == .public {
            if let followed = try FollowedQuery.next(db) { return try begin(followed.request, zone: nil, at: now) }
        }
        try settleOutcomes()
        let conflicting = """
            state = 1 AND (
                is_uncertain = 1 OR id IN (SELECT zone FROM mist_record WHERE is_conflicting = 1)
                OR id IN (SELECT zone FROM mist_tombstone WHERE is_conflicting = 1)
            )
            """
        for zone in try ZoneRow.all(in: scope, where: conflicting, db) {
            let names = try namesToLookUp(in: zone, at: now)
            guard !names.isEmpty else { continue }
            return try begin(.lookup(names, zone: zone.zoneID), zone: zone.id, at: now)
        }
        let mayPush = row.pushRestsUntil <= now
        let refusal = try mayPush && scope == .public && hasChanges() ? userStep(at: now) : nil
        if let refusal, case .send = refusal { return refusal }
        if mayPush, refusal == nil, let step = try nextPush(row, at: now) { return step }
        // Last, so that a lookup that fails delays nothing.
        for zone in try ZoneRow.all(in: scope, where: "id IN (SELECT zone FROM mist_undelivered)", db) {
            let names = try undeliveredNames(in: zone, at: now)
            if !names.isEmpty { return try begin(.lookup(names, zone: zone.zoneID), zone: zone.id, at: now) }
        }
        if let refusal { return refusal }
        let times = [try earliestRetry(after: now), row.pushRestsUntil > now ? row.pushRestsUntil : nil]
        return times.compactMap(\.self).min().map { .wait(until: $0) } ?? .idle
    }

    /// The next request that sends changes: it creates zones, or modifies records.
    private func nextPush(_ row: ScopeRow, at now: Int64) throws -> SyncEngine.Step? {
        let missing = try ZoneRow.all(in: scope, where: "state <> 1", db).filter { try hasPendingWork(in: $0.id) }
        if scope != .public, !missing.isEmpty {
            return try begin(.createZones(missing.prefix(200).map(\.zoneID)), zone: nil, at: now)
        }
        if let batch = try PushBatch.next(in: self, limit: min(row.batch, settings.batchSize), at: now) {
            let request = SyncRequest.modify(batch.operations, zone: batch.zone.zoneID, isAtomic: batch.isAtomic)
            return try begin(request, zone: batch.zone.id, at: now)
        }
        return nil
    }

    /// The zones whose changes one request fetches at a time.
    func zonesToFetch(at time: Int64) throws -> ArraySlice<ZoneRow> {
        let isDue = "is_stale = 1 AND state = 1 AND (rests_until <= \(time) OR held_since > \(time))"
        return try ZoneRow.all(in: scope, where: isDue, db).prefix(SyncRequest.zonesPerRequest)
    }

    /// The names of the records that must be looked up before they are sent again.
    ///
    /// - Parameters:
    ///   - zone: The zone.
    ///   - time: The time of the request. Records that the service could not deliver come later.
    /// - Returns: At most 200 names.
    /// - Throws: A `DatabaseError` when the file fails.
    func namesToLookUp(in zone: ZoneRow, at time: Int64) throws -> [String] {
        let isUncertain = scope == .public && zone.isUncertain
        return try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT name FROM (
                        SELECT name FROM mist_record WHERE zone = ?1 AND is_conflicting = 1
                        UNION SELECT name FROM mist_tombstone WHERE zone = ?1 AND is_conflicting = 1
                        UNION SELECT name FROM mist_sent WHERE zone = ?1 AND is_uncertain = 1 AND ?2
                    )
                    WHERE name NOT IN (SELECT name FROM mist_undelivered WHERE zone = ?1 AND until > ?3)
                    LIMIT 200
                    """
            ),
            arguments: [zone.id, isUncertain, time]
        )
    }

    /// The names of the records that the service could not deliver, and that are looked up at a time: at most 200.
    func undeliveredNames(in zone: ZoneRow, at time: Int64) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(sql: "SELECT name FROM mist_undelivered WHERE zone = ? AND until <= ? LIMIT 200"),
            arguments: [zone.id, time]
        )
    }

    /// Whether a zone that does not exist at the service has edits to be sent.
    private func hasPendingWork(in zone: Int64) throws -> Bool {
        try file.orderedTables.contains { table in
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
    }

    private func earliestRetry(after now: Int64) throws -> Int64? {
        try db.value(
            """
            SELECT min(until) FROM (
                SELECT until FROM mist_parked JOIN mist_zone ON mist_zone.id = zone WHERE scope = ?2
                UNION ALL SELECT until FROM mist_undelivered JOIN mist_zone ON mist_zone.id = zone WHERE scope = ?2
                UNION ALL SELECT rests_until FROM mist_zone WHERE scope = ?2 AND is_stale = 1 AND state = 1
            )
            WHERE until > ?1
            """,
            [now, scope.number],
            as: Int64.self
        )
    }
}

// MARK: - The request under way

extension SyncEngine.Transaction {
    func requestUnderWay() throws -> RequestRow? {
        try db.row("SELECT * FROM mist_request WHERE scope = ?", [scope.number]).map { row in
            RequestRow(
                number: row["number"],
                kind: SyncRequest.Kind(rawValue: row["kind"]) ?? .lookup,
                zone: row["zone"],
                sent: row["sent"],
                isAtomic: row["is_atomic"]
            )
        }
    }

    func begin(
        _ request: SyncRequest,
        zone: Int64?,
        at now: Int64
    ) throws -> SyncEngine.Step {
        try db.run("UPDATE mist_scope SET last_request = last_request + 1 WHERE id = ?", [scope.number])
        let next = try db.value("SELECT last_request FROM mist_scope WHERE id = ?", [scope.number], as: Int64.self) ?? 0
        try db.run(
            "INSERT INTO mist_request (scope, number, kind, zone, sent, is_atomic) VALUES (?, ?, ?, ?, ?, ?)",
            [scope.number, next, request.kind.rawValue, zone, now, request.isAtomic]
        )
        return .send(request, number: next)
    }

    func endRequest() throws {
        try db.run("DELETE FROM mist_request WHERE scope = ?", [scope.number])
    }

    /// Gives up the request under way. Changes that it carried have an unknown outcome.
    func abandonRequest() throws {
        guard let request = try requestUnderWay() else { return }
        if request.kind == .modify, let zone = request.zone {
            try outcomeIsUnknown(inZone: zone)
        } else {
            try endRequest()
        }
    }

    /// Marks the operations under way as unknown. They are not repeated before their zone has been read to its end.
    func outcomeIsUnknown(inZone zone: Int64) throws {
        try db.run("UPDATE mist_sent SET is_uncertain = 1 WHERE zone = ?", [zone])
        try db.run("UPDATE mist_zone SET is_uncertain = 1, is_stale = 1 WHERE id = ?", [zone])
        try endRequest()
    }
}

// MARK: - The state of the scope

/// A row of `mist_scope`.
struct ScopeRow {
    let token: String?
    let isStale: Bool
    let restsUntil: Int64
    let pushRestsUntil: Int64
    /// When the service named a time, and the time.
    let held: (since: Int64, until: Int64)
    let condition: SyncCondition?
    /// What the service says about the condition.
    let detail: String?
    let failures: Int
    /// The most records of the next request, as far as the replies tell.
    let batch: Int64

    init(_ row: Row?) {
        let condition: String? = row?["condition"]
        token = row?["token"]
        isStale = row?["is_stale"] ?? false
        restsUntil = row?["rests_until"] ?? 0
        pushRestsUntil = row?["push_rests_until"] ?? 0
        held = (row?["held_since"] ?? 0, row?["held_until"] ?? 0)
        self.condition = condition.flatMap(SyncCondition.init)
        detail = row?["detail"]
        failures = row?["failures"] ?? 0
        batch = row?["batch"] ?? 200
    }

    /// Whether the changed zones were listed, since the beginning of the last synchronisation.
    var isListed: Bool { token != nil && !isStale }

    /// The end of the wait of all requests; `nil` when none has to wait.
    ///
    /// A time that the service named holds, unless the clock was set back since then.
    func end(at now: Int64) -> Int64? {
        let end = max(restsUntil, held.since <= now ? held.until : 0)
        return end > now ? end : nil
    }

    /// The end of the waits of all requests and of those that push; `nil` when neither has to wait.
    func endOfPushes(at now: Int64) -> Int64? {
        [end(at: now), pushRestsUntil > now ? pushRestsUntil : nil].compactMap(\.self).max()
    }
}

extension SyncEngine.Transaction {
    func scopeRow() throws -> ScopeRow {
        ScopeRow(try db.row("SELECT * FROM mist_scope WHERE id = ?", [scope.number]))
    }

    /// Asks for changes. Waits of the store's own choice end; the times that the service named hold.
    ///
    /// - Parameters:
    ///   - includingFailed: Whether to ask at once, too, for what the service could not deliver.
    ///   - now: The machine's time in milliseconds since 1970.
    /// - Throws: A `DatabaseError` when the file fails.
    func markStale(includingFailed: Bool, at now: Int64) throws {
        // The zones of a request are those that were due when it was sent.
        try abandonRequest()
        if includingFailed {
            let isOurs = "(held_since IS NULL OR held_since > ?2)"
            try db.run(
                "UPDATE mist_zone SET rests_until = 0 WHERE scope = ?1 AND \(isOurs)",
                [scope.number, now]
            )
            try db.run(
                """
                UPDATE mist_undelivered SET until = 0
                WHERE zone IN (SELECT id FROM mist_zone WHERE scope = ?1) AND \(isOurs)
                """,
                [scope.number, now]
            )
        }
        try db.run(
            """
            UPDATE mist_scope SET is_stale = 1, rests_until = 0,
                condition = CASE condition WHEN 'signedOut' THEN NULL ELSE condition END
            WHERE id = ?
            """,
            [scope.number]
        )
    }

    /// Removes the edits of rows that are gone, and the notes about them. `INSERT OR REPLACE` removes a row without its
    /// delete trigger, and no other table has a record that was never sent.
    func removeOrphanedEdits() throws {
        for table in file.orderedTables {
            try db.run(
                "DELETE FROM mist_edit WHERE type = ? AND row NOT IN (SELECT _id FROM \(table.name))",
                [table.id]
            )
            try forgetUnreadable(of: table)
        }
    }

    /// Converts the machine's time into the service's time, both in milliseconds since 1970.
    func serviceTime(_ now: Int64) throws -> Int64 {
        now + (try db.value("SELECT clock_offset FROM mist_state", as: Int64.self) ?? 0)
    }
}
