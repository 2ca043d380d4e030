/// A page of what happened in several zones: one page of each that has one.
public struct MultipleZoneChanges: ChangePage {
    /// The result for one of the zones.
    public struct ZoneResult: Sendable {
        /// The zone, as it was asked for.
        public var zoneID: ZoneID
        /// Its page, or the error in its place: ``CloudKitError/Code-swift.struct/zoneNotFound`` for a zone that was deleted,
        /// ``CloudKitError/Code-swift.struct/changeTokenExpired`` for one to be followed from its start, without a token.
        public var result: Result<ZoneChanges, CloudKitError>
    }

    /// One result for each zone that was asked, in the order of the call. Zones of which all was seen, and those that failed, are not
    /// asked again for the next page.
    public var results: [ZoneResult]

    /// Where the next page begins in each zone, those of earlier pages included; to be stored with what was made of this one.
    public var token: [ZoneID: ZoneChangeToken]

    /// Whether the service has more of some zone now.
    public var moreComing: Bool

    /// Whether the page says nothing but where to go on.
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
    /// Follows the changes of several custom zones of the private or shared database, with one request for each page of them all.
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
    /// A zone that fails has a failure as its result, and the others go on.
    ///
    /// - Parameters:
    ///   - zones: The zones; in the shared database with their owners' names.
    ///   - tokens: Where to go on in each; a zone without a token gives its whole history.
    ///   - desiredKeys: The fields to fetch; all when `nil`, none when empty.
    ///   - desiredRecordTypes: The types to fetch; all when `nil`. Other types were seen to come all the same.
    ///   - newestFirst: Whether the newest changes come first (`reverse`).
    ///   - pageSize: The most records of each zone in a page; at most 200, and 200 when `nil`.
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
        let results = try await fetchZoneChanges(position.zones.map { ($0, position.tokens[$0]) }, options)
        for (zone, result) in zip(position.zones, results) {
            var result = result
            if case .success(let changes) = result {
                page.token[zone] = changes.token
                if changes.moreComing, changes.token == position.tokens[zone] {
                    // A zone that always says so must not hold up the others.
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
