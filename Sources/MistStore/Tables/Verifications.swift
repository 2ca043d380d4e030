import GRDB
import MistKit
import SQLiteTables

/// The verification of a scope that is under way, or the last one: a row of `mist_verification`.
struct VerificationRow {
    enum Step: String, DatabaseValueConvertible {
        /// It was asked for. The list of zones is fetched from its start.
        case requested
        /// Zones are listed and compared.
        case comparing
        case done
    }

    let number: Int64
    let mode: VerificationMode
    let depth: VerificationDepth
    let step: Step
    /// The last request that listed records.
    let request: RequestNumber?
    let ended: MachineTime?

    fileprivate init(_ row: Row) {
        number = row["number"]
        mode = VerificationMode(rawValue: row["mode"]) ?? .compare
        depth = VerificationDepth(rawValue: row["depth"]) ?? .versions
        step = Step(rawValue: row["step"]) ?? .done
        request = row["request"]
        ended = row["ended"]
    }
}

/// A zone of a verification, a row of `mist_verified_zone`.
struct VerifiedZone {
    enum Step: String, DatabaseValueConvertible {
        /// The names and tags of all records are fetched.
        case listing
        /// The zone is fetched once more, and then the list is brought up to date.
        case checking
        case compared
        /// The service did not list the records.
        case failed
    }

    /// How often the zone is fetched while other devices change it. Records that change in the last round are left out.
    static let mostRounds: Int64 = 4
    /// How often the list is begun again, after the service has refused its token.
    static let mostBeginnings: Int64 = 3

    let id: ZoneRowID
    let step: Step
    /// Where the list goes on: the token of a feed, or the marker of the next page of a query.
    let position: String?
    /// The query that is listed, in the public database.
    let query: FollowedQueryID?
    /// The number of times that the list was brought up to date; 0 while it is made.
    let round: Int64
    /// How often the list was begun.
    let beginnings: Int64
    /// When the list was begun, by the service's clock.
    let since: ServiceTime
    let listed: Int
    let result: Comparison
    let failure: String?

    /// The result of the comparison of a zone.
    struct Comparison {
        var compared = 0
        var skipped = 0
        var here = ""
        var there = ""
    }

    fileprivate init(_ row: Row) {
        id = row["zone"]
        step = Step(rawValue: row["step"]) ?? .failed
        position = row["position"]
        query = row["query"]
        round = row["round"]
        beginnings = row["beginnings"]
        since = row["since"]
        listed = row["listed"]
        result = Comparison(
            compared: row["compared"],
            skipped: row["skipped"],
            here: row["here"] ?? "",
            there: row["there"] ?? ""
        )
        failure = row["failure"]
    }
}

/// A difference that a verification has found, a row of `mist_difference`.
struct StoredDifference {
    let zone: ZoneRowID
    let name: String
    let type: String?
    let kind: VerificationDifference.Kind
    let mode: VerificationMode
    let outcome: VerificationDifference.Outcome
}

/// Verifications: `mist_verification`, `mist_verified_zone`, `mist_listed` and `mist_difference`.
///
/// A program without the tables does not miss them, so they need no new format.
struct Verifications: TableOwner {
    static let definition = """
        -- The comparison of a scope with the service that is under way, or the last one.
        CREATE TABLE IF NOT EXISTS mist_verification (
            scope INTEGER PRIMARY KEY,
            -- Grows with each verification.
            number INTEGER NOT NULL,
            -- compare, repair, resync
            mode TEXT NOT NULL,
            -- versions, values
            depth TEXT NOT NULL,
            -- requested, comparing, done
            step TEXT NOT NULL,
            -- The last request that listed records. A reply to another one is not applied.
            request INTEGER,
            -- The machine's time.
            ended INTEGER
        );
        CREATE TABLE IF NOT EXISTS mist_verified_zone (
            zone INTEGER PRIMARY KEY,
            -- listing, checking, compared, failed
            step TEXT NOT NULL,
            -- Where the list goes on.
            position TEXT,
            -- Of the public database: the query that is listed.
            query INTEGER,
            round INTEGER NOT NULL DEFAULT 0,
            beginnings INTEGER NOT NULL DEFAULT 1,
            -- When the list was begun. The service's time.
            since INTEGER NOT NULL,
            listed INTEGER NOT NULL DEFAULT 0,
            compared INTEGER NOT NULL DEFAULT 0,
            -- Records that could not be compared, because they changed meanwhile or were not delivered.
            skipped INTEGER NOT NULL DEFAULT 0,
            -- SHA-256 of the names and tags.
            here TEXT,
            there TEXT,
            failure TEXT
        );
        -- What the service has, by its own list.
        CREATE TABLE IF NOT EXISTS mist_listed (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            type TEXT,
            -- NULL where the service listed an error.
            tag TEXT,
            modified INTEGER,
            -- The round in which it was listed last.
            round INTEGER NOT NULL,
            is_deleted INTEGER NOT NULL,
            -- 1: the row here had this tag, and other values.
            has_other_values INTEGER NOT NULL,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS mist_difference (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            type TEXT,
            kind TEXT NOT NULL,
            -- That of the verification that found it.
            mode TEXT NOT NULL,
            outcome TEXT NOT NULL,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        """

    let scope: DatabaseScope
    let db: Database
}

// MARK: - The verification

extension Verifications {
    func latest() throws -> VerificationRow? {
        try db.row("SELECT * FROM mist_verification WHERE scope = ?", [scope.number]).map(VerificationRow.init)
    }

    /// The verification that is not done.
    func underWay() throws -> VerificationRow? { try latest().flatMap { $0.step == .done ? nil : $0 } }

    /// Asks for a verification. It replaces one that is under way, unless that one is the same.
    ///
    /// - Parameters:
    ///   - mode: What is done about differences.
    ///   - depth: What is compared.
    /// - Throws: A `DatabaseError` when the file fails.
    func request(_ mode: VerificationMode, _ depth: VerificationDepth) throws {
        if let current = try underWay(), current.mode == mode, current.depth == depth { return }
        try forgetList()
        try db.run("DELETE FROM mist_verified_zone WHERE zone IN (\(Zones.ids(in: "?")))", [scope.number])
        // A difference that waits is resolved as the verification that found it promised.
        try db.run(
            "DELETE FROM mist_difference WHERE zone IN (\(Zones.ids(in: "?"))) AND outcome <> ?",
            [scope.number, VerificationDifference.Outcome.waiting.rawValue]
        )
        try db.run(
            """
            INSERT INTO mist_verification (scope, number, mode, depth, step) VALUES (?1, 1, ?2, ?3, ?4)
            ON CONFLICT (scope) DO UPDATE SET
                number = number + 1, mode = ?2, depth = ?3, step = ?4, request = NULL, ended = NULL
            """,
            [scope.number, mode.rawValue, depth.rawValue, VerificationRow.Step.requested]
        )
    }

    func begin() throws {
        try db.run(
            "UPDATE mist_verification SET step = ? WHERE scope = ?",
            [VerificationRow.Step.comparing, scope.number]
        )
    }

    /// Notes the request that lists records.
    func setRequest(_ request: RequestNumber) throws {
        try db.run("UPDATE mist_verification SET request = ? WHERE scope = ?", [request, scope.number])
    }

    /// Ends the verification. Its report stays.
    func end(at now: MachineTime) throws {
        try forgetList()
        try db.run(
            "UPDATE mist_verification SET step = ?, request = NULL, ended = ? WHERE scope = ?",
            [VerificationRow.Step.done, now, scope.number]
        )
    }

    private func forgetList() throws {
        try db.run("DELETE FROM mist_listed WHERE zone IN (\(Zones.ids(in: "?")))", [scope.number])
    }
}

// MARK: - Zones

extension Verifications {
    /// Adds the zones that are compared. Those that are compared already stay as they are.
    func add(_ zones: [StoredZone], query: FollowedQueryID? = nil, since: ServiceTime) throws {
        for zone in zones {
            try db.run(
                """
                INSERT INTO mist_verified_zone (zone, step, query, since) VALUES (?, ?, ?, ?)
                ON CONFLICT (zone) DO NOTHING
                """,
                [zone.id, VerifiedZone.Step.listing, query, since]
            )
        }
    }

    func zones() throws -> [VerifiedZone] {
        try db.rows(
            "SELECT * FROM mist_verified_zone WHERE zone IN (\(Zones.ids(in: "?"))) ORDER BY zone",
            [scope.number]
        ).map(VerifiedZone.init)
    }

    /// The zone whose turn it is; `nil` when all are compared.
    func next() throws -> VerifiedZone? {
        try zones().first { $0.step == .listing || $0.step == .checking }
    }

    func forget(_ zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_verified_zone WHERE zone = ?", [zone])
        try db.run("DELETE FROM mist_listed WHERE zone = ?", [zone])
        try db.run("DELETE FROM mist_difference WHERE zone = ?", [zone])
    }

    /// Notes that a page of the list was stored.
    func store(position: String?, listed: Int, of zone: ZoneRowID) throws {
        try db.run(
            "UPDATE mist_verified_zone SET position = ?, listed = listed + ? WHERE zone = ?",
            [position, listed, zone]
        )
    }

    /// Begins to list the records of another query.
    func list(_ query: FollowedQueryID, of zone: ZoneRowID) throws {
        try db.run("UPDATE mist_verified_zone SET query = ?, position = NULL WHERE zone = ?", [query, zone])
    }

    /// Begins another round: the zone is fetched, and then the list is brought up to date.
    func beginRound(of zone: ZoneRowID) throws {
        try db.run(
            "UPDATE mist_verified_zone SET step = ?, round = round + 1 WHERE zone = ?",
            [VerifiedZone.Step.checking, zone]
        )
    }

    /// Begins the list again, after its token was refused.
    func beginAgain(_ zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_listed WHERE zone = ?", [zone])
        try db.run(
            """
            UPDATE mist_verified_zone SET step = ?, position = NULL, round = 0, listed = 0, beginnings = beginnings + 1
            WHERE zone = ?
            """,
            [VerifiedZone.Step.listing, zone]
        )
    }

    func fail(_ zone: ZoneRowID, _ message: String) throws {
        try db.run(
            "UPDATE mist_verified_zone SET step = ?, failure = ? WHERE zone = ?",
            [VerifiedZone.Step.failed, message, zone]
        )
    }

    func store(_ result: VerifiedZone.Comparison, of zone: ZoneRowID) throws {
        try db.run(
            """
            UPDATE mist_verified_zone SET step = ?, compared = ?, skipped = ?, here = ?, there = ? WHERE zone = ?
            """,
            [VerifiedZone.Step.compared, result.compared, result.skipped, result.here, result.there, zone]
        )
    }
}

// MARK: - The list

extension Verifications {
    /// Notes a record that the service has listed.
    func list(
        _ name: String,
        _ record: Record?,
        hasOtherValues: Bool,
        in zone: VerifiedZone
    ) throws {
        try db.run(
            """
            INSERT OR REPLACE INTO mist_listed (zone, name, type, tag, modified, round, is_deleted, has_other_values)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                zone.id, name, record?.recordType, record?.recordChangeTag, record?.modified?.time, zone.round,
                record?.isDeleted ?? false, hasOtherValues,
            ]
        )
    }

    /// Whether the list has changed in the present round.
    func hasChanged(_ zone: VerifiedZone) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_listed WHERE zone = ? AND round = ?)",
            [zone.id, zone.round],
            as: Bool.self
        ) ?? false
    }

    /// What the service has listed of a zone, in the order of the names.
    func listed(
        _ zone: VerifiedZone
    ) throws -> MapCursor<RowCursor, (name: String, record: VerificationComparison.Listed)> {
        let statement = try db.makeStatement(
            sql: """
                SELECT name, type, tag, modified, round, is_deleted, has_other_values
                FROM mist_listed WHERE zone = ? ORDER BY name
                """
        )
        return try Row.fetchCursor(statement, arguments: [zone.id]).map { row in
            let round: Int64 = row[4]
            return (
                row[0],
                VerificationComparison.Listed(
                    type: row[1],
                    tag: row[2],
                    modified: row[3],
                    isMoving: zone.step == .checking && zone.query == nil && round == zone.round,
                    isDeleted: row[5],
                    hasOtherValues: row[6]
                )
            )
        }
    }
}

// MARK: - Differences

extension Verifications {
    /// Notes a difference. One that waits keeps the mode of the verification that found it, unless the present one
    /// repairs.
    func insert(_ difference: StoredDifference) throws {
        try db.run(
            """
            INSERT INTO mist_difference (zone, name, type, kind, mode, outcome) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (zone, name) DO UPDATE SET type = ?3, kind = ?4,
                mode = CASE WHEN ?5 = ?7 THEN mode ELSE ?5 END, outcome = CASE WHEN ?5 = ?7 THEN outcome ELSE ?6 END
            """,
            [
                difference.zone, difference.name, difference.type, difference.kind.rawValue, difference.mode.rawValue,
                difference.outcome.rawValue, VerificationMode.compare.rawValue,
            ]
        )
    }

    func differences(in zone: ZoneRowID) throws -> [StoredDifference] {
        try db.rows("SELECT * FROM mist_difference WHERE zone = ? ORDER BY name", [zone]).map(StoredDifference.init)
    }

    /// The difference of a record that waits for a lookup.
    func waiting(_ name: String, in zone: ZoneRowID) throws -> StoredDifference? {
        try db.row(
            "SELECT * FROM mist_difference WHERE zone = ? AND name = ? AND outcome = ?",
            [zone, name, VerificationDifference.Outcome.waiting.rawValue]
        ).map(StoredDifference.init)
    }

    /// Notes what was done about a difference that waited.
    func resolve(_ name: String, in zone: ZoneRowID, _ outcome: VerificationDifference.Outcome) throws {
        try db.run(
            "UPDATE mist_difference SET outcome = ? WHERE zone = ? AND name = ? AND outcome = ?",
            [outcome.rawValue, zone, name, VerificationDifference.Outcome.waiting.rawValue]
        )
    }
}

extension StoredDifference {
    fileprivate init(_ row: Row) {
        zone = row["zone"]
        name = row["name"]
        type = row["type"]
        kind = VerificationDifference.Kind(rawValue: row["kind"]) ?? .otherVersion
        mode = VerificationMode(rawValue: row["mode"]) ?? .compare
        outcome = VerificationDifference.Outcome(rawValue: row["outcome"]) ?? .reported
    }
}
