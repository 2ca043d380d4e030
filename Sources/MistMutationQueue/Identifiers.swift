import GRDB
import SQLiteTables

/// The identifiers that services chose, `mist_adopted`, and the provisional ones that mutations name,
/// `mist_mutation_name`.
///
/// The JSON of a mutation keeps the identifiers that it was written with, and gets those of the service when it is
/// read. So a mutation of another version of the program, which cannot be read now, has them, too.
struct Identifiers: OwnedTables {
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_adopted (
            queue INTEGER NOT NULL,
            local TEXT NOT NULL,
            -- The identifier of the service.
            service TEXT NOT NULL,
            adopted_at INTEGER NOT NULL,
            PRIMARY KEY (queue, local)
        ) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS mist_adopted_service ON mist_adopted (queue, service);
        CREATE INDEX IF NOT EXISTS mist_adopted_time ON mist_adopted (queue, adopted_at);
        CREATE TABLE IF NOT EXISTS mist_mutation_name (
            mutation INTEGER NOT NULL,
            -- A provisional identifier in the JSON.
            name TEXT NOT NULL,
            PRIMARY KEY (mutation, name)
        ) WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS mist_mutation_name_name ON mist_mutation_name (name)
        """

    /// For how long an identifier is kept that no mutation names: 30 days, in milliseconds. A screen that shows the
    /// former one may add a mutation that long.
    private static let time: Int64 = 30 * 86_400_000

    let db: Database
    let queue: QueueRowID

    /// The identifier of the service for one; the same where it has none.
    func adopted(_ identifier: String) throws -> String {
        let sql = "SELECT service FROM mist_adopted WHERE queue = ? AND local = ?"
        return try db.value(sql, [queue, identifier], as: String.self) ?? identifier
    }

    /// The identifiers of the service for those that a mutation names.
    func adopted(by mutation: MutationNumber) throws -> [String: String] {
        let rows = try db.rows(
            """
            SELECT local, service FROM mist_mutation_name JOIN mist_adopted ON queue = ? AND local = name
            WHERE mutation = ?
            """,
            [queue, mutation]
        )
        return Dictionary(rows.map { ($0["local"], $0["service"]) }, uniquingKeysWith: { $1 })
    }

    /// Notes the identifier of the service.
    func adopt(_ local: String, as service: String, at now: MachineTime) throws {
        guard local != service else { return }
        try db.run("UPDATE mist_adopted SET service = ? WHERE queue = ? AND service = ?", [service, queue, local])
        // An identifier that comes back would stand for itself.
        try db.run("DELETE FROM mist_adopted WHERE queue = ?1 AND local = ?2 AND service = ?2", [queue, service])
        try db.run(
            """
            INSERT INTO mist_adopted (queue, local, service, adopted_at) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (queue, local) DO UPDATE SET service = ?3, adopted_at = ?4
            """,
            [queue, local, service, now]
        )
        try db.run(
            """
            DELETE FROM mist_adopted WHERE queue = ? AND adopted_at < ?
                AND NOT EXISTS (SELECT 1 FROM mist_mutation_name WHERE name = local)
            """,
            [queue, now - Self.time]
        )
    }

    /// Notes what a mutation names, instead of what it named before.
    func setNames(of mutation: MutationNumber, to names: Set<String>) throws {
        try removeNames(of: mutation)
        for name in names.sorted() {
            try db.run("INSERT INTO mist_mutation_name (mutation, name) VALUES (?, ?)", [mutation, name])
        }
    }

    func removeNames(of mutation: MutationNumber) throws {
        try db.run("DELETE FROM mist_mutation_name WHERE mutation = ?", [mutation])
    }
}
