import CloudKitModel
import GRDB
import MistKit

/// The operations of one request, all in one zone: creates and updates with targets first, then deletes with children
/// first.
struct PushBatch {
    let zone: ZoneRow
    var operations: [RecordOperation] = []
    /// Whether the service is to carry out all of them or none.
    var isAtomic = false
}

extension PushBatch {
    /// Chooses the changes to send, and stores them as sent.
    ///
    /// - Parameters:
    ///   - transaction: The transaction of the engine.
    ///   - limit: The most operations.
    /// - Returns: The batch; `nil` when nothing can be sent.
    /// - Throws: A ``StoreError`` when the file fails.
    static func next(in transaction: EngineTransaction, limit: Int64) throws -> PushBatch? {
        let choice = BatchChoice(transaction: transaction, limit: Int(limit))
        for zone in try choice.zonesWithChanges() {
            let batch = try choice.batch(of: zone)
            if !batch.operations.isEmpty { return batch }
        }
        return nil
    }
}

/// Chooses the operations of a request.
private struct BatchChoice: EngineProcedure {
    let transaction: EngineTransaction
    /// The most operations.
    let limit: Int

    /// The zones to which changes may be sent; where there are several, those with changes.
    func zonesWithChanges() throws -> [ZoneRow] {
        let open = try zones.open()
        guard open.count > 1 else { return open }
        let all = ([Tombstones.zones] + file.orderedTables.map(PendingEdits.zones)).joined(separator: " UNION ")
        let pending = try Set(ZoneRowID.fetchAll(db.cachedStatement(sql: all)))
        return open.filter { pending.contains($0.id) }
    }

    /// Collects the changes of a zone, chooses from them, and stores the chosen ones as sent.
    func batch(of zone: ZoneRow) throws -> PushBatch {
        var candidates = PushCandidates(transaction: transaction, zone: zone, limit: limit)
        try candidates.collect()
        let plan = PushPlan(
            candidates.changes,
            \.candidate,
            count: limit,
            bytes: settings.bytesOfRequest,
            mayBeAtomic: candidates.mayBeAtomic
        )
        var batch = PushBatch(zone: zone, isAtomic: plan.isAtomic)
        for change in plan.chosen {
            try note(change, in: zone)
            batch.operations.append(change.operation)
        }
        // Deletes are sent after all saves.
        if !plan.isAtomic, plan.chosen.count == candidates.changes.count, !candidates.isFull {
            let rest = limit - batch.operations.count
            batch.operations += try deletes(in: zone, limit: rest, except: candidates.names)
        }
        return batch
    }

    /// Stores the operation of a record, and the values in it, as sent.
    private func note(_ change: OutgoingChange, in zone: ZoneRow) throws {
        let (outgoing, table) = (change.record, change.record.table)
        let row = outgoing.row
        let record =
            try outgoing.known?.id ?? knownVersions.insert(row.name, in: zone.id, row: row.id, of: table.id)
        try sentOperations.insert(
            change.isCreate ? .create : .update,
            of: record,
            named: row.name,
            in: zone.id,
            times: change.times
        )
        if let times = change.times, table.fields.contains(where: { $0.schema.merge == .counter }) {
            var written = EditTimes()
            written.parts = CounterParts.writes(
                outgoing.known?.writes ?? [],
                adding: times,
                to: outgoing.known?.times ?? EditTimes()
            )
            try knownVersions.setWritten(written, record)
        }
        for edit in outgoing.edits where !outgoing.emptied.contains(edit.field?.name ?? "") {
            let value = try edit.field.map { try ColumnPair(row.fields[$0.name], of: $0, in: zone.zoneID).value }
            try sentOperations.insert(edit, of: record, value: value ?? .null)
        }
        // A link that was left out is an edit of its own, for the next batch.
        for field in table.fields where outgoing.emptied.contains(field.name) {
            try pendingEdits.addForNext(field.id, of: row.id, table.id)
        }
    }

    /// The deletes of a zone, stored as sent.
    ///
    /// A request has one operation for each name. If the name is saved in this request, the delete waits for the next
    /// one.
    private func deletes(in zone: ZoneRow, limit: Int, except saved: Set<String>) throws -> [RecordOperation] {
        let deleted = try tombstones.toSend(in: zone.id, at: now, limit: limit).filter { !saved.contains($0.name) }
        return try deleted.map { tombstone in
            try sentOperations.insert(.delete, of: tombstone.record, named: tombstone.name, in: zone.id)
            var record = Record(recordName: tombstone.name)
            record.recordChangeTag = tombstone.tag
            return RecordOperation(.delete, record: record)
        }
    }
}
