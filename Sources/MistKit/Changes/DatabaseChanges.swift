import CloudKitWebServices
import OpenAPISwiftRuntime

/// A page of which zones of a database changed.
public struct DatabaseChanges: ChangePage {
    /// The zones in which something changed, each with the token of its present state.
    public var changedZones: [Zone] = []

    /// The zones that were deleted, with all their records.
    public var deletedZones: [ZoneID] = []

    /// The zones that the service could not give.
    public var failures: [CloudKitError] = []

    /// Where the next page begins; to be stored with what was made of this one.
    public var token: DatabaseChangeToken

    /// Whether the service has more now.
    public var moreComing: Bool

    /// Whether the page says nothing but where to go on.
    public var isEmpty: Bool { changedZones.isEmpty && deletedZones.isEmpty && failures.isEmpty }
}

extension CloudKitDatabase {
    /// Follows which zones of the private or shared database changed.
    ///
    /// ```swift
    /// for try await page in service.privateDatabase.changes(since: token) {
    ///     for zone in page.changedZones { await follow(zone.zoneID) }
    ///     token = page.token
    /// }
    /// // POST /database/1/iCloud.com.example/development/private/changes/database
    /// // {"syncToken":"AQAAAW..."}
    /// ```
    ///
    /// What changed in a zone is asked for with ``changes(inZone:since:desiredKeys:desiredRecordTypes:pageSize:)`` and a
    /// token of that zone. A token that the service no longer takes gives
    /// ``CloudKitError/Code-swift.struct/changeTokenExpired`` or ``CloudKitError/Code-swift.struct/badRequest``: start without
    /// one.
    ///
    /// - Parameters:
    ///   - token: Where to go on; `nil` for all zones.
    ///   - pageSize: The most zones in a page; as many as the service likes when `nil`.
    /// - Returns: The pages, not fetched yet.
    public func changes(
        since token: DatabaseChangeToken? = nil,
        pageSize: Int? = nil
    ) -> ChangePages<DatabaseChanges> {
        ChangePages(operation: "fetchDatabaseChanges", startToken: token) { (token) async throws(CloudKitError) in
            let reply = try await service.call("fetchDatabaseChanges") { client in
                let response = try await client.fetchDatabaseChanges(
                    path: path,
                    body: .json(.init(syncToken: token?.text, resultsLimit: pageSize))
                ).ok
                return Reply(
                    try response.body.json,
                    operation: "fetchDatabaseChanges",
                    requestUUID: response.headers.xAppleRequestUUID
                )
            }
            let body = reply.body
            guard let text = body.syncToken ?? token?.text, let next = DatabaseChangeToken(text) else {
                var error = CloudKitError(
                    code: .unexpectedResponse,
                    message: "The response has no token to go on from."
                )
                error = error.from(reply.origin)
                throw error
            }
            var page = DatabaseChanges(token: next, moreComing: body.moreComing ?? false)
            for result in body.zones ?? [] {
                switch Result(result, in: reply.origin) {
                case .success(let zone) where zone.isDeleted: page.deletedZones.append(zone.zoneID)
                case .success(let zone): page.changedZones.append(zone)
                case .failure(let error): page.failures.append(error)
                }
            }
            return page
        }
    }
}
