import CloudKitModel
import GRDB

extension CloudKitEmulator {
    /// Fetches which zones changed (`changes/database`): custom zones of private and shared databases.
    ///
    /// - Parameters:
    ///   - syncToken: Where to go on from; `nil` for all zones.
    ///   - address: The database.
    ///   - resultsLimit: Zones of one page, at most 200.
    ///   - caller: Who asks.
    /// - Returns: The zones in the order of their last change, each once; deleted ones carry `deleted`. Those that were
    ///   gone before the first page are left out.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for the public database and for a token of another database,
    ///   `AUTHENTICATION_REQUIRED`.
    public func fetchDatabaseChanges(
        since syncToken: String?,
        in address: DatabaseAddress,
        resultsLimit: Int? = nil,
        as caller: Caller
    ) throws -> ZonePage {
        guard address.scope != .public else { throw EmulatorError.notApplicable(in: .public) }
        return try read(address, as: caller) { db, ground in
            try changedZones(since: syncToken, kind: .database, in: ground, resultsLimit: resultsLimit, db)
        }
    }

    /// Fetches which zones changed (`zones/changes`, deprecated: use
    /// ``fetchDatabaseChanges(since:in:resultsLimit:as:)``). Its tokens are of a kind of their own.
    ///
    /// - Throws: An ``EmulatorError``, as ``fetchDatabaseChanges(since:in:resultsLimit:as:)``.
    public func fetchZoneListChanges(
        since metaSyncToken: String?,
        in address: DatabaseAddress,
        resultsLimit: Int? = nil,
        as caller: Caller
    ) throws -> ZonePage {
        try read(address, as: caller) { db, ground in
            try changedZones(since: metaSyncToken, kind: .zoneList, in: ground, resultsLimit: resultsLimit, db)
        }
    }

    private func changedZones(
        since text: String?,
        kind: SyncToken.Kind,
        in ground: Ground,
        resultsLimit: Int?,
        _ db: Database
    ) throws -> ZonePage {
        var token = SyncToken(kind: kind, database: ground.database, position: 0)
        if let text, text.isEmpty {
            if configuration.unsettled.emptySyncToken == .caughtUp { token.position = ground.sequence }
        } else if let text {
            let read = try tokenKey.token(text, kinds: [kind])
            guard read.database == token.database else {
                throw EmulatorError.badRequest("Unknown sync continuation type")
            }
            token = read
        }
        let limit = try pageSize(resultsLimit)
        let rows =
            if ground.address.scope == .shared {
                try changedSharedZones(since: token.position, limit: limit + 1, in: ground, db)
            } else {
                try Row.fetchAll(
                    db.cachedStatement(
                        sql: """
                            SELECT id, name, sequence, database_sequence, deleted FROM zone
                            WHERE database = ? AND database_sequence > ? AND name <> ? AND (deleted = 0 OR ?)
                            ORDER BY database_sequence LIMIT ?
                            """
                    ),
                    arguments: [
                        ground.database, token.position, ZoneID.default.zoneName, token.position > 0, limit + 1,
                    ]
                ).map(ZoneRow.init)
            }
        let page = rows.prefix(limit)
        let moreComing = rows.count > limit
        token.position = moreComing ? page.last?.databaseSequence ?? token.position : ground.sequence
        return ZonePage(
            zones: page.map { zone in
                .zone(
                    Zone(
                        zoneID: zone.zoneID(in: ground),
                        syncToken: syncToken(of: zone, in: ground),
                        isDeleted: zone.isDeleted ? true : nil
                    )
                )
            },
            syncToken: tokenKey.text(of: token),
            moreComing: moreComing
        )
    }
}
