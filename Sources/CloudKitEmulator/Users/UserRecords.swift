import CloudKitModel
import GRDB
import Synchronization

extension Record {
    /// The type of the records that describe people: one in the public database for each person who used the container.
    static let userType = "Users"
}

/// The table of the people who used a container.
///
/// The record of such a person is written when it is first asked for. So a container whose clients never ask has no
/// records that they did not make.
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

/// The people who are known to have used a container, so that the next request does not write it again.
final class KnownVisitors: Sendable {
    struct Visitor: Hashable {
        let container: String
        let environment: ContainerEnvironment
        let user: String
    }

    private let visitors = Mutex<Set<Visitor>>([])

    func contains(_ visitor: Visitor) -> Bool { visitors.withLock { $0.contains(visitor) } }

    func insert(_ visitor: Visitor) { _ = visitors.withLock { $0.insert(visitor) } }
}

extension RequestContext {
    /// Notes that a person uses a container.
    func noteVisit() throws(EmulatorError) {
        guard case .user(let user) = caller else { return }
        let visitor = KnownVisitors.Visitor(
            container: database.container,
            environment: database.environment,
            user: user
        )
        guard !emulator.knownVisitors.contains(visitor) else { return }
        try emulator.write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO visitor (container, environment, user) VALUES (?, ?, ?)",
                arguments: [database.container, database.environment.rawValue, user]
            )
        }
        emulator.knownVisitors.insert(visitor)
    }

    /// Writes the records of people that a request is about and that are not there yet.
    ///
    /// - Parameter names: The record names of the request; `nil` for all people who used the container.
    /// - Throws: An `INTERNAL_ERROR` when the storage fails.
    func makeUserRecords(named names: [String]?) throws(EmulatorError) {
        guard database.scope == .public else { return }
        if let names, !names.contains(where: { emulator.digits(ofUserRecordName: $0) != nil }) { return }
        try noteVisit()
        let missing = try emulator.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT user FROM visitor WHERE container = ?1 AND environment = ?2 AND NOT EXISTS (
                        SELECT 1 FROM container
                        JOIN database ON database.container = container.id AND database.owner = ''
                        JOIN zone ON zone.database = database.id JOIN record ON record.zone = zone.id
                        WHERE container.identifier = ?1 AND container.environment = ?2 AND record.name = visitor.user
                    ) ORDER BY user
                    """,
                arguments: [database.container, database.environment.rawValue]
            )
        }.filter { names?.contains($0) ?? true }
        for user in missing {
            // Each is its owner's, so it is written as if the owner had.
            try acting(as: .user(user)).write { context in
                let zone = try context.zone(nil)
                // Another call may have been faster.
                guard try RecordRow.fetch(user, in: zone, context.db) == nil else { return }
                let writer = try RecordWriter(context, zone)
                _ = try writer.save(
                    Record(recordName: user, recordType: Record.userType),
                    as: user,
                    over: nil,
                    replacesAll: false
                )
                try writer.finish()
            }
        }
    }

    /// Refuses what clients may not do with records of people: the service makes them, and they stay.
    func checkUserRecord(
        _ request: Record,
        over existingType: String?,
        deletes: Bool
    ) throws(EmulatorError) {
        guard database.scope == .public else { return }
        let code = configuration.unsettled.creationOrDeletionOfUserRecord
        if let existingType {
            guard existingType == Record.userType, deletes else { return }
            throw EmulatorError(code, "WRITE operation not permitted")
        }
        guard request.recordType == Record.userType, !deletes else { return }
        throw EmulatorError(code, "CREATE operation not permitted")
    }

    /// Refuses a query of the records of people.
    ///
    /// The native framework's documentation says that such a query "results in an error" (`CKQuery`); the words are those that
    /// developers report.
    func checkQuery(ofType type: String) throws(EmulatorError) {
        guard type == Record.userType, database.scope == .public else { return }
        guard configuration.unsettled.userRecordsCanBeQueried else { throw .badRequest("Can't query system types") }
    }
}
