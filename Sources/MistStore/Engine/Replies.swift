import CloudKitModel
import GRDB
import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// MARK: - Replies

extension SyncEngine.Transaction {
    func handle(
        _ result: Result<SyncReply, CloudKitError>,
        to request: RequestRow,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        switch result {
        case .failure(let error):
            try handle(error, of: request, at: now, &summary)
        case .success(let reply):
            if !reply.lacksZones {
                try db.run(
                    """
                    UPDATE mist_scope SET failures = CASE WHEN ?3 THEN failures ELSE 0 END, condition = NULL,
                        detail = NULL, rests_until = 0
                    WHERE id = ?1 AND condition IS NOT 'schema' AND (condition IS NOT 'quotaExceeded' OR ?2)
                    """,
                    [scope.number, request.kind == .modify, reply.isPartOfList]
                )
            }
            switch reply {
            case .caller(let user): try handle(caller: user)
            case .databaseChanges(let page): try handle(page, at: now, &summary)
            case .zoneChanges(let pages): try handle(pages, of: request, at: now, &summary)
            case .zones(let zones): try handle(zones, at: now)
            case .records(let results):
                if request.kind == .modify {
                    try handleModified(results, request, at: now, &summary)
                } else {
                    try handleFound(results, request, at: now, &summary)
                }
            case .query(let records, let continuation):
                try handleFollowed(records, continuation: continuation, at: now, &summary)
            }
            try endRequest()
        }
    }

    private func handle(_ page: SyncReply.DatabasePage, at now: Int64, _ summary: inout SyncSummary) throws {
        // Without a token, the service lists the zones that exist, and not those that are gone. So each zone that this
        // device knows, for instance because it has created it, is fetched.
        if try scopeRow().token == nil {
            try db.run(
                "UPDATE mist_zone SET is_stale = 1 WHERE scope = ? AND state = 1 AND name <> ?",
                [scope.number, ZoneID.default.zoneName]
            )
        }
        for zoneID in page.changed {
            let zone = try ZoneRow.identifier(of: zoneID, in: scope, db)
            try db.run("UPDATE mist_zone SET state = 1, is_stale = 1 WHERE id = ?", [zone])
        }
        for zoneID in page.deleted {
            let id = try ZoneRow.identifier(of: zoneID, in: scope, db)
            if let zone = try ZoneRow.fetch(id, db), zone.state == .exists { try zoneIsGone(zone, at: now, &summary) }
        }
        for failure in page.failures {
            guard try fetchZone(of: failure) else {
                // With the token behind the page, the zone would come only after its next change.
                return try rest(because: failure.condition, failure, at: now)
            }
        }
        try db.run(
            "UPDATE mist_scope SET token = ?, is_stale = ? WHERE id = ?",
            [page.token, page.moreComing, scope.number]
        )
    }

    /// Fetches the changes of a zone whose state the service could not list: they show whether it exists.
    ///
    /// - Returns: Whether the zone is known. The error has its name, and not its owner.
    private func fetchZone(of failure: CloudKitError) throws -> Bool {
        guard case .zone(let name)? = failure.item else { return false }
        if scope == .private, failure.code != .zoneNotFound {
            let zone = try ZoneRow.identifier(of: ZoneID(zoneName: name), in: scope, db)
            try db.run("UPDATE mist_zone SET state = 1 WHERE id = ?", [zone])
        }
        try db.run(
            "UPDATE mist_zone SET is_stale = 1 WHERE scope = ? AND name = ? AND state = 1",
            [scope.number, name]
        )
        return db.changesCount > 0 || failure.code == .zoneNotFound
    }

    private func handle(
        _ pages: [Result<SyncReply.ZonePage, CloudKitError>],
        of request: RequestRow,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        // Nothing else marks zones while a request is under way, so these are the zones of the request.
        for (zone, result) in zip(try zonesToFetch(at: request.sent), pages) {
            switch result {
            case .success(let page):
                for record in page.records { try apply(record, in: zone, at: now, &summary) }
                let unnamed = try page.failures.filter { try !lookUpListed($0, in: zone, at: now) }
                if let failure = unnamed.first {
                    // With the token behind the page, the record would come only after its next change.
                    try rest(zone, failure, at: now)
                    continue
                }
                try db.run(
                    "UPDATE mist_zone SET token = ?, rests_until = 0, held_since = NULL WHERE id = ?",
                    [page.token, zone.id]
                )
                if !page.moreComing { try zoneIsRead(zone, at: now, &summary) }
            case .failure(let error):
                try handle(error, of: zone, at: now, &summary)
            }
        }
    }

    /// Ends the fetch of a zone that was read to its end.
    private func zoneIsRead(_ zone: ZoneRow, at now: Int64, _ summary: inout SyncSummary) throws {
        if zone.isRefetching { try sweep(zone, at: now, &summary) }
        try completeDeletes(in: zone, at: now, &summary)
        // A change that was sent and did not come back was not carried out: it is sent again. Whether the change of a
        // record that could not be delivered was carried out is known after its lookup.
        let known = try db.rows(
            """
            SELECT record FROM mist_sent
            WHERE zone = ?1 AND name NOT IN (SELECT name FROM mist_undelivered WHERE zone = ?1)
            """,
            [zone.id]
        )
        for row in known { try forgetSent(record: row["record"]) }
        try db.run(
            """
            UPDATE mist_zone SET is_stale = 0, is_uncertain = EXISTS (SELECT 1 FROM mist_sent WHERE zone = ?1),
                failures = 0, failure = NULL
            WHERE id = ?1
            """,
            [zone.id]
        )
    }

    /// Whether records of a zone could not be delivered, and were not looked up yet.
    func lacksRecords(of zone: ZoneRow) throws -> Bool {
        try db.value("SELECT EXISTS (SELECT 1 FROM mist_undelivered WHERE zone = ?)", [zone.id], as: Bool.self) ?? false
    }

    private func handle(_ error: CloudKitError, of zone: ZoneRow, at now: Int64, _ summary: inout SyncSummary) throws {
        switch error.code {
        case .zoneNotFound:
            try zoneIsGone(zone, at: now, &summary)
        case .throttled, .serviceUnavailable, .network, .authenticationRequired, .authenticationFailed:
            try rest(because: error.condition, error, at: now)
        case .tryAgainLater, .zoneBusy, .internalError, .accessDenied:
            try rest(zone, error, at: now)
        default:
            guard try forgetToken(of: zone) else { return try rest(zone, error, at: now) }
            // A refused token of a pull from the start: the pull begins again, and not without end.
            if zone.isRefetching { try rest(zone, error, at: now) }
        }
    }

    /// Lets a zone be fetched from the start, after the service has refused its token. Records that do not come are gone.
    ///
    /// - Returns: Whether the request had a token.
    private func forgetToken(of zone: ZoneRow) throws -> Bool {
        guard zone.token != nil else { return false }
        try db.run(
            "UPDATE mist_zone SET token = NULL, epoch = epoch + 1, is_refetching = 1 WHERE id = ?",
            [zone.id]
        )
        return true
    }

    /// Lets one zone rest, because the service could not deliver its changes.
    private func rest(_ zone: ZoneRow, _ error: CloudKitError, at now: Int64) throws {
        let failures = try db.value("SELECT failures FROM mist_zone WHERE id = ?", [zone.id], as: Int64.self) ?? 0
        try db.run(
            "UPDATE mist_zone SET rests_until = ?, failures = failures + 1, failure = ?, held_since = ? WHERE id = ?",
            [
                now + delay(after: failures, error), error.description, error.retryAfter == nil ? nil : now, zone.id,
            ]
        )
    }

    /// Notes a record that a feed or a query lists with an error in place of its fields, so that it is looked up.
    ///
    /// The service has this record, or had it: a create that was not acknowledged was stored. Then a lookup without a
    /// result is a delete. The error may also stand for a delete that this device has sent before the create; this is
    /// known after the zone has been read.
    ///
    /// - Returns: Whether the error names the record.
    func lookUpListed(_ error: CloudKitError, in zone: ZoneRow, at now: Int64) throws -> Bool {
        guard try lookUpRecord(of: error, in: zone, at: now) else { return false }
        guard case .record(let name)? = error.item, try !isDeletedHere(of: name, in: zone.id) else { return true }
        try db.run(
            "UPDATE mist_record SET is_conflicting = 1 WHERE zone = ? AND name = ? AND tag IS NULL",
            [zone.id, name]
        )
        return true
    }

    /// Notes a record that the service reported with an error in place of its fields, so that it is looked up.
    ///
    /// - Returns: Whether the error names the record.
    func lookUpRecord(of error: CloudKitError, in zone: ZoneRow, at now: Int64) throws -> Bool {
        guard case .record(let name)? = error.item, !name.isEmpty else { return false }
        let attempts =
            try db.value(
                "SELECT attempts FROM mist_undelivered WHERE zone = ? AND name = ?",
                [zone.id, name],
                as: Int64.self
            ) ?? 0
        try db.run(
            """
            INSERT OR REPLACE INTO mist_undelivered (zone, name, message, until, attempts, held_since)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                zone.id, name, error.description, now + delay(after: attempts, error), attempts + 1,
                error.retryAfter == nil ? nil : now,
            ]
        )
        // It exists, so a pull of everything has met it.
        for table in ["mist_record", "mist_tombstone", "mist_foreign"] {
            try db.run("UPDATE \(table) SET epoch = ? WHERE zone = ? AND name = ?", [zone.epoch, zone.id, name])
        }
        if error.code == .throttled { try rest(because: .throttled, error, at: now) }
        return true
    }

    private func handle(_ zones: [Result<ZoneID, CloudKitError>], at now: Int64) throws {
        let asked = try ZoneRow.all(in: scope, where: "state <> 1", db)
        for result in zones {
            switch result {
            case .success(let zoneID):
                let zone = try ZoneRow.identifier(of: zoneID, in: scope, db)
                try db.run("UPDATE mist_zone SET state = 1 WHERE id = ?", [zone])
            case .failure(let error) where error.code == .exists:
                // Another device has created the zone, and it may hold records.
                for zone in asked where error.item == .zone(name: zone.zoneID.zoneName) {
                    try db.run("UPDATE mist_zone SET state = 1, is_stale = 1 WHERE id = ?", [zone.id])
                }
            case .failure(let error):
                try rest(because: error.condition, error, at: now)
            }
        }
    }

    private func handleFound(
        _ results: [Result<Record, CloudKitError>],
        _ request: RequestRow,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        guard let number = request.zone, let zone = try ZoneRow.fetch(number, db) else { return }
        let names = Set(
            try namesToLookUp(in: zone, at: request.sent) + undeliveredNames(in: zone, at: request.sent)
        )
        for result in results {
            switch result {
            case .success(let record):
                guard let name = record.recordName, names.contains(name) else { continue }
                try apply(record, in: zone, at: now, &summary)
                try isDelivered(name, in: zone)
                // The version shows whether the sent change was carried out. If not, it is sent again.
                try forgetSent(named: name, in: zone.id)
            case .failure(let error) where error.code == .zoneNotFound:
                return try zoneIsGone(zone, at: now, &summary)
            case .failure(let error):
                guard case .record(let name)? = error.item, names.contains(name) else { continue }
                guard error.code == .notFound else {
                    _ = try lookUpRecord(of: error, in: zone, at: now)
                    continue
                }
                try isDelivered(name, in: zone)
                // The delete of this device was read, or the service could not deliver it. Another delete ends the life
                // after it.
                if !zone.isStale {
                    try db.run("DELETE FROM mist_deleted WHERE zone = ? AND name = ? AND is_own = 1", [zone.id, name])
                }
                if try mayNeverHaveBeenStored(name, in: zone) {
                    try decideLater(name, in: zone)
                } else {
                    try applyDelete(of: name, in: zone, at: now, &summary)
                }
            }
        }
    }

    /// Forgets that the service could not deliver a record. After the last one, deletes that waited for it are completed.
    private func isDelivered(_ name: String, in zone: ZoneRow) throws {
        try db.run("DELETE FROM mist_undelivered WHERE zone = ? AND name = ?", [zone.id, name])
        guard db.changesCount > 0, try !lacksRecords(of: zone) else { return }
        try db.run(
            "UPDATE mist_zone SET is_stale = 1 WHERE id = ?1 AND EXISTS (SELECT 1 FROM mist_deleted WHERE zone = ?1)",
            [zone.id]
        )
    }

    /// Whether nothing has shown yet that the service has stored the create of a record: neither an acknowledgement, nor
    /// a refusal because the record exists, nor an entry in a feed or a query.
    private func mayNeverHaveBeenStored(_ name: String, in zone: ZoneRow) throws -> Bool {
        try db.value(
            "SELECT tag IS NULL AND is_conflicting = 0 FROM mist_record WHERE zone = ? AND name = ?",
            [zone.id, name],
            as: Bool.self
        ) ?? false
    }

    /// Leaves the outcome of a create open after a lookup without a result.
    ///
    /// In a scope with a feed, the zone is read to its end: a delete comes in the feed, and where none comes, the create
    /// was not stored. The public scope has no feed. There the create is sent again, and may bring back a record that
    /// was stored and deleted.
    private func decideLater(_ name: String, in zone: ZoneRow) throws {
        if scope == .public { return try forgetSent(named: name, in: zone.id) }
        try db.run(
            """
            UPDATE mist_zone SET is_stale = 1, is_uncertain = 1
            WHERE id = ?1 AND EXISTS (SELECT 1 FROM mist_sent WHERE zone = ?1 AND name = ?2)
            """,
            [zone.id, name]
        )
    }
}

// MARK: - Acknowledgements

extension SyncEngine.Transaction {
    private func handleModified(
        _ results: [Result<Record, CloudKitError>],
        _ request: RequestRow,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        guard let number = request.zone, let zone = try ZoneRow.fetch(number, db) else { return }
        let sent = try db.rows("SELECT record, name, operation, times FROM mist_sent WHERE zone = ?", [zone.id])
        let byName = Dictionary(sent.map { ($0["name"] as String, $0) }, uniquingKeysWith: { $1 })
        var outcomes: Set<ItemOutcome> = []
        for result in results {
            let name: String?
            let error: CloudKitError?
            switch result {
            case .success(let record): (name, error) = (record.recordName, nil)
            case .failure(let failure):
                error = failure
                if case .record(let failed)? = failure.item { name = failed } else { name = nil }
            }
            guard let name, let row = byName[name] else { continue }
            let text: String = row["operation"]
            let operation: ItemOutcome.Operation = text == "delete" ? .delete : text == "create" ? .create : .update
            let outcome = ItemOutcome.of(error, operation)
            outcomes.insert(outcome)
            try apply(outcome, of: result, row, operation, in: zone, error, request, at: now, &summary)
            if outcome != .unknown { try forgetSent(record: row["record"]) }
        }
        // The remaining changes have an unknown outcome: the service reported this, or gave no result.
        let rest = try db.value("SELECT count(*) FROM mist_sent WHERE zone = ?", [zone.id], as: Int64.self) ?? 0
        if rest > 0 { try outcomeIsUnknown(inZone: zone.id) }
        try retry(.of(outcomes, isAtomic: request.isAtomic), of: request, at: now)
        try db.run("UPDATE mist_scope SET batch = min(200, batch + batch / 4 + 1) WHERE id = ?", [scope.number])
        let times = results.compactMap { try? $0.get().modified?.milliseconds }
        if let latest = times.max() { try learnTime(ofWrite: latest, sent: request.sent, at: now) }
    }

    /// Chooses the form of the next request, after a request in which items failed because of another item.
    private func retry(_ retry: AtomicRetry?, of request: RequestRow, at now: Int64) throws {
        if !request.isAtomic || retry == .apart {
            try db.run("UPDATE mist_zone SET avoids_atomic = ? WHERE id = ?", [retry == .apart, request.zone])
        }
        if retry == .later {
            let error = CloudKitError(
                code: .atomicError,
                message: "Items failed because of another item, which the response does not name."
            )
            try rest(because: .throttled, error, at: now)
        }
    }

    private func apply(
        _ outcome: ItemOutcome,
        of result: Result<Record, CloudKitError>,
        _ sent: Row,
        _ operation: ItemOutcome.Operation,
        in zone: ZoneRow,
        _ error: CloudKitError?,
        _ request: RequestRow,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        let (name, record): (String, Int64) = (sent["name"], sent["record"])
        switch outcome {
        case .acknowledged where operation == .delete:
            try db.run("DELETE FROM mist_tombstone WHERE record = ?", [record])
            summary.deleted += 1
            // The delete comes back in the feed. It must not remove the next life of the name.
            if scope != .public {
                try db.run(
                    "INSERT INTO mist_deleted (zone, name, is_own) VALUES (?, ?, 1) ON CONFLICT (zone, name) DO NOTHING",
                    [zone.id, name]
                )
            }
            try db.run(
                "UPDATE mist_zone SET is_stale = 1 WHERE id = ? AND EXISTS (\(existsRow))",
                [zone.id, zone.id, name]
            )
        case .acknowledged:
            if case .success(let saved) = result { try acknowledge(saved, sent, in: zone, at: now) }
            summary.sent += 1
        case .lookUp:
            // A record that was deleted here meanwhile has a tombstone instead of a row.
            try db.run("UPDATE mist_tombstone SET is_conflicting = 1 WHERE record = ?", [record])
            try db.run("UPDATE mist_record SET is_conflicting = 1 WHERE id = ?", [record])
        case .deletedElsewhere:
            try applyDelete(of: name, in: zone, at: now, &summary)
        case .zoneIsGone:
            try zoneIsGone(zone, at: now, &summary)
        case .later, .quota, .signIn:
            if let error { try rest(because: error.condition, error, at: now) }
        case .again, .unknown:
            break
        case .fetchZone:
            try db.run("UPDATE mist_zone SET is_stale = 1 WHERE id = ?", [zone.id])
            try park(
                name,
                in: zone.id,
                reason: "reference",
                message: error?.message ?? "",
                until: now + backoff(after: try attempts(of: name, in: zone.id)),
                since: request.sent
            )
        case .parkType(let field):
            try db.run(
                """
                UPDATE mist_type SET parked = ? WHERE id = (SELECT type FROM mist_record WHERE zone = ? AND name = ?)
                """,
                [field ?? "", zone.id, name]
            )
            summary.parked += 1
        case .park:
            try park(
                name,
                in: zone.id,
                reason: error?.code.description ?? "refused",
                message: error?.description ?? "",
                until: nil,
                since: request.sent
            )
            summary.parked += 1
        }
    }

    private var existsRow: String {
        file.orderedTables.map { "SELECT 1 FROM \($0.name) WHERE _zone = ?2 AND _recordName = ?3" }
            .joined(separator: " UNION ALL ")
    }

    private func attempts(of name: String, in zone: Int64) throws -> Int64 {
        try db.value("SELECT attempts FROM mist_parked WHERE zone = ? AND name = ?", [zone, name], as: Int64.self) ?? 0
    }

    /// Ends the edits that the service has stored. Edits made meanwhile remain, with the sent value as their base.
    private func acknowledge(_ saved: Record, _ sent: Row, in zone: ZoneRow, at now: Int64) throws {
        let (name, record): (String, Int64) = (sent["name"], sent["record"])
        let stamps = try stamps(of: saved)
        // If the record was deleted here meanwhile, the delete goes on with the new tag.
        try db.run(
            "UPDATE mist_tombstone SET tag = ?, created = ?, creator = ?, is_conflicting = 0 WHERE record = ?",
            [stamps.tag, stamps.created, stamps.creator, record]
        )
        let statement = try db.cachedStatement(
            sql: "SELECT type, row FROM mist_record WHERE id = ? AND zone = ? AND name = ?"
        )
        guard let known = try Row.fetchOne(statement, arguments: [record, zone.id, name]),
            let table = file.tablesByID[known[0]]
        else { return }
        let row: Int64 = known[1]
        try db.run(
            """
            UPDATE mist_record SET tag = ?, created = ?, creator = ?, modified = ?, modifier = ?, times = ?, epoch = ?
            WHERE id = ?
            """,
            [
                stamps.tag, stamps.created, stamps.creator, stamps.modified, stamps.modifier, sent["times"] as Data?,
                zone.epoch, record,
            ]
        )
        try set(stamps, ofRow: row, table)
        try forgetFormerValues(of: name, in: zone, table)
        // An edit with the sent time is done. An edit with another time was made later: its base is now the sent value.
        try db.run(
            """
            DELETE FROM mist_edit WHERE type = ?1 AND row = ?2 AND EXISTS (
                SELECT 1 FROM mist_sent_field AS sent
                WHERE sent.record = ?3 AND sent.field = mist_edit.field AND sent.time = mist_edit.time
            )
            """,
            [table.id, row, record]
        )
        try db.run(
            """
            UPDATE mist_edit SET base = (SELECT value FROM mist_sent_field WHERE record = ?3 AND field = mist_edit.field)
            WHERE type = ?1 AND row = ?2 AND EXISTS (
                SELECT 1 FROM mist_sent_field WHERE record = ?3 AND field = mist_edit.field
            )
            """,
            [table.id, row, record]
        )
        try db.run("DELETE FROM mist_parked WHERE zone = ? AND name = ?", [zone.id, name])
    }

    /// Forgets the service's old value under the present name of a renamed field, if a new value was sent under this
    /// name.
    private func forgetFormerValues(of name: String, in zone: ZoneRow, _ table: RecordTable) throws {
        guard table.hasFormers, let known = try KnownVersion.fetch(named: name, in: zone.id, db) else { return }
        var other = known.other
        for field in known.other.keys.compactMap({ table[$0] }) {
            let isSent = try db.value(
                "SELECT EXISTS (SELECT 1 FROM mist_sent_field WHERE record = ? AND field = ?)",
                [known.id, field.id],
                as: Bool.self
            )
            if isSent == true { other[field.name] = nil }
        }
        guard other.count < known.other.count else { return }
        try db.run("UPDATE mist_record SET other = ? WHERE id = ?", [try OtherFields.text(other), known.id])
    }
}

// MARK: - Failures of whole requests

extension SyncEngine.Transaction {
    private func handle(
        _ error: CloudKitError,
        of request: RequestRow,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        if request.kind == .modify, let zone = request.zone, error.mayHaveBeenDone || error.code == .outcomeUnknown {
            try outcomeIsUnknown(inZone: zone)
            return try rest(because: error.condition, error, at: now)
        }
        // The zone was deleted meanwhile.
        if error.code == .zoneNotFound, let number = request.zone, let zone = try ZoneRow.fetch(number, db) {
            try zoneIsGone(zone, at: now, &summary)
            return try endRequest()
        }
        if request.kind == .modify, let zone = request.zone {
            let count = try db.value("SELECT count(*) FROM mist_sent WHERE zone = ?", [zone], as: Int64.self) ?? 0
            try handleRefused(error, of: request, count: count, zone: zone, at: now, &summary)
            try forgetSent(in: zone)
            return try endRequest()
        }
        try endRequest()
        if request.kind == .caller, try needsNoUser(error) {
            userCheck.state = .passed
            return
        }
        if request.kind == .lookup, let zone = request.zone {
            try postponeLookups(in: zone, of: request, error, at: now)
        }
        if request.kind == .query, [.badRequest, .notFound, .accessDenied].contains(error.code) {
            return try handleRefusedQuery(error, at: now)
        }
        switch request.kind {
        case .databaseChanges where error.mayConcernToken: try handleRefusedList(error, at: now)
        case .zoneChanges where error.mayConcernToken:
            let zones = try zonesToFetch(at: request.sent)
            // The error does not say which token it is about.
            let begun = try zones.filter { try forgetToken(of: $0) }
            for zone in begun.isEmpty ? Array(zones) : begun.filter(\.isRefetching) { try rest(zone, error, at: now) }
        default: try rest(because: error.condition, error, at: now)
        }
    }

    /// Handles the refusal of a request for the list of changed zones.
    ///
    /// The token is sent no more. Without a token, the service lists the zones that exist, and not those that are gone.
    /// So each known zone is fetched. A second refusal in a row lets the scope rest.
    private func handleRefusedList(_ error: CloudKitError, at now: Int64) throws {
        let row = try scopeRow()
        guard row.token != nil else { return try rest(because: error.condition, error, at: now) }
        try db.run("UPDATE mist_scope SET token = NULL WHERE id = ?", [scope.number])
        try db.run("UPDATE mist_zone SET is_stale = 1 WHERE scope = ? AND state = 1", [scope.number])
        if row.failures > 0 { return try rest(because: error.condition, error, at: now) }
        try db.run("UPDATE mist_scope SET failures = 1 WHERE id = ?", [scope.number])
    }

    /// Looks the records that could not be delivered up later, after a request for them failed as a whole.
    private func postponeLookups(
        in zone: Int64,
        of request: RequestRow,
        _ error: CloudKitError,
        at now: Int64
    ) throws {
        guard let zone = try ZoneRow.fetch(zone, db) else { return }
        for name in try undeliveredNames(in: zone, at: request.sent) {
            var failure = error
            failure.item = .record(name: name)
            _ = try lookUpRecord(of: failure, in: zone, at: now)
        }
    }

    /// Handles a `modify` request that the service refused as a whole.
    private func handleRefused(
        _ error: CloudKitError,
        of request: RequestRow,
        count: Int64,
        zone: Int64,
        at now: Int64,
        _ summary: inout SyncSummary
    ) throws {
        switch error.code {
        case .throttled, .tryAgainLater, .zoneBusy, .internalError, .serviceUnavailable, .network, .quotaExceeded,
            .authenticationRequired, .authenticationFailed, .misdirectedRequest, .cancelled:
            try rest(because: error.condition, error, at: now)
        case .atomicError:
            try retry(.of([.again], isAtomic: request.isAtomic), of: request, at: now)
        default:
            // A record in the request cannot be sent. The next request has half as many, until the record is alone.
            if count > 1 {
                try db.run("UPDATE mist_scope SET batch = max(1, ? / 2) WHERE id = ?", [count, scope.number])
            } else {
                let name = try db.value("SELECT name FROM mist_sent WHERE zone = ?", [zone], as: String.self) ?? ""
                try park(
                    name,
                    in: zone,
                    reason: error.code.description,
                    message: error.description,
                    until: nil,
                    since: request.sent
                )
                try db.run("UPDATE mist_scope SET batch = 2 WHERE id = ?", [scope.number])
                summary.parked += 1
            }
        }
    }

    /// Lets the scope rest. A time that the service named holds for all requests of the scope; another wait
    /// ends when the program or a local edit asks.
    func rest(because condition: SyncCondition, _ error: CloudKitError, at now: Int64) throws {
        let delay = delay(after: Int64(try scopeRow().failures), error)
        let column = condition == .quotaExceeded ? "push_rests_until" : "rests_until"
        // After the rest, a single record is sent, to find out whether there is space again.
        if condition == .quotaExceeded {
            try db.run("UPDATE mist_scope SET batch = 1 WHERE id = ?", [scope.number])
        }
        try db.run(
            "UPDATE mist_scope SET \(column) = ?, failures = failures + 1, condition = ?, detail = ? WHERE id = ?",
            [now + delay, condition.rawValue, error.redirectURL ?? error.message, scope.number]
        )
        guard error.retryAfter != nil else { return }
        try db.run(
            """
            UPDATE mist_scope SET
                held_until = CASE WHEN held_since <= ?2 THEN max(held_until, ?3) ELSE ?3 END, held_since = ?2
            WHERE id = ?1
            """,
            [scope.number, now, now + delay]
        )
    }

    /// How long to wait before a request that failed is sent again, in milliseconds: as long as the service says, and up
    /// to a second more; otherwise longer with each failure.
    private func delay(after failures: Int64, _ error: CloudKitError) -> Int64 {
        error.retryAfter.map { $0.milliseconds + Int64(settings.random() * 1000) } ?? backoff(after: failures)
    }

    /// A random wait in milliseconds: up to a second, two, four, … at most five minutes.
    private func backoff(after failures: Int64) -> Int64 {
        let most = min(Double(300_000), 1000 * Double(1 << min(failures, 20)))
        return Int64(settings.random() * most) + 1
    }
}

extension CloudKitError {
    /// Whether the service may have refused a request for changes because of its token: every refusal that is not of a
    /// moment, nor about the user. Then the changes are fetched without the token.
    fileprivate var mayConcernToken: Bool {
        guard retryAfter == nil else { return false }
        return switch code {
        case .throttled, .tryAgainLater, .zoneBusy, .internalError, .serviceUnavailable, .network, .cancelled,
            .misdirectedRequest, .unexpectedResponse, .decoding, .accessDenied, .authenticationRequired,
            .authenticationFailed, .zoneNotFound:
            false
        default: true
        }
    }

    var condition: SyncCondition {
        switch code {
        case .quotaExceeded: .quotaExceeded
        case .authenticationRequired, .authenticationFailed: .signedOut
        case .network: .offline
        default: .throttled
        }
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
