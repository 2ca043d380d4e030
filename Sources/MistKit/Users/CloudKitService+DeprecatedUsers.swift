import CloudKitWebServices
import OpenAPISwiftRuntime

// The endpoints of before June 2016. Their descriptions of people become identities here, so that there is one kind.

extension CloudKitService {
    /// Fetches the person that the credentials belong to, in the old way.
    ///
    /// ```swift
    /// let caller = try await service.fetchCurrentUser()
    /// // GET /database/1/iCloud.com.example/development/public/users/current
    /// ```
    ///
    /// - Returns: The person's user record name, with a name where the person lets the app see it.
    /// - Throws: A ``CloudKitError``: what ``fetchCaller()`` throws.
    @available(*, deprecated, renamed: "fetchCaller()", message: "The endpoint users/current gave way to users/caller.")
    public func fetchCurrentUser() async throws -> UserIdentity {
        let body = try await call(Operations.FetchCurrentUser.id) { client in
            try await client.fetchCurrentUser(path: path(to: .public)).ok.body.json
        }
        return UserIdentity(
            Components.Schemas.User(
                userRecordName: body.userRecordName,
                firstName: body.firstName,
                lastName: body.lastName
            )
        )
    }

    /// Finds people by e-mail address, in the old way.
    ///
    /// ```swift
    /// let people = try await service.lookupUsers(emailAddresses: ["ann@example.com"])
    /// // POST /database/1/iCloud.com.example/development/public/users/lookup/email
    /// // {"users":[{"emailAddress":"ann@example.com"}]}
    /// ```
    ///
    /// - Parameter emailAddresses: The addresses.
    /// - Returns: Who was found, each with the address.
    /// - Throws: A ``CloudKitError``: the error of the request.
    @available(*, deprecated, renamed: "discoverUsers(_:)", message: "users/lookup/email gave way to users/discover.")
    public func lookupUsers(emailAddresses: [String]) async throws -> [UserIdentity] {
        let body = try await call(Operations.LookupUsersByEmail.id) { client in
            try await client.lookupUsersByEmail(
                path: path(to: .public),
                body: .json(.init(users: emailAddresses.map { LookupInfo(emailAddress: $0) }))
            ).ok.body.json
        }
        return (body.users ?? []).map(UserIdentity.init)
    }

    /// Finds people by user record name, in the old way.
    ///
    /// ```swift
    /// let people = try await service.lookupUsers(userRecordNames: ["_8e1c…"])
    /// // POST /database/1/iCloud.com.example/development/public/users/lookup/id
    /// // {"users":[{"userRecordName":"_8e1c…"}]}
    /// ```
    ///
    /// - Parameter userRecordNames: The names of the people's records.
    /// - Returns: Who was found.
    /// - Throws: A ``CloudKitError``: the error of the request.
    @available(*, deprecated, renamed: "discoverUsers(_:)", message: "users/lookup/id gave way to users/discover.")
    public func lookupUsers(userRecordNames: [String]) async throws -> [UserIdentity] {
        let body = try await call(Operations.LookupUsersByID.id) { client in
            try await client.lookupUsersByID(
                path: path(to: .public),
                body: .json(.init(users: userRecordNames.map { LookupInfo(userRecordName: $0) }))
            ).ok.body.json
        }
        return (body.users ?? []).map(UserIdentity.init)
    }

    /// Lists people of the caller's address book, in the old way.
    ///
    /// ```swift
    /// let people = try await service.lookupContacts()
    /// // POST /database/1/iCloud.com.example/development/public/users/lookup/contacts
    /// ```
    ///
    /// - Returns: Who was found.
    /// - Throws: A ``CloudKitError``: the error of the request.
    @available(
        *,
        deprecated,
        renamed: "discoverAllUsers()",
        message: "users/lookup/contacts gave way to users/discover."
    )
    public func lookupContacts() async throws -> [UserIdentity] {
        let body = try await call(Operations.LookupContacts.id) { client in
            try await client.lookupContacts(path: path(to: .public)).ok.body.json
        }
        return (body.users ?? []).map(UserIdentity.init)
    }
}

extension UserIdentity {
    fileprivate init(_ user: Components.Schemas.User) {
        let hasName = user.firstName != nil || user.lastName != nil
        self.init(
            userRecordName: user.userRecordName,
            nameComponents: hasName ? NameComponents(givenName: user.firstName, familyName: user.lastName) : nil,
            lookupInfo: user.emailAddress.map { LookupInfo(emailAddress: $0) }
        )
    }
}
