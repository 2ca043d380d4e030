import CloudKitModel
import CloudKitSchema
import GRDB

/// The table of the users who used a container.
///
/// The user record of each of them is written when a client first requests it. So a container whose clients never
/// request user records has only the records that they created.
enum UserRecordTables {
    static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE visitor (
                    container TEXT NOT NULL, environment TEXT NOT NULL, user TEXT NOT NULL,
                    PRIMARY KEY (container, environment, user)
                ) WITHOUT ROWID;
                """
        )
    }
}

extension RequestContext {
    /// Remembers that the caller uses the container.
    func noteVisit() throws(EmulatorError) {
        guard case .user(let user) = caller else { return }
        let visitor = KnownValues<Bool>.Name(
            text: user,
            container: database.container,
            environment: database.environment
        )
        guard emulator.knownVisitors[visitor] != true else { return }
        try emulator.write { db in
            try db.run(
                "INSERT OR IGNORE INTO visitor (container, environment, user) VALUES (?, ?, ?)",
                [database.container, database.environment.rawValue, user]
            )
        }
        emulator.knownVisitors[visitor] = true
    }

    /// Writes the missing user records of the users with these names, or of all users who used the container.
    func makeUserRecords(named names: [String]?) throws(EmulatorError) {
        guard database.scope == .public else { return }
        if let names, !names.contains(where: { emulator.digits(ofUserRecordName: $0) != nil }) { return }
        try noteVisit()
        let missing = try emulator.read { db in
            try db.values(
                """
                SELECT user FROM visitor WHERE container = ?1 AND environment = ?2 AND NOT EXISTS (
                    SELECT 1 FROM container
                    JOIN database ON database.container = container.id AND database.owner = ''
                    JOIN zone ON zone.database = database.id JOIN record ON record.zone = zone.id
                    WHERE container.identifier = ?1 AND container.environment = ?2 AND record.name = visitor.user
                ) ORDER BY user
                """,
                [database.container, database.environment.rawValue],
                as: String.self
            )
        }.filter { names?.contains($0) ?? true }
        for user in missing {
            // A user record belongs to its user, so it is written in the user's name.
            try acting(as: .user(user)).write { context in
                let zone = try context.zone(nil)
                // Another call may have written it meanwhile.
                guard try RecordRow.fetch(user, in: zone, context.db) == nil else { return }
                let writer = try RecordWriter(context, zone)
                try writer.save(
                    Record(recordType: ContainerSchema.userType, recordName: user),
                    as: user,
                    over: nil,
                    replacesAll: false
                )
                try writer.finish()
            }
        }
    }

    /// Refuses a query of user records.
    ///
    /// The native framework's documentation says that such a query "results in an error" (`CKQuery`); the words are
    /// those that developers report.
    func checkQuery(ofType type: String) throws(EmulatorError) {
        guard type == ContainerSchema.userType, database.scope == .public else { return }
        guard configuration.unsettled.userRecordsCanBeQueried else { throw .badRequest("Can't query system types") }
    }
}
