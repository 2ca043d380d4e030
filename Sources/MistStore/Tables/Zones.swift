import GRDB
import MistKit
import SQLiteTables

/// A row of `mist_zone`.
struct StoredZone: Sendable {
    enum State: Int64, DatabaseValueConvertible {
        /// It is not known whether the zone exists.
        case unknown = 0
        case exists = 1
        case gone = 2
    }

    let id: ZoneRowID
    let scope: DatabaseScope
    let zoneID: ZoneID
    let state: State
    let token: ZoneChangeToken?
    let isStale: Bool
    let isUncertain: Bool
    let avoidsAtomic: Bool
    private(set) var epoch: Int64
    let isRefetching: Bool
    /// Failures in a row.
    let failures: Int64

    fileprivate init(_ row: Row) {
        id = row["id"]
        scope = DatabaseScope(number: row["scope"]) ?? .private
        zoneID = ZoneID(stored: row["name"], owner: row["owner"])
        state = State(rawValue: row["state"]) ?? .unknown
        token = (row["token"] as String?).flatMap(ZoneChangeToken.init)
        isStale = row["is_stale"]
        isUncertain = row["is_uncertain"]
        avoidsAtomic = row["avoids_atomic"]
        epoch = row["epoch"]
        isRefetching = row["is_refetching"]
        failures = row["failures"]
    }

    static func fetch(_ id: ZoneRowID, _ db: Database) throws -> StoredZone? {
        try db.row("SELECT * FROM mist_zone WHERE id = ?", [id]).map(StoredZone.init)
    }

    /// The zone before its fetch from the start began. What is stored as of then, and not met by the fetch, is swept.
    var beforeRefetch: StoredZone {
        var zone = self
        zone.epoch -= 1
        return zone
    }

    /// The name and the owner of a zone alone, which every query reads once.
    static func zoneID(_ id: ZoneRowID, _ db: Database) throws -> ZoneID? {
        let statement = try db.cachedStatement(sql: "SELECT name, owner FROM mist_zone WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id]).map { ZoneID(stored: $0[0], owner: $0[1]) }
    }
}

extension ZoneID {
    /// A zone of the columns `name` and `owner`. An empty owner is the user.
    fileprivate init(stored name: String, owner: String) {
        self.init(zoneName: name, ownerRecordName: owner.isEmpty ? nil : owner)
    }
}

/// The zones of a scope, `mist_zone`: what is known of them, and what of them is to be fetched.
struct Zones: TableOwner {
    static let guarded = ["mist_zone"]

    static let definition = """
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
        """

    static func update(from format: Int64) -> [String] {
        var columns: [String] = []
        if format < 2 {
            columns += [
                "rests_until INTEGER NOT NULL DEFAULT 0", "failures INTEGER NOT NULL DEFAULT 0", "failure TEXT",
            ]
        }
        if format < 3 { columns.append("held_since INTEGER") }
        var statements = columns.map { "ALTER TABLE mist_zone ADD COLUMN \($0)" }
        if format < 4 {
            // The operations of a request under way have an unknown outcome.
            statements.append(
                "UPDATE mist_zone SET is_uncertain = 1, is_stale = 1 WHERE id IN (\(SentOperations.zones))"
            )
        }
        return statements
    }

    let scope: DatabaseScope
    let db: Database
}

// MARK: - SQL for others

extension Zones {
    /// How messages call the numbers of zones.
    static let numbers = "mist_zone.id"

    /// The numbers of all zones of the file.
    static let ids = "SELECT id FROM mist_zone"

    /// The numbers of the zones of a scope, whose number is an SQL expression.
    static func ids(in scope: String) -> String { "SELECT id FROM mist_zone WHERE scope = \(scope)" }

    /// The numbers of the zones of a scope that are not gone. Rows of zones that are gone are being removed.
    static func presentIDs(in scope: String) -> String {
        "SELECT id FROM mist_zone WHERE scope = \(scope) AND state <> \(StoredZone.State.gone.rawValue)"
    }

    /// The number of the zone that was added last, as an expression.
    static let latest = "(SELECT max(id) FROM mist_zone)"

    /// The number of private zones that the service has, or will have for the rows of this file, as an expression.
    ///
    /// - Parameters:
    ///   - tables: The tables of the record types.
    ///   - home: The zone of rows that are inserted without one.
    /// - Returns: The expression.
    static func count(withRowsOf tables: [RecordTable], home: ZoneRowID) -> String {
        let rows = tables.map { "EXISTS (SELECT 1 FROM \($0.name) WHERE _zone = mist_zone.id)" }
        let isUsed =
            rows.isEmpty
            ? "" : " OR (state = \(State.unknown.rawValue) AND id <> \(home) AND (\(rows.joined(separator: " OR "))))"
        let scope = DatabaseScope.private.number
        return "(SELECT count(*) FROM mist_zone WHERE scope = \(scope) AND (state = \(State.exists.rawValue)\(isUsed)))"
    }

    private typealias State = StoredZone.State

    /// A statement that adds a private zone.
    static func insertion(named name: String, if condition: String) -> String {
        "INSERT INTO mist_zone (scope, name) SELECT \(DatabaseScope.private.number), \(name) WHERE \(condition);"
    }
}

// MARK: - Which zones

extension Zones {
    func fetch(_ id: ZoneRowID) throws -> StoredZone? { try StoredZone.fetch(id, db) }

    /// The zones of the scope that match a condition, in the order of their numbers: all of them, unless there is a
    /// limit.
    private func rows(
        _ condition: String,
        _ arguments: StatementArguments = [],
        limit: Int? = nil
    ) throws -> [StoredZone] {
        try db.rows(
            "SELECT * FROM mist_zone WHERE scope = ? AND \(condition) ORDER BY id LIMIT ?",
            // SQLite takes a negative number as no limit.
            [scope.number] + arguments + [limit ?? -1]
        ).map(StoredZone.init)
    }

    /// The zones whose changes one request fetches now.
    func toFetch(at now: MachineTime) throws -> [StoredZone] {
        try rows(
            "is_stale AND state = ? AND (rests_until <= ? OR held_since > ?)",
            [State.exists, now, now],
            limit: SyncRequest.zonesPerRequest
        )
    }

    /// The errors that the service reported in place of the changes of zones, with the failures in a row.
    func allFailures() throws -> [(message: String, failures: Int64)] {
        try db.rows(
            "SELECT failure, failures FROM mist_zone WHERE scope = ? AND failure IS NOT NULL ORDER BY id",
            [scope.number]
        ).map { ($0["failure"], $0["failures"]) }
    }

    /// All zones of the scope.
    func all() throws -> [StoredZone] { try rows("true") }

    /// The zones that exist, except for the default zone, which has no feed.
    func withFeed() throws -> [StoredZone] {
        try rows("state = ? AND name <> ?", [State.exists, ZoneID.default.zoneName])
    }

    /// The zones that the service is not known to have.
    func missing() throws -> [StoredZone] { try rows("state <> ?", [State.exists]) }

    /// The zones to which changes may be sent. A zone that is read from its start may be a new zone of the same name.
    func open() throws -> [StoredZone] {
        try rows("state = ? AND NOT is_uncertain AND NOT (is_stale AND is_refetching)", [State.exists])
    }

    /// The zones in which records may have to be looked up before they are sent again.
    func withConflicts() throws -> [StoredZone] {
        try rows(
            """
            state = ? AND (
                is_uncertain OR id IN (\(KnownVersions.zonesWithConflicts)) OR id IN (\(Tombstones.zonesWithConflicts))
            )
            """,
            [State.exists]
        )
    }

    /// The zones of records that the service could not deliver.
    func withUndeliveredRecords() throws -> [StoredZone] { try rows("id IN (\(UndeliveredRecords.zones))") }

    /// Whether a zone is the only one of the scope that is not gone.
    func isOnly(_ zone: ZoneRowID) throws -> Bool {
        try db.value(
            "SELECT NOT EXISTS (\(Self.presentIDs(in: "?")) AND id <> ?)",
            [scope.number, zone],
            as: Bool.self
        ) ?? false
    }

    /// The owner of a zone as the table has it: it is left out, except in the shared scope.
    private func owner(of zone: ZoneID) -> String { scope == .shared ? zone.owner ?? "" : "" }

    /// The number of a zone. A zone that the file does not have yet gets a row.
    func identifier(of zone: ZoneID) throws -> ZoneRowID {
        let owner = owner(of: zone)
        let state: State = zone.zoneName == ZoneID.default.zoneName ? .exists : .unknown
        try db.run(
            """
            INSERT INTO mist_zone (scope, name, owner, state) VALUES (?, ?, ?, ?)
            ON CONFLICT (scope, owner, name) DO NOTHING
            """,
            [scope.number, zone.zoneName, owner, state]
        )
        return try db.value(
            "SELECT id FROM mist_zone WHERE scope = ? AND owner = ? AND name = ?",
            [scope.number, owner, zone.zoneName],
            as: ZoneRowID.self
        ) ?? 0
    }

    /// The number of a zone; `nil` for a zone that is gone, or that the file does not have.
    func number(of zone: ZoneID) throws -> ZoneRowID? {
        try db.value(
            "SELECT id FROM mist_zone WHERE scope = ? AND name = ? AND owner = ? AND state <> ?",
            [scope.number, zone.zoneName, owner(of: zone), State.gone],
            as: ZoneRowID.self
        )
    }

    /// The zones of the scope by their numbers, in a file of any format.
    func identifiers() throws -> [ZoneRowID: ZoneID] {
        let rows = try db.rows("SELECT id, name, owner FROM mist_zone WHERE scope = ?", [scope.number])
        return Dictionary(uniqueKeysWithValues: rows.map { ($0["id"], ZoneID(stored: $0["name"], owner: $0["owner"])) })
    }

    /// The first zone that the scope ever had. It is the default of the tables' column `_zone`.
    func first() throws -> ZoneRowID? {
        try db.value("SELECT min(id) FROM mist_zone WHERE scope = ?", [scope.number], as: ZoneRowID.self)
    }

    /// The zones with changes to be fetched.
    func stale() throws -> [ZoneRowID] {
        try ZoneRowID.fetchAll(
            db.cachedStatement(sql: "SELECT id FROM mist_zone WHERE scope = ? AND is_stale ORDER BY id"),
            arguments: [scope.number]
        )
    }

    /// The first error that the service reported in place of the changes of a zone.
    func firstFailure() throws -> String? {
        try db.value(
            "SELECT failure FROM mist_zone WHERE scope = ? AND is_stale AND failures > 0 LIMIT 1",
            [scope.number],
            as: String.self
        )
    }

    /// When the changes of a zone that rests are fetched again.
    func earliestFetch(after now: MachineTime) throws -> MachineTime? {
        try db.value(
            "SELECT min(rests_until) FROM mist_zone WHERE scope = ? AND is_stale AND state = ? AND rests_until > ?",
            [scope.number, State.exists, now],
            as: MachineTime.self
        )
    }
}

// MARK: - What is to be fetched

extension Zones {
    /// Lets the changes of a zone be fetched.
    func markStale(_ zone: ZoneRowID) throws {
        try db.run("UPDATE mist_zone SET is_stale = 1 WHERE id = ?", [zone])
    }

    /// Lets the changes of all zones that exist be fetched.
    func markAllStale() throws {
        try db.run("UPDATE mist_zone SET is_stale = 1 WHERE scope = ? AND state = ?", [scope.number, State.exists])
    }

    /// Lets the changes of all zones that exist be fetched, except for the default zone, which has no feed.
    func markAllWithFeedStale() throws {
        try db.run(
            "UPDATE mist_zone SET is_stale = 1 WHERE scope = ? AND state = ? AND name <> ?",
            [scope.number, State.exists, ZoneID.default.zoneName]
        )
    }

    /// Lets the changes of the zones with a name be fetched, where they exist.
    ///
    /// - Returns: Whether there is such a zone.
    func markStale(named name: String) throws -> Bool {
        try db.run(
            "UPDATE mist_zone SET is_stale = 1 WHERE scope = ? AND name = ? AND state = ?",
            [scope.number, name, State.exists]
        )
        return db.changesCount > 0
    }

    /// Lets the zone be fetched where deletes wait for its end.
    func markStaleForReportedDeletes(_ zone: ZoneRowID) throws {
        try db.run(
            "UPDATE mist_zone SET is_stale = 1 WHERE id = ?1 AND EXISTS (\(ReportedDeletes.all(in: "?1")))",
            [zone]
        )
    }

    /// Begins to fetch the stale zones without a token from their start. Each may be a new zone of the same name, so
    /// records that do not come are gone.
    func beginRefetches() throws {
        try db.run(
            """
            UPDATE mist_zone SET is_refetching = 1, epoch = epoch + 1
            WHERE scope = ? AND is_stale AND state = ? AND token IS NULL AND NOT is_refetching
            """,
            [scope.number, State.exists]
        )
    }

    /// Begins to fetch a zone from its start, after the service has refused its token.
    func beginRefetch(_ zone: ZoneRowID) throws {
        try db.run(
            "UPDATE mist_zone SET token = NULL, epoch = epoch + 1, is_refetching = 1 WHERE id = ?",
            [zone]
        )
    }

    /// Begins to search for the records of a zone that are gone: those that are not met carry an earlier number.
    func beginSweep(_ zone: ZoneRowID) throws {
        try db.run("UPDATE mist_zone SET epoch = epoch + 1 WHERE id = ?", [zone])
    }

    func endRefetch(_ zone: ZoneRowID) throws {
        try db.run("UPDATE mist_zone SET is_refetching = 0 WHERE id = ?", [zone])
    }

    /// Stores the token behind a page of a zone's changes.
    func store(token: ZoneChangeToken, of zone: ZoneRowID) throws {
        try db.run(
            "UPDATE mist_zone SET token = ?, rests_until = 0, held_since = NULL WHERE id = ?",
            [token.text, zone]
        )
    }

    /// Ends the fetch of a zone that was read to its end. Its operations of unknown outcome have a known one then,
    /// except for those that are still stored as sent.
    func markRead(_ zone: ZoneRowID) throws {
        try db.run(
            """
            UPDATE mist_zone SET is_stale = 0, is_uncertain = EXISTS (\(SentOperations.all(in: "?1"))),
                failures = 0, failure = NULL
            WHERE id = ?1
            """,
            [zone]
        )
    }

    /// Lets a zone rest, because the service could not deliver its changes.
    ///
    /// - Parameters:
    ///   - zone: The zone.
    ///   - time: The end of the rest.
    ///   - failure: The service's message.
    ///   - held: When the service named the time; `nil` for a time of the store's own choice.
    /// - Throws: A `DatabaseError` when the file fails.
    func rest(
        _ zone: ZoneRowID,
        until time: MachineTime,
        because failure: String,
        heldSince held: MachineTime?
    ) throws {
        try db.run(
            "UPDATE mist_zone SET rests_until = ?, failures = failures + 1, failure = ?, held_since = ? WHERE id = ?",
            [time, failure, held, zone]
        )
    }

    /// Ends the rests of the store's own choice.
    func endRests(at now: MachineTime) throws {
        try db.run(
            "UPDATE mist_zone SET rests_until = 0 WHERE scope = ? AND (held_since IS NULL OR held_since > ?)",
            [scope.number, now]
        )
    }
}

// MARK: - What is known

extension Zones {
    /// Notes that the service has a zone.
    func markExisting(_ zone: ZoneRowID) throws {
        try db.run("UPDATE mist_zone SET state = ? WHERE id = ?", [State.exists, zone])
    }

    /// Notes that a zone is gone. There is nothing to fetch from it.
    func markGone(_ zone: ZoneRowID) throws {
        try db.run(
            """
            UPDATE mist_zone SET state = ?, token = NULL, is_stale = 0, is_uncertain = 0, is_refetching = 0,
                rests_until = 0, failures = 0, failure = NULL
            WHERE id = ?
            """,
            [State.gone, zone]
        )
    }

    /// Notes that a zone has operations of unknown outcome. Nothing is sent to it before it was read to its end.
    func markUncertain(_ zone: ZoneRowID) throws {
        try db.run("UPDATE mist_zone SET is_uncertain = 1, is_stale = 1 WHERE id = ?", [zone])
    }

    /// Notes that the zones of all sent operations have operations of unknown outcome.
    static func markUncertainWhereSent(_ db: Database) throws {
        try db.run("UPDATE mist_zone SET is_uncertain = 1, is_stale = 1 WHERE id IN (\(SentOperations.zones))")
    }

    /// Lets changes be sent to the zones again whose operations all have a known outcome: from a lookup, or because a
    /// followed query brought the record.
    ///
    /// A zone with a feed that is to be read is read first; the public scope has no feed.
    func settleOutcomes() throws {
        try db.run(
            """
            UPDATE mist_zone SET is_uncertain = 0, is_stale = 0
            WHERE scope = ? AND is_uncertain AND (? OR NOT is_stale)
                AND NOT EXISTS (\(SentOperations.uncertain(in: "mist_zone.id")))
            """,
            [scope.number, scope == .public]
        )
    }

    /// Chooses whether the next request of a zone may be atomic.
    func setAvoidsAtomic(_ avoids: Bool, _ zone: ZoneRowID) throws {
        try db.run("UPDATE mist_zone SET avoids_atomic = ? WHERE id = ?", [avoids, zone])
    }

    /// Removes the private zones whose records were all removed before they were sent.
    func removeUnused(except home: ZoneRowID?, tables: [RecordTable]) throws {
        let rows = tables.map { "SELECT 1 FROM \($0.name) WHERE _zone = mist_zone.id" }
        guard !rows.isEmpty else { return }
        try db.run(
            """
            DELETE FROM mist_zone WHERE scope = ? AND state = ? AND id <> ?
                AND NOT EXISTS (\(rows.joined(separator: " UNION ALL ")))
            """,
            [scope.number, State.unknown, home]
        )
    }
}

// MARK: - Repair

extension Zones {
    /// Whether the file has no zone of a number.
    static func lacks(_ zone: ZoneRowID, _ db: Database) throws -> Bool {
        try db.value("SELECT NOT EXISTS (\(ids) WHERE id = ?)", [zone], as: Bool.self) ?? false
    }

    /// Adds a zone of a given number again.
    func restore(_ zone: ZoneRowID, name: String, state: StoredZone.State, isStale: Bool) throws {
        try db.run(
            """
            INSERT INTO mist_zone (id, scope, name, state, is_stale, epoch)
                VALUES (?1, ?2, ?3, ?4, ?5, (\(KnownVersions.latestEpoch(in: "?1")))) ON CONFLICT DO NOTHING
            """,
            [zone, scope.number, name, state, isStale]
        )
    }

    /// Whether a zone of the file was fetched before.
    static func hasTokens(_ db: Database) throws -> Bool {
        try db.value("SELECT EXISTS (\(ids) WHERE token IS NOT NULL)", as: Bool.self) ?? false
    }

    /// Lets all zones of the file that were fetched before be fetched from their start.
    static func forgetTokens(_ db: Database) throws {
        try db.run("UPDATE mist_zone SET token = NULL, is_stale = 1 WHERE token IS NOT NULL")
    }
}
