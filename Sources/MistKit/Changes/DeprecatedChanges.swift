import CloudKitWebServices
import OpenAPISwiftRuntime

/// How far somebody followed the list of zones by `zones/changes`, which is deprecated. No other feed takes it.
public struct ZoneListChangeToken: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The text to store, as the service sent it (`metaSyncToken`); never empty.
    public let text: String

    /// Makes a token of a text that was stored; `nil` for an empty one, whose meaning to the service is not known.
    ///
    /// - Parameter text: The text of a token.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
    }

    /// The same as ``text``.
    public var description: String { text }
}

/// A page of which zones changed, by `zones/changes`, which is deprecated.
public struct ZoneListChanges: ChangePage {
    /// The zones in which something changed, each with the token of its present state.
    public var changedZones: [Zone]

    /// The zones that were deleted, with all their records.
    public var deletedZones: [ZoneID]

    /// The zones that the service could not give.
    public var failures: [CloudKitError]

    /// Where the next page begins; to be stored with what was made of this one.
    public var token: ZoneListChangeToken

    /// Whether the service has more now.
    public var moreComing: Bool

    /// Whether the page says nothing but where to go on.
    public var isEmpty: Bool { changedZones.isEmpty && deletedZones.isEmpty && failures.isEmpty }
}

extension CloudKitDatabase {
    /// Follows the changes of one custom zone by `records/changes`, an endpoint that Apple deprecated in 2016.
    ///
    /// ```swift
    /// // POST /database/1/iCloud.com.example/development/private/records/changes
    /// // {"zoneID":{"zoneName":"Notes"},"syncToken":"AQAAAW..."}
    /// ```
    ///
    /// - Parameters:
    ///   - zone: The zone; in the shared database with its owner's name.
    ///   - token: Where to go on; `nil` for the whole history.
    ///   - desiredKeys: The fields to fetch; all when `nil`, none when empty.
    ///   - numbersAsStrings: Whether the service sends numbers as JSON strings.
    ///   - pageSize: The most records in a page.
    /// - Returns: The pages, not fetched yet.
    @available(
        *,
        deprecated,
        renamed: "changes(inZone:since:desiredKeys:desiredRecordTypes:newestFirst:numbersAsStrings:pageSize:)",
        message: "records/changes is deprecated by Apple; its successor is changes/zone, which takes the same tokens."
    )
    public func recordChanges(
        inZone zone: ZoneID,
        since token: ZoneChangeToken? = nil,
        desiredKeys: [String]? = nil,
        numbersAsStrings: Bool = false,
        pageSize: Int? = nil
    ) -> ChangePages<ZoneChanges> {
        let operation = Operations.FetchRecordChanges.id
        return ChangePages(operation: operation, startToken: token) { (token) async throws(CloudKitError) in
            let reply = try await service.page(of: operation, since: token?.text) { client in
                let response = try await client.fetchRecordChanges(
                    path: path,
                    body: .json(
                        .init(
                            zoneID: zone,
                            syncToken: token?.text,
                            resultsLimit: pageSize.map(ResultsLimit.init(count:)),
                            desiredKeys: desiredKeys,
                            numbersAsStrings: numbersAsStrings || self.numbersAsStrings ? true : nil
                        )
                    )
                ).ok
                return (try response.body.json, response.headers.xAppleRequestUUID)
            }
            guard let text = reply.body.syncToken ?? token?.text, let next = ZoneChangeToken(text) else {
                throw .noChanges(of: zone, in: reply.origin)
            }
            return ZoneChanges(
                reply.body.records ?? [],
                token: next,
                moreComing: reply.body.moreComing ?? false,
                isNewestFirst: reply.body.reverse ?? false,
                in: reply.origin
            )
        }
    }

    /// Follows which zones changed by `zones/changes`, an endpoint that Apple deprecated in 2016.
    ///
    /// ```swift
    /// // POST /database/1/iCloud.com.example/development/private/zones/changes
    /// // {"metaSyncToken":"AQAAAW..."}
    /// ```
    ///
    /// - Parameters:
    ///   - token: Where to go on; `nil` for all zones. Tokens of ``changes(since:pageSize:)`` are of another kind.
    ///   - pageSize: The most zones in a page.
    /// - Returns: The pages, not fetched yet.
    @available(
        *,
        deprecated,
        renamed: "changes(since:pageSize:)",
        message: "zones/changes is deprecated by Apple; its successor is changes/database, whose tokens are others."
    )
    public func zoneListChanges(
        since token: ZoneListChangeToken? = nil,
        pageSize: Int? = nil
    ) -> ChangePages<ZoneListChanges> {
        let operation = Operations.FetchZoneListChanges.id
        return ChangePages(operation: operation, startToken: token) { (token) async throws(CloudKitError) in
            let reply = try await service.page(of: operation, since: token?.text) { client in
                let response = try await client.fetchZoneListChanges(
                    path: path,
                    // The page's prose once says syncToken, which is ignored without a word (observed live).
                    body: .json(
                        .init(metaSyncToken: token?.text, resultsLimit: pageSize.map(ResultsLimit.init(count:)))
                    )
                ).ok
                return (try response.body.json, response.headers.xAppleRequestUUID)
            }
            guard let text = reply.body.metaSyncToken ?? token?.text, let next = ZoneListChangeToken(text),
                let base = DatabaseChangeToken(text)
            else { throw .noToken(in: reply.origin) }
            var zones = DatabaseChanges(token: base, moreComing: false)
            zones.add(reply.body.zones ?? [], in: reply.origin)
            return ZoneListChanges(
                changedZones: zones.changedZones,
                deletedZones: zones.deletedZones,
                failures: zones.failures,
                token: next,
                moreComing: reply.body.moreComing ?? false
            )
        }
    }
}
