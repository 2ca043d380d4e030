import GRDB
import MistKit
import SQLiteTables

/// What the service refused, or cannot be sent, `mist_parked`: it waits for an edit, for a newer program, or for
/// `retryParked()`. New records below it wait, too, and have no rows.
struct Parking: TableOwner {
    static let definition = """
        -- What the service refused: it waits for an edit, for a newer program, or for retryParked().
        CREATE TABLE mist_parked (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            reason TEXT NOT NULL,
            -- Sealed where the file is: the service may quote a value.
            message TEXT NOT NULL,
            -- When what was refused was read from the tables: a later edit is a new attempt.
            since INTEGER NOT NULL,
            -- Tried again by itself at this time; NULL: not by itself.
            until INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        """

    let scope: DatabaseScope
    let db: Database
    let sealer: FieldSealer?
}

// MARK: - SQL for others

extension Parking {
    /// A row if the current row of a type's table is parked now. A record that was refused without a time for the next
    /// attempt is sent again after an edit.
    ///
    /// - Parameters:
    ///   - table: The number of the type.
    ///   - now: The machine's time, as an expression.
    /// - Returns: The query.
    static func blocking(_ table: TableID, at now: String) -> String {
        """
        SELECT 1 FROM mist_parked AS parked WHERE parked.zone = _zone AND parked.name = _recordName
            AND CASE WHEN parked.until IS NOT NULL THEN parked.until > \(now) ELSE NOT EXISTS (
                \(PendingEdits.later(than: "parked.since", of: table))
            ) END
        """
    }

    /// A row if a record is parked until a later time, or for good.
    static func delaying(_ name: String, in zone: String, at now: String) -> String {
        """
        SELECT 1 FROM mist_parked AS parked WHERE parked.zone = \(zone)
            AND parked.name = \(name) AND (parked.until IS NULL OR parked.until > \(now))
        """
    }

    /// The parked records that the service does not have: their zone, their name, a null, and the time of the next
    /// attempt.
    static let newRecords = """
        SELECT zone, name, NULL, until FROM mist_parked AS parked
        WHERE NOT EXISTS (\(KnownVersions.acknowledged("parked.name", in: "parked.zone")))
        """

    /// A statement of triggers that forgets parked records.
    static func deletion(where condition: String) -> String { "DELETE FROM mist_parked WHERE \(condition);" }
}

// MARK: - Verbs

extension Parking {
    /// The number of parked records for each reason, with the time since when the first of them waits.
    func summary() throws -> [(reason: String, records: Int, since: MachineTime)] {
        try db.rows(
            """
            SELECT reason, count(*) AS records, min(since) AS since FROM mist_parked
            WHERE zone IN (\(Zones.ids(in: "?"))) GROUP BY reason ORDER BY reason
            """,
            [scope.number]
        ).map { ($0["reason"], $0["records"], $0["since"]) }
    }

    /// The names of the parked records of a zone.
    func names(in zone: ZoneRowID) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(sql: "SELECT name FROM mist_parked WHERE zone = ?"),
            arguments: [zone]
        )
    }

    /// Parks a record: it is not sent again for now.
    ///
    /// - Parameters:
    ///   - name: The record's name.
    ///   - reason: The reason.
    ///   - message: The service's message.
    ///   - zone: Its zone.
    ///   - until: When the record is sent again without an edit; `nil` for never.
    ///   - since: When the refused values were read from the tables. A later edit is a new attempt, also an edit that
    ///     was made while the request was under way.
    /// - Throws: A `DatabaseError` when the file fails.
    func park(
        _ name: String,
        because reason: ParkingReason,
        _ message: String,
        in zone: ZoneRowID,
        until: MachineTime? = nil,
        since: MachineTime
    ) throws {
        try db.run(
            """
            INSERT INTO mist_parked (zone, name, reason, message, since, until, attempts) VALUES (?, ?, ?, ?, ?, ?, 1)
            ON CONFLICT (zone, name) DO UPDATE SET
                reason = excluded.reason, message = excluded.message, since = excluded.since, until = excluded.until,
                attempts = attempts + 1
            """,
            [zone, name, reason.rawValue, try sealer.sealed(message: message, of: name), since, until]
        )
    }

    /// Seals the messages of a file that was not sealed.
    func sealMessages() throws {
        for row in try db.rows("SELECT zone, name, message FROM mist_parked WHERE typeof(message) = 'text'") {
            let (name, message): (String, String) = (row["name"], row["message"])
            try db.run(
                "UPDATE mist_parked SET message = ? WHERE zone = ? AND name = ?",
                [try sealer.sealed(message: message, of: name), row["zone"] as ZoneRowID, name]
            )
        }
    }

    /// How often a record was parked in a row.
    func attempts(of name: String, in zone: ZoneRowID) throws -> Int64 {
        try db.value("SELECT attempts FROM mist_parked WHERE zone = ? AND name = ?", [zone, name], as: Int64.self) ?? 0
    }

    func forget(_ name: String, in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_parked WHERE zone = ? AND name = ?", binding: [ColumnValue(zone), .text(name)])
    }

    func forgetAll(in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_parked WHERE zone = ?", [zone])
    }

    /// Lets all parked records of the scope be sent again.
    func forgetAll() throws {
        try db.run("DELETE FROM mist_parked WHERE zone IN (\(Zones.ids(in: "?")))", [scope.number])
    }

    /// Lets records whose values no field can have be read again for the next push: the program's types may have
    /// changed, and an edit that repairs a value counts as older than the parking where the clock was ahead.
    func checkValuesAgain() throws {
        try db.run(
            "DELETE FROM mist_parked WHERE reason = ? AND zone IN (\(Zones.ids(in: "?")))",
            [ParkingReason.value.rawValue, scope.number]
        )
    }

    /// When the next parked record is sent again.
    func earliestRetry(after now: MachineTime) throws -> MachineTime? {
        try db.value(
            "SELECT min(until) FROM mist_parked WHERE zone IN (\(Zones.ids(in: "?"))) AND until > ?",
            [scope.number, now],
            as: MachineTime.self
        )
    }

    /// The parked records of the scope, in the order of their names.
    func records() throws -> [ParkedRecord] {
        try db.rows(
            """
            SELECT name, reason, message, until FROM mist_parked WHERE zone IN (\(Zones.ids(in: "?"))) ORDER BY name
            """,
            [scope.number]
        ).map { ParkedRecord($0, sealer) }
    }

    /// The parked record of a name, unless it is sent again because of a later edit.
    ///
    /// - Parameters:
    ///   - name: The record's name.
    ///   - zone: Its zone.
    ///   - row: Its row; `nil` for a deleted record.
    ///   - table: The number of its type.
    /// - Returns: The record with the reason.
    /// - Throws: A `DatabaseError` when the file fails.
    func record(
        _ name: String,
        in zone: ZoneRowID,
        row: RecordRowID?,
        of table: TableID
    ) throws -> ParkedRecord? {
        try db.row(
            """
            SELECT name, reason, message, until FROM mist_parked WHERE zone = ?1 AND name = ?2 AND (
                until IS NOT NULL OR NOT EXISTS (\(PendingEdits.laterOfParameters(than: "mist_parked.since")))
            )
            """,
            [zone, name, table, row]
        ).map { ParkedRecord($0, sealer) }
    }
}

extension ParkedRecord {
    /// Reads a row of `mist_parked`.
    fileprivate init(_ row: Row, _ sealer: FieldSealer?) {
        let until: MachineTime? = row["until"]
        let name: String = row["name"]
        self.init(
            recordName: name,
            reason: ParkingReason(rawValue: row["reason"]),
            message: sealer.opened(message: row["message"], of: name),
            until: until.map(ColumnValue.date)
        )
    }
}
