import GRDB
import MistKit
import SQLiteTables

/// The records that the service reported with an error in place of their fields, `mist_undelivered`. Each is looked up.
struct UndeliveredRecords: TableOwner {
    static let definition = """
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

    static func update(from format: Int64) -> [String] {
        switch format {
        case ..<2: [definition]
        case 2: ["ALTER TABLE mist_undelivered ADD COLUMN held_since INTEGER"]
        default: []
        }
    }

    let scope: DatabaseScope
    let db: Database
}

// MARK: - SQL for others

extension UndeliveredRecords {
    /// The names of the records of a zone, as a query.
    static func names(in zone: String) -> String { "SELECT name FROM mist_undelivered WHERE zone = \(zone)" }

    /// The zones of the records, as a query.
    static let zones = "SELECT zone FROM mist_undelivered"
}

// MARK: - Verbs

extension UndeliveredRecords {
    /// Notes a record, which is looked up at a time.
    ///
    /// - Parameters:
    ///   - name: The record's name.
    ///   - zone: Its zone.
    ///   - message: The service's message.
    ///   - time: When it is looked up.
    ///   - held: When the service named the time; `nil` for a time of the store's own choice.
    ///   - attempts: How often it was not delivered, in a row.
    /// - Throws: A `DatabaseError` when the file fails.
    func note(
        _ name: String,
        in zone: ZoneRowID,
        _ message: String,
        until time: MachineTime,
        heldSince held: MachineTime?,
        attempts: Int64
    ) throws {
        try db.run(
            """
            INSERT OR REPLACE INTO mist_undelivered (zone, name, message, until, attempts, held_since)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [zone, name, message, time, attempts, held]
        )
    }

    /// How often a record was not delivered, in a row.
    func attempts(of name: String, in zone: ZoneRowID) throws -> Int64 {
        try db.value(
            "SELECT attempts FROM mist_undelivered WHERE zone = ? AND name = ?",
            [zone, name],
            as: Int64.self
        ) ?? 0
    }

    /// Forgets a record, because it was delivered.
    ///
    /// - Returns: Whether it was noted.
    func forget(_ name: String, in zone: ZoneRowID) throws -> Bool {
        try db.run("DELETE FROM mist_undelivered WHERE zone = ? AND name = ?", [zone, name])
        return db.changesCount > 0
    }

    func forgetAll(in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_undelivered WHERE zone = ?", [zone])
    }

    func isEmpty(in zone: ZoneRowID) throws -> Bool {
        try db.value("SELECT NOT EXISTS (\(Self.names(in: "?")))", [zone], as: Bool.self) ?? true
    }

    func contains(_ name: String, in zone: ZoneRowID) throws -> Bool {
        try db.value("SELECT EXISTS (\(Self.names(in: "?")) AND name = ?)", [zone, name], as: Bool.self) ?? false
    }

    /// The messages of the scope's records, the number of records with each, and how often it was tried at most.
    func summary() throws -> [(message: String, records: Int, attempts: Int64)] {
        try db.rows(
            """
            SELECT message, count(*) AS records, max(attempts) AS attempts FROM mist_undelivered
            WHERE zone IN (\(Zones.ids(in: "?"))) GROUP BY message ORDER BY message
            """,
            [scope.number]
        ).map { ($0["message"], $0["records"], $0["attempts"]) }
    }

    /// The names of the records of a zone.
    func names(in zone: ZoneRowID) throws -> [String] {
        try String.fetchAll(db.cachedStatement(sql: Self.names(in: "?")), arguments: [zone])
    }

    /// The names of the records of a zone that are looked up now: at most 200.
    func dueNames(in zone: ZoneRowID, at now: MachineTime) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(sql: "\(Self.names(in: "?")) AND until <= ? LIMIT 200"),
            arguments: [zone, now]
        )
    }

    /// Lets all records of the scope be looked up now, except where the service has named a time.
    func endRests(at now: MachineTime) throws {
        try db.run(
            """
            UPDATE mist_undelivered SET until = 0
            WHERE zone IN (\(Zones.ids(in: "?1"))) AND (held_since IS NULL OR held_since > ?2)
            """,
            [scope.number, now]
        )
    }

    /// When the next record is looked up.
    func earliestLookup(after now: MachineTime) throws -> MachineTime? {
        try db.value(
            "SELECT min(until) FROM mist_undelivered WHERE zone IN (\(Zones.ids(in: "?"))) AND until > ?",
            [scope.number, now],
            as: MachineTime.self
        )
    }

    /// The first error that the service reported in place of a record.
    func firstMessage() throws -> String? {
        try db.value(
            "SELECT message FROM mist_undelivered WHERE zone IN (\(Zones.ids(in: "?"))) LIMIT 1",
            [scope.number],
            as: String.self
        )
    }
}
