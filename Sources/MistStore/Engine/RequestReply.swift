import CloudKitModel
import MistKit

/// Applies the reply to the request under way.
struct RequestReply: EngineProcedure {
    let transaction: EngineTransaction
    let request: RequestRow

    /// Learns the service's time, applies the reply or the failure, and ends the request.
    func apply(_ result: Result<SyncReply, CloudKitError>) throws {
        try ServiceClock(transaction: transaction, sent: request.sent).correctOffset(from: result)
        switch result {
        case .failure(let error): try apply(error)
        case .success(let reply):
            if !reply.lacksZones { try scopeState.endWait(after: request.kind, reply) }
            try apply(reply)
            try requests.end()
        }
    }

    private func apply(_ reply: SyncReply) throws {
        switch reply {
        case .caller(let user): transaction.userCheck.state = try fileState.noteUser(user) ? .passed(user) : .refused
        case .databaseChanges(let page): try apply(page)
        case .zoneChanges(let pages) where request.kind == .listing:
            for page in pages { try verification.apply(page, to: request) }
        case .zoneChanges(let pages): try apply(pages)
        case .zones(let results): try apply(created: results)
        case .records(let results) where request.kind == .modify: try pushReply()?.apply(results)
        case .records(let results): try apply(found: results)
        case .query(let page) where request.kind == .listing: try verification.apply(page, to: request)
        case .query(let page): try followedPage()?.apply(page)
        }
    }

    /// The zone of a lookup, or of a request that changes records.
    func zoneOfRequest() throws -> StoredZone? { try request.zone.flatMap { try zones.fetch($0) } }

    /// The procedure for the reply to a request that changes records.
    func pushReply() throws -> PushReply? {
        try zoneOfRequest().map { PushReply(transaction: transaction, request: request, zone: $0) }
    }

    /// The procedure for the page of a followed query; `nil` when the query is followed no more.
    func followedPage() throws -> FollowedPage? {
        guard let number = request.query, let followed = try followedQueries.fetch(number) else { return nil }
        return FollowedPage(transaction: transaction, followed: followed)
    }
}

// MARK: - The list of changed zones

extension RequestReply {
    private func apply(_ page: DatabaseChanges) throws {
        // Without a token, the service lists the zones that exist, and not those that are gone. So each zone that this
        // device knows, for instance because it has created it, is fetched.
        if request.token == nil { try zones.markAllWithFeedStale() }
        for case .success(let zone) in page.results { try apply(zone) }
        for failure in page.failures {
            switch try fetch(zoneOf: failure) {
            case .isFetched, .isUnknown: break
            // With the token behind the page, the zone would come only after its next change.
            case .cannotBeFetched: return try restScope(because: failure)
            }
        }
        // A repair of the file lets everything be listed again.
        guard try scopeState.row().token == request.token else { return }
        try scopeState.store(token: page.token, moreComing: page.moreComing)
        try movedRecords.decide(hasFetched: true)
    }

    private func apply(_ listed: Zone) throws {
        let id = try zones.identifier(of: listed.zoneID)
        if !listed.isDeleted {
            try zones.markExisting(id)
            try zones.markStale(id)
        } else if let zone = try zones.fetch(id), zone.state == .exists {
            try deletes.applyEnd(of: zone)
        }
    }

    /// What happens to a zone whose state the service could not list.
    private enum UnlistedZone {
        case isFetched
        /// Neither the service nor this device has it.
        case isUnknown
        case cannotBeFetched
    }

    /// Fetches the changes of a zone whose state the service could not list: they show whether it exists. The error has
    /// the name of the zone, and not its owner.
    private func fetch(zoneOf failure: CloudKitError) throws -> UnlistedZone {
        guard case .zone(let name)? = failure.item else { return .cannotBeFetched }
        if scope == .private, failure.code != .zoneNotFound {
            try zones.markExisting(try zones.identifier(of: ZoneID(zoneName: name)))
        }
        if try zones.markStale(named: name) { return .isFetched }
        return failure.code == .zoneNotFound ? .isUnknown : .cannotBeFetched
    }
}

// MARK: - The changes of zones

extension RequestReply {
    private func apply(_ pages: [Result<ZoneChanges, CloudKitError>]) throws {
        for (item, result) in zip(try requests.zones(), pages) {
            // A zone that is gone has no page. After a repair of the file, another one is due.
            guard let zone = try zones.fetch(item.zone), zone.state == .exists else { continue }
            let first = try firstPasses.underWay(in: zone.id)
            guard (first.map(\.token) ?? zone.token) == item.token else { continue }
            switch result {
            case .success(let page) where first != nil: try applyFirst(page, of: zone)
            case .success(let page): try apply(page, of: zone)
            case .failure(let error): try apply(error, of: zone)
            }
        }
        try movedRecords.decide(hasFetched: true)
    }

    /// Applies a page of the types that are fetched first. Its records count as fetched before: one that is deleted until
    /// the zone is fetched from its start is swept then. What the page lacks comes then, too.
    private func applyFirst(_ page: ZoneChanges, of zone: StoredZone) throws {
        for case .success(let record) in page.results where !record.isDeleted {
            try changes.apply(record, in: zone.beforeRefetch)
        }
        if page.moreComing {
            try firstPasses.store(token: page.token, in: zone.id)
        } else {
            try firstPasses.end(in: zone.id)
        }
    }

    private func apply(_ page: ZoneChanges, of zone: StoredZone) throws {
        for case .success(let record) in page.results { try changes.apply(record, in: zone) }
        let failed = page.failures
        for failure in failed {
            if let name = failure.undeliveredName { try failures.noteListed(name, failure, in: zone) }
        }
        if let failure = failed.first(where: { $0.undeliveredName == nil }) {
            // With the token behind the page, the record would come only after its next change.
            return try restZone(zone, because: failure)
        }
        try zones.store(token: page.token, of: zone.id)
        if !page.moreComing { try endFetch(of: zone) }
    }

    /// Ends the fetch of a zone that was read to its end.
    private func endFetch(of zone: StoredZone) throws {
        if zone.isRefetching { try deletes.sweep(zone) }
        try deletes.complete(in: zone)
        try sentOperations.forgetDelivered(in: zone.id)
        try zones.markRead(zone.id)
        try firstPasses.forget(in: zone.id)
    }

    private func apply(_ error: CloudKitError, of zone: StoredZone) throws {
        switch error.code {
        case .zoneNotFound:
            try deletes.applyEnd(of: zone)
        case .throttled, .serviceUnavailable, .network, .authenticationRequired, .authenticationFailed:
            try restScope(because: error)
        case .tryAgainLater, .zoneBusy, .internalError, .accessDenied:
            try restZone(zone, because: error)
        case _ where try firstPasses.underWay(in: zone.id) != nil:
            // The zone is fetched from its start then.
            try firstPasses.end(in: zone.id)
        default:
            // The service has refused the token, if there was one. A refused token of a pull from the start: the pull
            // begins again, and not without end.
            if zone.token != nil { try zones.beginRefetch(zone.id) }
            if zone.token == nil || zone.isRefetching { try restZone(zone, because: error) }
        }
    }
}

// MARK: - New zones

extension RequestReply {
    private func apply(created results: [Result<Zone, CloudKitError>]) throws {
        let asked = try requests.zones().compactMap { try zones.fetch($0.zone) }
        for result in results {
            switch result {
            case .success(let zone):
                try zones.markExisting(try zones.identifier(of: zone.zoneID))
            case .failure(let error) where error.code == .exists:
                // Another device has created the zone, and it may hold records.
                for zone in asked where error.item == .zone(name: zone.zoneID.zoneName) {
                    try zones.markExisting(zone.id)
                    try zones.markStale(zone.id)
                }
            case .failure(let error):
                try restScope(because: error)
            }
        }
    }
}

// MARK: - Lookups

extension RequestReply {
    private func apply(found results: [Result<Record, CloudKitError>]) throws {
        guard let zone = try zoneOfRequest() else { return }
        let names = Set(try requests.names())
        for result in results {
            switch result {
            case .success(let record):
                guard let name = record.recordName, names.contains(name) else { continue }
                try changes.apply(record, in: zone)
                try failures.noteDelivery(of: name, in: zone)
                // The version shows whether the sent change was carried out. If not, it is sent again.
                try sentOperations.forget(name, in: zone.id)
                try verification.noteFetched(name, in: zone)
            case .failure(let error) where error.code == .zoneNotFound:
                return try deletes.applyEnd(of: zone)
            case .failure(let error):
                guard let name = error.recordName, names.contains(name) else { continue }
                if error.code == .notFound {
                    try applyAbsence(of: name, in: zone)
                } else {
                    try failures.note(name, error, in: zone)
                }
            }
        }
    }

    /// Applies a lookup that has found nothing: the record is gone, or was never stored.
    private func applyAbsence(of name: String, in zone: StoredZone) throws {
        try failures.noteDelivery(of: name, in: zone)
        if try verification.keepsAbsent(name, in: zone) { return }
        // The delete of this device was read, or the service could not deliver it. Another delete ends the life after
        // it.
        if !zone.isStale { try reportedDeletes.forgetOwn(name, in: zone.id) }
        try tombstones.handPermission(of: name, in: zone.id)
        try TakenBackDeletes(scope: scope, db: db).applyAbsence(of: name, in: zone.id)
        guard try knownVersions.mayNeverHaveBeenStored(name, in: zone.id) else {
            return try deletes.apply(of: name, in: zone)
        }
        // The outcome of the create stays open. In a scope with a feed, the zone is read to its end: a delete comes in
        // the feed, and where none comes, the create was not stored. The public scope has no feed. There the create is
        // sent again, and may bring back a record that was stored and deleted.
        if scope == .public {
            try sentOperations.forget(name, in: zone.id)
        } else if try sentOperations.isSent(name, in: zone.id) {
            try zones.markUncertain(zone.id)
        }
    }
}
