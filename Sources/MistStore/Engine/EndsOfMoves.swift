import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

extension MovedRecords {
    /// Lets the old records of a move be deleted whose copies the service has.
    func finish() throws {
        guard scope == .private, try transaction.hasMoves else { return }
        try endOrphans()
        for (_, entries) in Dictionary(grouping: try moves.all(), by: \.number).sorted(by: { $0.key < $1.key }) {
            // Another program goes on with the moves of types that this one does not have.
            guard entries.allSatisfy({ file.tablesByID[$0.type] != nil }) else { continue }
            let rows = try entries.compactMap { entry in try file.row(of: entry, db).map { (entry, $0.row) } }
            guard try rows.allSatisfy({ try knownVersions.isAcknowledged($1.name, in: $1.zone) }),
                try rows.map({ entry, _ in try releaseDependents(of: entry) }).allSatisfy(\.self)
            else { continue }
            for (entry, _) in rows { try delete(entry) }
        }
    }

    /// Clears the links of records that stay in a former zone, with which the service would delete them together with the
    /// old record. Such a link was set by another device after the move.
    ///
    /// - Returns: Whether the service has no such link any more, as far as this device knows.
    private func releaseDependents(of entry: Moves.Entry) throws -> Bool {
        guard let zone = try zones.fetch(entry.zone) else { return true }
        var isReleased = true
        for table in file.allTables {
            for field in table.fields where field.type == .reference && !field.schema.isParent {
                for row in try table.rows(boundTo: entry.name, by: field, in: zone.id, db) {
                    let link = [field.name: row.fields[field.name]]
                    try recovery.add(.targetMoved, link, of: table.recordType, row.name, in: zone, at: now)
                    try pendingEdits.note(field, of: row.id, table, at: serviceTime, raw: now)
                    try table.update(row.id, [field.name: .null], at: nil, db)
                }
                if try pendingEdits.replaces(entry.name, in: field, table, zone.id) { isReleased = false }
            }
        }
        return isReleased
    }

    private func delete(_ entry: Moves.Entry) throws {
        if let known = try knownVersions.fetch(named: entry.name, in: entry.zone), known.row == entry.row {
            // The service has deleted the old record with its zone.
            guard try zones.fetch(entry.zone)?.state != .gone else {
                try knownVersions.forget(known.id)
                return try moves.forget(entry)
            }
            try moves.setTimes(known.times, of: entry)
            try tombstones.insertOfMove(known.id, depth: entry.depth)
            try knownVersions.forget(known.id)
        } else if try tombstones.created(entry.name, in: entry.zone) == nil {
            try moves.end(entry.name, from: entry.zone)
        }
    }

    /// Ends the moves of rows that were removed here.
    func endOrphans() throws { try OrphanedMoves(file: file, scope: scope, db: db).endAll() }

    /// Lets the old records of a row be deleted that is removed because the service has no copy any more: they are what
    /// a move has left of a deleted record. Where the service never had the copy, they are the record. It had a copy whose
    /// delete it reports, also one of unknown outcome.
    func endMoves(ofCopy row: LocalRow, _ table: RecordTable, _ reason: LossReason) throws {
        guard scope == .private, try transaction.hasMoves,
            try reason == .deleted || knownVersions.isAcknowledged(row.name, in: row.zone)
        else { return }
        for entry in try moves.entries(of: row.id, table.id) {
            try delete(entry)
            try moves.end(entry.name, from: entry.zone)
        }
    }

    /// For how long records that arrive below a moved record in its former zone follow it: 30 days.
    private static let followTime: Int64 = 30 * 24 * 3600 * 1000

    /// Moves the records as well that other devices have added, or moved, below a moved record in its former zone. Only
    /// the device that moved the record does this.
    ///
    /// Where two devices move each of two records below the other, this would not end: the later move is undone, by its
    /// device.
    func follow() throws {
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
    ///
    /// A record that was moved out of the zone, and whose copy the service does not have, stays. What is known of its old
    /// record stays with it until the copy is sent: another device may have moved the record as well, and the copies of
    /// both say when it was created.
    func applyEnd(of zone: StoredZone) throws {
        guard try transaction.hasMoves else { return }
        for entry in try moves.all() {
            guard let table = file.tablesByID[entry.type], let row = try table.row(id: entry.row, db),
                row.zone == zone.id, let known = try knownVersions.fetch(named: entry.name, in: entry.zone),
                known.row == row.id, try table.row(named: entry.name, in: entry.zone, db) == nil,
                try zones.fetch(entry.zone)?.state != .gone
            else { continue }
            guard try !knownVersions.isAcknowledged(row.name, in: row.zone) else { continue }
            try moves.forget(entry)
            try table.place(row.id, in: entry.zone, db)
            if known.tag != nil { try pendingEdits.forget(.insert, of: row.id, table.id) }
            try takeBackParent(of: row, table)
        }
        for entry in try moves.all() where entry.zone == zone.id {
            if let known = try versionToTell(of: entry) {
                // There is nothing to look up in the zone.
                try knownVersions.endConflict(known.id)
            } else {
                try moves.forget(entry)
            }
        }
        try moves.forgetEnded(from: zone.id)
    }

    /// What is known of an old record and is to be told with its copy; `nil` where the service has the copy.
    private func versionToTell(of entry: Moves.Entry) throws -> KnownVersion? {
        guard let (row, _) = try file.row(of: entry, db), row.zone != entry.zone,
            let known = try knownVersions.fetch(named: entry.name, in: entry.zone), known.row == row.id,
            known.tag != nil, try !knownVersions.isAcknowledged(row.name, in: row.zone)
        else { return nil }
        return known
    }

    /// Puts the former parent back. The receipt has the one that the person chose.
    private func takeBackParent(of row: LocalRow, _ table: RecordTable) throws {
        guard let field = table.parentField, let zone = try zones.fetch(row.zone),
            let edit = try pendingEdits.edits(of: row.id, table).first(where: { $0.field?.id == field.id })
        else { return }
        let value = row.fields[field.name]
        try recovery.add(.moveUndone, [field.name: value], of: table.recordType, row.name, in: zone, at: now)
        try table.update(row.id, [field.name: try ColumnPair(edit.base, of: field, in: zone.zoneID)], at: nil, db)
        try pendingEdits.forget(field.id, of: row.id, table.id)
    }
}
