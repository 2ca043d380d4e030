import GRDB
import SQLiteTables

/// The deleted records whose cascade is to be continued, `mist_cascade`. Triggers write them, because SQLite runs no
/// trigger for a trigger's own changes.
struct PendingCascades: TableOwner {
    static let definition = """
        -- Deleted records whose cascade is to be continued.
        CREATE TABLE mist_cascade (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        """

    let db: Database

    /// A statement of triggers that adds the records of a table that match a condition.
    static func insertion(from table: String, where condition: String) -> String {
        """
        INSERT INTO mist_cascade (zone, name) SELECT _zone, _recordName FROM \(table) WHERE \(condition)
            ON CONFLICT (zone, name) DO UPDATE SET name = excluded.name;
        """
    }

    /// A record whose cascade is to be continued.
    func first() throws -> (zone: ZoneRowID, name: String)? {
        try db.row("SELECT zone, name FROM mist_cascade LIMIT 1").map { ($0["zone"], $0["name"]) }
    }

    /// A record of a zone whose cascade is to be continued.
    func first(in zone: ZoneRowID) throws -> String? {
        try db.value("SELECT name FROM mist_cascade WHERE zone = ? LIMIT 1", [zone], as: String.self)
    }

    func forget(_ name: String, in zone: ZoneRowID) throws {
        try db.run("DELETE FROM mist_cascade WHERE zone = ? AND name = ?", [zone, name])
    }
}
