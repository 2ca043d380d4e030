import CloudKitModel
package import CloudKitWebServices
import GRDB

extension RequestContext {
    /// Fetches which zones changed (`changes/database`): custom zones of private and shared databases.
    ///
    /// - Parameter request: The token of the previous page; without one, all zones are sent.
    /// - Returns: At most 200 zones, in the order of their last change, each once; deleted zones carry `deleted`. Without a
    ///   token, deleted zones are left out.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for the public database, for an invalid token and for a token of
    ///   another database.
    package func fetchDatabaseChanges(
        _ request: Components.Schemas.FetchDatabaseChangesRequest
    ) throws -> Components.Schemas.FetchDatabaseChangesResponse {
        guard database.scope != .public else { throw EmulatorError.notApplicable(in: .public) }
        let page = try read { context in
            try context.changedZones(since: request.syncToken, kind: .database, resultsLimit: request.resultsLimit)
        }
        return Components.Schemas.FetchDatabaseChangesResponse(
            zones: page.zones,
            syncToken: page.token,
            moreComing: page.moreComing
        )
    }

    /// Fetches which zones changed (`zones/changes`, deprecated: use
    /// ``fetchDatabaseChanges(_:)``). Its tokens are of a kind of their own.
    ///
    /// - Throws: An ``EmulatorError``, as ``fetchDatabaseChanges(_:)``.
    package func fetchZoneListChanges(
        _ request: Components.Schemas.FetchZoneListChangesRequest
    ) throws -> Components.Schemas.FetchZoneListChangesResponse {
        let page = try read { context in
            try context.changedZones(since: request.metaSyncToken, kind: .zoneList, resultsLimit: request.resultsLimit)
        }
        return Components.Schemas.FetchZoneListChangesResponse(
            zones: page.zones,
            metaSyncToken: page.token,
            moreComing: page.moreComing
        )
    }
}

extension DatabaseContext {
    fileprivate func changedZones(
        since text: String?,
        kind: SyncToken.Kind,
        resultsLimit: ResultsLimit?
    ) throws -> (zones: [ZoneResult], token: String, moreComing: Bool) {
        var token = SyncToken(kind: kind, database: databaseID, position: 0)
        if let text, text.isEmpty {
            if configuration.unsettled.emptySyncToken == .caughtUp { token.position = sequence }
        } else if let text {
            let read = try emulator.tokenKey.token(text, kinds: [kind])
            guard read.database == token.database else {
                throw EmulatorError.badRequest("Unknown sync continuation type")
            }
            token = read
        }
        // The token of a database without zones has the position 0, too.
        let isFromStart = text?.isEmpty ?? true
        let limit = try configuration.limits.pageSize(resultsLimit)
        let rows =
            if address.scope == .shared {
                try changedSharedZones(since: token.position, includingDeleted: !isFromStart, limit: limit + 1)
            } else {
                try ZoneRow.fetch(
                    where: """
                        database = ? AND database_sequence > ? AND name <> ? AND (deleted = 0 OR ?)
                        ORDER BY database_sequence LIMIT ?
                        """,
                    [databaseID, token.position, ZoneID.default.zoneName, !isFromStart, limit + 1],
                    db
                )
            }
        let page = rows.prefix(limit)
        let moreComing = rows.count > limit
        token.position = moreComing ? page.last?.databaseSequence ?? token.position : sequence
        return (
            zones: page.map { zone in
                .success(
                    Zone(
                        zoneID: zone.zoneID(in: self),
                        syncToken: syncToken(of: zone),
                        deleted: zone.isDeleted ? true : nil
                    )
                )
            },
            token: emulator.tokenKey.text(of: token),
            moreComing: moreComing
        )
    }
}
