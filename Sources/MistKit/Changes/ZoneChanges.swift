import CloudKitWebServices
import OpenAPISwiftRuntime

/// A page of what happened in a zone.
///
/// A record is in the feed once, as it is now, however often it changed.
public struct ZoneChanges: ChangePage {
    /// The records that were made or changed, as they are now.
    public var changedRecords: [Record] = []

    /// The records that were deleted: their names and change tags.
    public var deletedRecords: [Record] = []

    /// The records that the service could not give.
    public var failures: [CloudKitError] = []

    /// Where the next page begins; to be stored with what was made of this one.
    public var token: ZoneChangeToken

    /// Whether the service has more now.
    public var moreComing: Bool

    /// Whether the page says nothing but where to go on.
    public var isEmpty: Bool { changedRecords.isEmpty && deletedRecords.isEmpty && failures.isEmpty }
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
    /// A token that no longer works, or that is not one of this zone, gives
    /// ``CloudKitError/Code-swift.struct/changeTokenExpired``: forget what was fetched with it, and start without one.
    /// ``CloudKitError/Code-swift.struct/zoneNotFound`` says that the zone was deleted, with all its records.
    ///
    /// - Parameters:
    ///   - zone: The zone; in the shared database with its owner's name.
    ///   - token: Where to go on; `nil` for the whole history.
    ///   - desiredKeys: The fields to fetch; all when `nil`, none when empty.
    ///   - desiredRecordTypes: The types to fetch; all when `nil`. Other types were seen to come all the same.
    ///   - pageSize: The most records in a page. The service gives at most 200, and so many when this is `nil`.
    /// - Returns: The pages, not fetched yet.
    public func changes(
        inZone zone: ZoneID,
        since token: ZoneChangeToken? = nil,
        desiredKeys: [String]? = nil,
        desiredRecordTypes: [String]? = nil,
        pageSize: Int? = nil
    ) -> ChangePages<ZoneChanges> {
        ChangePages(operation: "fetchZoneChanges", startToken: token) { (token) async throws(CloudKitError) in
            let reply = try await service.call("fetchZoneChanges") { client in
                let response = try await client.fetchZoneChanges(
                    path: path,
                    body: .json(
                        .init(
                            zones: [
                                .init(
                                    zoneID: zone,
                                    syncToken: token?.text,
                                    resultsLimit: pageSize,
                                    desiredKeys: desiredKeys,
                                    desiredRecordTypes: desiredRecordTypes
                                )
                            ]
                        )
                    )
                ).ok
                return Reply(
                    try response.body.json.zones?.first,
                    operation: "fetchZoneChanges",
                    requestUUID: response.headers.xAppleRequestUUID
                )
            }
            guard let changes = reply.body else { throw .noChanges(of: zone, in: reply.origin) }
            return try ZoneChanges(changes, of: zone, since: token, in: reply.origin)
        }
    }
}

extension ZoneChanges {
    fileprivate init(
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
            throw token == nil ? error : error.namingBadToken()
        }
        guard let text = changes.syncToken ?? token?.text, let next = ZoneChangeToken(text) else {
            throw .noChanges(of: zone, in: origin)
        }
        self.token = next
        moreComing = changes.moreComing ?? false
        for result in changes.records ?? [] {
            switch Result(result, in: origin) {
            case .success(let record) where record.isDeleted: deletedRecords.append(record)
            case .success(let record): changedRecords.append(record)
            case .failure(let error): failures.append(error)
            }
        }
    }
}

extension CloudKitError {
    /// The service has no code of its own for a token that it cannot use; these two reasons were observed.
    fileprivate func namingBadToken() -> CloudKitError {
        guard
            code == .badRequest,
            reason == "Unknown sync continuation type" || reason == "Invalid continuation format"
        else { return self }
        var error = self
        error.code = .changeTokenExpired
        error.message =
            "The change token is none of this zone, or damaged. Forget what was fetched with it and start without a token."
        return error
    }

    fileprivate static func noChanges(of zone: ZoneID, in origin: ResponseOrigin) -> CloudKitError {
        var error = CloudKitError(
            code: .unexpectedResponse,
            message: "The response says nothing of the zone's changes, or has no token to go on from."
        )
        error.item = .zone(name: zone.zoneName)
        return error.from(origin)
    }
}
