public import CloudKitModel
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
    /// ```swift
    /// try emulator.request(in: publicDatabase, as: .user(ben)).discoverUsers([LookupInfo(emailAddress: "ann@example.com")])
    /// // [{"userRecordName":"_8e1c…","nameComponents":{"givenName":"Ann"},"lookupInfo":{"emailAddress":"ann@example.com"}}]
    /// ```
    ///
    /// - Parameter lookups: The people to look for, each by an address, a phone number or a user record name.
    /// - Returns: The identities of the people who were found, in the order of the lookups, each with its lookup.
    ///   People who cannot be discovered count as not found. ``EmulatorConfiguration/Unsettled/usersNotFound`` decides
    ///   the result for those.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for another database (observed live) and for an empty lookup,
    ///   `AUTHENTICATION_REQUIRED`, `AUTHENTICATION_FAILED` for a server-to-server key (observed live).
    public func discoverUsers(_ lookups: [LookupInfo]) throws -> [UserIdentity] {
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

    /// Lists all people who can be discovered, except the caller (`users/discover`, GET; `users/lookup/contacts`).
    ///
    /// The service lists people of the caller's address book. The emulator treats all people as being in every address
    /// book.
    ///
    /// - Returns: Their identities, in the order of their user record names.
    /// - Throws: An ``EmulatorError``: what ``discoverUsers(_:)`` throws; `INTERNAL_ERROR` where
    ///   ``EmulatorConfiguration/Unsettled/discoverAllUsers`` says so.
    public func discoverAllUsers() throws -> [UserIdentity] {
        let user = try checkDiscovery()
        guard configuration.unsettled.discoverAllUsers == .listsUsers else {
            throw EmulatorError(.internalError, "internal error")
        }
        return try emulator.read { db in
            try db.rows("SELECT \(Person.columns) FROM user WHERE discoverable AND name <> ? ORDER BY name", [user]).map
            { try Person($0).identity() }
        }
    }

    /// Finds users by one property alone (`users/lookup/email` and `users/lookup/id`, deprecated: use
    /// ``discoverUsers(_:)``).
    ///
    /// - Throws: An ``EmulatorError``: what ``discoverUsers(_:)`` throws, `BAD_REQUEST` also for a lookup without
    ///   the property.
    public func lookupUsers(
        _ lookups: [LookupInfo],
        by property: KeyPath<LookupInfo, String?>
    ) throws -> [UserIdentity] {
        for lookup in lookups where lookup[keyPath: property] == nil {
            throw EmulatorError.badRequest("BadRequestException: Unexpected input")
        }
        return try discoverUsers(lookups).filter { $0.userRecordName != nil }
    }

    @discardableResult
    private func checkDiscovery() throws(EmulatorError) -> String {
        guard database.scope == .public else { throw .notApplicable(in: database.scope) }
        return try signedInUser()
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
