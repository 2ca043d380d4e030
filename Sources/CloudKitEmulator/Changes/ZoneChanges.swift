import CloudKitModel
package import CloudKitWebServices
import GRDB

extension RequestContext {
    /// Fetches the changes of zones (`changes/zone`): custom zones of private and shared databases.
    ///
    /// - Parameter request: The zones, each with its token. What a zone does not say, the whole request says for it.
    /// - Returns: One page or failure for each zone, in order. An invalid token fails with `BAD_REQUEST`, an
    ///   unknown zone with `ZONE_NOT_FOUND`, the default zone with `BAD_REQUEST`. A page has at most 200 records: each
    ///   record that changed, once, in its latest state, in the order of the last writes. Deleted records have a name,
    ///   a change tag and `deleted`. Every page has a new token, and the client may keep any of them.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for the public database.
    package func fetchZoneChanges(
        _ request: Components.Schemas.FetchZoneChangesRequest
    ) throws -> Components.Schemas.FetchZoneChangesResponse {
        guard database.scope != .public else { throw EmulatorError.notApplicable(in: .public) }
        let pages = try read { context in
            try request.zones.map { zone in
                switch try Result(ofItem: { try context.changes(zone.completed(by: request)) }) {
                case .success(var page):
                    if page.reverse == false { page.reverse = nil }
                    return page
                case .failure(let error):
                    return Components.Schemas.ZoneChanges(
                        zoneID: zone.zoneID.withoutNulls,
                        serverErrorCode: error.serverErrorCode.rawValue,
                        reason: error.reason,
                        retryAfter: error.retryAfter
                    )
                }
            }
        }
        return Components.Schemas.FetchZoneChangesResponse(zones: pages)
    }

    /// Fetches the changes of one zone (`records/changes`, deprecated: use ``fetchZoneChanges(_:)``).
    ///
    /// - Throws: An ``EmulatorError``: what ``fetchZoneChanges(_:)`` returns as the zone's failure.
    package func fetchRecordChanges(
        _ request: Components.Schemas.FetchRecordChangesRequest
    ) throws -> Components.Schemas.FetchRecordChangesResponse {
        guard database.scope != .public else { throw EmulatorError.notApplicable(in: .public) }
        let page = try read { context in
            try context.changes(
                Components.Schemas.ZoneChangesRequest(
                    zoneID: request.zoneID,
                    syncToken: request.syncToken,
                    resultsLimit: request.resultsLimit,
                    desiredKeys: request.desiredKeys,
                    numbersAsStrings: request.numbersAsStrings
                )
            )
        }
        return Components.Schemas.FetchRecordChangesResponse(
            records: page.records,
            syncToken: page.syncToken,
            moreComing: page.moreComing,
            reverse: page.reverse
        )
    }
}

extension Components.Schemas.ZoneChangesRequest {
    /// The request for one zone: the zone's own keys, with those of the whole request as defaults.
    fileprivate func completed(
        by request: Components.Schemas.FetchZoneChangesRequest
    ) -> Components.Schemas.ZoneChangesRequest {
        Components.Schemas.ZoneChangesRequest(
            zoneID: zoneID,
            syncToken: syncToken ?? request.syncToken,
            reverse: reverse ?? request.reverse,
            resultsLimit: resultsLimit ?? request.resultsLimit,
            desiredKeys: desiredKeys ?? request.desiredKeys,
            desiredRecordTypes: desiredRecordTypes ?? request.desiredRecordTypes,
            // The flag has two spellings, that of CloudKit JS and that of Apple's page.
            numbersAsStrings: numbersAsStrings ?? numberAsStrings ?? request.numbersAsStrings
                ?? request.numberAsStrings
        )
    }
}

extension DatabaseContext {
    /// The zone's token for its present state.
    func syncToken(of zone: ZoneRow) -> String {
        emulator.tokenKey.text(of: .zone(zone, in: self, at: zone.sequence))
    }

    fileprivate func changes(
        _ request: Components.Schemas.ZoneChangesRequest
    ) throws -> Components.Schemas.ZoneChanges {
        let zone = try zone(request.zoneID)
        guard !zone.isDefault else {
            // Observed live.
            throw EmulatorError.badRequest("cannot get changes in default zone")
        }
        let start = try start(of: request, zone: zone)
        if zone.owner != nil, let user {
            return try sharedChanges(request, from: start, of: zone, user: user)
        }
        let schema = try schema()
        let limit = try configuration.limits.pageSize(request.resultsLimit)
        let rows = try feed(from: start, of: zone, types: request.desiredRecordTypes, schema, limit: limit + 1)
        let page = rows.prefix(limit)
        let moreComing = rows.count > limit

        let presentation = self.request.presentation(
            desiredKeys: request.desiredKeys,
            numbersAsStrings: request.numbersAsStrings ?? false,
            zoneID: zone.zoneID(in: self)
        )
        let records = try page.map { row in
            try RecordOutput(row.name, self.request.refusals) {
                try self.request.deliveryFault?.check(row.name)
                return row.isDeleted
                    ? .result(.success(row.tombstone)) : try presentation.output(row, schema: schema)
            }
        }
        var end = start
        if moreComing, let last = page.last {
            end.position = last.sequence
        } else if start.kind == .reversedZone {
            // The client has seen everything: it goes on forwards from where the backwards reading began.
            end = .zone(zone, in: self, at: start.top)
        } else {
            end.position = zone.sequence
        }
        return Components.Schemas.ZoneChanges(
            zoneID: zone.zoneID(in: self),
            records: records,
            syncToken: emulator.tokenKey.text(of: end),
            moreComing: moreComing,
            reverse: start.kind == .reversedZone
        )
    }

    /// A page of the changes that a participant sees in a zone of another user.
    private func sharedChanges(
        _ request: Components.Schemas.ZoneChangesRequest,
        from start: SyncToken,
        of zone: ZoneRow,
        user: String
    ) throws -> Components.Schemas.ZoneChanges {
        guard start.kind == .zone else {
            throw EmulatorError.badRequest("the feed of a shared zone goes forwards only")
        }
        let schema = try schema()
        let limit = try configuration.limits.pageSize(request.resultsLimit)
        let rows = try sharedFeed(
            from: start,
            of: zone,
            user: user,
            types: request.desiredRecordTypes.map { types in types.compactMap { schema[$0]?.id } },
            limit: limit + 1
        )
        let page = rows.prefix(limit)
        let presentation = self.request.presentation(
            desiredKeys: request.desiredKeys,
            numbersAsStrings: request.numbersAsStrings ?? false,
            zoneID: zone.zoneID(in: self)
        )
        var end = SyncToken.zone(zone, in: self, at: zone.sequence)
        if rows.count > limit, let last = page.last {
            end.position = last.position
            end.top = last.row.id
        }
        return Components.Schemas.ZoneChanges(
            zoneID: zone.zoneID(in: self),
            records: try page.map { item in
                item.isGone
                    ? .result(.success(item.row.tombstone)) : try presentation.output(item.row, schema: schema)
            },
            syncToken: emulator.tokenKey.text(of: end),
            moreComing: rows.count > limit,
            reverse: false
        )
    }

    /// The point in the feed that a request starts from.
    private func start(
        of request: Components.Schemas.ZoneChangesRequest,
        zone: ZoneRow
    ) throws(EmulatorError) -> SyncToken {
        var start = SyncToken.zone(zone, in: self, at: 0)
        if let text = request.syncToken, text.isEmpty {
            if configuration.unsettled.emptySyncToken == .caughtUp { start.position = zone.sequence }
        } else if let text = request.syncToken {
            let token = try emulator.tokenKey.token(text, kinds: [.zone, .reversedZone])
            guard token.database == start.database, token.zoneName == start.zoneName else {
                throw .badRequest("Unknown sync continuation type")
            }
            guard token.zone == zone.id, token.position <= zone.sequence else {
                // The zone was deleted and created again since (text: native 21/2026).
                throw EmulatorError(
                    configuration.unsettled.expiredToken,
                    "client knowledge differs from server knowledge"
                )
            }
            if token.kind == .reversedZone { return token }
            start.position = token.position
            start.top = token.top
        }
        if request.reverse == true {
            // Changes below `position` are still to come. `top` is where the client goes on forwards afterwards.
            start.kind = .reversedZone
            start.top = zone.sequence
            start.position = zone.sequence + 1
        }
        return start
    }

    /// Rows of a zone in the order of their last writes.
    private func feed(
        from start: SyncToken,
        of zone: ZoneRow,
        types: [String]?,
        _ schema: Schema,
        limit: Int
    ) throws -> [RecordRow] {
        let isReversed = start.kind == .reversedZone
        // Deletions come whatever their type, because the reply does not name the type of a deleted record.
        let condition =
            types.map { types in
                let ids = types.compactMap { schema[$0]?.id }.map(String.init).joined(separator: ",")
                return " AND (deleted = 1 OR type IN (\(ids)))"
            } ?? ""
        let sql = """
            SELECT \(RecordRow.columns) FROM record
            WHERE zone = ? AND sequence \(isReversed ? "<" : ">") ?\(condition)
            ORDER BY sequence\(isReversed ? " DESC" : "") LIMIT ?
            """
        return try Array(RecordRowCursor(sql, [zone.id, start.position, limit], db).map(\.record))
    }
}

extension EmulatorConfiguration.Limits {
    /// The number of records of one page.
    func pageSize(_ resultsLimit: ResultsLimit?) throws(EmulatorError) -> Int {
        let resultsLimit = resultsLimit?.count ?? .max
        guard resultsLimit > 0 else { throw .badRequest("resultsLimit must be positive") }
        return min(resultsLimit, recordsPerResponse)
    }
}
