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
                    changed: page.changedZones.map(\.zoneID),
                    deleted: page.deletedZones,
                    failures: page.failures,
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
