public import CloudKitModel
package import CloudKitWebServices
import GRDB
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CloudKitEmulator {
    /// Creates a user who can sign in.
    ///
    /// - Parameters:
    ///   - nameComponents: The person's name.
    ///   - emailAddress: The address of the account.
    ///   - phoneNumber: The number of the account.
    ///   - isDiscoverable: Whether the app may see the person: their name in `users/caller`, and their identity in the
    ///     `users/discover` of others.
    ///   - userRecordName: The person's user record name, `_` and 32 hexadecimal digits; `nil` makes a new one. An
    ///     existing user of that name gets the new names and addresses.
    /// - Returns: The user record name.
    /// - Throws: An ``EmulatorError``: a `BAD_REQUEST` when `userRecordName` does not have this form.
    @discardableResult
    public func createUser(
        _ nameComponents: NameComponents? = nil,
        emailAddress: String? = nil,
        phoneNumber: String? = nil,
        isDiscoverable: Bool = true,
        userRecordName: String? = nil
    ) throws -> String {
        let name = userRecordName ?? "_" + identifiers.hex(16)
        guard digits(ofUserRecordName: name) != nil else {
            throw EmulatorError.badRequest("a user record name is an underscore and 32 lower-case hexadecimal digits")
        }
        try write { db in
            try db.run(
                """
                INSERT OR REPLACE INTO user
                    (name, given_name, family_name, email_address, phone_number, name_components, discoverable)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    name, nameComponents?.givenName, nameComponents?.familyName, emailAddress, phoneNumber,
                    try nameComponents.map { Data(try JSONWriter.bytes(of: $0)) }, isDiscoverable,
                ]
            )
        }
        return name
    }

    /// The user record names of all users, in alphabetical order.
    ///
    /// - Throws: An ``EmulatorError``: `INTERNAL_ERROR` when the storage fails.
    public func listUsers() throws -> [String] {
        try read { db in try db.values("SELECT name FROM user ORDER BY name", as: String.self) }
    }

    /// The accounts of all users, in the order of their user record names, whatever other users may see of them.
    package func accounts() throws(EmulatorError) -> [Person] {
        try read { db in try db.rows("SELECT \(Person.columns) FROM user ORDER BY name").map { try Person($0) } }
    }

    package func userExists(_ name: String) throws(EmulatorError) -> Bool {
        try read { db in
            try db.row("SELECT 1 FROM user WHERE name = ?", [name]) != nil
        }
    }
}

extension RequestContext {
    /// The caller's identity (`users/caller`): one flat identity, as CloudKit JS reads it. Apple's page shows a list.
    ///
    /// - Throws: An ``EmulatorError``: `AUTHENTICATION_REQUIRED` without a user; `AUTHENTICATION_FAILED` for a
    ///   server-to-server key where ``EmulatorConfiguration/Unsettled/serverKeyAsCaller`` says so.
    package func fetchCaller() throws -> Components.Schemas.FetchCallerResponse {
        if case .serverKey = caller, configuration.unsettled.serverKeyAsCaller == .answered {
            return Components.Schemas.FetchCallerResponse(userRecordName: user)
        }
        let name = try signedInUser()
        let person = try emulator.read { db in try Person.fetch(name, db) } ?? Person(userRecordName: name)
        return Components.Schemas.FetchCallerResponse(
            userRecordName: person.userRecordName,
            nameComponents: person.isDiscoverable ? person.nameComponents : nil
        )
    }

    /// The caller (`users/current`, deprecated: use ``fetchCaller()``).
    ///
    /// - Throws: An ``EmulatorError``: the same as ``fetchCaller()``.
    package func fetchCurrentUser() throws -> Components.Schemas.FetchCurrentUserResponse {
        let identity = try fetchCaller()
        return Components.Schemas.FetchCurrentUserResponse(
            userRecordName: identity.userRecordName,
            firstName: identity.nameComponents?.givenName,
            lastName: identity.nameComponents?.familyName
        )
    }
}
