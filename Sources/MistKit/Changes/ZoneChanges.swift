package import CloudKitWebServices
import OpenAPISwiftRuntime

/// A page of changes of a zone.
///
/// A record is in the feed once, in its current state, even if it changed several times.
public struct ZoneChanges: ChangePage {
    /// The records that changed in their current state, those that were deleted (`isDeleted`), and
    /// the errors of records that the service could not return, all in the order of the service.
    public var results: [Result<Record, CloudKitError>]

    /// Where the next page begins. Store it together with the results of this page.
    public var token: ZoneChangeToken

    /// Whether the service has more changes now.
    public var moreComing: Bool

    /// Whether the newest changes come first.
    public var isNewestFirst: Bool

    /// Makes a page, for instance in the tests of a program.
    public init(
        results: [Result<Record, CloudKitError>],
        token: ZoneChangeToken,
        moreComing: Bool,
        isNewestFirst: Bool = false
    ) {
        self.results = results
        self.token = token
        self.moreComing = moreComing
        self.isNewestFirst = isNewestFirst
    }

    /// The records that were created or changed, in their current state. They are looked for in ``results`` at each use.
    public var changedRecords: [Record] { results.successes().filter { !$0.isDeleted } }

    /// The records that were deleted: their names and change tags. The service does not say their types. They are
    /// looked for in ``results`` at each use.
    public var deletedRecords: [Record] { results.successes().filter(\.isDeleted) }

    /// The errors of records that the service could not return. They are looked for in ``results`` at each use.
    public var failures: [CloudKitError] { results.failures() }

    /// Whether the page has a token and nothing else.
    public var isEmpty: Bool { results.isEmpty }
}

extension CloudKitDatabase {
    /// Follows the changes of a custom zone in the private or shared database.
    ///
    /// ```swift
    /// for try await page in database.changes(inZone: ZoneID(zoneName: "Notes"), since: token) { ... }
    /// // POST /database/1/iCloud.com.example/development/private/changes/zone
    /// // {"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"AQAAAW..."}]}
    /// ```
    ///
    /// A token that no longer works, or that belongs to another zone, gives
    /// ``CloudKitError/Code-swift.struct/changeTokenExpired``: discard the records that were fetched with it, and start
    /// without a token. ``CloudKitError/Code-swift.struct/zoneNotFound`` says that the zone was deleted, with all its
    /// records.
    ///
    /// - Parameters:
    ///   - zone: The zone. In the shared database, its identifier needs the owner's name.
    ///   - token: Where to continue; `nil` for the whole history.
    ///   - desiredKeys: The fields to fetch; all when `nil`, none when empty.
    ///   - desiredRecordTypes: The types to fetch; all when `nil`. The service was observed to send other types as
    ///     well, and it sends deletions of all types.
    ///   - newestFirst: Whether the newest changes come first (`reverse`). Then only the token of the last page
    ///     continues after the newest change.
    ///   - pageSize: The most records in a page, from 1. The service returns at most 200, and 200 when this is `nil`.
    /// - Returns: The pages, not fetched yet.
    public func changes(
        inZone zone: ZoneID,
        since token: ZoneChangeToken? = nil,
        desiredKeys: [String]? = nil,
        desiredRecordTypes: [String]? = nil,
        newestFirst: Bool = false,
        pageSize: Int? = nil
    ) -> ChangePages<ZoneChanges> {
        let options = ZoneChangesOptions(
            desiredKeys: desiredKeys,
            desiredRecordTypes: desiredRecordTypes,
            newestFirst: newestFirst,
            pageSize: pageSize
        )
        return ChangePages(operation: ZoneChangesOptions.operation, startToken: token) {
            (token) async throws(CloudKitError) in
            try await requestZoneChanges([(zone, token)], options)[0].get()
        }
    }

    /// Sends one request of `changes/zone`, for one page of the changes of each zone.
    ///
    /// - Returns: One result per zone, in their order.
    package func requestZoneChanges(
        _ zones: [(zoneID: ZoneID, token: ZoneChangeToken?)],
        _ options: ZoneChangesOptions = ZoneChangesOptions()
    ) async throws(CloudKitError) -> [Result<ZoneChanges, CloudKitError>] {
        try await requestZoneChanges(zones.map { ($0.zoneID, $0.token, options) })
    }

    /// Sends one request of `changes/zone`, for one page of the changes of each zone, with options of each.
    ///
    /// - Returns: One result per zone, in their order.
    package func requestZoneChanges(
        _ zones: [(zoneID: ZoneID, token: ZoneChangeToken?, options: ZoneChangesOptions)]
    ) async throws(CloudKitError) -> [Result<ZoneChanges, CloudKitError>] {
        for case let pageSize? in zones.map(\.options.pageSize) where pageSize < 1 {
            throw .invalidArgument("The page size has to be at least 1, but is \(pageSize).")
        }
        let reply = try await service.reply(to: ZoneChangesOptions.operation) { client in
            let response = try await client.fetchZoneChanges(
                path: path,
                body: .json(
                    .init(
                        zones: zones.map { zone, token, options in
                            options.request(for: zone, since: token, numbersAsStrings: numbersAsStringsOption)
                        }
                    )
                )
            ).ok
            return (try response.body.json.zones ?? [], response.headers.xAppleRequestUUID)
        }
        let inOrder =
            reply.body.count == zones.count
            && zip(reply.body, zones).allSatisfy { $0.zoneID?.isSame(as: $1.zoneID) ?? true }
        return zones.enumerated().map { index, zone in
            let found = inOrder ? reply.body[index] : reply.body.first { $0.zoneID?.isSame(as: zone.zoneID) == true }
            guard let found else { return .failure(.noChanges(of: zone.zoneID, in: reply.origin)) }
            do throws(CloudKitError) {
                return .success(try ZoneChanges(found, of: zone.zoneID, since: zone.token, in: reply.origin))
            } catch {
                return .failure(error)
            }
        }
    }
}

/// The options of a request for a zone's changes, except its change token.
package struct ZoneChangesOptions: Sendable {
    static let operation = Operations.FetchZoneChanges.id

    var desiredKeys: [String]?
    var desiredRecordTypes: [String]?
    var newestFirst: Bool
    var pageSize: Int?

    package init(
        desiredKeys: [String]? = nil,
        desiredRecordTypes: [String]? = nil,
        newestFirst: Bool = false,
        pageSize: Int? = nil
    ) {
        self.desiredKeys = desiredKeys
        self.desiredRecordTypes = desiredRecordTypes
        self.newestFirst = newestFirst
        self.pageSize = pageSize
    }

    fileprivate func request(
        for zone: ZoneID,
        since token: ZoneChangeToken?,
        numbersAsStrings: Bool?
    ) -> Components.Schemas.ZoneChangesRequest {
        // CloudKit JS sends all options with the zone. Apple's page spells the flag for numbers differently
        // (`numberAsStrings`).
        Components.Schemas.ZoneChangesRequest(
            zoneID: zone,
            syncToken: token?.text,
            reverse: newestFirst ? true : nil,
            resultsLimit: pageSize.map(ResultsLimit.init(count:)),
            desiredKeys: desiredKeys,
            desiredRecordTypes: desiredRecordTypes,
            numbersAsStrings: numbersAsStrings
        )
    }
}

extension ZoneChanges {
    /// Reads the page of a zone.
    ///
    /// - Parameters:
    ///   - changes: The zone's part of the response.
    ///   - zone: The zone.
    ///   - token: The token of the request.
    ///   - origin: The request, for errors.
    /// - Throws: The error of the zone; `unexpectedResponse` for a page without a token.
    package init(
        _ changes: Components.Schemas.ZoneChanges,
        of zone: ZoneID,
        since token: ZoneChangeToken?,
        in origin: ResponseOrigin
    ) throws(CloudKitError) {
        if let code = changes.serverErrorCode {
            var dictionary = ErrorResponse(
                serverErrorCode: ServerErrorCode(rawValue: code),
                reason: changes.reason,
                retryAfter: changes.retryAfter
            )
            dictionary.redirectURL = changes.redirectURL
            let error = CloudKitError(dictionary, item: .zone(name: zone.zoneName)).from(origin)
            throw token == nil ? error : error.namingUselessToken()
        }
        guard let text = changes.syncToken ?? token?.text, let next = ZoneChangeToken(text) else {
            throw .noChanges(of: zone, in: origin)
        }
        results = (changes.records ?? []).map { $0.result.result(requested: nil, in: origin) }
        self.token = next
        moreComing = changes.moreComing ?? false
        isNewestFirst = changes.reverse ?? false
    }
}

extension CloudKitService {
    /// Requests a page of a feed; an error that is about the token says so.
    ///
    /// - Parameters:
    ///   - operation: The operation's name.
    ///   - token: Where the page begins; `nil` for the first change.
    ///   - body: As in ``reply(to:_:)``.
    /// - Returns: What `body` returns.
    /// - Throws: What the client throws, as a ``CloudKitError``.
    func page<Body>(
        of operation: String,
        since token: String?,
        _ body: (Client) async throws -> (Body, requestUUID: String?)
    ) async throws(CloudKitError) -> Reply<Body> {
        do throws(CloudKitError) {
            return try await reply(to: operation, body)
        } catch {
            throw token == nil ? error : error.namingUselessToken()
        }
    }
}

extension CloudKitError {
    /// The same error, with the code `changeTokenExpired` if the reason is about the change token.
    ///
    /// The service has no separate code for a token that it cannot use. Two of these reasons were observed; the third
    /// is the reason that the native framework receives for a token that is too old.
    func namingUselessToken() -> CloudKitError {
        switch (code, reason) {
        case (.badRequest, "Unknown sync continuation type"?), (.badRequest, "Invalid continuation format"?):
            var error = self
            error.code = .changeTokenExpired
            error.message = """
                The change token is damaged, or belongs to another feed. Discard what was fetched with it, and start without a \
                token.
                """
            return error
        case (_, "client knowledge differs from server knowledge"?):
            var error = self
            error.code = .changeTokenExpired
            error.message = CloudKitError.advice(for: .changeTokenExpired)
            return error
        default:
            return self
        }
    }

    static func noChanges(of zone: ZoneID, in origin: ResponseOrigin) -> CloudKitError {
        var error = CloudKitError(
            code: .unexpectedResponse,
            message: "The response has no changes of the zone, or no token to continue from."
        )
        error.item = .zone(name: zone.zoneName)
        return error.from(origin)
    }
}
