import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The moves of this device: those that are not at their end, `mist_move`, and the others, `mist_moved`; and the deletes
/// that wait until all zones were read, `mist_held`.
///
/// A moved row is in its new zone at once. What the service has of it in the former zone stays in ``KnownVersions``
/// until the service has the copies of the whole move; then it becomes a tombstone.
struct Moves: TableOwner {
    static let definition = """
        -- A record that was moved here to another zone: a row for each zone that it was moved from, until the service has
        -- deleted the record there.
        CREATE TABLE mist_move (
            type INTEGER NOT NULL,
            -- The row of the type's table. It is in the new zone.
            row INTEGER NOT NULL,
            -- The former zone, and the name there.
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            -- The call that moved the record: the old records of one call are deleted together.
            number INTEGER NOT NULL,
            -- How far below the record that was named in the call: children are deleted first.
            depth INTEGER NOT NULL,
            -- In the service's time; and as the machine's clock had it.
            time INTEGER NOT NULL,
            raw INTEGER NOT NULL,
            -- The name of the former parent.
            parent TEXT,
            -- mist_edits of the former record, once its delete is pending.
            times BLOB,
            PRIMARY KEY (type, row, zone)
        ) WITHOUT ROWID;
        CREATE INDEX mist_move_zone ON mist_move (zone, name);
        -- The moves of this device that are at their end, for some days: another device may still add records below a
        -- record in its former zone.
        CREATE TABLE mist_moved (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            type INTEGER NOT NULL,
            row INTEGER NOT NULL,
            parent TEXT,
            raw INTEGER NOT NULL,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        -- Deletes that the service has reported, and that are decided on when all zones were read: the record may have
        -- been moved.
        CREATE TABLE mist_held (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            -- 1: the record was deleted here as well.
            is_deleted_here INTEGER NOT NULL,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        """

    static func update(from format: Int64) -> [String] { format < 6 ? [definition] : [] }

    /// A row of `mist_move`.
    struct Entry {
        let type: TableID
        let row: RecordRowID
        let zone: ZoneRowID
        let name: String
        let number: Int64
        let depth: Int64
        let time: ServiceTime
        let raw: MachineTime
        /// The name of the former parent.
        let parent: String?
        /// The edit times of the former record, once its delete is pending.
        let times: EditTimes?

        fileprivate init(_ row: Row, _ sealer: FieldSealer?) throws {
            type = row["type"]
            self.row = row["row"]
            zone = row["zone"]
            name = row["name"]
            number = row["number"]
            depth = row["depth"]
            time = row["time"]
            raw = row["raw"]
            parent = row["parent"]
            times = try sealer.opened(times: row["times"], of: name).flatMap { EditTimes($0) }
        }
    }

    /// A record that was moved out of a zone, at its end or not.
    struct Departure {
        let zone: ZoneRowID
        let name: String
        let type: TableID
        let row: RecordRowID
        let parent: String?
    }

    /// A row of `mist_held`.
    struct Held {
        let zone: ZoneRowID
        let name: String
        let isDeletedHere: Bool
    }

    let db: Database
    let sealer: FieldSealer?
}

// MARK: - SQL for others

extension Moves {
    /// A row if the delete of the current row of a type's table is to be decided on.
    static let holding = "SELECT 1 FROM mist_held AS held WHERE held.zone = _zone AND held.name = _recordName"

    /// A row if a record is being moved out of a zone: `name` and `zone` are expressions.
    static func ofRecord(_ name: String, from zone: String) -> String {
        "SELECT 1 FROM mist_move AS move WHERE move.zone = \(zone) AND move.name = \(name)"
    }

    /// The names in a zone of which a delete is to be decided on. The service does not have the records any more.
    static func heldNames(in zone: String) -> String { "SELECT name FROM mist_held WHERE zone = \(zone)" }
}

// MARK: - Moves

extension Moves {
    /// Whether there is neither a move nor a delete to be decided on.
    var isEmpty: Bool {
        get throws {
            try db.value(
                """
                SELECT NOT EXISTS (SELECT 1 FROM mist_move) AND NOT EXISTS (SELECT 1 FROM mist_held)
                    AND NOT EXISTS (SELECT 1 FROM mist_moved)
                """,
                as: Bool.self
            ) ?? true
        }
    }

    /// The number of the next call.
    func nextNumber() throws -> Int64 {
        try db.value("SELECT coalesce(max(number), 0) + 1 FROM mist_move", as: Int64.self) ?? 1
    }

    /// Notes that a row was moved out of a zone.
    func insert(
        _ row: LocalRow,
        of table: TableID,
        from zone: ZoneRowID,
        number: Int64,
        depth: Int64,
        time: ServiceTime,
        raw: MachineTime,
        parent: String?
    ) throws {
        try db.run(
            """
            INSERT INTO mist_move (type, row, zone, name, number, depth, time, raw, parent)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (type, row, zone) DO NOTHING
            """,
            [table, row.id, zone, row.name, number, depth, time, raw, parent]
        )
    }

    /// The move of a record out of a zone.
    func entry(of name: String, from zone: ZoneRowID) throws -> Entry? {
        try db.row("SELECT * FROM mist_move WHERE zone = ? AND name = ?", [zone, name]).map { try Entry($0, sealer) }
    }

    /// The names of the records that are moved out of a zone, and were not deleted there yet.
    func names(from zone: ZoneRowID) throws -> [String] {
        try db.rows("SELECT name FROM mist_move WHERE zone = ?", [zone]).map { $0["name"] }
    }

    /// The moves of a row, the latest first.
    func entries(of row: RecordRowID, _ table: TableID) throws -> [Entry] {
        try db.rows("SELECT * FROM mist_move WHERE type = ? AND row = ? ORDER BY number DESC", [table, row])
            .map { try Entry($0, sealer) }
    }

    /// All moves, those of one call together.
    func all() throws -> [Entry] {
        try db.rows("SELECT * FROM mist_move ORDER BY number, depth DESC, row").map { try Entry($0, sealer) }
    }

    /// Notes the edit times of the former record, whose delete is pending now.
    func setTimes(_ times: EditTimes, of entry: Entry) throws {
        try db.run(
            "UPDATE mist_move SET times = ? WHERE type = ? AND row = ? AND zone = ?",
            [try sealer.sealed(times: Data(times.bytes), of: entry.name), entry.type, entry.row, entry.zone]
        )
    }

    /// Seals the edit times of a file that was not sealed.
    func sealTimes() throws {
        for row in try db.rows("SELECT type, row, zone, name, times FROM mist_move WHERE times IS NOT NULL") {
            try db.run(
                "UPDATE mist_move SET times = ? WHERE type = ? AND row = ? AND zone = ?",
                [
                    try sealer.sealed(times: row["times"], of: row["name"]), row["type"] as TableID,
                    row["row"] as RecordRowID, row["zone"] as ZoneRowID,
                ]
            )
        }
    }

    /// Changes the call and the time of a move whose copy was never sent: the record moves on.
    func renew(_ entry: Entry, number: Int64, depth: Int64, time: ServiceTime, raw: MachineTime) throws {
        try db.run(
            """
            UPDATE mist_move SET number = ?, depth = ?, time = ?, raw = ? WHERE type = ? AND row = ? AND zone = ?
            """,
            [number, depth, time, raw, entry.type, entry.row, entry.zone]
        )
    }

    /// Changes the former zone of a move: another device has moved the record before.
    func setZone(_ zone: ZoneRowID, of entry: Entry) throws {
        try db.run(
            "UPDATE mist_move SET zone = ? WHERE type = ? AND row = ? AND zone = ?",
            [zone, entry.type, entry.row, entry.zone]
        )
    }

    func forget(_ entry: Entry) throws {
        try db.run(
            "DELETE FROM mist_move WHERE type = ? AND row = ? AND zone = ?",
            [entry.type, entry.row, entry.zone]
        )
    }

    /// Ends the move of a record out of a zone: the service has deleted the record there.
    func end(_ name: String, from zone: ZoneRowID) throws {
        try db.run(
            """
            INSERT INTO mist_moved (zone, name, type, row, parent, raw)
                SELECT zone, name, type, row, parent, raw FROM mist_move WHERE zone = ? AND name = ?
                ON CONFLICT (zone, name) DO UPDATE SET
                    type = excluded.type, row = excluded.row, parent = excluded.parent, raw = excluded.raw
            """,
            [zone, name]
        )
        try db.run("DELETE FROM mist_move WHERE zone = ? AND name = ?", [zone, name])
    }

    /// The records that were moved out of their zones since a time, at their end or not.
    func departures(since time: MachineTime) throws -> [Departure] {
        try db.run("DELETE FROM mist_moved WHERE raw < ?", [time])
        return try db.rows(
            """
            SELECT zone, name, type, row, parent FROM mist_move
            UNION ALL SELECT zone, name, type, row, parent FROM mist_moved ORDER BY 1, 2
            """
        ).map {
            Departure(zone: $0["zone"], name: $0["name"], type: $0["type"], row: $0["row"], parent: $0["parent"])
        }
    }

    /// Whether this device has moved a record out of a zone, and the move is at its end.
    func isDeparted(_ name: String, from zone: ZoneRowID) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_moved WHERE zone = ? AND name = ?)",
            [zone, name],
            as: Bool.self
        ) ?? false
    }

    /// Forgets that a record was moved out of a zone: it is there again.
    func forgetDeparture(of name: String, from zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_moved WHERE zone = ? AND name = ?", [zone, name])
    }

    /// Forgets the moves out of a zone that are at their end, and the deletes in it: the zone is gone.
    func forgetEnded(from zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_moved WHERE zone = ?", [zone])
        try db.run("DELETE FROM mist_held WHERE zone = ?", [zone])
    }
}

extension StoreFile {
    /// The row of a move; `nil` where it was removed, also if a later row has its number.
    func row(of entry: Moves.Entry, _ db: Database) throws -> (row: LocalRow, table: RecordTable)? {
        guard let table = tablesByID[entry.type], let row = try table.row(id: entry.row, db), row.name == entry.name
        else { return nil }
        return (row, table)
    }
}

// MARK: - Deletes to be decided on

extension Moves {
    func hold(_ name: String, in zone: ZoneRowID, isDeletedHere: Bool) throws {
        try db.run(
            "INSERT INTO mist_held (zone, name, is_deleted_here) VALUES (?, ?, ?) ON CONFLICT (zone, name) DO NOTHING",
            [zone, name, isDeletedHere]
        )
    }

    /// Whether the delete of a record that was deleted here as well is to be decided on.
    func holdsOwnDelete(of name: String, in zone: ZoneRowID) throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_held WHERE zone = ? AND name = ? AND is_deleted_here)",
            [zone, name],
            as: Bool.self
        ) ?? false
    }

    /// The deletes that are to be decided on.
    func held() throws -> [Held] {
        try db.rows("SELECT zone, name, is_deleted_here FROM mist_held ORDER BY zone, name")
            .map { Held(zone: $0["zone"], name: $0["name"], isDeletedHere: $0["is_deleted_here"]) }
    }

    /// Releases the deletes of a record that was deleted here as well, because that was taken back.
    func releaseOwnDeletes(of name: String, in scope: DatabaseScope) throws {
        try db.run(
            "DELETE FROM mist_held WHERE name = ? AND is_deleted_here AND zone IN (\(Zones.ids(in: "?")))",
            [name, scope.number]
        )
    }

    func release(_ name: String, in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_held WHERE zone = ? AND name = ?", [zone, name])
    }
}
