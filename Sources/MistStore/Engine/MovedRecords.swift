import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

/// What the engine does about records that move between zones, here and on other devices.
///
/// The service cannot move a record: a move is the create of a copy in the new zone and a delete in the former one. The
/// copy has the edit times of the record, when it was created first (``EditTimes/creation``), its former zone and the
/// time of the move (``EditTimes/move``). Two records of a name that were created first at the same time and by the
/// same device are copies of one record.
struct MovedRecords: EngineProcedure {
    let transaction: EngineTransaction

    // MARK: Rows that were moved here

    /// The version that the service has of a moved row in its former zone; `nil` for a row that was not moved, or whose
    /// old records are being deleted. A copy of unknown outcome is one only where the service has no other version.
    func former(of row: LocalRow, _ table: RecordTable) throws -> KnownVersion? {
        guard try transaction.hasMoves else { return nil }
        let versions = try moves.entries(of: row.id, table.id)
            .compactMap { try knownVersions.fetch(named: $0.name, in: $0.zone) }
            .filter { $0.row == row.id }
        return versions.first { $0.tag != nil } ?? versions.first
    }

    /// Where a row comes from whose copy is to be sent; `nil` for a row that was not moved.
    func outgoing(_ row: LocalRow, _ table: RecordTable) throws -> OutgoingMove? {
        guard try transaction.hasMoves, let entry = try moves.entries(of: row.id, table.id).first,
            let zone = try zones.fetch(entry.zone)
        else { return nil }
        return OutgoingMove(
            former: try former(of: row, table),
            zone: zone.zoneID.zoneName,
            time: EditTime(entry.time, device: try fileState.device)
        )
    }

    /// Whether the copy of a moved row was never sent.
    func isUnsent(_ row: LocalRow) throws -> Bool {
        try knownVersions.fetch(named: row.name, in: row.zone) == nil
    }

    /// Keeps the fields without a column of a copy that the service has stored.
    func keepOtherFields(of sent: SentOperation, _ row: RecordRowID, _ table: RecordTable) throws {
        guard try transaction.hasMoves, let row = try table.row(id: row, db), let former = try former(of: row, table),
            former.id != sent.record
        else { return }
        let other = former.other.filter { table[$0.key] == nil }
        try knownVersions.setOther(other, sent.record, named: sent.name, of: table.recordType)
    }

    /// Keeps the reference to the parent as an edit of a row that was moved later than the copy which its new zone has:
    /// the update says where the record was moved from, and when.
    func keepMove(of row: LocalRow, _ table: RecordTable, to zone: StoredZone) throws {
        guard let entry = try moves.entries(of: row.id, table.id).first, let parent = table.parentField,
            let copy = try knownVersions.fetch(named: row.name, in: zone.id),
            copy.times.isMoved(before: EditTime(entry.time, device: try fileState.device))
        else { return }
        try pendingEdits.note(parent, of: row.id, table, at: entry.time, raw: entry.raw)
    }

    /// Keeps the insert of a row whose copy is still to be sent: an acknowledgement of its former record has ended all
    /// edits.
    func keepInsert(of row: RecordRowID, _ table: RecordTable) throws {
        guard try transaction.hasMoves, let entry = try moves.entries(of: row, table.id).first,
            let row = try table.row(id: row, db), try isUnsent(row)
        else { return }
        try pendingEdits.note(nil, of: row.id, table, at: entry.time, raw: entry.raw)
    }
}

// MARK: - Versions in a former zone

extension MovedRecords {
    /// Applies a version of a record that was moved here to another zone: another device has changed it since.
    ///
    /// - Returns: Whether the record is one.
    func apply(_ record: Record, ofFormer name: String, in zone: StoredZone) throws -> Bool {
        guard try transaction.hasMoves, let entry = try moves.entry(of: name, from: zone.id) else { return false }
        guard let (row, table) = try file.row(of: entry, db) else {
            try endOrphans()
            return false
        }
        let known = try knownVersions.fetch(named: name, in: zone.id)
        let created = try known.map(\.created) ?? tombstones.created(name, in: zone.id) ?? nil
        if let created, let theirs = record.created?.time, created != theirs,
            !isBack(record, createdAt: known?.creation ?? entry.times?.creation)
        {
            // The record was deleted, and its name is used again.
            try moves.forget(entry)
            try tombstones.forget(name, in: zone.id)
            if let known { try knownVersions.forget(known.id) }
            return false
        }
        if known == nil, entry.times == nil, try !isCopy(row, table, of: record) {
            // The move goes on after an undo (``OldRecordFate``), and the row is a new record of the name.
            try moves.forget(entry)
            return false
        }
        // It was moved back after the move of this device: its row arrives here.
        if try isMoved(record, after: row, table) { return false }
        try moves.release(name, in: zone.id)
        if let known, let tag = known.tag {
            try knownVersions.note(zone.epoch, known.id)
            if tag == record.recordChangeTag {
                try knownVersions.endConflict(known.id)
                return true
            }
            if let seen = known.modified, let modified = record.modified?.time, modified < seen { return true }
        }
        if let known, try isUnsent(row), try former(of: row, table)?.id == known.id {
            // The edits of the row are made on this version: it is a change of the record as any other.
            let merge = VersionMerge(
                transaction: transaction,
                record: try files.adopted(record, table),
                name: name,
                known: known,
                table: table,
                zone: zone,
                movedRow: row
            )
            try merge.apply()
            try keepInsert(of: row.id, table)
        } else {
            let version = IncomingVersion(try files.adopted(record, table), of: table, in: zone)
            let base = known?.times ?? entry.times ?? EditTimes()
            let own = try self.version(of: row, table)
            try absorb(version.remote, into: row, table, .allButOwnCounts, since: base, over: own)
            if known != nil {
                try knownVersions.store(
                    record,
                    named: name,
                    try Stamps(of: record, users),
                    times: version.timesBytes,
                    other: version.other,
                    in: table,
                    row: row.id,
                    zone: zone
                )
            } else {
                try tombstones.renew(name, tag: record.recordChangeTag, created: record.created?.time, in: zone)
                try moves.setTimes(version.remote.times, of: entry)
            }
            try sentOperations.forget(name, in: zone.id)
        }
        return true
    }
}
