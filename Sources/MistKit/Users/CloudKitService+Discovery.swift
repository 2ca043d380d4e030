import CloudKitWebServices
import OpenAPISwiftRuntime

extension CloudKitService {
    /// Finds a person by e-mail address, telephone number or user record name.
    ///
    /// ```swift
    /// let ann = try await service.discoverUser(.emailAddress("ann@example.com"))
    /// // POST /database/1/iCloud.com.example/development/public/users/discover
    /// // {"lookupInfos":[{"emailAddress":"ann@example.com"}]}
    /// print(ann.nameComponents?.givenName)  // Optional("Ann")
    /// ```
    ///
    /// - Parameter lookup: Whom to look for.
    /// - Returns: The person's user record name, and their name.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` for a person who does not use the
    ///   app's container, or does not allow the app to find them; the service does not tell which.
    ///   ``CloudKitError/Code-swift.struct/authenticationRequired`` where no user is signed in,
    ///   ``CloudKitError/Code-swift.struct/authenticationFailed`` with a server-to-server key.
    public func discoverUser(_ lookup: LookupInfo) async throws -> UserIdentity {
        try await discoverUsers([lookup])[0].get()
    }

    /// Finds people by e-mail address, telephone number or user record name.
    ///
    /// ```swift
    /// let results = try await service.discoverUsers([.emailAddress("ann@example.com"), .phoneNumber("+4712345678")])
    /// // POST /database/1/iCloud.com.example/development/public/users/discover
    /// // {"lookupInfos":[{"emailAddress":"ann@example.com"},{"phoneNumber":"+4712345678"}]}
    /// ```
    ///
    /// - Parameter lookups: Whom to look for, each by one of the three. More than 200 are sent in several requests.
    /// - Returns: One result per lookup, in their order: the person, or ``CloudKitError/Code-swift.struct/notFound`` as with
    ///   ``discoverUser(_:)``.
    /// - Throws: A ``CloudKitError``: the error of the first request when none was answered, and
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` for a lookup by nothing.
    public func discoverUsers(
        _ lookups: [LookupInfo]
    ) async throws -> [Result<UserIdentity, CloudKitError>] {
        for (index, lookup) in lookups.enumerated() where lookup.text == nil {
            throw CloudKitError.invalidArgument(
                "The lookup at index \(index) has no e-mail address, telephone number or user record name."
            )
        }
        return try await BatchSender<LookupInfo, UserIdentity>(
            items: lookups,
            service: self,
            about: { error, _ in error },
            send: { (batch, call) async throws(CloudKitError) in
                let reply = try await call.reply(to: Operations.DiscoverUsers.id) { client in
                    let response = try await client.discoverUsers(
                        path: path(to: .public),
                        body: .json(.init(lookupInfos: batch))
                    ).ok
                    return (try response.body.json.users ?? [], response.headers.xAppleRequestUUID)
                }
                return DiscoveredUsers.align(reply, with: batch)
            }
        ).results()
    }

    /// Lists the people of the caller's address book who use the app and allow it to find them.
    ///
    /// ```swift
    /// let friends = try await service.discoverAllUsers()
    /// // GET /database/1/iCloud.com.example/development/public/users/discover
    /// ```
    ///
    /// Apple's page documents this request, and Apple's own client sends it. The live service was only ever seen to answer
    /// ``CloudKitError/Code-swift.struct/internalError``; use ``discoverUsers(_:)`` then.
    ///
    /// - Returns: Their identities.
    /// - Throws: A ``CloudKitError``: what ``discoverUser(_:)`` throws.
    public func discoverAllUsers() async throws -> [UserIdentity] {
        try await call(Operations.DiscoverAllUsers.id) { client in
            try await client.discoverAllUsers(path: path(to: .public)).ok.body.json
        }.users ?? []
    }
}

/// Which of the people that a response names belongs to which lookup.
///
/// No page says what becomes of those who are not found: they may be missing from the list, or stand in it without a
/// user record name.
private enum DiscoveredUsers {
    static func align(
        _ reply: Reply<[UserIdentity]>,
        with lookups: [LookupInfo]
    ) -> [Result<UserIdentity, CloudKitError>] {
        let users = reply.body
        return lookups.enumerated().map { index, lookup in
            var found = users.first { $0.isFound(by: lookup) }
            if found == nil, users.count == lookups.count, users[index].lookupInfo == nil { found = users[index] }
            if let found, found.userRecordName != nil { return .success(found) }
            return .failure(.userNotFound(lookup).from(reply.origin))
        }
    }
}

extension UserIdentity {
    /// Whether this is the answer to a lookup.
    fileprivate func isFound(by lookup: LookupInfo) -> Bool {
        if let name = lookup.userRecordName, name == userRecordName { return true }
        guard let lookupInfo else { return false }
        return lookupInfo.userRecordName == lookup.userRecordName && lookupInfo.phoneNumber == lookup.phoneNumber
            && lookupInfo.emailAddress?.lowercased() == lookup.emailAddress?.lowercased()
    }
}

extension LookupInfo {
    /// What is looked up, as errors print it.
    var text: String? { userRecordName ?? emailAddress ?? phoneNumber }
}

extension CloudKitError {
    fileprivate static func userNotFound(_ lookup: LookupInfo) -> CloudKitError {
        let text = lookup.text ?? ""
        var error = CloudKitError(
            code: .notFound,
            message: """
                No user can be discovered by \(text). Either no iCloud account has it, or its user does not use this \
                app, or its user does not allow the app to find them. You can still invite the user to a share by it.
                """
        )
        error.item = .user(text)
        return error
    }
}
