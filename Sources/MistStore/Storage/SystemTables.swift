import GRDB
import ProcessLeases
import SQLiteTables

/// The tables in which the store keeps its own state, beside those of the record types.
///
/// Everything that the engine knows is in them: after a process has died between two transactions, the next one
/// continues there. Each table is created, updated and used by its owner.
enum SystemTables {
    /// The version of these tables. A file of a later version is not opened, and one of an earlier version is updated.
    static let format: Int64 = 7

    /// The value of `PRAGMA application_id`, by which the store's files differ from other SQLite databases: "Mist".
    static let applicationID: Int64 = 0x4D69_7374

    /// The owners of all tables. Tables are created and updated in this order.
    static var owners: [any TableOwner.Type] {
        [
            FileState.self, ScopeState.self, Zones.self, RecordTypes.self, Users.self, KnownVersions.self,
            PendingEdits.self, Tombstones.self, PendingCascades.self, ReportedDeletes.self, Requests.self,
            SentOperations.self, Parking.self, FollowedQueries.self, RecoveryEntries.self, ForeignRecords.self,
            UndeliveredRecords.self, DeleteCounts.self, Moves.self, Seals.self,
        ]
    }

    static func create(in db: Database, device: Int64) throws {
        for owner in owners { try db.execute(sql: owner.definition) }
        try FileState.insert(format: format, device: device, into: db)
        try db.execute(sql: "PRAGMA application_id = \(applicationID)")
    }

    /// The owners of tables that a program without them does not miss, so that they need no new format.
    static var laterOwners: [any TableOwner.Type] {
        [
            UnreadableRows.self, Leases.self, PushSubscriptions.self, InheritedCounts.self, Accounts.self,
            Verifications.self, Contents.self, Transfers.self, FirstPasses.self, Declarations.self,
            NotedService.self, PendingJoins.self, PublicAuthor.self, CarriedCounts.self,
        ]
    }

    /// Adds the tables of ``laterOwners``, an index, and the triggers that guard rows.
    ///
    /// - Throws: A `DatabaseError` when the file fails.
    static func addLaterParts(to db: Database) throws {
        for owner in laterOwners { try owner.create(in: db) }
        try db.execute(sql: ForeignRecords.index)
        for table in owners.flatMap({ $0.guarded }) { try guardRows(of: table, db) }
    }

    /// Whether the file has the tables of ``laterOwners`` that a store needs for reading.
    static func hasLaterParts(_ db: Database) throws -> Bool {
        try laterOwners.allSatisfy { try !$0.areNeededForReading || $0.exist(in: db) }
    }

    /// Adds the trigger that refuses to delete the rows of a table, or replaces that of another version of the library.
    private static func guardRows(of table: String, _ db: Database) throws {
        let name = "mist_keep_\(table)"
        let definition = """
            CREATE TRIGGER \(name) BEFORE DELETE ON \(table)
            WHEN \(FileState.recordsEdits)
            BEGIN
                SELECT \(TriggerRefusal.rowIsNeeded.raise("the row is needed in \(table)"));
            END
            """
        let existing = try db.value(
            "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = ?",
            [name],
            as: String.self
        )
        guard existing != definition else { return }
        try db.execute(sql: "DROP TRIGGER IF EXISTS \(name)")
        try db.execute(sql: definition)
    }

    /// Updates the tables of an earlier version.
    ///
    /// - Throws: A `DatabaseError` when the file fails.
    static func update(_ db: Database) throws {
        let found = try FileState.format(db) ?? format
        guard found < format else { return }
        for statement in owners.flatMap({ $0.update(from: found) }) { try db.execute(sql: statement) }
        try FileState.setFormat(format, db)
    }

    /// The format of a file without the row of `mist_state`, by the tables that it has.
    static func formatByTables(_ db: Database) throws -> Int64 {
        guard try UndeliveredRecords.exist(in: db) else { return 1 }
        guard try FileState.hasFormerDevices(db) else { return 2 }
        guard try Requests.haveItems(db) else { return 3 }
        guard try DeleteCounts.exist(in: db) else { return 4 }
        guard try Moves.exist(in: db) else { return 5 }
        return try Seals.exist(in: db) ? format : 6
    }
}
