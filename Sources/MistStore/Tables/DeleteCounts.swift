import GRDB
import MistKit
import SQLiteTables

/// How many deletes were sent without a permission, by the hour: `mist_delete_count`.
struct DeleteCounts: TableOwner {
    static let definition = """
        -- Deletes that were sent without a permission, by the hour of the machine's time since 1970: the last day of each
        -- scope.
        CREATE TABLE mist_delete_count (
            scope INTEGER NOT NULL,
            hour INTEGER NOT NULL,
            deletes INTEGER NOT NULL,
            PRIMARY KEY (scope, hour)
        ) WITHOUT ROWID;
        """

    static func update(from format: Int64) -> [String] { format < 5 ? [definition] : [] }

    /// The number of hours for which a delete counts.
    private static let window: Int64 = 24

    let scope: DatabaseScope
    let db: Database

    private static func hour(of time: MachineTime) -> Int64 { time.rawValue / 3_600_000 }

    /// The number of deletes of the last 24 hours. Hours in the future count, too: the clock was set back since.
    func count(at now: MachineTime) throws -> Int {
        try db.value(
            "SELECT coalesce(sum(deletes), 0) FROM mist_delete_count WHERE scope = ? AND hour > ?",
            [scope.number, Self.hour(of: now) - Self.window],
            as: Int.self
        ) ?? 0
    }

    /// Counts deletes.
    func add(_ count: Int, at now: MachineTime) throws {
        try db.run(
            """
            INSERT INTO mist_delete_count (scope, hour, deletes) VALUES (?, ?, ?)
            ON CONFLICT (scope, hour) DO UPDATE SET deletes = deletes + excluded.deletes
            """,
            [scope.number, Self.hour(of: now), count]
        )
    }

    /// Forgets the deletes of earlier days. Those of hours in the future are counted in the present hour, so that a
    /// clock that was set back does not keep them for long.
    func trim(at now: MachineTime) throws {
        let hour = Self.hour(of: now)
        try db.run(
            "DELETE FROM mist_delete_count WHERE scope = ? AND hour <= ?",
            [scope.number, hour - Self.window]
        )
        let later = try db.value(
            "SELECT sum(deletes) FROM mist_delete_count WHERE scope = ? AND hour > ?",
            [scope.number, hour],
            as: Int.self
        )
        guard let later else { return }
        try db.run("DELETE FROM mist_delete_count WHERE scope = ? AND hour > ?", [scope.number, hour])
        try add(later, at: now)
    }
}
