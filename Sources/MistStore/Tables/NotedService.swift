import GRDB
import SQLiteTables

/// The service that the programs of a store synchronise with, `mist_service` in the file of the public database.
///
/// Until a synchronisation begins, it is that of the program that opened the store last. Then it stays: what the service
/// has, and what it does not have any more, is known of this one, and the records of the store would be changed and
/// removed as another service has them.
struct NotedService: TableOwner {
    /// A program of an earlier version does not miss the table, so it needs no new format. Other files than that of the
    /// public database have it without a row.
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_service (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            -- 1: Apple's service; 0: another one, such as an emulator.
            is_apple INTEGER NOT NULL,
            -- 1: a synchronisation has begun.
            is_used INTEGER NOT NULL
        ) WITHOUT ROWID
        """

    static let areNeededForReading = false

    let db: Database

    /// The service; `nil` where no program has named one.
    func read() throws -> StoreService? { try row()?.service }

    /// Whether the file has the service, and has noted a use of it if there is one.
    ///
    /// - Parameters:
    ///   - service: The service of a program.
    ///   - isUsed: Whether a synchronisation begins.
    /// - Returns: Whether nothing need be written.
    /// - Throws: A ``StoreError`` with the code `otherService` when programs have synchronised with another service.
    func has(_ service: StoreService, isUsed: Bool) throws -> Bool {
        guard let row = try row() else { return false }
        if row.service != service, row.isUsed { throw StoreError.otherService(than: row.service, service) }
        return row.service == service && row.isUsed == (row.isUsed || isUsed)
    }

    /// Notes the service of a program that opens the store or begins to synchronise.
    ///
    /// - Throws: A ``StoreError`` with the code `otherService`, as ``has(_:isUsed:)``.
    func note(_ service: StoreService, isUsed: Bool) throws {
        guard try !has(service, isUsed: isUsed) else { return }
        try db.run(
            """
            INSERT OR REPLACE INTO mist_service (id, container, environment, is_apple, is_used) VALUES (1, ?, ?, ?, ?)
            """,
            [service.container, service.environment, service.isApple, isUsed]
        )
    }

    private func row() throws -> (service: StoreService, isUsed: Bool)? {
        try db.row("SELECT * FROM mist_service").map { row in
            let service = StoreService(
                container: row["container"],
                environment: row["environment"],
                isApple: row["is_apple"]
            )
            return (service, row["is_used"])
        }
    }
}

extension StoreFile {
    /// Notes the service of a program, unless the file has it.
    ///
    /// - Throws: A ``StoreError`` with the code `otherService`, as ``NotedService/has(_:isUsed:)``.
    func note(_ service: StoreService, isUsed: Bool) throws {
        try wrapping {
            guard try !database.read({ db in try NotedService(db: db).has(service, isUsed: isUsed) }) else { return }
            try database.write { db in try NotedService(db: db).note(service, isUsed: isUsed) }
        }
    }
}

extension StoreError {
    /// The error of a program whose store was synchronised with another service.
    fileprivate static func otherService(than noted: StoreService, _ service: StoreService) -> StoreError {
        StoreError(
            .otherService,
            """
            The store is synchronised with \(noted), and the program names \(service). Nothing was sent or fetched, and no record was \
            changed. Use another folder for that service, or the same service as before.
            """
        )
    }
}
