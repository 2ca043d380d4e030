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
    private func isUnsent(_ row: LocalRow) throws -> Bool {
        try knownVersions.fetch(named: row.name, in: row.zone) == nil
    }

    /// Keeps the fields without a column of a copy that the service has stored.
    func keepOtherFields(of sent: SentOperation, _ row: RecordRowID, _ table: RecordTable) throws {
        guard try transaction.hasMoves, let row = try table.row(id: row, db), let former = try former(of: row, table),
            former.id != sent.record
        else { return }
        try knownVersions.setOther(former.other.filter { table[$0.key] == nil }, sent.record)
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
    /// - Throws: A ``StoreError`` when the file fails.
    func absorb(
        _ version: RemoteVersion,
        since base: EditTimes,
        into row: LocalRow,
        _ table: RecordTable,
        pending: LocalEdits = LocalEdits()
    ) throws {
        guard let row = try table.row(id: row.id, db), let zone = try zones.fetch(row.zone) else { return }
        let edits = try pendingEdits.edits(of: row.id, table)
        let known = try knownVersions.fetch(named: row.name, in: row.zone)
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
            try table.update(row.id, [field.name: try ColumnPair(value, of: field, in: zone.zoneID)], at: nil, db)
            let base = try edit.map { try ColumnPair($0.base, of: field, in: zone.zoneID).value } ?? before
            if edit != nil { try pendingEdits.forget(field.id, of: row.id, table.id) }
            let editTime = ServiceTime(max(time.milliseconds, edit?.time.rawValue ?? 0))
            try pendingEdits.insert(field, of: row.id, table, time: editTime, raw: now, base: base)
        }
        if !lost.isEmpty { try recovery.add(.laterEdit, lost, of: table.recordType, row.name, in: zone, at: now) }
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

// MARK: - Copies that arrive

extension MovedRecords {
    /// What is to be done about a copy beside what is done about each record.
    struct Arrival {
        /// The version that the edits of this device were made on.
        var base: KnownVersion?
        /// Values of this device's own copy, which was moved earlier than the one that arrives.
        var former: (version: RemoteVersion, row: LocalRow)?
        /// Whether the record was deleted here.
        var isDeletedHere = false
    }

    /// Looks whether a version is the copy of a record that this file has in another zone. The row then changes into
    /// the zone of the copy, with its edits.
    ///
    /// - Returns: What is to be done; `nil` for a record that was never moved, and for a copy that is older than the one
    ///   here.
    func arrival(of record: Record, named name: String, _ table: RecordTable, in zone: StoredZone) throws -> Arrival? {
        // The bytes end with the former zone; 0 stands for none.
        guard scope == .private, case .bytes(let data)? = record.fields[EditTimes.fieldName]?.plain,
            let last = data.last, last != 0, let times = EditTimes(data), let move = times.move,
            let creation = times.creation, let from = times.movedFrom
        else { return nil }
        if try isDeletedHere(name, from: from) { return Arrival(isDeletedHere: true) }
        for row in try others(named: name, than: zone.id, table) {
            guard let base = try version(of: row, table), base.creation == creation,
                try self.move(of: row, base, table).map({ $0 < move }) ?? true
            else { continue }
            return try adopt(row, base, table, into: zone, from: from)
        }
        return nil
    }

    /// Whether this device has deleted the record that a copy was made of.
    private func isDeletedHere(_ name: String, from zoneName: String) throws -> Bool {
        guard let zone = try zones.number(of: ZoneID(zoneName: zoneName)) else { return false }
        if try moves.holdsOwnDelete(of: name, in: zone) { return true }
        return try tombstones.created(name, in: zone) != nil && moves.entry(of: name, from: zone) == nil
    }

    /// The rows of a name in other zones.
    private func others(named name: String, than zone: ZoneRowID, _ table: RecordTable) throws -> [LocalRow] {
        try table.rows(
            "_recordName = ? AND _zone <> ? AND _zone IN (\(Zones.presentIDs(in: "?")))",
            [.text(name), ColumnValue(zone), .integer(scope.number)],
            db
        )
    }

    /// The version that the edits of a row were made on.
    private func version(of row: LocalRow, _ table: RecordTable) throws -> KnownVersion? {
        let known = try knownVersions.fetch(named: row.name, in: row.zone)
        return known?.tag != nil ? known : try former(of: row, table) ?? known
    }

    /// When a row was moved to its zone.
    private func move(of row: LocalRow, _ version: KnownVersion, _ table: RecordTable) throws -> EditTime? {
        if version.zone == row.zone { return version.times.move }
        return try moves.entries(of: row.id, table.id).first.map { EditTime($0.time, device: try fileState.device) }
    }

    /// Puts a row into the zone of a copy, which was moved later.
    private func adopt(
        _ row: LocalRow,
        _ base: KnownVersion,
        _ table: RecordTable,
        into zone: StoredZone,
        from former: String
    ) throws -> Arrival {
        let entries = try moves.entries(of: row.id, table.id)
        let isOwnMove =
            try !entries.isEmpty || base.times.move.map { try fileState.devices.contains($0.device) } ?? false
        let earlier = isOwnMove ? try values(of: row, base, table) : nil
        // The device that made the later move deletes the record in the zone that it moved it from.
        for entry in entries where try zones.fetch(entry.zone)?.zoneID.zoneName == former {
            try moves.forget(entry)
            if let known = try knownVersions.fetch(named: entry.name, in: entry.zone), known.row == row.id {
                try knownVersions.forget(known.id)
            }
        }
        if let known = try knownVersions.fetch(named: row.name, in: row.zone) {
            if isOwnMove, try zones.fetch(row.zone)?.zoneID.zoneName != former {
                // This device has made the earlier copy, and deletes it.
                try moves.insert(
                    row,
                    of: table.id,
                    number: try moves.nextNumber(),
                    depth: entries.first?.depth ?? 0,
                    time: base.times.move.map { ServiceTime($0.milliseconds) } ?? serviceTime,
                    raw: now,
                    parent: nil
                )
                transaction.noteMoves()
            } else {
                try knownVersions.forget(known.id)
            }
        }
        if base.tag != nil { try pendingEdits.forget(.insert, of: row.id, table.id) }
        try moves.release(row.name, in: row.zone)
        try parking.forget(row.name, in: row.zone)
        guard let present = try table.row(named: row.name, in: zone.id, db) else {
            try table.place(row.id, in: zone.id, db)
            try bringNewChildren(of: row.name, from: row.zone, to: zone.id)
            return Arrival(base: base, former: earlier.map { ($0, row) })
        }
        try unite(row, base, table, with: present)
        return Arrival()
    }

    /// The values of a row without its edits.
    func values(of row: LocalRow, _ base: KnownVersion, _ table: RecordTable) throws -> RemoteVersion {
        var fields = row.fields
        for edit in try pendingEdits.edits(of: row.id, table) {
            if let field = edit.field { fields[field.name] = edit.base }
        }
        return RemoteVersion(fields: fields, times: base.times, modified: base.modified?.rawValue ?? 0)
    }

    /// Gives the edits of a row to the row of a later copy, and removes it.
    private func unite(_ row: LocalRow, _ base: KnownVersion, _ table: RecordTable, with copy: LocalRow) throws {
        let local = try localEdits(of: row, table)
        var version = RemoteVersion(fields: row.fields, times: base.times, modified: base.modified?.rawValue ?? 0)
        for (name, edit) in local.fields { version.times.set(edit.time, of: name, edit.value) }
        let known = try knownVersions.fetch(named: copy.name, in: copy.zone)
        try absorb(version, since: known?.times ?? EditTimes(), into: copy, table, pending: local)
        try forgetEdits(of: row.id, table)
        try table.delete(row.id, db)
        try bringNewChildren(of: row.name, from: row.zone, to: copy.zone)
    }

    /// Puts the records below a moved one into its zone that were never sent.
    private func bringNewChildren(of name: String, from zone: ZoneRowID, to target: ZoneRowID) throws {
        var names = [name]
        while let name = names.popLast() {
            for table in file.allTables {
                guard let parent = table.parentField else { continue }
                let rows = try table.rows("\(parent.column) = ? AND _zone = ?", [.text(name), ColumnValue(zone)], db)
                for row in rows where try knownVersions.fetch(named: row.name, in: zone) == nil {
                    guard try table.row(named: row.name, in: target, db) == nil else { continue }
                    try table.place(row.id, in: target, db)
                    try parking.forget(row.name, in: zone)
                    names.append(row.name)
                }
            }
        }
    }

    /// Ends what a copy has begun, after it was applied.
    func complete(_ arrival: Arrival, named name: String, _ table: RecordTable, in zone: StoredZone) throws {
        if let former = arrival.former {
            let known = try knownVersions.fetch(named: name, in: zone.id)
            try absorb(former.version, since: known?.times ?? EditTimes(), into: former.row, table)
        }
        guard arrival.isDeletedHere, let row = try table.row(named: name, in: zone.id, db),
            let known = try knownVersions.fetch(named: name, in: zone.id)
        else { return }
        // The delete wins, wherever the record was moved to.
        try tombstones.insert(known.id)
        try knownVersions.forget(known.id)
        try forgetEdits(of: row.id, table)
        try table.delete(row.id, db)
        try deletes.cascade(from: name, in: zone, because: .deletedWithTarget)
    }
}

// MARK: - Deletes in a former zone

extension MovedRecords {
    /// Lets a delete wait until all zones were read, because the record may have been moved.
    ///
    /// - Returns: Whether the delete waits.
    func holds(deleteOf name: String, in zone: StoredZone) throws -> Bool {
        guard scope == .private else { return false }
        if try transaction.hasMoves, try moves.entry(of: name, from: zone.id) != nil {
            if try sentOperations.hasUncertainDelete(of: name, in: zone.id) {
                // This device's own delete.
                try moves.end(name, from: zone.id)
                return false
            }
            try hold(name, in: zone)
            return true
        }
        guard try !zones.isOnly(zone.id) else { return false }
        if try tombstones.created(name, in: zone.id) != nil {
            if try !sentOperations.hasUncertainDelete(of: name, in: zone.id) {
                try hold(name, in: zone, isDeletedHere: true)
            }
            return false
        }
        guard let known = try knownVersions.fetch(named: name, in: zone.id), known.tag != nil, !known.isDistrusted,
            let table = file.tablesByID[known.type], let row = try table.row(id: known.row, db), row.zone == zone.id
        else { return false }
        let isPlain = try localEdits(of: row, table).isEmpty && !deletes.hasDependents(name, in: zone)
        try hold(name, in: zone, isPlain: isPlain)
        return true
    }

    private func hold(
        _ name: String,
        in zone: StoredZone,
        isDeletedHere: Bool = false,
        isPlain: Bool = false
    ) throws {
        try moves.hold(name, in: zone.id, isDeletedHere: isDeletedHere)
        transaction.noteMoves()
        // The copy may be in a zone that was created after the last list.
        if !isPlain { try scopeState.markStale() }
    }

    /// Decides about the deletes that wait, if all zones were read.
    ///
    /// - Parameter hasFetched: Whether something was fetched: there may be new records below those that were moved.
    /// - Throws: A ``StoreError`` when the file fails.
    func decide(hasFetched: Bool) throws {
        guard scope == .private, try transaction.hasMoves, try zones.stale().isEmpty, try !scopeState.row().isStale
        else { return }
        let held = try moves.held().map { (held: $0, depth: try moves.entry(of: $0.name, from: $0.zone)?.depth ?? -1) }
        // Children first, so that each record has its own receipt.
        for (held, _) in held.sorted(by: { $0.depth > $1.depth }) {
            guard let zone = try zones.fetch(held.zone), zone.scope == scope else { continue }
            try moves.release(held.name, in: held.zone)
            if held.isDeletedHere { continue }
            if let entry = try moves.entry(of: held.name, from: held.zone) {
                try decide(about: entry, in: zone)
            } else if let known = try knownVersions.fetch(named: held.name, in: held.zone),
                let table = file.tablesByID[known.type], let row = try table.row(id: known.row, db),
                let copy = try laterCopy(of: row, known, table)
            {
                try unite(row, known, table, with: copy)
                try knownVersions.forget(known.id)
            } else {
                try deletes.apply(of: held.name, in: zone, isFinal: true)
            }
        }
        if hasFetched { try follow() }
    }

    /// A copy of a row's record that was moved later.
    private func laterCopy(of row: LocalRow, _ known: KnownVersion, _ table: RecordTable) throws -> LocalRow? {
        try others(named: row.name, than: row.zone, table).first { other in
            guard let version = try knownVersions.fetch(named: other.name, in: other.zone),
                version.creation == known.creation, let move = version.times.move
            else { return false }
            return known.times.move.map { $0 < move } ?? true
        }
    }

    /// Decides about a record that was moved here, and deleted in its former zone by another device.
    ///
    /// While the copy was never sent, no other device can have seen it. So a delete without a copy elsewhere is the
    /// delete of a user, and wins. Later, the other device may have moved the record, and given up its copy for the
    /// later one of this device.
    private func decide(about entry: Moves.Entry, in zone: StoredZone) throws {
        guard let table = file.tablesByID[entry.type], let row = try table.row(id: entry.row, db) else {
            return try end(orphan: entry)
        }
        try moves.forget(entry)
        try tombstones.forget(entry.name, in: zone.id)
        guard let known = try knownVersions.fetch(named: entry.name, in: zone.id) else { return }
        let hasCopy = try others(named: row.name, than: zone.id, table).contains { other in
            try other.id != row.id && knownVersions.fetch(named: other.name, in: other.zone)?.creation == known.creation
        }
        guard try isUnsent(row), !hasCopy else { return try knownVersions.forget(known.id) }
        try recovery.add(.deleted, row.receipt(), of: table.recordType, row.name, in: zone, at: now)
        try forgetEdits(of: row.id, table)
        try table.delete(row.id, db)
        try knownVersions.forget(known.id)
        summary.removed += 1
        if let target = try zones.fetch(row.zone) {
            try deletes.cascade(from: row.name, in: target, because: .deletedWithTarget)
        }
    }
}

// MARK: - The end of a move

extension MovedRecords {
    /// Lets the old records of a move be deleted whose copies the service has.
    func finish() throws {
        guard scope == .private, try transaction.hasMoves else { return }
        for (_, entries) in Dictionary(grouping: try moves.all(), by: \.number).sorted(by: { $0.key < $1.key }) {
            var rows: [(Moves.Entry, LocalRow)] = []
            for entry in entries {
                if let table = file.tablesByID[entry.type], let row = try table.row(id: entry.row, db) {
                    rows.append((entry, row))
                } else {
                    try end(orphan: entry)
                }
            }
            guard try rows.allSatisfy({ try knownVersions.isAcknowledged($1.name, in: $1.zone) }) else { continue }
            for (entry, _) in rows { try delete(entry) }
        }
    }

    private func delete(_ entry: Moves.Entry) throws {
        if let known = try knownVersions.fetch(named: entry.name, in: entry.zone), known.row == entry.row {
            try moves.setTimes(known.times, of: entry)
            try tombstones.insertOfMove(known.id, depth: entry.depth)
            try knownVersions.forget(known.id)
        } else if try tombstones.created(entry.name, in: entry.zone) == nil {
            try moves.end(entry.name, from: entry.zone)
        }
    }

    /// Ends the move of a row that was removed here: the delete concerns the old record, too.
    private func end(orphan entry: Moves.Entry) throws {
        try moves.forget(entry)
        guard let known = try knownVersions.fetch(named: entry.name, in: entry.zone), known.row == entry.row else {
            return
        }
        try tombstones.insert(known.id)
        try knownVersions.forget(known.id)
    }

    /// For how long records that arrive below a moved record in its former zone follow it: 30 days.
    private static let followTime: Int64 = 30 * 24 * 3600 * 1000

    /// Moves the records as well that other devices have added, or moved, below a moved record in its former zone. Only
    /// the device that moved the record does this.
    ///
    /// Where two devices move each of two records below the other, this would not end: the later move is undone, by its
    /// device.
    private func follow() throws {
        for departure in try moves.departures(since: MachineTime(now.rawValue - Self.followTime)) {
            guard let table = file.tablesByID[departure.type], let row = try table.row(id: departure.row, db),
                row.zone != departure.zone, let target = try zones.fetch(row.zone)
            else { continue }
            for childTable in file.allTables {
                guard let parent = childTable.parentField else { continue }
                let left = try childTable.rows(
                    "\(parent.column) = ? AND _zone = ?",
                    [.text(departure.name), ColumnValue(departure.zone)],
                    db
                )
                for child in left {
                    if try isAbove(child.name, row, table) {
                        try undoIfLater(departure, row, table, than: child, childTable)
                    } else {
                        try relocate(child, childTable, to: target, depth: 1)
                    }
                }
            }
        }
    }

    /// Whether a record is above a row, in whatever zones the records between them are.
    private func isAbove(_ name: String, _ row: LocalRow, _ table: RecordTable) throws -> Bool {
        var (row, table) = (row, table)
        var seen: Set<String> = []
        while let field = table.parentField, let parent = row.fields[field.name]?.referenceValue?.recordName {
            if parent == name { return true }
            guard seen.insert(parent).inserted else { return false }
            var next: (LocalRow, RecordTable)?
            for other in file.allTables where next == nil {
                let found = try other.row(named: parent, in: row.zone, db)
                next = try (found ?? others(named: parent, than: row.zone, other).first).map { ($0, other) }
            }
            guard let next else { return false }
            (row, table) = next
        }
        return false
    }

    /// Undoes a move that has made a cycle with the move of another record, if it is the later one of the two.
    private func undoIfLater(
        _ departure: Moves.Departure,
        _ row: LocalRow,
        _ table: RecordTable,
        than child: LocalRow,
        _ childTable: RecordTable
    ) throws {
        guard let own = try version(of: row, table), let time = try move(of: row, own, table),
            let zone = try zones.fetch(departure.zone), zone.state == .exists, let field = table.parentField,
            try knownVersions.fetch(named: row.name, in: zone.id) == nil,
            try table.row(named: row.name, in: zone.id, db) == nil
        else { return }
        if let other = try version(of: child, childTable), let theirs = try move(of: child, other, childTable),
            theirs > time
        {
            return
        }
        let value = row.fields[field.name]
        try recovery.add(.moveUndone, [field.name: value], of: table.recordType, row.name, in: zone, at: now)
        try relocate(row, table, to: zone, depth: 0)
        let parent = try departure.parent.flatMap { name in
            try file.allTables.contains { try $0.row(named: name, in: zone.id, db) != nil } ? name : nil
        }
        let reference = parent.map { FieldValue.reference(Reference(recordName: $0)) }
        try table.update(row.id, [field.name: try ColumnPair(reference, of: field, in: zone.zoneID)], at: nil, db)
        let base = try pendingEdits.edits(of: row.id, table).first { $0.field?.id == field.id }?.base ?? value
        try pendingEdits.forget(field.id, of: row.id, table.id)
        let pair = try ColumnPair(base, of: field, in: zone.zoneID)
        try pendingEdits.insert(field, of: row.id, table, time: try serviceTime, raw: now, base: pair.value)
    }

    private func relocate(_ row: LocalRow, _ table: RecordTable, to zone: StoredZone, depth: Int64) throws {
        let relocation = RecordRelocation(
            file: file,
            scope: scope,
            db: db,
            number: try moves.nextNumber(),
            time: try serviceTime,
            raw: now
        )
        for item in try RecordRelocation.family(of: row, table, file, db) {
            guard try item.table.row(named: item.row.name, in: zone.id, db) == nil else { continue }
            try relocation.relocate(item, to: zone, extraDepth: depth)
        }
    }

    /// Takes back the moves to a zone that is gone, as far as the service does not have the copies.
    func applyEnd(of zone: StoredZone) throws {
        guard try transaction.hasMoves else { return }
        for entry in try moves.all() {
            guard let table = file.tablesByID[entry.type], let row = try table.row(id: entry.row, db),
                row.zone == zone.id, let known = try knownVersions.fetch(named: entry.name, in: entry.zone),
                known.row == row.id, try table.row(named: entry.name, in: entry.zone, db) == nil
            else { continue }
            guard try !knownVersions.isAcknowledged(row.name, in: row.zone) else { continue }
            try moves.forget(entry)
            try table.place(row.id, in: entry.zone, db)
            if known.tag != nil { try pendingEdits.forget(.insert, of: row.id, table.id) }
            try takeBackParent(of: row, table)
        }
        try moves.forgetAll(from: zone.id)
    }

    /// Puts the former parent back.
    private func takeBackParent(of row: LocalRow, _ table: RecordTable) throws {
        guard let field = table.parentField, let zone = try zones.fetch(row.zone),
            let edit = try pendingEdits.edits(of: row.id, table).first(where: { $0.field?.id == field.id })
        else { return }
        try table.update(row.id, [field.name: try ColumnPair(edit.base, of: field, in: zone.zoneID)], at: nil, db)
        try pendingEdits.forget(field.id, of: row.id, table.id)
    }
}
