import CloudKitModel
import GRDB

/// The table of the users who restricted the access to their data.
enum RestrictionTables {
    static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE restricted_user (
                    container TEXT NOT NULL, environment TEXT NOT NULL, user TEXT NOT NULL,
                    PRIMARY KEY (container, environment, user)
                ) WITHOUT ROWID;
                """
        )
    }
}

extension RequestContext {
    /// Restricts the access to the caller's data (`private/users/restrict`).
    ///
    /// Afterwards ``CloudKitEmulator/request(in:as:)`` refuses the requests of this user to the container and environment,
    /// also to the public database, with ``EmulatorConfiguration/Unsettled/restrictedUser``. Source: Apple's page
    /// "Changing Access Controls on User Data".
    ///
    /// - Throws: An ``EmulatorError``: `AUTHENTICATION_REQUIRED` without a user; `BAD_REQUEST` for another database than the
    ///   private one.
    package func restrictUser() throws {
        try changeRestriction("INSERT OR IGNORE INTO restricted_user (container, environment, user) VALUES (?, ?, ?)")
    }

    /// Ends the restriction of the caller's data (`private/users/unrestrict`).
    ///
    /// A context for a restricted user is made by ``CloudKitEmulator/unrestrictingRequest(in:as:)``.
    ///
    /// - Throws: The same errors as ``restrictUser()``.
    package func unrestrictUser() throws {
        try changeRestriction("DELETE FROM restricted_user WHERE container = ? AND environment = ? AND user = ?")
    }

    private func changeRestriction(_ statement: String) throws {
        let user = try signedInUser()
        guard database.scope == .private else { throw EmulatorError.notApplicable(in: database.scope) }
        try emulator.write { db in
            try db.run(statement, [database.container, database.environment.rawValue, user])
        }
    }
}

extension CloudKitEmulator {
    /// Refuses a user who restricted the access to their data.
    func checkIsNotRestricted(_ user: String, in database: DatabaseAddress) throws(EmulatorError) {
        let isRestricted = try read { db in
            try db.row(
                "SELECT 1 FROM restricted_user WHERE container = ? AND environment = ? AND user = ?",
                [database.container, database.environment.rawValue, user]
            ) != nil
        }
        guard isRestricted else { return }
        throw EmulatorError(configuration.unsettled.restrictedUser, "the user has restricted the access to their data")
    }
}
