public import CloudKitModel
public import MistKit

extension CloudKitService: SyncService {
    /// Sends one request, once: the engine of the store decides what is sent again.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The database.
    /// - Returns: The reply.
    /// - Throws: A `CloudKitError`.
    public func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        let database = withoutRepetition.database(scope)
        switch request {
        case .databaseChanges(let token):
            let page = try await database.databaseChangesOnce(since: token)
            return .databaseChanges(
                SyncReply.DatabasePage(
                    changed: page.changedZones.map(\.zoneID) + (try page.failures.map { try $0.zoneID(in: scope) }),
                    deleted: page.deletedZones,
                    token: page.token.text,
                    moreComing: page.moreComing
                )
            )
        case .zoneChanges(let cursors):
            let pages = try await database.zoneChangesOnce(cursors.map { ($0.zoneID, $0.token) })
            return .zoneChanges(
                pages.map { page in
                    page.map {
                        SyncReply.ZonePage(
                            records: $0.changedRecords + $0.deletedRecords,
                            failures: $0.failures,
                            token: $0.token.text,
                            moreComing: $0.moreComing
                        )
                    }
                }
            )
        case .createZones(let zones):
            return .zones(try await database.createZonesOnce(zones).map { $0.map(\.zoneID) })
        case .lookup(let names, let zone):
            return .records(try await database.lookUpOnce(names, inZone: zone))
        case .modify(let operations, let zone, let isAtomic):
            return .records(try await database.modifyOnce(operations, inZone: zone, atomic: isAtomic))
        case .query(let query, let continuation, let desiredKeys):
            let page = try await database.queryOnce(
                query,
                inZone: nil,
                continuing: continuation,
                desiredKeys: desiredKeys
            )
            return .query(records: page.results, continuation: page.marker)
        }
    }
}

extension CloudKitError {
    /// The zone whose state the service could not list. Its own changes show its state.
    ///
    /// - Throws: The error, as a temporary one, where it does not name the zone with its owner.
    fileprivate func zoneID(in scope: DatabaseScope) throws -> ZoneID {
        if scope == .private, case .zone(let name)? = item { return ZoneID(zoneName: name) }
        var error = self
        error.code = .tryAgainLater
        throw error
    }
}
