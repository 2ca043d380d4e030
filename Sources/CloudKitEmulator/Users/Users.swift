public import CloudKitModel
import GRDB

/// A user as `users/current` (deprecated) describes one.
public struct CurrentUser: Hashable, Sendable {
    /// The user record name.
    public var userRecordName: String
    /// The given name, where it is known.
    public var firstName: String?
    /// The family name, where it is known.
    public var lastName: String?

    /// Makes a description.
    public init(userRecordName: String, firstName: String? = nil, lastName: String? = nil) {
        self.userRecordName = userRecordName
        self.firstName = firstName
        self.lastName = lastName
    }
}

extension CloudKitEmulator {
    /// Makes a person who can sign in.
    ///
    /// - Parameters:
    ///   - nameComponents: What `users/caller` says of the person's name. A person without names is not discoverable.
    ///   - emailAddress: The address of the account.
    ///   - phoneNumber: The number of the account.
    ///   - userRecordName: The person's user record name, `_` and 32 hexadecimal digits; `nil` makes a new one. A person
    ///     of that name who is there already gets the new names and addresses.
    /// - Returns: The user record name.
    /// - Throws: A `BAD_REQUEST` when `userRecordName` does not look like one.
    @discardableResult
    public func createUser(
        _ nameComponents: NameComponents? = nil,
        emailAddress: String? = nil,
        phoneNumber: String? = nil,
        userRecordName: String? = nil
    ) throws(EmulatorError) -> String {
        let name = userRecordName ?? "_" + identifiers.hex(16)
        guard digits(ofUserRecordName: name) != nil else {
            throw .badRequest("a user record name is an underscore and 32 lower-case hexadecimal digits")
        }
        try write { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO user VALUES (?, ?, ?, ?, ?)",
                arguments: [name, nameComponents?.givenName, nameComponents?.familyName, emailAddress, phoneNumber]
            )
        }
        return name
    }

    /// The user record names of all persons, in order.
    public func listUsers() throws(EmulatorError) -> [String] {
        try read { db in try String.fetchAll(db, sql: "SELECT name FROM user ORDER BY name") }
    }

    /// Who asks (`users/caller`): one flat identity.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` without a user, `AUTHENTICATION_FAILED` for a server-to-server key (observed
    ///   live).
    public func fetchCaller(as caller: Caller) throws(EmulatorError) -> UserIdentity {
        let user = try currentUser(caller)
        var identity = UserIdentity(userRecordName: user.userRecordName)
        if user.firstName != nil || user.lastName != nil {
            identity.nameComponents = NameComponents(givenName: user.firstName, familyName: user.lastName)
        }
        return identity
    }

    /// Who asks (`users/current`, deprecated: use ``fetchCaller(as:)``).
    ///
    /// - Throws: The same as ``fetchCaller(as:)``.
    public func fetchCurrentUser(as caller: Caller) throws(EmulatorError) -> CurrentUser {
        try currentUser(caller)
    }

    private func currentUser(_ caller: Caller) throws(EmulatorError) -> CurrentUser {
        switch caller {
        case .anonymous: throw .authenticationRequired
        case .serverKey: throw .authenticationFailed
        case .user(let name):
            let row = try read { db in
                try Row.fetchOne(
                    db.cachedStatement(sql: "SELECT given_name, family_name FROM user WHERE name = ?"),
                    arguments: [name]
                ).map { row -> (String?, String?) in (row[0], row[1]) }
            }
            return CurrentUser(userRecordName: name, firstName: row?.0, lastName: row?.1)
        }
    }

    func userExists(_ name: String) throws(EmulatorError) -> Bool {
        try read { db in
            try Row.fetchOne(
                db.cachedStatement(sql: "SELECT 1 FROM user WHERE name = ?"),
                arguments: [name]
            ) != nil
        }
    }
}
