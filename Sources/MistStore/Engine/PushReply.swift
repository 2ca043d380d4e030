import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

/// Applies the reply to a request that changes records.
struct PushReply: EngineProcedure {
    let transaction: EngineTransaction
    let request: RequestRow
    let zone: StoredZone

    /// An operation of the request with its result.
    private struct Item {
        let sent: SentOperation
        let result: Result<Record, CloudKitError>
        var error: CloudKitError? { if case .failure(let error) = result { error } else { nil } }
        var outcome: ItemOutcome { .of(error, sent.kind) }
    }

    /// Applies the results of the operations.
    func apply(_ results: [Result<Record, CloudKitError>]) throws {
        let items = try items(of: results)
        for item in items {
            try apply(item)
            if item.outcome != .unknown { try sentOperations.forget(item.sent.record) }
        }
        // The remaining changes have an unknown outcome: the service reported this, or gave no result.
        if try !sentOperations.isEmpty(request.number, in: zone.id) { try endRequestOfUnknownOutcome(in: zone.id) }
        try retry(.of(items.map(\.outcome), isAtomic: request.isAtomic))
        try scopeState.growBatch()
        let times = results.compactMap { try? $0.get().modified?.time }
        if let latest = times.max() {
            try ServiceClock(transaction: transaction, sent: request.sent).correctOffset(ofWrite: latest)
        }
    }

    /// The operations that the results name, with their results.
    private func items(of results: [Result<Record, CloudKitError>]) throws -> [Item] {
        let sent = try sentOperations.all(of: request.number, in: zone.id)
        let byName = Dictionary(sent.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        return results.compactMap { result in
            let name =
                switch result {
                case .success(let record): record.recordName
                case .failure(let error): error.recordName
                }
            return name.flatMap { byName[$0] }.map { Item(sent: $0, result: result) }
        }
    }

    /// Chooses the form of the next request, after a request in which items failed because of another item.
    private func retry(_ retry: AtomicRetry?) throws {
        if !request.isAtomic || retry == .apart { try zones.setAvoidsAtomic(retry == .apart, zone.id) }
        if retry == .later {
            let error = CloudKitError(
                code: .atomicError,
                message: "Items failed because of another item, which the response does not name."
            )
            try restScope(because: error)
        }
    }

    private func apply(_ item: Item) throws {
        let (name, record) = (item.sent.name, item.sent.record)
        switch item.outcome {
        case .acknowledged where item.sent.kind == .delete: try acknowledgeDelete(item.sent)
        case .acknowledged:
            if case .success(let saved) = item.result { try acknowledge(saved, item.sent) }
            summary.sent += 1
        case .lookUp:
            // A record that was deleted here meanwhile has a tombstone instead of a row.
            try tombstones.markConflicting(record)
            try knownVersions.markConflicting(record)
        case .deletedElsewhere: try deletes.apply(of: name, in: zone)
        case .zoneIsGone: try deletes.applyEnd(of: zone)
        case .later, .quota, .signIn:
            if let error = item.error { try restScope(because: error) }
        case .again, .unknown: break
        case .fetchZone:
            try zones.markStale(zone.id)
            guard try isHere(item.sent) else { return }
            let until = now + backoff(after: try parking.attempts(of: name, in: zone.id))
            let message = item.error?.message ?? ""
            try parking.park(name, because: .reference, message, in: zone.id, until: until, since: request.sent)
        case .parkType(let field):
            if let type = try knownVersions.type(of: name, in: zone.id) {
                try recordTypes.park(type, missing: field)
            }
            summary.parked += 1
        case .park:
            if let error = item.error { try park(item.sent, because: error) }
        }
    }

    /// Whether the record that was sent is still to be sent: a save of one that was deleted here meanwhile is not.
    private func isHere(_ sent: SentOperation) throws -> Bool {
        try sent.kind == .delete || knownVersions.type(of: sent.name, in: zone.id) != nil
    }

    /// Lets a record wait that the service has refused.
    private func park(_ sent: SentOperation, because error: CloudKitError) throws {
        let name = sent.name
        // A receipt may have expired. The file is uploaded once more, before the record waits for an edit.
        let attempts = try parking.attempts(of: name, in: zone.id)
        let hadReceipt = try transfers.forgetReceipts(of: name, in: zone.id)
        guard try isHere(sent) else { return }
        try parking.park(
            name,
            because: .refused(error.code),
            error.description,
            in: zone.id,
            until: hadReceipt && attempts == 0 ? now + backoff(after: 0) : nil,
            since: request.sent
        )
        summary.parked += 1
    }
}

// MARK: - Acknowledgements

extension PushReply {
    private func acknowledgeDelete(_ sent: SentOperation) throws {
        try countDelete(of: sent.name, in: zone.id)
        try tombstones.forget(sent.record)
        if try transaction.hasMoves { try moves.end(sent.name, from: zone.id) }
        summary.deleted += 1
        // The delete comes back in the feed. It must not remove the next life of the name.
        if scope != .public { try reportedDeletes.note(sent.name, by: .thisDevice, in: zone.id) }
        let isBack = try file.orderedTables.contains { try $0.row(named: sent.name, in: zone.id, db) != nil }
        if isBack { try zones.markStale(zone.id) }
    }

    /// Ends the edits that the service has stored. Edits made meanwhile remain, with the sent value as their base.
    private func acknowledge(_ saved: Record, _ sent: SentOperation) throws {
        let stamps = try Stamps(of: saved, users)
        // If the record was deleted here meanwhile, the delete goes on with the new tag.
        try tombstones.renew(sent.record, stamps)
        guard let (type, row) = try knownVersions.place(of: sent.record, named: sent.name, in: zone.id),
            let table = file.tablesByID[type]
        else { return }
        try knownVersions.acknowledge(
            sent.record,
            named: sent.name,
            stamps,
            times: sent.times,
            epoch: zone.epoch
        )
        if sent.kind == .create { try movedRecords.keepOtherFields(of: sent, row, table) }
        try table.set(stamps, row, db)
        try forgetFormerValues(of: sent, table)
        try pendingEdits.acknowledge(sent.record, row: row, table.id)
        try movedRecords.keepInsert(of: row, table)
        if table.hasCounters {
            try inheritedCounts.forget(row, of: table.id)
            try carriedCounts.forget(sentIn: sent.times, row, of: table)
        }
        _ = try transfers.forgetReceipts(of: sent.name, in: zone.id)
        try parking.forget(sent.name, in: zone.id)
    }

    /// Forgets the service's old value under the present name of a renamed field, if a new value was sent under this
    /// name.
    private func forgetFormerValues(of sent: SentOperation, _ table: RecordTable) throws {
        guard table.hasFormers, let known = try knownVersions.fetch(named: sent.name, in: zone.id) else { return }
        var other = known.other
        for field in known.other.keys.compactMap({ table[$0] })
        where try sentOperations.isSent(field.id, of: known.id) {
            other[field.name] = nil
        }
        guard other.count < known.other.count else { return }
        try knownVersions.setOther(other, known.id, named: known.name, of: table.recordType)
    }
}

// MARK: - Refusals

extension PushReply {
    /// Applies the refusal of the whole request.
    func apply(_ error: CloudKitError) throws {
        switch error.code {
        case .throttled, .tryAgainLater, .zoneBusy, .internalError, .serviceUnavailable, .network, .quotaExceeded,
            .authenticationRequired, .authenticationFailed, .misdirectedRequest, .cancelled:
            try restScope(because: error)
        case .atomicError:
            try retry(.of([.again], isAtomic: request.isAtomic))
        default:
            // A record in the request cannot be sent. The next request has half as many, until the record is alone.
            let sent = try sentOperations.all(of: request.number, in: zone.id)
            if sent.count > 1 {
                try scopeState.setBatch(Int64(sent.count) / 2)
            } else {
                if let sent = sent.first { try park(sent, because: error) }
                try scopeState.setBatch(2)
            }
        }
        try sentOperations.forget(request.number, in: zone.id)
    }
}
