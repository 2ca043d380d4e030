import GRDB
import MistKit
import SQLiteTables

/// The subscriptions at the service that wake this store, `mist_subscription`.
struct PushSubscriptions: TableOwner {
    static let definition = """
        -- The subscriptions at the service that wake this store. They are saved there before they are here.
        CREATE TABLE IF NOT EXISTS mist_subscription (
            id TEXT PRIMARY KEY,
            -- 0 public, 1 private, 2 shared.
            scope INTEGER NOT NULL
        );
        """

    let db: Database

    /// The names of the subscriptions by database.
    func all() throws -> [DatabaseScope: [String]] {
        let rows = try db.rows("SELECT scope, id FROM mist_subscription ORDER BY id").compactMap { row in
            DatabaseScope(number: row["scope"]).map { ($0, row["id"] as String) }
        }
        return Dictionary(grouping: rows, by: \.0).mapValues { $0.map(\.1) }
    }

    /// Notes the subscriptions in place of the earlier ones.
    func replace(with names: [DatabaseScope: [String]]) throws {
        try db.run("DELETE FROM mist_subscription")
        for (scope, names) in names {
            for name in names {
                try db.run("INSERT INTO mist_subscription (id, scope) VALUES (?, ?)", [name, scope.number])
            }
        }
    }
}
