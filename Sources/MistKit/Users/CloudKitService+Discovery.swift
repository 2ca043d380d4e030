import CloudKitWebServices
import OpenAPISwiftRuntime

extension CloudKitService {
    /// Finds a person by e-mail address, phone number or user record name.
    ///
    /// ```swift
    /// let ann = try await service.discoverUser(.emailAddress("ann@example.com"))
    /// // POST /database/1/iCloud.com.example/development/public/users/discover
    /// // {"lookupInfos":[{"emailAddress":"ann@example.com"}]}
    /// print(ann.nameComponents?.givenName)  // Optional("Ann")
    /// ```
    ///
    /// - Parameter lookup: The person's address or user record name.
    /// - Returns: The person's user record name, and their name.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` for a person who does not use the
    ///   app's container, or does not allow the app to find them; the service does not tell the two apart.
    ///   ``CloudKitError/Code-swift.struct/authenticationRequired`` where no user is signed in,
    ///   ``CloudKitError/Code-swift.struct/authenticationFailed`` with a server-to-server key.
    public func discoverUser(_ lookup: LookupInfo) async throws -> UserIdentity {
        try await discoverUsers([lookup])[0].get()
    }

    /// Finds people by e-mail address, phone number or user record name.
    ///
    /// ```swift
    /// let results = try await service.discoverUsers([.emailAddress("ann@example.com"), .phoneNumber("+4712345678")])
    /// // POST /database/1/iCloud.com.example/development/public/users/discover
    /// // {"lookupInfos":[{"emailAddress":"ann@example.com"},{"phoneNumber":"+4712345678"}]}
    /// ```
    ///
    /// - Parameter lookups: The people's addresses or user record names, any number; each lookup has one of the three.
    ///   More than 200 are sent in several requests.
    /// - Returns: One result for each lookup, in the order of `lookups`: the person, or
    ///   ``CloudKitError/Code-swift.struct/notFound`` as with ``discoverUser(_:)``.
    /// - Throws: A ``CloudKitError``: the error of the first request when none was answered, and
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` for an empty lookup.
    public func discoverUsers(
        _ lookups: [LookupInfo]
    ) async throws -> [Result<UserIdentity, CloudKitError>] {
        for (index, lookup) in lookups.enumerated() where lookup.text == nil {
            throw CloudKitError.invalidArgument(
                "The lookup at index \(index) has no e-mail address, phone number or user record name."
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

    /// Lists the people in the caller's address book who use the app and allow it to find them.
    ///
    /// ```swift
    /// let friends = try await service.discoverAllUsers()
    /// // GET /database/1/iCloud.com.example/development/public/users/discover
    /// ```
    ///
    /// Apple's page documents this request, and Apple's own client sends it. The only observed response of the live
    /// service is ``CloudKitError/Code-swift.struct/internalError``; use ``discoverUsers(_:)`` then.
    ///
    /// - Returns: The identities of the people.
    /// - Throws: A ``CloudKitError``, as ``discoverUser(_:)``.
    public func discoverAllUsers() async throws -> [UserIdentity] {
        try await call(Operations.DiscoverAllUsers.id) { client in
            try await client.discoverAllUsers(path: path(to: .public)).ok.body.json
        }.users ?? []
    }
}

/// Matches the people of a response with the lookups of the request.
///
/// It is not documented how a response shows a person who was not found: the person may be missing from the list, or be
/// in it without a user record name.
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
    /// Whether this is the identity for a lookup.
    fileprivate func isFound(by lookup: LookupInfo) -> Bool {
        if let name = lookup.userRecordName, name == userRecordName { return true }
        guard let lookupInfo else { return false }
        return lookupInfo.userRecordName == lookup.userRecordName && lookupInfo.phoneNumber == lookup.phoneNumber
            && lookupInfo.emailAddress?.lowercased() == lookup.emailAddress?.lowercased()
    }
}

extension LookupInfo {
    /// The address or name of the lookup, for error texts.
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
