import CloudKitWebServices
import OpenAPISwiftRuntime

extension CloudKitService {
    /// Fetches the metadata of the share behind a link: the share, its owner, and the permission of the caller.
    ///
    /// ```swift
    /// let metadata = try await service.resolve(ShareLink(url))
    /// // POST /database/1/iCloud.com.example/development/public/records/resolve
    /// // {"shortGUIDs":[{"value":"02aPe3Jgy3COgyPaWfUJPyfFw","shouldFetchRootRecord":true}]}
    /// metadata.ownerIdentity?.nameComponents?.givenName  // Optional("Ann")
    /// metadata.participantStatus                         // Optional(INVITED)
    /// ```
    ///
    /// A public share can be resolved without signing in (recorded).
    ///
    /// - Parameters:
    ///   - link: The link.
    ///   - fetchingRootRecord: Whether to fetch the root record of the share, too.
    ///   - rootRecordDesiredKeys: The fields of the root record to fetch; all fields when `nil`.
    /// - Returns: The metadata. If the invitation went to an address that the service does not know as the caller's,
    ///   the metadata has only `potentialMatchList`.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` for a link that does not belong to a
    ///   share, ``CloudKitError/Code-swift.struct/accessDenied`` for a user who is not invited,
    ///   ``CloudKitError/Code-swift.struct/authenticationRequired`` for a share that is not public, when no user is
    ///   signed in.
    public func resolve(
        _ link: ShareLink,
        fetchingRootRecord: Bool = true,
        rootRecordDesiredKeys: [String]? = nil
    ) async throws -> ShareMetadata {
        try await resolve(
            [link],
            fetchingRootRecord: fetchingRootRecord,
            rootRecordDesiredKeys: rootRecordDesiredKeys
        )[0].get()
    }

    /// Fetches the metadata of the shares behind links.
    ///
    /// - Parameters:
    ///   - links: The links, any number.
    ///   - fetchingRootRecord: Whether to fetch the root records of the shares, too.
    ///   - rootRecordDesiredKeys: The fields of the root records to fetch; all fields when `nil`.
    /// - Returns: One result for each link, in the order of the links.
    /// - Throws: A ``CloudKitError``: the error of the first request, when it fails as a whole.
    public func resolve(
        _ links: [ShareLink],
        fetchingRootRecord: Bool = true,
        rootRecordDesiredKeys: [String]? = nil
    ) async throws -> [Result<ShareMetadata, CloudKitError>] {
        let shortGUIDs = links.map { link in
            ShortGUID(
                link.shortGUID,
                shouldFetchRootRecord: fetchingRootRecord,
                rootRecordDesiredKeys: rootRecordDesiredKeys
            )
        }
        return try await inBatches(of: shortGUIDs, named: \.self) { (batch, call) async throws(CloudKitError) in
            try await call.reply(to: Operations.ResolveShares.id) { client in
                let response = try await client.resolveShares(
                    path: path(to: .public),
                    body: .json(.init(shortGUIDs: batch))
                ).ok
                return (try response.body.json.results ?? [], response.headers.xAppleRequestUUID)
            }
        }
    }

    /// Accepts a share. Its zone is then in the shared database, where the caller can read its records and, with the
    /// permission, write them.
    ///
    /// ```swift
    /// let metadata = try await service.accept(link)
    /// // POST /database/1/iCloud.com.example/development/public/records/accept
    /// // {"shortGUIDs":[{"value":"02aPe3Jgy3COgyPaWfUJPyfFw"}]}
    /// let photos = service.sharedDatabase.records(matching: query, inZone: metadata.zoneID)
    /// ```
    ///
    /// Accepting a share again changes nothing.
    ///
    /// - Parameter link: The link.
    /// - Returns: The share, its zone with its owner, and the caller's permission and status.
    /// - Throws: A ``CloudKitError``: the errors of
    ///   ``resolve(_:fetchingRootRecord:rootRecordDesiredKeys:)-(ShareLink,_,_)``;
    ///   ``CloudKitError/Code-swift.struct/authenticationFailed`` with a server-to-server key.
    @discardableResult
    public func accept(_ link: ShareLink) async throws -> ShareMetadata {
        try await accept([link])[0].get()
    }

    /// Accepts shares.
    ///
    /// - Parameter links: The links, any number.
    /// - Returns: One result for each link, in the order of the links.
    /// - Throws: A ``CloudKitError``: the error of the first request, when it fails as a whole.
    public func accept(
        _ links: [ShareLink]
    ) async throws -> [Result<ShareMetadata, CloudKitError>] {
        let shortGUIDs = links.map { ShortGUID($0.shortGUID) }
        return try await inBatches(of: shortGUIDs, named: \.self) { (batch, call) async throws(CloudKitError) in
            try await call.reply(to: Operations.AcceptShares.id) { client in
                let response = try await client.acceptShares(
                    path: path(to: .public),
                    body: .json(.init(shortGUIDs: batch))
                ).ok
                return (try response.body.json.results ?? [], response.headers.xAppleRequestUUID)
            }
        }
    }
}

extension ShareMetadata: NamedBatchItem {
    package static func isSame(_ shortGUID: ShortGUID, _ other: ShortGUID) -> Bool { shortGUID.value == other.value }
    package static func errorItem(_ shortGUID: ShortGUID) -> CloudKitError.Item { .share(shortGUID: shortGUID.value) }

    package static func explain(_ error: inout CloudKitError) {
        switch error.code {
        case .notFound:
            error.message = """
                No share has this short GUID. Its owner may have stopped sharing, or the link is of another container or \
                environment: a link does not tell either.
                """
        case .accessDenied:
            error.message = """
                The person who is signed in is not invited to this share, or no longer, and it has no public link. Its owner \
                can invite them, by an address of their iCloud account.
                """
        case .authenticationRequired:
            error.message =
                "Only invited users can resolve this share: sign in. A public share can be resolved without signing in."
        default: break
        }
    }

    package func named(_ shortGUID: ShortGUID?) -> ShareMetadata {
        var metadata = self
        metadata.shortGUID = metadata.shortGUID ?? shortGUID
        return metadata
    }
}
