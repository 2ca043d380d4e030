package import CloudKitWebServices
import OpenAPISwiftRuntime

/// A page of changes of a database: the zones that changed.
public struct DatabaseChanges: ChangePage {
    /// The zones in which something changed, those that were deleted (`isDeleted`), and the errors of zones that the
    /// service could not return, all in the order of the service.
    public var results: [Result<Zone, CloudKitError>]

    /// Where the next page begins. Store it together with the results of this page.
    public var token: DatabaseChangeToken

    /// Whether the service has more changes now.
    public var moreComing: Bool

    /// Makes a page, for instance in the tests of a program.
    public init(results: [Result<Zone, CloudKitError>], token: DatabaseChangeToken, moreComing: Bool) {
        self.results = results
        self.token = token
        self.moreComing = moreComing
    }

    /// The zones in which something changed, each with the change token of its current state. They are looked for in
    /// ``results`` at each use.
    public var changedZones: [Zone] { results.successes().filter { !$0.isDeleted } }

    /// The zones that were deleted or purged, with all their records: forget these, and their change tokens. The
    /// service does not distinguish the two. They are looked for in ``results`` at each use.
    public var deletedZones: [ZoneID] { results.successes().filter(\.isDeleted).map(\.zoneID) }

    /// The errors of zones that the service could not return. They are looked for in ``results`` at each use.
    public var failures: [CloudKitError] { results.failures() }

    /// Whether the page has a token and nothing else.
    public var isEmpty: Bool { results.isEmpty }
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
            try await requestDatabaseChanges(since: token, pageSize: pageSize)
        }
    }

    /// Sends one request of `changes/database`.
    package func requestDatabaseChanges(
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
        return try DatabaseChanges(reply.body, since: token, in: reply.origin)
    }
}

extension DatabaseChanges {
    /// Reads a page.
    ///
    /// - Parameters:
    ///   - response: The body of the response.
    ///   - token: The token of the request.
    ///   - origin: The request, for errors.
    /// - Throws: An error of code `unexpectedResponse` for a page without a token.
    package init(
        _ response: Components.Schemas.FetchDatabaseChangesResponse,
        since token: DatabaseChangeToken?,
        in origin: ResponseOrigin
    ) throws(CloudKitError) {
        guard let text = response.syncToken ?? token?.text, let next = DatabaseChangeToken(text) else {
            throw .noToken(in: origin)
        }
        results = (response.zones ?? []).map { $0.result(requested: nil, in: origin) }
        self.token = next
        moreComing = response.moreComing ?? false
    }
}

extension CloudKitError {
    static func noToken(in origin: ResponseOrigin) -> CloudKitError {
        CloudKitError(code: .unexpectedResponse, message: "The response has no token to continue from.").from(origin)
    }
}
