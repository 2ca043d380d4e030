import CloudKitModel
import GRDB
public import MistKit
import SQLiteTables

/// Applies a page of a followed query.
struct FollowedPage: EngineProcedure {
    let transaction: EngineTransaction
    let followed: FollowedQuery

    /// Applies the page, and begins the next step of the query where it was the last one.
    func apply(_ page: RecordPage<Record>) throws {
        guard let home = file.homeZones[.public], let zone = try zones.fetch(home) else { return }
        var newest = followed.newestOfPass
        for result in page.results {
            switch result {
            case .success(let record) where followed.phase == .pull:
                try changes.apply(record, in: zone)
                newest = max(newest, record.modified?.time ?? 0)
            case .success(let record):
                // A sweep needs to know only that the record exists.
                try knownVersions.note(zone.epoch, named: record.recordName, in: zone.id)
            case .failure(let error):
                guard let name = error.undeliveredName else {
                    return try endFailedPass(because: .undelivered, error)
                }
                try failures.noteListed(name, error, in: zone)
            }
        }
        if let marker = page.marker {
            return try followedQueries.store(continuation: marker, newest: newest, of: followed.id)
        }
        switch followed.phase {
        case .idle, .pull: try endPull(newest, in: zone)
        case .sweep: try endSweep(in: zone)
        }
    }

    /// Ends the pass of a query that failed: the service lacks an index, or does not know the record type yet; or it
    /// could not deliver a record, and does not name it. The query is sent again with the next pass, from where this
    /// pass began. Everything else goes on, so that the first record of a new type can be sent.
    func endFailedPass(because condition: SyncCondition, _ error: CloudKitError) throws {
        let interval = PollInterval.next(afterIdle: followed.idlePasses, from: configuration.pollInterval, doublings: 5)
        try followedQueries.endFailedPass(of: followed.id, dueAt: now + interval)
        try scopeState.note(condition, error.description)
    }

    private func endPull(_ newest: ServiceTime, in zone: StoredZone) throws {
        let sweepInterval = PollInterval.next(
            afterIdle: followed.idleSweeps,
            from: configuration.sweepInterval,
            doublings: 4
        )
        // A sweep in the future was noted before the clock was set back.
        let sweeps = now < followed.sweptAt || now - followed.sweptAt >= sweepInterval
        let idle = newest > followed.newest ? 0 : followed.idlePasses + 1
        let interval =
            idle == 0 ? 0 : PollInterval.next(afterIdle: idle - 1, from: configuration.pollInterval, doublings: 5)
        if sweeps { try zones.beginSweep(zone.id) }
        try followedQueries.endPull(
            of: followed.id,
            newest: newest,
            idlePasses: idle,
            dueAt: now + interval,
            then: sweeps ? .sweep : .idle
        )
    }

    private func endSweep(in zone: StoredZone) throws {
        let missing = try lookUpMissing(in: zone)
        try followedQueries.endSweep(of: followed.id, at: now, idleSweeps: missing > 0 ? 0 : followed.idleSweeps + 1)
    }

    /// Marks the records here that the query should have found, and did not find, for a lookup: they were deleted, or
    /// do not match the query any more.
    ///
    /// - Parameter zone: The zone of the records.
    /// - Returns: The number of these records.
    /// - Throws: A `DatabaseError` when the file fails.
    private func lookUpMissing(in zone: StoredZone) throws -> Int {
        guard let table = file.tables[followed.query.recordType] else { return 0 }
        var unsorted = followed.query
        unsorted.sorts = []
        let local = try LocalQuery(unsorted, in: table, zones: .zone(zone.id))
        let rows = try table.rows(local.condition, local.values, db)
        return try rows.count { try knownVersions.markMissed($0.name, in: zone) }
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
        guard !table.holdsUsers else {
            throw StoreError(
                .query,
                """
                The service answers no query about users. The record of the present user is fetched without one: \
                store.currentUser(_:).
                """,
                recordType: table.recordType
            )
        }
        var recordQuery = query.recordQuery
        recordQuery.sorts = []
        _ = try LocalQuery(recordQuery, in: table, zones: .scope(scope.number))
        try await write { [recordQuery] writer in try FollowedQueries(db: writer.db).insert(recordQuery) }
    }

    /// Ends what ``follow(_:)`` began. The records stay.
    ///
    /// - Parameter query: The query.
    /// - Throws: A ``StoreError`` when the file fails.
    public func unfollow<Model: CloudKitRecord>(_ query: Query<Model>) async throws {
        var recordQuery = query.recordQuery
        recordQuery.sorts = []
        try await write { [recordQuery] writer in try FollowedQueries(db: writer.db).remove(recordQuery) }
    }
}
