import CloudKitModel
import GRDB
import MistKit

/// Decides on the next step.
struct NextStep: EngineProcedure {
    let transaction: EngineTransaction

    /// The first of these that applies: wait, find out which zones changed, fetch their changes, fetch a page of a
    /// followed query, look up the records that conflict, create zones, send changes, look up the records that the
    /// service could not deliver, compare with the service. Documentation/Store.md has the list with the reasons.
    ///
    /// - Parameter isTransferring: Whether files are transferred.
    /// - Returns: The step. A request in it is stored as the one under way.
    /// - Throws: A ``StoreError`` when the file fails.
    func next(isTransferring: Bool) throws -> SyncEngine.Step {
        // The caller sends one request at a time.
        try abandonRequest()
        try verification.beginIfRequested()
        let state = try scopeState.row()
        if state.condition == .signedOut { return .blocked(.signedOut) }
        if let end = state.end(at: now) { return .wait(until: end) }
        if scope == .public {
            if let step = try pageOfFollowedQuery() { return step }
        } else {
            if let step = try checkOfUser() { return step }
            if let step = try listOfChangedZones(state) { return step }
            if let step = try changesOfZones() { return step }
        }
        try zones.settleOutcomes()
        try movedRecords.decide(hasFetched: false)
        try movedRecords.finish()
        try movedRecords.decideAboutOldRecords()
        if let step = try lookupOfConflicts() { return step }
        try MassRemovals(transaction: transaction).decide(about: state.removed)
        let push = try push(state)
        if let push, case .send = push { return push }
        // After the changes, so that a lookup that fails delays nothing.
        if let step = try lookupOfUndelivered() { return step }
        if let step = try verification.next(isTransferring: isTransferring) { return step }
        if let push { return push }
        // The choice of the records to send notes which files are to be uploaded.
        return try isTransferring || !files.next(1, besides: []).isEmpty ? .transfer : waitOrIdle(state)
    }

    private func send(_ request: SyncRequest, _ content: RequestContent) throws -> SyncEngine.Step {
        .send(request, number: try store(request, content))
    }

    /// The check of the user that is needed before user data are sent or fetched; `nil` for none.
    private func checkOfUser() throws -> SyncEngine.Step? {
        if transaction.userCheck.state == .refused { return .blocked(.otherUser) }
        return try ownerIsSignedIn() ? nil : send(.caller, .user)
    }

    private func listOfChangedZones(_ state: ScopeRow) throws -> SyncEngine.Step? {
        state.isStale ? try send(.databaseChanges(since: state.token), .list(since: state.token)) : nil
    }

    private func changesOfZones() throws -> SyncEngine.Step? {
        try zones.beginRefetches()
        let stale = try zones.toFetch(at: now)
        guard !stale.isEmpty else { return nil }
        let passes = try stale.map { (zone: $0, first: try firstPass(of: $0)) }
        let cursors = passes.map { zone, first in
            SyncRequest.ZoneCursor(
                zoneID: zone.zoneID,
                token: first.map(\.token) ?? zone.token,
                desiredRecordTypes: first?.types
            )
        }
        let items = zip(stale, cursors).map { Requests.ZoneItem(zone: $0.id, token: $1.token) }
        return try send(.zoneChanges(cursors), .zones(items))
    }

    /// The pass for the types that are fetched first, before a zone is fetched from its start.
    private func firstPass(of zone: StoredZone) throws -> FirstPass? {
        if zone.token == nil, !configuration.fetchFirst.isEmpty {
            try firstPasses.begin(of: configuration.fetchFirst.map { $0.recordType }, in: zone.id)
        }
        return try firstPasses.underWay(in: zone.id)
    }

    private func pageOfFollowedQuery() throws -> SyncEngine.Step? {
        try followedQueries.next().map { try send($0.request, .page($0.id)) }
    }

    private func lookupOfConflicts() throws -> SyncEngine.Step? {
        for zone in try zones.withConflicts() {
            let names = try conflictingNames(in: zone)
            if !names.isEmpty { return try send(.lookup(names, zone: zone.zoneID), .names(names, zone: zone.id)) }
        }
        return nil
    }

    private func lookupOfUndelivered() throws -> SyncEngine.Step? {
        for zone in try zones.withUndeliveredRecords() {
            let names = try undelivered.dueNames(in: zone.id, at: now)
            if !names.isEmpty { return try send(.lookup(names, zone: zone.zoneID), .names(names, zone: zone.id)) }
        }
        return nil
    }

    /// The next request that sends changes: it creates zones, or modifies records. In the public database, the user is
    /// checked before it.
    private func push(_ state: ScopeRow) throws -> SyncEngine.Step? {
        guard state.endOfRest(at: now) == nil else { return nil }
        if scope == .public {
            if try hasChanges(), let step = try checkOfUser() { return step }
        } else {
            let missing = Array(try zones.missing().filter { try hasEdits(in: $0) }.prefix(200))
            if !missing.isEmpty {
                let items = missing.map { Requests.ZoneItem(zone: $0.id, token: $0.token) }
                return try send(.createZones(missing.map(\.zoneID)), .zones(items))
            }
        }
        guard let batch = try PushBatch.next(in: transaction, limit: min(state.batch, configuration.batchSize)) else {
            return nil
        }
        let request = SyncRequest.modify(batch.operations, zone: batch.zone.zoneID, isAtomic: batch.isAtomic)
        let number = try store(request, .operations(zone: batch.zone.id))
        try SentBatch(transaction: transaction, batch: batch, request: number).store()
        return .send(request, number: number)
    }

    private func waitOrIdle(_ state: ScopeRow) throws -> SyncEngine.Step {
        let times = [
            try parking.earliestRetry(after: now), try undelivered.earliestLookup(after: now),
            try zones.earliestFetch(after: now), state.endOfRest(at: now), try transfers.earliestRetry(after: now),
        ]
        return times.compactMap(\.self).min().map { .wait(until: $0) } ?? .idle
    }

    /// Whether the file has changes that were not acknowledged.
    private func hasChanges() throws -> Bool { try !pendingEdits.isEmpty || !tombstones.isEmpty }

    /// Whether a zone that does not exist at the service has edits to be sent.
    private func hasEdits(in zone: StoredZone) throws -> Bool {
        try file.orderedTables.contains { try pendingEdits.hasEdits(in: zone.id, of: $0) }
    }
}

extension NextStep {
    /// The names of the records that must be looked up before they are sent again, at most 200. Records that the
    /// service could not deliver come later.
    private func conflictingNames(in zone: StoredZone) throws -> [String] {
        // A scope with a feed reads the zone instead.
        let looksUpSent = scope == .public && zone.isUncertain
        return try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT name FROM (
                        \(KnownVersions.conflictingNames(in: "?1")) UNION \(Tombstones.conflictingNames(in: "?1"))
                        UNION \(SentOperations.uncertainNames(in: "?1")) AND ?2
                    )
                    WHERE name NOT IN (\(UndeliveredRecords.names(in: "?1")) AND until > ?3)
                        AND name NOT IN (\(Moves.heldNames(in: "?1")))
                    LIMIT 200
                    """
            ),
            arguments: [zone.id, looksUpSent, now]
        )
    }
}
