import CloudKitModel
import GRDB
import MistKit

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
    /// old records are being deleted.
    func former(of row: LocalRow, _ table: RecordTable) throws -> KnownVersion? {
        guard try transaction.hasMoves else { return nil }
        for entry in try moves.entries(of: row.id, table.id) {
            if let known = try knownVersions.fetch(named: entry.name, in: entry.zone), known.row == row.id {
                return known
            }
        }
        return nil
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
        guard try transaction.hasMoves, let entry = try moves.entry(of: name, from: zone.id),
            let table = file.tablesByID[entry.type]
        else { return false }
        guard let row = try table.row(id: entry.row, db) else {
            try end(orphan: entry)
            return false
        }
        let known = try knownVersions.fetch(named: name, in: zone.id)
        let created = try known.map(\.created) ?? tombstones.created(name, in: zone.id) ?? nil
        if let created, let theirs = record.created?.time, created != theirs {
            // The record was deleted, and its name is used again.
            try moves.forget(entry)
            try tombstones.forget(name, in: zone.id)
            if let known { try knownVersions.forget(known.id) }
            return false
        }
        try moves.release(name, in: zone.id)
        if let known, let tag = known.tag {
            try knownVersions.note(zone.epoch, known.id)
            if tag == record.recordChangeTag {
                try knownVersions.endConflict(known.id)
                return true
            }
            if let seen = known.modified, let modified = record.modified?.time, modified < seen { return true }
        }
        if let known, try isUnsent(row) {
            // The copy is not sent yet: this is a change of the record as any other.
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
            try absorb(version.remote, since: known?.times ?? entry.times ?? EditTimes(), into: row, table)
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

    /// Takes over what a version of another copy of a record has, and this row has not: values of later edits, and what
    /// was added to counters since.
    ///
    /// - Parameters:
    ///   - version: The version.
    ///   - base: The edit times of the version that the row began with: parts of counters that it has are in the row.
    ///   - row: The row.
    ///   - table: Its table.
    ///   - pending: Edits of this device in the version that were not acknowledged.
    ///   - known: The version that the row's edits are made on, where the row is in another zone since.
    /// - Throws: A ``StoreError`` when the file fails.
    func absorb(
        _ version: RemoteVersion,
        since base: EditTimes,
        into row: LocalRow,
        _ table: RecordTable,
        pending: LocalEdits = LocalEdits(),
        over known: KnownVersion? = nil
    ) throws {
        guard let row = try table.row(id: row.id, db), let zone = try zones.fetch(row.zone) else { return }
        let edits = try pendingEdits.edits(of: row.id, table)
        let known = try known ?? knownVersions.fetch(named: row.name, in: row.zone)
        let own = RemoteVersion(
            fields: row.fields,
            times: known?.times ?? EditTimes(),
            modified: known?.modified?.rawValue ?? 0
        )
        let device = try fileState.device
        var lost: [String: FieldValue?] = [:]
        for field in table.fields where field.successor == nil && row.misfits[field.name] == nil {
            let edit = edits.first { $0.field?.id == field.id }
            let (theirs, present) = (version.fields[field.name], row.fields[field.name])
            var time = version.time(of: field.name)
            if let edit = pending.fields[field.name] { time = edit.time }
            var value = present
            switch field.schema.merge {
            case .latest:
                let ownTime = edit.map { EditTime($0.time, device: device) } ?? own.time(of: field.name)
                if time > ownTime, !theirs.isSame(as: present) {
                    if edit != nil { lost[field.name] = .some(present) }
                    value = theirs
                } else if pending.fields[field.name] != nil, !theirs.isSame(as: present) {
                    lost[field.name] = .some(theirs)
                }
            case .counter:
                var added = try CounterParts.added(
                    to: field.name,
                    version.times,
                    since: base,
                    except: fileState.devices
                )
                if let edit = pending.fields[field.name] {
                    added = added.addingReportingOverflow(CounterParts.change(by: edit)).partialValue
                }
                if added != 0 {
                    value = .int64((present?.int64Value ?? 0).addingReportingOverflow(added).partialValue)
                }
            case .greatest, .smallest, .union:
                value = join(present, theirs, by: field.schema.merge)
            }
            guard !value.isSame(as: present) else { continue }
            let before = try ColumnPair(present, of: field, in: zone.zoneID).value
            let pair = try ColumnPair(value?.withoutZones, of: field, in: zone.zoneID)
            try table.update(row.id, [field.name: pair], at: nil, db)
            let base = try edit.map { try ColumnPair($0.base, of: field, in: zone.zoneID).value } ?? before
            if edit != nil { try pendingEdits.forget(field.id, of: row.id, table.id) }
            let editTime = ServiceTime(max(time.milliseconds, edit?.time.rawValue ?? 0))
            try pendingEdits.insert(field, of: row.id, table, time: editTime, raw: now, base: base)
        }
        if !lost.isEmpty { try recovery.add(.laterEdit, lost, of: table.recordType, row.name, in: zone, at: now) }
    }
}

extension FieldValue {
    /// The value without the zones of its references, which are those of the record that it comes from.
    fileprivate var withoutZones: FieldValue {
        func withoutZone(_ reference: Reference) -> Reference {
            Reference(recordName: reference.recordName, action: reference.action)
        }
        return switch plain {
        case .reference(let reference): .reference(withoutZone(reference))
        case .referenceList(let references): .referenceList(references.map(withoutZone))
        default: self
        }
    }
}

extension CounterParts {
    /// What other devices have added to a counter in a version, and not in an earlier one.
    static func added(
        to name: String,
        _ version: EditTimes,
        since base: EditTimes,
        except devices: Set<Int64>
    ) -> Int64 {
        let field = Checksum.of(name: name)
        return version.parts.filter { $0.field == field && !devices.contains($0.device) }.reduce(0) { sum, part in
            let before = base.part(of: name, device: part.device)
            guard part.sequence > before?.sequence ?? .min else { return sum }
            return sum.addingReportingOverflow(part.sum.subtractingReportingOverflow(before?.sum ?? 0).partialValue)
                .partialValue
        }
    }
}
