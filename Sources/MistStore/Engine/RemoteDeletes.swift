import GRDB
import MistKit

/// Applies deletes that the service reports, with their cascades: of other devices, or this device's own.
struct RemoteDeletes: EngineProcedure {
    let transaction: EngineTransaction

    /// Applies the delete of a record.
    ///
    /// - Parameters:
    ///   - name: The record's name.
    ///   - zone: Its zone.
    ///   - isFinal: Whether it is known that the record was not moved to another zone.
    /// - Throws: A `DatabaseError` when the file fails.
    func apply(of name: String, in zone: StoredZone, isFinal: Bool = false) throws {
        if !isFinal, try movedRecords.holds(deleteOf: name, in: zone) { return }
        try foreignRecords.forget(name, in: zone.id)
        // A delete of this device whose reply was lost. It counts as done, even if another device has deleted the
        // record as well.
        if try sentOperations.hasUncertainDelete(of: name, in: zone.id) {
            summary.deleted += 1
            try countDelete(of: name, in: zone.id)
        }
        try tombstones.forget(name, in: zone.id)
        try sentOperations.forget(name, in: zone.id)
        // Without a known version, a row of the name is a record that was never sent. It is of another life, and stays.
        guard let known = try knownVersions.fetch(named: name, in: zone.id) else { return }
        // A record whose create has an unknown outcome stays, too, where the delete is this device's own, of the life
        // before.
        if known.tag == nil, try reportedDeletes.isOwn(name, in: zone.id) { return }
        // A delete that was taken back, of a record that the service does not have: what comes back of those below it
        // stays, with the target missing.
        guard known.hasRow, let table = file.tablesByID[known.type] else {
            return try knownVersions.forget(known.id)
        }
        let isFoundByVerification = known.isDistrusted
        try endLife(of: known, table, isFoundByVerification ? .verification : .deleted)
        summary.removed += 1
        if scope == .public {
            try cascade(from: name, in: zone, because: isFoundByVerification ? .verification : .deletedWithTarget)
        } else if try hasDependents(name, in: zone) {
            // Records that refer to it here may refer to another record at the service. That is known after the zone
            // has been read to its end.
            try reportedDeletes.note(name, by: isFoundByVerification ? .verification : .otherDevice, in: zone.id)
            try zones.markStale(zone.id)
        }
    }

    /// Removes a record whose life has ended; its edits go to the recovery log.
    func endLife(of known: KnownVersion, _ table: RecordTable, _ reason: LossReason) throws {
        if let row = try table.row(id: known.row, db), let zone = try zones.fetch(known.zone) {
            try remove(row, table, reason, in: zone)
        }
        try sentOperations.forget(known.name, in: known.zone)
        try knownVersions.forget(known.id)
        try parking.forget(known.name, in: known.zone)
    }

    /// Removes the rows of a zone that was seen before and is gone. The edits in it go into the recovery log.
    func applyEnd(of zone: StoredZone) throws {
        try movedRecords.applyEnd(of: zone)
        for table in file.allTables {
            for row in try table.rows("_zone = ?", [ColumnValue(zone.id)], db) {
                try remove(row, table, .zoneDeleted, in: zone)
                summary.removed += 1
            }
        }
        try sentOperations.forgetAll(in: zone.id)
        try knownVersions.forgetAll(in: zone.id)
        try tombstones.forgetAll(in: zone.id)
        try parking.forgetAll(in: zone.id)
        try foreignRecords.forgetAll(in: zone.id)
        try reportedDeletes.forgetAll(in: zone.id)
        try undelivered.forgetAll(in: zone.id)
        try firstPasses.forget(in: zone.id)
        try zones.markGone(zone.id)
    }

    private func remove(_ row: LocalRow, _ table: RecordTable, _ reason: LossReason, in zone: StoredZone) throws {
        try saveValues(of: row, table, reason, in: zone)
        try movedRecords.endMoves(ofCopy: row, table, reason)
        try forgetEdits(of: row.id, table)
        try table.delete(row.id, db)
    }

    /// Removes the rows that a full refetch did not meet: their records were deleted meanwhile.
    func sweep(_ zone: StoredZone) throws {
        for name in try knownVersions.missed(by: zone.epoch, in: zone.id) { try apply(of: name, in: zone) }
        try foreignRecords.forgetMissed(by: zone.epoch, in: zone.id)
        for name in try tombstones.neverStored(missedBy: zone.epoch, in: zone.id) {
            try tombstones.handPermission(of: name, in: zone.id)
        }
        try tombstones.forgetMissed(by: zone.epoch, in: zone.id)
        try zones.endRefetch(zone.id)
    }
}

// MARK: - Cascades

extension RemoteDeletes {
    /// Removes the rows that go with records that were deleted elsewhere, after the zone has been read to its end.
    func complete(in zone: StoredZone) throws {
        try reportedDeletes.forgetOwn(in: zone.id)
        // A record that the service could not deliver may refer to another record at the service.
        guard try undelivered.isEmpty(in: zone.id) else { return }
        let causes: [(ReportedDeletes.Author, LossReason)] = [
            (.otherDevice, .deletedWithTarget), (.verification, .verification),
        ]
        let deleted = try causes.map { author, reason in
            (names: try reportedDeletes.names(by: author, in: zone.id), reason)
        }
        try reportedDeletes.forgetAll(in: zone.id)
        for (names, reason) in deleted {
            for name in names {
                // If there is a new record of the name, the records that refer to it stay.
                let isBack = try file.allTables.contains { try $0.row(named: name, in: zone.id, db) != nil }
                if !isBack { try cascade(from: name, in: zone, because: reason) }
            }
        }
    }

    /// Removes the rows that go with a record that was deleted elsewhere. A row that the service has gets a tombstone,
    /// so the delete is sent unless the service has carried it out itself.
    func cascade(from name: String, in zone: StoredZone, because reason: LossReason) throws {
        for table in file.allTables {
            for row in try dependents(of: name, in: zone, table) {
                try saveValues(of: row, table, reason, in: zone)
            }
        }
        try Cascades(file: file, db: db).run(from: name, in: zone.id)
        let pending = PendingCascades(db: db)
        while let next = try pending.first(in: zone.id) {
            try pending.forget(next, in: zone.id)
            try cascade(from: next, in: zone, because: reason)
        }
    }

    /// The rows that are removed with a record.
    private func dependents(of name: String, in zone: StoredZone, _ table: RecordTable) throws -> [LocalRow] {
        var rows: [RecordRowID: LocalRow] = [:]
        for field in table.fields where field.type == .reference {
            for row in try table.rows(boundTo: name, by: field, in: zone.id, db) { rows[row.id] = row }
        }
        return rows.values.sorted { $0.id < $1.id }
    }

    func hasDependents(_ name: String, in zone: StoredZone) throws -> Bool {
        try file.allTables.contains { try !dependents(of: name, in: zone, $0).isEmpty }
    }

    /// Writes a row into the recovery log: all of it, so that the record can be restored as it was.
    ///
    /// A row without edits gets an entry for the time being: whether it is kept is decided when everything is fetched
    /// (``MassRemovals``). Another life takes the place of a replaced row at once, so it is not removed. A row that a
    /// verification removes has an entry in any case.
    private func saveValues(of row: LocalRow, _ table: RecordTable, _ reason: LossReason, in zone: StoredZone) throws {
        let local = try localEdits(of: row, table)
        let isRemoved = reason != .replaced
        if isRemoved { transaction.removedRows += 1 }
        let isKept = !local.isEmpty || reason == .verification
        guard isKept || (isRemoved && configuration.massDeletionLimit != nil) else { return }
        try recovery.add(
            reason,
            row.receipt(local.fields.mapValues(\.value)),
            of: table.recordType,
            row.name,
            in: zone,
            at: now,
            isProvisional: !isKept
        )
        if !local.isEmpty { summary.lost += 1 }
    }
}
