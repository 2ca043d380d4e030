import CloudKitModel
import GRDB
import MistKit

/// The changes of one request, all in one zone: creates and updates with targets first, then deletes with children
/// first.
struct PushBatch {
    let zone: StoredZone
    var changes: [OutgoingChange] = []
    var deletes: [Tombstones.Pending] = []
    /// Whether the service is to carry out all of them or none.
    var isAtomic = false

    var operations: [RecordOperation] { changes.map(\.operation) + deletes.map(\.operation) }
}

extension PushBatch {
    /// Chooses the changes to send.
    ///
    /// - Parameters:
    ///   - transaction: The transaction of the engine.
    ///   - limit: The most operations.
    /// - Returns: The batch; `nil` when nothing can be sent.
    /// - Throws: A ``StoreError`` when the file fails.
    static func next(in transaction: EngineTransaction, limit: Int64) throws -> PushBatch? {
        var choice = BatchChoice(transaction: transaction, limit: Int(limit))
        choice.holdsDeletes = try choice.massDeletionGuard.waiting() != nil
        for zone in try choice.zonesWithChanges() {
            let batch = try choice.batch(of: zone)
            if !batch.changes.isEmpty || !batch.deletes.isEmpty { return batch }
        }
        return nil
    }
}

/// Chooses the operations of a request.
private struct BatchChoice: EngineProcedure {
    let transaction: EngineTransaction
    /// The most operations.
    let limit: Int
    /// Whether deletes wait for a permission.
    var holdsDeletes = false

    /// The zones to which changes may be sent; where there are several, those with changes.
    func zonesWithChanges() throws -> [StoredZone] {
        let open = try zones.open()
        guard open.count > 1 else { return open }
        let all = ([Tombstones.zones] + file.orderedTables.map(PendingEdits.zones)).joined(separator: " UNION ")
        let pending = try Set(ZoneRowID.fetchAll(db.cachedStatement(sql: all)))
        return open.filter { pending.contains($0.id) }
    }

    /// Collects the changes of a zone, and chooses from them.
    func batch(of zone: StoredZone) throws -> PushBatch {
        var candidates = PushCandidates(transaction: transaction, zone: zone, limit: limit)
        try candidates.collect()
        let plan = PushPlan(
            candidates.changes,
            \.candidate,
            count: limit,
            bytes: configuration.bytesOfRequest,
            mayBeAtomic: candidates.mayBeAtomic
        )
        var batch = PushBatch(zone: zone, changes: plan.chosen, isAtomic: plan.isAtomic)
        // Deletes are sent after all saves. A request has one operation for each name: if the name is saved in this
        // request, its delete waits for the next one.
        if !plan.isAtomic, plan.chosen.count == candidates.changes.count, !candidates.isFull {
            let rest = limit - plan.chosen.count
            batch.deletes = try tombstones.toSend(
                in: zone.id,
                at: now,
                limit: rest,
                needsPermission: holdsDeletes
            )
            .filter { !candidates.names.contains($0.name) }
        }
        return batch
    }
}

/// The operations as they are sent.
struct SentBatch: EngineProcedure {
    let transaction: EngineTransaction
    let batch: PushBatch
    /// The request that carries them.
    let request: RequestNumber

    /// Stores the operations of the request, and the values in them.
    func store() throws {
        for change in batch.changes { try store(change) }
        for tombstone in batch.deletes {
            try sentOperations.insert(
                .delete,
                of: tombstone.record,
                named: tombstone.name,
                in: batch.zone.id,
                by: request
            )
        }
    }

    private func store(_ change: OutgoingChange) throws {
        let (outgoing, table, zone) = (change.record, change.record.table, batch.zone)
        let row = outgoing.row
        let record =
            try outgoing.known?.id ?? knownVersions.insert(row.name, in: zone.id, row: row.id, of: table.id)
        try sentOperations.insert(
            change.isCreate ? .create : .update,
            of: record,
            named: row.name,
            in: zone.id,
            by: request,
            times: change.times
        )
        if let times = change.times, table.fields.contains(where: { $0.schema.merge == .counter }) {
            var written = EditTimes()
            written.parts = CounterParts.writes(
                outgoing.known?.writes ?? [],
                adding: times,
                to: (outgoing.isCreate ? outgoing.move?.former : nil)?.times ?? outgoing.known?.times ?? EditTimes()
            )
            try knownVersions.setWritten(written, record, named: row.name)
        }
        for edit in outgoing.edits where !outgoing.emptied.contains(edit.field?.name ?? "") {
            let value = try edit.field.map { try ColumnPair(row.fields[$0.name], of: $0, in: zone.zoneID).value }
            try sentOperations.insert(edit, of: record, value: value ?? .null)
        }
        // A link that was left out is an edit of its own, for the next batch.
        for field in table.fields where outgoing.emptied.contains(field.name) {
            try pendingEdits.addForNext(field.id, of: row.id, table.id, setAt: outgoing.timeInFormerZone(of: field))
        }
    }
}

extension Tombstones.Pending {
    fileprivate var operation: RecordOperation {
        var record = Record(recordName: name)
        record.recordChangeTag = tag
        return RecordOperation(.delete, record: record)
    }
}
