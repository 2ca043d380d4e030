package import CloudKitModel
package import GRDB
package import MistKit
import StreamingJSON

/// A query of the public database that the store follows, a row of `mist_follow`.
///
/// The public database has no feed of changes. So a pull fetches records in the order of their modification. It begins
/// a little before the latest modification that was seen, because the service's index lags behind. Deletes are found by
/// a sweep: the names of all records of the query are fetched, and records that are missing are looked up.
package struct FollowedQuery {
    enum Phase: Int64 {
        case idle = 0
        case pull = 1
        case sweep = 2
    }

    /// How far before the latest record a pull begins, in milliseconds.
    static let overlap: Int64 = 60_000

    let id: Int64
    let query: RecordQuery
    let newest: Int64
    let newestOfPass: Int64
    let phase: Phase
    let continuation: String?
    let sweptAt: Int64
    let idlePasses: Int64
    let idleSweeps: Int64

    private init(_ row: Row) throws {
        id = row["id"]
        query = try JSONReader.read(RecordQuery.self, from: row["query"] as String)
        newest = row["newest"]
        newestOfPass = row["newest_of_pass"]
        phase = Phase(rawValue: row["phase"]) ?? .idle
        continuation = row["continuation"]
        sweptAt = row["swept_at"]
        idlePasses = row["idle_passes"]
        idleSweeps = row["idle_sweeps"]
    }

    /// Begins to follow a query. A query that is followed already stays as it is.
    package static func insert(_ query: RecordQuery, into db: Database) throws {
        try db.run("INSERT INTO mist_follow (query) VALUES (?) ON CONFLICT (query) DO NOTHING", [try text(of: query)])
    }

    /// The JSON of a query, by which its row is found.
    fileprivate static func text(of query: RecordQuery) throws -> String {
        String(decoding: try JSONWriter.bytes(of: query), as: UTF8.self)
    }

    /// The query whose turn it is.
    static func next(_ db: Database) throws -> FollowedQuery? {
        try db.row("SELECT * FROM mist_follow WHERE phase <> 0 ORDER BY id LIMIT 1").map(FollowedQuery.init)
    }

    /// The request for the next page.
    var request: SyncRequest {
        var query = query
        switch phase {
        case .idle, .sweep:
            return .query(query, continuation: continuation, desiredKeys: [])
        case .pull:
            if newest > 0 {
                let start = ColumnValue.date(newest - Self.overlap)
                query.filters.append(
                    QueryFilter(system: "modifiedTimestamp", .greaterThanOrEquals, .timestamp(start))
                )
            }
            query.sorts = [QuerySort(system: "modifiedTimestamp", ascending: true)]
            return .query(query, continuation: continuation, desiredKeys: nil)
        }
    }
}

extension SyncEngine.Transaction {
    /// Begins a pass over all followed queries, or over those that are due.
    func beginFollowing(dueAt now: Int64? = nil) throws {
        try db.run(
            """
            UPDATE mist_follow SET phase = 1, continuation = NULL, newest_of_pass = newest
            WHERE phase = 0 AND (?1 IS NULL OR due_at NOT BETWEEN ?1 + 1 AND ?1 + ?2)
            """,
            // A time further ahead than the longest interval was noted before the clock was set back.
            [now, PollInterval.next(afterIdle: .max, from: settings.pollInterval, doublings: 5)]
        )
        guard db.changesCount > 0 else { return }
        try db.run(
            "UPDATE mist_scope SET condition = NULL, detail = NULL WHERE id = ? AND condition = 'schema'",
            [scope.number]
        )
    }

    /// Handles the refusal of the query whose turn it was: the service lacks an index, or does not know the record type
    /// yet. Everything else goes on, so that the first record of a new type can be sent.
    func handleRefusedQuery(_ error: CloudKitError, at now: Int64) throws {
        guard let followed = try FollowedQuery.next(db) else { return }
        try endPass(of: followed, because: .schema, error, at: now)
    }

    /// Ends the pass of a query that failed. The query is sent again with the next pass, from where this pass began.
    private func endPass(
        of followed: FollowedQuery,
        because condition: SyncCondition,
        _ error: CloudKitError,
        at now: Int64
    ) throws {
        let interval = PollInterval.next(afterIdle: followed.idlePasses, from: settings.pollInterval, doublings: 5)
        try db.run(
            """
            UPDATE mist_follow SET phase = 0, continuation = NULL, idle_passes = idle_passes + 1, due_at = ? WHERE id = ?
            """,
            [now + interval, followed.id]
        )
        try db.run(
            "UPDATE mist_scope SET failures = 0, rests_until = 0, condition = ?, detail = ? WHERE id = ?",
            [condition.rawValue, error.description, scope.number]
        )
    }

    /// Applies a page of the query whose turn it was.
    func handleFollowed(
        _ results: [Result<CloudKitModel.Record, CloudKitError>],
        continuation: String?,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        guard let followed = try FollowedQuery.next(db), let home = file.homeZones[.public],
            let zone = try ZoneRow.fetch(home, db)
        else { return }
        var newest = followed.newestOfPass
        for result in results {
            switch result {
            case .success(let record):
                if followed.phase == .pull {
                    try apply(record, in: zone, at: now, &summary)
                    newest = max(newest, record.modified?.milliseconds ?? 0)
                } else {
                    try db.run(
                        "UPDATE mist_record SET epoch = ? WHERE zone = ? AND name = ?",
                        [zone.epoch, zone.id, record.recordName]
                    )
                }
            case .failure(let error):
                // A sweep needs to know only that the record exists.
                guard try lookUpListed(error, in: zone, at: now) else {
                    return try endPass(of: followed, because: .undelivered, error, at: now)
                }
            }
        }
        if let continuation {
            return try db.run(
                "UPDATE mist_follow SET continuation = ?, newest_of_pass = ? WHERE id = ?",
                [continuation, newest, followed.id]
            )
        }
        switch followed.phase {
        case .idle, .pull:
            let sweepInterval = PollInterval.next(
                afterIdle: followed.idleSweeps,
                from: settings.sweepInterval,
                doublings: 4
            )
            // A sweep in the future was noted before the clock was set back.
            let sweeps = now < followed.sweptAt || now - followed.sweptAt >= sweepInterval
            let idle = newest > followed.newest ? 0 : followed.idlePasses + 1
            let interval =
                idle == 0 ? 0 : PollInterval.next(afterIdle: idle - 1, from: settings.pollInterval, doublings: 5)
            if sweeps { try db.run("UPDATE mist_zone SET epoch = epoch + 1 WHERE id = ?", [zone.id]) }
            try db.run(
                """
                UPDATE mist_follow SET phase = ?, continuation = NULL, newest = ?, newest_of_pass = ?, idle_passes = ?,
                    due_at = ?
                WHERE id = ?
                """,
                [sweeps ? 2 : 0, newest, newest, idle, now + interval, followed.id]
            )
        case .sweep:
            let isMissing = try lookUpMissing(of: followed, in: zone)
            try db.run(
                """
                UPDATE mist_follow SET phase = 0, continuation = NULL, swept_at = ?, idle_sweeps = ? WHERE id = ?
                """,
                [now, isMissing ? 0 : followed.idleSweeps + 1, followed.id]
            )
        }
    }

    /// Marks the records here that the query should have found, and did not find, for a lookup: they were deleted, or
    /// do not match the query any more.
    ///
    /// - Parameters:
    ///   - followed: The query.
    ///   - zone: The zone of its records.
    /// - Returns: Whether there are such records.
    /// - Throws: A `DatabaseError` when the file fails.
    private func lookUpMissing(of followed: FollowedQuery, in zone: ZoneRow) throws -> Bool {
        guard let table = file.tables[followed.query.recordType] else { return false }
        var isMissing = false
        var unsorted = followed.query
        unsorted.sorts = []
        let local = try LocalQuery(unsorted, in: table, zones: .zone(zone.id))
        for row in try table.rows(local.condition, local.values, db) {
            try db.run(
                """
                UPDATE mist_record SET is_conflicting = 1
                WHERE zone = ? AND name = ? AND tag IS NOT NULL AND epoch <> ?
                """,
                [zone.id, row.name, zone.epoch]
            )
            isMissing = isMissing || db.changesCount > 0
        }
        return isMissing
    }

    /// Lets the engine send changes of a zone again after the outcome of every operation is known: from a lookup, or
    /// because a followed query brought the record.
    func settleOutcomes() throws {
        try db.run(
            """
            UPDATE mist_zone SET is_uncertain = 0, is_stale = 0
            WHERE scope = ? AND is_uncertain = 1 AND (scope = 0 OR is_stale = 0) AND NOT EXISTS (
                SELECT 1 FROM mist_sent WHERE mist_sent.zone = mist_zone.id AND is_uncertain = 1
            )
            """,
            [scope.number]
        )
    }
}

/// The intervals of a repeated request: longer while nothing changes.
enum PollInterval {
    /// The wait after some unchanged replies in a row: a pure decision.
    ///
    /// - Parameters:
    ///   - count: The number of unchanged replies in a row.
    ///   - first: The shortest wait, in milliseconds.
    ///   - doublings: The largest number of times that the wait is doubled.
    /// - Returns: The wait, in milliseconds.
    static func next(afterIdle count: Int64, from first: Int64, doublings: Int64) -> Int64 {
        first << min(max(count, 0), doublings)
    }
}

extension LocalDatabase {
    /// Keeps the records of a query of the public database on this machine.
    ///
    /// ```swift
    /// try await store.publicDatabase.follow(Query<Article> { Filter(\.feed == feed) })
    /// try await store.sync()
    /// // POST …/public/records/query {"query":{"recordType":"Article","filterBy":[…],
    /// //   "sortBy":[{"systemFieldName":"modifiedTimestamp","ascending":true}]}}
    /// ```
    ///
    /// Where nothing has changed, a synchronisation costs one request for each query, as long as the records of the
    /// last minute before the latest modification fit in a page. ``MistStore/run()`` asks for a query less and less
    /// often while nothing changes: from every half minute to every 16 minutes. To find deletes, the store fetches the
    /// names of all records, with a request for each page: every quarter of an hour, and down to every four hours while
    /// none is missing.
    ///
    /// The service must have the indexes of the query, and `modifiedTimestamp` must be QUERYABLE and SORTABLE. Reading
    /// needs no user.
    ///
    /// - Parameter query: The query. Its sorts and its limit are not used.
    /// - Throws: A ``StoreError``: `query` for another scope than the public one, and for a query that the store cannot
    ///   answer; `unknownRecordType` when the store was opened without the type.
    public func follow<Model: CloudKitRecord>(_ query: Query<Model>) async throws {
        guard scope == .public else {
            throw StoreError(
                .query,
                "Only queries of the public database are followed; the other scopes are kept whole."
            )
        }
        let table = try file.table(of: Model.recordType)
        var recordQuery = query.recordQuery
        recordQuery.sorts = []
        _ = try LocalQuery(recordQuery, in: table, zones: .scope(scope.number))
        try await write { [recordQuery] writer in try FollowedQuery.insert(recordQuery, into: writer.db) }
    }

    /// Ends what ``follow(_:)`` began. The records stay.
    ///
    /// - Parameter query: The query.
    /// - Throws: A ``StoreError`` when the file fails.
    public func unfollow<Model: CloudKitRecord>(_ query: Query<Model>) async throws {
        var recordQuery = query.recordQuery
        recordQuery.sorts = []
        let text = try FollowedQuery.text(of: recordQuery)
        try await write { writer in try writer.db.run("DELETE FROM mist_follow WHERE query = ?", [text]) }
    }
}
