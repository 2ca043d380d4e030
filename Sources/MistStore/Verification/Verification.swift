import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

/// Compares the scope with the service, and lets differences be repaired.
///
/// A zone is listed from its start, with names and tags. Then it is fetched once more, by the usual requests. Then the
/// list goes on from its own token: where that brings nothing, the list and the tables are of the same state of the
/// service, and are compared in the transaction of that reply. Where it brings something, the zone is fetched again; in
/// the last round, the records that it brought are left out.
///
/// The public database has no feed. Its followed queries are listed and fetched again, and a record that changed since
/// then is left out.
///
/// A repair lets a record be looked up: ``KnownVersions/distrust(_:in:row:of:)``, ``UndeliveredRecords``. The lookup
/// decides, also whether a record is gone.
struct Verification: EngineProcedure {
    let transaction: EngineTransaction

    private var verifications: Verifications { Verifications(scope: scope, db: db) }

    // MARK: The next request

    /// Begins a verification that was asked for: the list of zones is fetched from its start, since zones may be missing
    /// here as well.
    func beginIfRequested() throws {
        guard try verifications.underWay()?.step == .requested else { return }
        if scope != .public { try scopeState.listAgain() }
        try verifications.begin()
    }

    /// The next request of the verification under way; ends the verification when everything is compared.
    ///
    /// It is asked for after everything was fetched and sent, as far as that is possible now.
    ///
    /// - Parameter isTransferring: Whether files are transferred.
    /// - Returns: The request to send, or what the engine does instead; `nil` where nothing is left to compare.
    /// - Throws: A ``StoreError`` when the file fails.
    func next(isTransferring: Bool) throws -> SyncEngine.Step? {
        guard let verification = try verifications.underWay(), verification.step == .comparing else { return nil }
        try addZones()
        while let verified = try verifications.next() {
            guard let zone = try zones.fetch(verified.id), zone.state == .exists else {
                try verifications.forget(verified.id)
                continue
            }
            if scope == .public {
                if let step = try nextOfQueries(verified, zone, verification, isTransferring: isTransferring) {
                    return step
                }
            } else if verified.step == .checking, zone.isStale {
                try verifications.fail(zone.id, "The changes of the zone cannot be fetched now. Verify again.")
            } else {
                let token = verified.position.flatMap(ZoneChangeToken.init)
                let cursor = SyncRequest.ZoneCursor(zoneID: zone.zoneID, token: token)
                let keys = verification.depth == .versions ? [String]() : nil
                return try send(.zoneListing(cursor, desiredKeys: keys), .listing(zone: zone.id, query: nil))
            }
        }
        try end()
        return nil
    }

    private func send(_ request: SyncRequest, _ content: RequestContent) throws -> SyncEngine.Step {
        let number = try store(request, content)
        try verifications.setRequest(number)
        return .send(request, number: number)
    }

    /// Adds the zones that the scope has by now.
    private func addZones() throws {
        if scope == .public {
            guard let first = try followedQueries.all().first, let home = file.homeZones[.public],
                let zone = try zones.fetch(home)
            else { return }
            try verifications.add([zone], query: first.id, since: try serviceTime)
        } else {
            try verifications.add(try zones.withFeed(), since: try serviceTime)
        }
    }

    /// Ends the verification. A difference whose record came by other ways than its lookup is gone, too.
    private func end() throws {
        for zone in try verifications.zones() {
            for difference in try verifications.differences(in: zone.id) where difference.outcome == .waiting {
                let waits =
                    try knownVersions.isConflicting(difference.name, in: zone.id)
                    || undelivered.contains(difference.name, in: zone.id)
                if waits { continue }
                let isHere = try ownRow(named: difference.name, in: zone.id) != nil
                try verifications.resolve(difference.name, in: zone.id, isHere ? .fetched : .removed)
            }
        }
        try verifications.end(at: now)
    }

    // MARK: Pages of the list

    /// Whether a reply is that to the last request of the verification under way, and about which zone it is.
    private func subject(of request: RequestRow) throws -> (VerificationRow, VerifiedZone, StoredZone)? {
        guard let verification = try verifications.underWay(), verification.request == request.number,
            let verified = try verifications.next(), verified.id == request.zone,
            let zone = try zones.fetch(verified.id), zone.state == .exists
        else { return nil }
        return (verification, verified, zone)
    }

    /// Applies a page of the list of a zone.
    func apply(_ result: Result<ZoneChanges, CloudKitError>, to request: RequestRow) throws {
        guard let (verification, verified, zone) = try subject(of: request) else { return }
        switch result {
        case .failure(let error): try apply(error, to: request)
        case .success(let page):
            guard try store(page.results, verified, zone, verification) else { return }
            try verifications.store(position: page.token.text, listed: page.results.count, of: zone.id)
            if page.moreComing { return }
            let isQuiet = try verified.round > 0 && !verifications.hasChanged(verified)
            if isQuiet || verified.round == VerifiedZone.mostRounds {
                try compare(verified, zone, verification)
            } else {
                try verifications.beginRound(of: zone.id)
                try zones.markStale(zone.id)
            }
        }
    }

    /// Stores the records of a page.
    ///
    /// - Returns: `false` where an error names no record, so that the list would have a gap.
    private func store(
        _ results: [Result<CloudKitModel.Record, CloudKitError>],
        _ verified: VerifiedZone,
        _ zone: StoredZone,
        _ verification: VerificationRow
    ) throws -> Bool {
        for result in results {
            switch result {
            case .success(let record):
                guard let name = record.recordName else { continue }
                let differs = try verification.depth == .values && hasOtherValues(record, named: name, in: zone)
                try verifications.list(name, record, hasOtherValues: differs, in: verified)
            case .failure(let error):
                guard let name = error.undeliveredName else {
                    try verifications.fail(zone.id, error.description)
                    return false
                }
                try failures.noteListed(name, error, in: zone)
                try verifications.list(name, nil, hasOtherValues: false, in: verified)
            }
        }
        return true
    }

    /// Whether the row of a record was stored with its tag, and has other values.
    private func hasOtherValues(_ record: CloudKitModel.Record, named name: String, in zone: StoredZone) throws -> Bool
    {
        guard !record.isDeleted, let table = record.recordType.flatMap({ file.tables[$0] }),
            let known = try knownVersions.fetch(named: name, in: zone.id), known.tag == record.recordChangeTag
        else { return false }
        return try VersionMerge(
            transaction: transaction,
            record: record,
            name: name,
            known: known,
            table: table,
            zone: zone
        ).hasOtherValues()
    }

    /// Applies the failure of a request of the list.
    func apply(_ error: CloudKitError, to request: RequestRow) throws {
        guard let (_, verified, zone) = try subject(of: request) else { return }
        switch error.code {
        case .zoneNotFound: try deletes.applyEnd(of: zone)
        case .throttled, .serviceUnavailable, .network, .authenticationRequired, .authenticationFailed, .tryAgainLater,
            .zoneBusy, .internalError:
            try restScope(because: error)
        case .accessDenied: try verifications.fail(zone.id, error.description)
        default:
            // The service may have refused the token.
            if scope != .public, verified.beginnings < VerifiedZone.mostBeginnings {
                try verifications.beginAgain(zone.id)
            } else {
                try verifications.fail(zone.id, error.description)
            }
        }
    }

    // MARK: Followed queries

    private func nextOfQueries(
        _ verified: VerifiedZone,
        _ zone: StoredZone,
        _ verification: VerificationRow,
        isTransferring: Bool
    ) throws -> SyncEngine.Step? {
        if verified.step == .checking {
            try compare(verified, zone, verification)
            // Lookups come first.
            return try NextStep(transaction: transaction).next(isTransferring: isTransferring)
        }
        guard let followed = try followedQueries.all().first(where: { $0.id == verified.query }) else {
            try endQuery(verified, zone)
            return try NextStep(transaction: transaction).next(isTransferring: isTransferring)
        }
        let keys = verification.depth == .versions ? [String]() : nil
        let request = SyncRequest.query(followed.query, continuation: verified.position, desiredKeys: keys)
        return try send(request, .listing(zone: zone.id, query: followed.id))
    }

    /// Applies a page of the records of a followed query.
    func apply(_ page: RecordPage<CloudKitModel.Record>, to request: RequestRow) throws {
        guard let (verification, verified, zone) = try subject(of: request), verified.query == request.query,
            try store(page.results, verified, zone, verification)
        else { return }
        try verifications.store(position: page.marker, listed: page.results.count, of: zone.id)
        if page.marker == nil { try endQuery(verified, zone) }
    }

    /// Goes on with the next query. After the last one, all queries are fetched again before the comparison.
    private func endQuery(_ verified: VerifiedZone, _ zone: StoredZone) throws {
        let following = try followedQueries.all().first { $0.id > verified.query ?? 0 }
        if let following { return try verifications.list(following.id, of: zone.id) }
        try verifications.beginRound(of: zone.id)
        _ = try followedQueries.beginPasses(dueAt: nil, longest: 0)
    }

    // MARK: The comparison

    private func compare(_ verified: VerifiedZone, _ zone: StoredZone, _ verification: VerificationRow) throws {
        let found = try findings(verified, zone)
        try verifications.store(found.result, of: zone.id)
        for (name, type, kind) in found.differences {
            let repairs = verification.mode != .compare
            let isUnderRepair = try repairs && repair(name, kind, in: zone)
            try verifications.insert(
                StoredDifference(
                    zone: zone.id,
                    name: name,
                    type: type,
                    kind: kind,
                    mode: verification.mode,
                    outcome: isUnderRepair ? .waiting : .reported
                )
            )
        }
    }

    private func findings(
        _ verified: VerifiedZone,
        _ zone: StoredZone
    ) throws -> (result: VerifiedZone.Comparison, differences: [(String, String?, VerificationDifference.Kind)]) {
        // A record that the service's index does not have yet is not missing.
        let since = scope == .public ? verified.since + -FollowedQuery.overlap : nil
        let deleted = Set(try tombstones.names(in: zone.id) + moves.names(from: zone.id))
        let parked = Set(try parking.names(in: zone.id))
        let undelivered = Set(try undelivered.names(in: zone.id))
        let listed = try verifications.listed(verified)
        let kept = try ComparedRows(file: file, scope: scope, db: db).cursor(in: zone)
        var (there, here) = (try listed.next(), try kept.next())
        var result = VerifiedZone.Comparison()
        var digests = (here: VersionDigest(), there: VersionDigest())
        var differences: [(String, String?, VerificationDifference.Kind)] = []
        while let name = [there?.name, here?.name].compactMap(\.self).min(by: {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }) {
            var record: VerificationComparison.Kept?
            // A record of a type that the program does not know may have the row of a newer program as well. It comes
            // last.
            while let row = here, row.name == name {
                record = row.record
                here = try kept.next()
            }
            var entry: VerificationComparison.Listed?
            if let listing = there, listing.name == name {
                entry = listing.record
                there = try listed.next()
            }
            let waiting = VerificationComparison.Waiting(
                isDeletedHere: deleted.contains(name),
                isParked: parked.contains(name),
                isUndelivered: undelivered.contains(name)
            )
            let finding = VerificationComparison.compare(record, entry, waiting, since: since)
            switch finding {
            case .pending: continue
            case .skipped:
                result.skipped += 1
                continue
            case .equal: break
            case .different(let kind): differences.append((name, entry?.type ?? record?.type, kind))
            }
            result.compared += 1
            if let record { digests.here.add(name, record.tag) }
            if let entry, !entry.isDeleted { digests.there.add(name, entry.tag) }
        }
        (result.here, result.there) = (digests.here.text, digests.there.text)
        return (result, differences)
    }

    // MARK: Repairs

    private func ownRow(named name: String, in zone: ZoneRowID) throws -> (RecordTable, LocalRow)? {
        for table in file.orderedTables {
            if let row = try table.row(named: name, in: zone, db) { return (table, row) }
        }
        return nil
    }

    /// Lets a record that differs be looked up.
    ///
    /// - Returns: Whether it is; a record of a type that only another program knows may not be.
    private func repair(_ name: String, _ kind: VerificationDifference.Kind, in zone: StoredZone) throws -> Bool {
        if kind != .missingHere, let (table, row) = try ownRow(named: name, in: zone.id) {
            try knownVersions.distrust(name, in: zone.id, row: row.id, of: table.id)
            return true
        }
        if kind != .missingHere, try file.allTables.contains(where: { try $0.row(named: name, in: zone.id, db) != nil })
        {
            return false
        }
        if kind != .missingHere { try foreignRecords.forget(name, in: zone.id) }
        try knownVersions.distrust(name, in: zone.id)
        try undelivered.note(
            name,
            in: zone.id,
            "A verification found that this record is missing here, or differs. It is looked up.",
            until: now,
            heldSince: nil,
            attempts: 1
        )
        return true
    }

    /// Notes that a lookup has brought a record.
    func noteFetched(_ name: String, in zone: StoredZone) throws {
        try verifications.resolve(name, in: zone.id, .fetched)
    }

    /// Notes that a lookup did not find a record. With ``VerificationMode/resync``, a record of this device is kept, and
    /// becomes a new one.
    ///
    /// - Returns: Whether the record was kept. If not, it is to be removed.
    func keepsAbsent(_ name: String, in zone: StoredZone) throws -> Bool {
        guard let difference = try verifications.waiting(name, in: zone.id) else { return false }
        guard difference.mode == .resync, let (table, row) = try ownRow(named: name, in: zone.id) else {
            try verifications.resolve(name, in: zone.id, .removed)
            return false
        }
        try sentOperations.forget(name, in: zone.id)
        if let known = try knownVersions.fetch(named: name, in: zone.id) { try knownVersions.forget(known.id) }
        try parking.forget(name, in: zone.id)
        try pendingEdits.note(nil, of: row.id, table, at: try serviceTime, raw: now)
        try verifications.resolve(name, in: zone.id, .kept)
        return true
    }
}

/// The records of a zone on this device, in the form in which they are compared.
struct ComparedRows {
    let file: StoreFile
    let scope: DatabaseScope
    let db: Database

    /// The records in the order of their names.
    func cursor(in zone: StoredZone) throws -> MapCursor<RowCursor, (name: String, record: VerificationComparison.Kept)>
    {
        var parts: [String] = []
        var values: [ColumnValue] = []
        for table in file.allTables {
            let (isExpected, arguments) = try expectation(of: table, in: zone)
            parts.append(
                """
                SELECT _recordName AS name, ? AS type, (\(KnownVersions.column("tag", ofRowOf: table))) AS tag,
                    (\(KnownVersions.column("modified", ofRowOf: table))) AS modified,
                    EXISTS (\(PendingEdits.insert(of: table.id, row: "_id"))) AS is_new, \(isExpected) AS is_expected,
                    0 AS rank
                FROM \(table.name) WHERE _zone = ?
                """
            )
            values += [.text(table.recordType)] + arguments + [ColumnValue(zone.id)]
        }
        parts.append(
            """
            SELECT name, type, \(ForeignRecords.tag) AS tag, NULL AS modified, 0 AS is_new, 1 AS is_expected, 1 AS rank
            \(ForeignRecords.all(in: "?"))
            """
        )
        values.append(ColumnValue(zone.id))
        let statement = try db.makeStatement(sql: parts.joined(separator: " UNION ALL ") + " ORDER BY name, rank")
        try statement.bind(values)
        return try Row.fetchCursor(statement).map { row in
            (
                row["name"],
                VerificationComparison.Kept(
                    type: row["type"],
                    tag: row["tag"],
                    modified: row["modified"],
                    isNew: row["is_new"],
                    isExpected: row["is_expected"]
                )
            )
        }
    }

    /// Whether a record was listed, if it exists, as an expression: in the public database, it matches a followed query.
    private func expectation(of table: RecordTable, in zone: StoredZone) throws -> (sql: String, [ColumnValue]) {
        guard scope == .public else { return ("1", []) }
        var conditions: [String] = []
        var values: [ColumnValue] = []
        for followed in try FollowedQueries(db: db).all() where followed.query.recordType == table.recordType {
            var query = followed.query
            query.sorts = []
            let local = try LocalQuery(query, in: table, zones: .zone(zone.id))
            conditions.append("_id IN (SELECT _id FROM \(table.name) WHERE \(local.condition))")
            values += local.values
        }
        return (conditions.isEmpty ? "0" : "(\(conditions.joined(separator: " OR ")))", values)
    }
}
