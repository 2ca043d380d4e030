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
}
