package import CloudKitModel
package import CloudKitWebServices
import GRDB
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension RequestContext {
    /// Finds users by address, phone number or user record name (`users/discover`, POST).
    ///
    /// - Parameter request: The people to look for, each by an address, a phone number or a user record name.
    /// - Returns: The identities of the people who were found, in the order of the lookups, each with its lookup.
    ///   People who cannot be discovered count as not found. ``EmulatorConfiguration/Unsettled/usersNotFound`` decides
    ///   the result for those.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for another database (observed live) and for an empty lookup,
    ///   `AUTHENTICATION_REQUIRED`, `AUTHENTICATION_FAILED` for a server-to-server key (observed live).
    package func discoverUsers(
        _ request: Components.Schemas.DiscoverUsersRequest
    ) throws -> Components.Schemas.DiscoverUsersResponse {
        Components.Schemas.DiscoverUsersResponse(users: try find(request.lookupInfos))
    }

    private func find(_ lookups: [LookupInfo]) throws -> [UserIdentity] {
        try checkDiscovery()
        return try emulator.read { db in
            try lookups.compactMap { lookup in
                guard let column = lookup.column else {
                    throw EmulatorError.badRequest(
                        "a lookup needs an emailAddress, a phoneNumber or a userRecordName"
                    )
                }
                if let person = try Person.find(column, db), person.isDiscoverable {
                    return person.identity(foundBy: lookup)
                }
                switch configuration.unsettled.usersNotFound {
                case .omitted: return nil
                case .withoutName: return UserIdentity(lookupInfo: lookup)
                }
            }
        }
    }

    /// Lists all people who can be discovered, except the caller (`users/discover`, GET).
    ///
    /// The service lists people of the caller's address book. The emulator treats all people as being in every address
    /// book.
    ///
    /// - Returns: Their identities, in the order of their user record names.
    /// - Throws: An ``EmulatorError``: what ``discoverUsers(_:)`` throws; `INTERNAL_ERROR` where
    ///   ``EmulatorConfiguration/Unsettled/discoverAllUsers`` says so.
    package func discoverAllUsers() throws -> Components.Schemas.DiscoverAllUsersResponse {
        Components.Schemas.DiscoverAllUsersResponse(users: try findAll())
    }

    /// Lists the people of ``discoverAllUsers()`` (`users/lookup/contacts`, deprecated).
    ///
    /// - Throws: An ``EmulatorError``: what ``discoverAllUsers()`` throws.
    package func lookupContacts() throws -> Components.Schemas.LookupContactsResponse {
        Components.Schemas.LookupContactsResponse(users: try findAll().map(Components.Schemas.User.init))
    }

    private func findAll() throws -> [UserIdentity] {
        let user = try checkDiscovery()
        guard configuration.unsettled.discoverAllUsers == .listsUsers else {
            throw EmulatorError(.internalError, "internal error")
        }
        return try emulator.read { db in
            try db.rows("SELECT \(Person.columns) FROM user WHERE discoverable AND name <> ? ORDER BY name", [user]).map
            { try Person($0).identity() }
        }
    }

    /// Finds users by address alone (`users/lookup/email`, deprecated: use ``discoverUsers(_:)``).
    ///
    /// - Throws: An ``EmulatorError``: what ``discoverUsers(_:)`` throws, `BAD_REQUEST` also for a lookup without an
    ///   address.
    package func lookupUsersByEmail(
        _ request: Components.Schemas.LookupUsersByEmailRequest
    ) throws -> Components.Schemas.LookupUsersByEmailResponse {
        Components.Schemas.LookupUsersByEmailResponse(users: try find(request.users, by: \.emailAddress))
    }

    /// Finds users by user record name alone (`users/lookup/id`, deprecated: use ``discoverUsers(_:)``).
    ///
    /// - Throws: An ``EmulatorError``: what ``discoverUsers(_:)`` throws, `BAD_REQUEST` also for a lookup without a
    ///   user record name.
    package func lookupUsersByID(
        _ request: Components.Schemas.LookupUsersByIDRequest
    ) throws -> Components.Schemas.LookupUsersByIDResponse {
        Components.Schemas.LookupUsersByIDResponse(users: try find(request.users, by: \.userRecordName))
    }

    private func find(
        _ lookups: [LookupInfo],
        by property: KeyPath<LookupInfo, String?>
    ) throws -> [Components.Schemas.User] {
        for lookup in lookups where lookup[keyPath: property] == nil {
            throw EmulatorError.badRequest("BadRequestException: Unexpected input")
        }
        return try find(lookups).filter { $0.userRecordName != nil }.map(Components.Schemas.User.init)
    }

    @discardableResult
    private func checkDiscovery() throws(EmulatorError) -> String {
        guard database.scope == .public else { throw .notApplicable(in: database.scope) }
        return try signedInUser()
    }
}

extension Components.Schemas.User {
    /// An identity in the form of the deprecated endpoints. It has an address only where the lookup named that address.
    fileprivate init(_ identity: UserIdentity) {
        self.init(
            userRecordName: identity.userRecordName,
            firstName: identity.nameComponents?.givenName,
            lastName: identity.nameComponents?.familyName,
            emailAddress: identity.lookupInfo?.emailAddress
        )
    }
}

/// A user who can sign in: a row of the table `user`.
package struct Person: Sendable {
    package let userRecordName: String
    package var nameComponents: NameComponents?
    package var emailAddress: String?
    package var phoneNumber: String?
    package var isDiscoverable = true

    static let columns = "name, given_name, family_name, email_address, phone_number, name_components, discoverable"

    init(userRecordName: String) {
        self.userRecordName = userRecordName
    }

    init(_ row: Row) throws {
        userRecordName = row[0]
        emailAddress = row[3]
        phoneNumber = row[4]
        isDiscoverable = row[6]
        if let json = row[5] as Data? {
            nameComponents = try JSONReader.read(NameComponents.self, from: Array(json))
        } else if row[1] != nil || row[2] != nil {
            nameComponents = NameComponents(givenName: row[1], familyName: row[2])
        }
    }

    static func fetch(_ userRecordName: String, _ db: Database) throws -> Person? {
        try find(("name", userRecordName), db)
    }

    fileprivate static func find(_ column: (name: String, value: String), _ db: Database) throws -> Person? {
        // Addresses are compared without regard to case. When two people have the same address, the first one by name
        // is found.
        let collation = column.name == "email_address" ? " COLLATE NOCASE" : ""
        return try db.row(
            "SELECT \(columns) FROM user WHERE \(column.name) = ?\(collation) ORDER BY name LIMIT 1",
            [column.value]
        ).map(Person.init)
    }

    /// Finds the person that a lookup means, discoverable or not.
    static func find(_ lookup: LookupInfo, _ db: Database) throws -> Person? {
        try lookup.column.flatMap { try find($0, db) }
    }

    /// The person's identity as other users see it.
    func identity(foundBy lookup: LookupInfo? = nil) -> UserIdentity {
        UserIdentity(
            userRecordName: userRecordName,
            nameComponents: isDiscoverable ? nameComponents : nil,
            lookupInfo: lookup
        )
    }
}

extension LookupInfo {
    /// The column of `user` to look in, and the value to look for.
    fileprivate var column: (name: String, value: String)? {
        if let userRecordName { return ("name", userRecordName) }
        if let emailAddress { return ("email_address", emailAddress) }
        if let phoneNumber { return ("phone_number", phoneNumber) }
        return nil
    }
}

extension Tables {
    /// Full names, and whether people can be discovered.
    static func createTablesOfDiscovery(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE user ADD COLUMN name_components BLOB;
                ALTER TABLE user ADD COLUMN discoverable INTEGER NOT NULL DEFAULT 1;
                CREATE INDEX user_email_address ON user (email_address COLLATE NOCASE);
                CREATE INDEX user_phone_number ON user (phone_number);
                """
        )
    }
}
