package import CloudKitModel
package import GRDB
import MistKit
import SQLiteTables
import StreamingJSON

/// A query of the public database that the store follows, a row of `mist_follow`.
///
/// The public database has no feed of changes. So a pull fetches records in the order of their modification. It begins
/// a little before the latest modification that was seen, because the service's index lags behind. Deletes are found by
/// a sweep: the names of all records of the query are fetched, and records that are missing are looked up.
package struct FollowedQuery {
    enum Phase: Int64, DatabaseValueConvertible {
        case idle = 0
        case pull = 1
        case sweep = 2
    }

    /// How far before the latest record a pull begins, in milliseconds.
    static let overlap: Int64 = 60_000

    let id: FollowedQueryID
    let query: RecordQuery
    let newest: ServiceTime
    let newestOfPass: ServiceTime
    let phase: Phase
    let continuation: String?
    let sweptAt: MachineTime
    let idlePasses: Int64
    let idleSweeps: Int64

    fileprivate init(_ row: Row) throws {
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
        try FollowedQueries(db: db).insert(query)
    }

    /// The request for the next page.
    var request: SyncRequest {
        var query = query
        switch phase {
        case .idle, .sweep:
            return .query(query, continuation: continuation, desiredKeys: [])
        case .pull:
            if newest > 0 {
                let start = ColumnValue.date(newest.rawValue - Self.overlap)
                query.filters.append(
                    QueryFilter(system: "modifiedTimestamp", .greaterThanOrEquals, .timestamp(start))
                )
            }
            query.sorts = [QuerySort(system: "modifiedTimestamp", ascending: true)]
            return .query(query, continuation: continuation, desiredKeys: nil)
        }
    }
}

/// The queries of the public database that are kept here, `mist_follow`.
struct FollowedQueries: TableOwner {
    static let definition = """
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
        """

    let db: Database

    /// The JSON of a query, by which its row is found.
    private static func text(of query: RecordQuery) throws -> String {
        String(decoding: try JSONWriter.bytes(of: query), as: UTF8.self)
    }

    /// Begins to follow a query. A query that is followed already stays as it is.
    func insert(_ query: RecordQuery) throws {
        try db.run(
            "INSERT INTO mist_follow (query) VALUES (?) ON CONFLICT (query) DO NOTHING",
            [try Self.text(of: query)]
        )
    }

    /// Ends to follow a query.
    func remove(_ query: RecordQuery) throws {
        try db.run("DELETE FROM mist_follow WHERE query = ?", [try Self.text(of: query)])
    }

    /// All queries, in the order in which they were followed.
    func queries() throws -> [RecordQuery] {
        try db.rows("SELECT query FROM mist_follow ORDER BY id").map { row in
            try JSONReader.read(RecordQuery.self, from: row["query"] as String)
        }
    }

    /// The query whose turn it is.
    func next() throws -> FollowedQuery? {
        try db.row("SELECT * FROM mist_follow WHERE phase <> ? ORDER BY id LIMIT 1", [FollowedQuery.Phase.idle])
            .map(FollowedQuery.init)
    }

    /// A query that is being fetched.
    func fetch(_ query: FollowedQueryID) throws -> FollowedQuery? {
        try db.row("SELECT * FROM mist_follow WHERE id = ? AND phase <> ?", [query, FollowedQuery.Phase.idle])
            .map(FollowedQuery.init)
    }

    /// All queries, in the order in which they are fetched.
    func all() throws -> [FollowedQuery] {
        try db.rows("SELECT * FROM mist_follow ORDER BY id").map(FollowedQuery.init)
    }

    /// Whether a query was never fetched, or is being fetched.
    func hasPagesToFetch() throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_follow WHERE phase <> ? OR due_at = 0)",
            [FollowedQuery.Phase.idle],
            as: Bool.self
        ) ?? false
    }

    /// Begins a pass over all queries, or over those that are due.
    ///
    /// - Parameters:
    ///   - now: The time at which a query must be due; `nil` for all.
    ///   - longest: The longest interval between two passes, in milliseconds. A time further ahead was noted before the
    ///     clock was set back.
    /// - Returns: Whether a pass begins.
    /// - Throws: A `DatabaseError` when the file fails.
    func beginPasses(dueAt now: MachineTime?, longest: Int64) throws -> Bool {
        try db.run(
            """
            UPDATE mist_follow SET phase = ?3, continuation = NULL, newest_of_pass = newest
            WHERE phase = ?4 AND (?1 IS NULL OR due_at NOT BETWEEN ?1 + 1 AND ?1 + ?2)
            """,
            [now, longest, FollowedQuery.Phase.pull, FollowedQuery.Phase.idle]
        )
        return db.changesCount > 0
    }

    /// Stores the marker of the next page of a pass.
    func store(continuation: String, newest: ServiceTime, of query: FollowedQueryID) throws {
        try db.run(
            "UPDATE mist_follow SET continuation = ?, newest_of_pass = ? WHERE id = ?",
            [continuation, newest, query]
        )
    }

    /// Ends a pass that failed. The next one begins where this one began.
    func endFailedPass(of query: FollowedQueryID, dueAt due: MachineTime) throws {
        try db.run(
            """
            UPDATE mist_follow SET phase = ?, continuation = NULL, idle_passes = idle_passes + 1, due_at = ?
            WHERE id = ?
            """,
            [FollowedQuery.Phase.idle, due, query]
        )
    }

    /// Ends the pass of a query over its records.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - newest: The latest modification that was fetched.
    ///   - idlePasses: The passes in a row that found nothing new.
    ///   - due: When the next pass is due.
    ///   - next: What follows: nothing, or a sweep.
    /// - Throws: A `DatabaseError` when the file fails.
    func endPull(
        of query: FollowedQueryID,
        newest: ServiceTime,
        idlePasses: Int64,
        dueAt due: MachineTime,
        then next: FollowedQuery.Phase
    ) throws {
        try db.run(
            """
            UPDATE mist_follow SET phase = ?, continuation = NULL, newest = ?, newest_of_pass = ?, idle_passes = ?,
                due_at = ?
            WHERE id = ?
            """,
            [next, newest, newest, idlePasses, due, query]
        )
    }

    /// Ends the search for deletes.
    func endSweep(of query: FollowedQueryID, at now: MachineTime, idleSweeps: Int64) throws {
        try db.run(
            "UPDATE mist_follow SET phase = ?, continuation = NULL, swept_at = ?, idle_sweeps = ? WHERE id = ?",
            [FollowedQuery.Phase.idle, now, idleSweeps, query]
        )
    }

    /// Lets all queries be fetched from their start.
    func forgetPositions() throws {
        try db.run("UPDATE mist_follow SET newest = 0, newest_of_pass = 0, due_at = 0")
    }
}
