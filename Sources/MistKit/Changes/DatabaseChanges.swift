import CloudKitWebServices
import OpenAPISwiftRuntime

/// A page of changes of a database: the zones that changed.
public struct DatabaseChanges: ChangePage {
    /// The zones in which something changed, each with the change token of its current state.
    public var changedZones: [Zone] = []

    /// The zones that were deleted or purged, with all their records: forget these, and their change tokens. The
    /// service does not distinguish the two.
    public var deletedZones: [ZoneID] = []

    /// The errors of zones that the service could not return.
    public var failures: [CloudKitError] = []

    /// Where the next page begins. Store it together with the results of this page.
    public var token: DatabaseChangeToken

    /// Whether the service has more changes now.
    public var moreComing: Bool

    /// Makes a page, for example for a test.
    public init(
        changedZones: [Zone] = [],
        deletedZones: [ZoneID] = [],
        failures: [CloudKitError] = [],
        token: DatabaseChangeToken,
        moreComing: Bool = false
    ) {
        self.changedZones = changedZones
        self.deletedZones = deletedZones
        self.failures = failures
        self.token = token
        self.moreComing = moreComing
    }

    /// Whether the page has a token and nothing else.
    public var isEmpty: Bool { changedZones.isEmpty && deletedZones.isEmpty && failures.isEmpty }
}

extension CloudKitDatabase {
    /// Follows the changes of the private or shared database: which zones changed.
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
    /// To fetch the changes in a zone, use
    /// ``changes(inZone:since:desiredKeys:desiredRecordTypes:newestFirst:pageSize:)``, or for several zones
    /// ``changes(inZones:since:desiredKeys:desiredRecordTypes:newestFirst:pageSize:)``, with the change tokens of those
    /// zones. A token that the service no longer accepts gives ``CloudKitError/Code-swift.struct/changeTokenExpired``:
    /// start without a token.
    ///
    /// - Parameters:
    ///   - token: Where to continue; `nil` for all zones.
    ///   - pageSize: The most zones in a page, from 1; when `nil`, the service chooses.
    /// - Returns: The pages, not fetched yet.
    public func changes(
        since token: DatabaseChangeToken? = nil,
        pageSize: Int? = nil
    ) -> ChangePages<DatabaseChanges> {
        ChangePages(operation: Operations.FetchDatabaseChanges.id, startToken: token) {
            (token) async throws(CloudKitError) in
            try await fetchDatabaseChanges(since: token, pageSize: pageSize)
        }
    }

    /// Fetches one page.
    package func fetchDatabaseChanges(
        since token: DatabaseChangeToken?,
        pageSize: Int? = nil
    ) async throws(CloudKitError) -> DatabaseChanges {
        if let pageSize, pageSize < 1 {
            throw .invalidArgument("The page size has to be at least 1, but is \(pageSize).")
        }
        let reply = try await service.page(of: Operations.FetchDatabaseChanges.id, since: token?.text) { client in
            let response = try await client.fetchDatabaseChanges(
                path: path,
                body: .json(.init(syncToken: token?.text, resultsLimit: pageSize.map(ResultsLimit.init(count:))))
            ).ok
            return (try response.body.json, response.headers.xAppleRequestUUID)
        }
        let body = reply.body
        guard let text = body.syncToken ?? token?.text, let next = DatabaseChangeToken(text) else {
            throw .noToken(in: reply.origin)
        }
        var page = DatabaseChanges(token: next, moreComing: body.moreComing ?? false)
        page.add(body.zones ?? [], in: reply.origin)
        return page
    }
}

extension DatabaseChanges {
    mutating func add(_ results: [ZoneResult], in origin: ResponseOrigin) {
        for result in results {
            switch result.result(requested: nil, in: origin) {
            case .success(let zone) where zone.isDeleted: deletedZones.append(zone.zoneID)
            case .success(let zone): changedZones.append(zone)
            case .failure(let error): failures.append(error)
            }
        }
    }
}

extension CloudKitError {
    static func noToken(in origin: ResponseOrigin) -> CloudKitError {
        CloudKitError(code: .unexpectedResponse, message: "The response has no token to continue from.").from(origin)
    }
}
