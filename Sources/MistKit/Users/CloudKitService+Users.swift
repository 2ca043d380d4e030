import CloudKitWebServices
import OpenAPISwiftRuntime

extension CloudKitService {
    /// Fetches the person that the credentials belong to.
    ///
    /// ```swift
    /// let caller = try await service.fetchCaller()
    /// // GET /database/1/iCloud.com.example/development/public/users/caller
    /// ```
    ///
    /// - Returns: The person's user record name, and the person's own name if the app may see it. For a
    ///   server-to-server key, the user record name under which it writes records.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/authenticationRequired`` where no person is
    ///   signed in. With a server-to-server key the service was also reported to refuse, with
    ///   ``CloudKitError/Code-swift.struct/authenticationFailed``.
    public func fetchCaller() async throws -> UserIdentity {
        let body = try await call(Operations.FetchCaller.id) { client in
            try await client.fetchCaller(
                path: path(to: .public)
            ).ok.body.json
        }
        // Apple's page puts the identity into a list; CloudKit JS, and the service, do not.
        if body.userRecordName == nil, let identity = body.users?.first { return identity }
        return UserIdentity(
            userRecordName: body.userRecordName,
            nameComponents: body.nameComponents,
            lookupInfo: body.lookupInfo
        )
    }

    /// Restricts the access to the data that the signed-in person has in the container, as data protection laws give them
    /// the right to.
    ///
    /// ```swift
    /// try await service.restrictUser()
    /// // GET /database/1/iCloud.com.example/development/private/users/restrict
    /// ```
    ///
    /// Afterwards the service answers the requests of this person to the container with errors, until
    /// ``unrestrictUser()``. Source: Apple's page "Changing Access Controls on User Data"; which error follows is not
    /// documented. Every container and environment of an app needs its own call, and each call a new web auth token. Tokens
    /// can be used once, and a ``TokenStorage`` keeps the next one of each reply.
    ///
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/authenticationRequired`` where no person is
    ///   signed in.
    public func restrictUser() async throws {
        _ = try await call(Operations.RestrictUser.id) { client in
            try await client.restrictUser(path: path(to: .private))
        }
    }

    /// Ends the restriction of ``restrictUser()``.
    ///
    /// ```swift
    /// try await service.unrestrictUser()
    /// // GET /database/1/iCloud.com.example/development/private/users/unrestrict
    /// ```
    ///
    /// - Throws: A ``CloudKitError``, as ``restrictUser()``.
    public func unrestrictUser() async throws {
        _ = try await call(Operations.UnrestrictUser.id) { client in
            try await client.unrestrictUser(path: path(to: .private))
        }
    }
}
