/// A page of changes of several zones: one page of each zone that has more changes.
public struct MultipleZoneChanges: ChangePage {
    /// The result for one of the zones.
    public struct ZoneResult: Sendable {
        /// The zone, as the caller named it.
        public var zoneID: ZoneID
        /// The zone's page, or its error: ``CloudKitError/Code-swift.struct/zoneNotFound`` for a zone that was deleted,
        /// ``CloudKitError/Code-swift.struct/changeTokenExpired`` for a zone that must be followed from its start,
        /// without a token.
        public var result: Result<ZoneChanges, CloudKitError>
    }

    /// One result for each requested zone, in the order of the call. The next page no longer has zones that have no
    /// more changes or that failed.
    public var results: [ZoneResult]

    /// Where the next page begins in each zone, zones of earlier pages included. Store it together with the results of
    /// this page.
    public var token: [ZoneID: ZoneChangeToken]

    /// Whether the service has more changes of one of the zones now.
    public var moreComing: Bool

    /// Whether the page has tokens and nothing else.
    public var isEmpty: Bool {
        results.allSatisfy { result in
            switch result.result {
            case .success(let changes): changes.isEmpty
            case .failure: false
            }
        }
    }
}

extension CloudKitDatabase {
    /// Follows the changes of several custom zones of the private or shared database, with one request for a page of
    /// all zones.
    ///
    /// ```swift
    /// for try await page in database.changes(inZones: [notes, photos], since: tokens) {
    ///     for zone in page.results {
    ///         switch zone.result {
    ///         case .success(let changes): store(changes, of: zone.zoneID)
    ///         case .failure(let error) where error.code == .zoneNotFound: removeAll(of: zone.zoneID)
    ///         case .failure(let error): print(error)
    ///         }
    ///     }
    ///     tokens = page.token
    /// }
    /// // POST /database/1/iCloud.com.example/development/private/changes/zone
    /// // {"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"AQAAAW..."},{"zoneID":{"zoneName":"Photos"}}]}
    /// ```
    ///
    /// A zone that fails has an error as its result, and the other zones continue.
    ///
    /// - Parameters:
    ///   - zones: The zones. In the shared database, their identifiers need the owners' names.
    ///   - tokens: Where to continue in each zone; a zone without a token gives its whole history.
    ///   - desiredKeys: The fields to fetch; all when `nil`, none when empty.
    ///   - desiredRecordTypes: The types to fetch; all when `nil`. The service was observed to send other types as
    ///     well.
    ///   - newestFirst: Whether the newest changes come first (`reverse`).
    ///   - pageSize: The most records of each zone in a page, from 1; at most 200, and 200 when `nil`.
    /// - Returns: The pages, not fetched yet.
    public func changes(
        inZones zones: [ZoneID],
        since tokens: [ZoneID: ZoneChangeToken] = [:],
        desiredKeys: [String]? = nil,
        desiredRecordTypes: [String]? = nil,
        newestFirst: Bool = false,
        pageSize: Int? = nil
    ) -> ChangePages<MultipleZoneChanges> {
        let options = ZoneChangesOptions(
            desiredKeys: desiredKeys,
            desiredRecordTypes: desiredRecordTypes,
            newestFirst: newestFirst,
            pageSize: pageSize
        )
        return ChangePages(
            PageSource(
                operation: ZoneChangesOptions.operation,
                start: MultipleZonePosition(zones: zones, tokens: tokens)
            ) { (position) async throws(CloudKitError) in
                let page = try await fetchMultipleZonePage(at: position, options)
                return ArrivedPage { () throws(CloudKitError) in (page, page.next(after: position), page.isEmpty) }
            }
        )
    }

    private func fetchMultipleZonePage(
        at position: MultipleZonePosition,
        _ options: ZoneChangesOptions
    ) async throws(CloudKitError) -> MultipleZoneChanges {
        var page = MultipleZoneChanges(results: [], token: position.tokens, moreComing: false)
        guard !position.zones.isEmpty else { return page }
        let pages = try await requestZoneChanges(position.zones.map { ($0, position.tokens[$0]) }, options)
        for (zone, fetched) in zip(position.zones, pages) {
            var result = fetched
            if case .success(let changes) = result {
                page.token[zone] = changes.token
                if changes.moreComing, changes.token == position.tokens[zone] {
                    // A zone that announces more without end must not hold up the others.
                    result = .failure(.endlessPages(operation: ZoneChangesOptions.operation))
                } else if changes.moreComing {
                    page.moreComing = true
                }
            }
            page.results.append(MultipleZoneChanges.ZoneResult(zoneID: zone, result: result))
        }
        return page
    }
}

/// Where a page of the changes of several zones begins.
private struct MultipleZonePosition: Equatable, Sendable {
    /// The zones that have more.
    var zones: [ZoneID]
    var tokens: [ZoneID: ZoneChangeToken]
}

extension MultipleZoneChanges {
    /// Where the page after this one begins; `nil` when no zone has more.
    fileprivate func next(after position: MultipleZonePosition) -> MultipleZonePosition? {
        guard moreComing else { return nil }
        let unfinished = results.filter { (try? $0.result.get().moreComing) ?? false }
        return MultipleZonePosition(zones: unfinished.map(\.zoneID), tokens: token)
    }
}
