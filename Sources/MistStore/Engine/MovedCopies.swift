import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

extension MovedRecords {
    /// What is to be done about a copy beside what is done about each record.
    struct Arrival {
        /// The version that the edits of this device were made on.
        var base: KnownVersion?
        /// What this device had of the row without its edits, and what the copy takes over of it.
        var former: (version: RemoteVersion, row: LocalRow, absorption: Absorption)?
        /// Whether the record was deleted here.
        var isDeletedHere = false
    }

    /// Looks whether a version is the copy of a record that this file has in another zone. The row then changes into
    /// the zone of the copy, with its edits.
    ///
    /// - Returns: What is to be done; `nil` for a record that was never moved, and for a copy that is older than the one
    ///   here.
    func arrival(of record: Record, named name: String, _ table: RecordTable, in zone: StoredZone) throws -> Arrival? {
        guard let (move, creation, from) = origin(of: record) else { return nil }
        // A record that is a row in the zone already is not deleted here.
        if try table.row(named: name, in: zone.id, db) == nil, try isDeletedHere(name, table, from: from) {
            return Arrival(isDeletedHere: true)
        }
        for row in try others(named: name, than: zone.id, table) {
            guard let base = try version(of: row, table), try self.creation(of: base, row, table) == creation,
                try self.move(of: row, base, table).map({ $0 < move }) ?? true
            else { continue }
            return try adopt(row, base, table, into: zone, from: from, movedAt: move)
        }
        return nil
    }

    /// Looks whether a version is an earlier copy of a record that this device has moved since, and whose own copy was
    /// never sent, or was refused. Then this device moves the record from there: the other one deletes it where both
    /// have found it.
    ///
    /// - Returns: Whether the version was applied.
    func rebase(onto record: Record, named name: String, _ table: RecordTable, in zone: StoredZone) throws -> Bool {
        guard try transaction.hasMoves, let (move, creation, former) = origin(of: record),
            try tombstones.created(name, in: zone.id) == nil
        else { return false }
        for row in try others(named: name, than: zone.id, table) {
            let copy = try knownVersions.fetch(named: row.name, in: row.zone)
            guard try copy.map({ try isRefused($0) }) ?? true else { continue }
            guard let base = try self.former(of: row, table), base.creation == creation,
                base.times.isMoved(before: move), let own = try self.move(of: row, base, table), own > move,
                let entry = try moves.entry(of: name, from: base.zone), base.zone != zone.id
            else { continue }
            try moves.release(name, in: base.zone)
            if let copy { try knownVersions.forget(copy.id) }
            // The other device made its copy without what was changed in the former zone meanwhile.
            let earlier = try values(of: row, base, table)
            try VersionMerge(
                transaction: transaction,
                record: try files.adopted(record, table),
                name: name,
                known: base,
                table: table,
                zone: zone,
                movedRow: row
            ).apply()
            try moves.setZone(zone.id, of: entry)
            if try isDeleted(name, in: base.zone, from: former, movedAt: move, isOwnMove: isOwnCopy(base)) {
                // No other device deletes it. The record itself is in the zone of the version.
                try tombstones.insertOfMove(base.id, depth: entry.depth)
            }
            try knownVersions.forget(base.id)
            try sentOperations.forget(name, in: base.zone)
            try keepInsert(of: row.id, table)
            let known = try knownVersions.fetch(named: name, in: zone.id)
            try absorb(earlier, into: row, table, .all, over: known)
            return true
        }
        return false
    }

    /// Whether this device has made a copy.
    private func isOwnCopy(_ version: KnownVersion) throws -> Bool { try version.times.move.map(isOwn) ?? false }

    private func isOwn(_ move: EditTime) throws -> Bool { try fileState.devices.contains(move.device) }

    /// Whether this device deletes what the service has of a record in a zone, where a later copy was moved from the zone
    /// `former`, and `isOwnMove` says whether this device has made the copy in the zone.
    ///
    /// It deletes the record that it has moved, and a copy of its own that another device has moved; also one that it has
    /// moved before, and that is back: its delete was taken back, or the file was restored.
    private func isDeleted(
        _ name: String,
        in zone: ZoneRowID,
        from former: String,
        movedAt move: EditTime,
        isOwnMove: Bool
    ) throws -> Bool {
        let isFormer = try zones.fetch(zone)?.zoneID.zoneName == former
        return try (isFormer ? isOwn(move) : isOwnMove) || moves.isDeparted(name, from: zone)
    }

    /// Whether the service has refused the create of a copy, so that it does not have the copy.
    private func isRefused(_ copy: KnownVersion) throws -> Bool {
        try copy.tag == nil && !copy.isConflicting && !sentOperations.isSent(copy.name, in: copy.zone)
    }

    /// Leaves out a version of a record of which this file has a later copy in another zone: its delete is only a matter
    /// of time, and the device that made the copy takes over what is changed in it meanwhile.
    ///
    /// Where this device has to delete the old record, and this delete was taken back with that of the copy, the move
    /// goes on, also if another device has moved the copy on since: it takes over what was changed in the old record, and
    /// deletes it.
    ///
    /// - Returns: Whether the version is one.
    func leaveOut(_ record: Record, named name: String, _ table: RecordTable, in zone: StoredZone) throws -> Bool {
        guard scope == .private, try !transaction.isOnly(zone.id), let data = record.editTimesBytes
        else { return false }
        let rows = try others(named: name, than: zone.id, table)
        guard !rows.isEmpty, let times = EditTimes(data),
            let creation = times.creation ?? record.created?.time?.creation,
            try tombstones.created(name, in: zone.id) == nil, try table.row(named: name, in: zone.id, db) == nil
        else { return false }
        let known = try knownVersions.fetch(named: name, in: zone.id)
        guard known?.hasRow != true else { return false }
        for row in rows {
            guard let base = try version(of: row, table), base.creation == creation,
                let move = try move(of: row, base, table), times.isMoved(before: move)
            else { continue }
            guard let known else { return true }
            // This device deletes the record that it has moved, and a copy of its own that another device has moved on.
            guard try isOwn(move) || times.move.map(isOwn) ?? false || moves.isDeparted(name, from: zone.id) else {
                try knownVersions.forget(known.id)
                return true
            }
            try knownVersions.setRow(row.id, of: known.id)
            let depth = try moves.entries(of: row.id, table.id).first?.depth ?? 0
            try insertMove(of: row, table, from: zone.id, depth: depth, at: move)
            return try apply(record, ofFormer: name, in: zone)
        }
        return false
    }

    /// When a copy was made, when its record was created first, and where it comes from; `nil` for a record that was
    /// never moved.
    private func origin(of record: Record) -> (move: EditTime, creation: EditTime, zone: String)? {
        // The bytes end with the former zone; 0 stands for none.
        guard scope == .private, let data = record.editTimesBytes, let last = data.last, last != 0,
            let times = EditTimes(data), let move = times.move, let creation = times.creation,
            let zone = times.movedFrom
        else { return nil }
        return (move, creation, zone)
    }

    /// Whether a version is the record of a creation, which was moved away and back: the service has another time of
    /// creation for it, and the name had no other life.
    func isBack(_ record: Record, createdAt creation: EditTime?) -> Bool {
        guard let creation, let origin = origin(of: record) else { return false }
        return origin.creation == creation
    }

    /// Whether a row is a copy of the record of a version.
    func isCopy(_ row: LocalRow, _ table: RecordTable, of record: Record) throws -> Bool {
        guard let data = record.editTimesBytes,
            let creation = EditTimes(data)?.creation ?? record.created?.time?.creation,
            let version = try version(of: row, table)
        else { return false }
        return try self.creation(of: version, row, table) == creation
    }

    /// Whether a version was moved to its zone later than a row to another one.
    func isMoved(_ record: Record, after row: LocalRow, _ table: RecordTable) throws -> Bool {
        guard let (move, _, _) = origin(of: record), let base = try version(of: row, table) else { return false }
        return try self.move(of: row, base, table).map { $0 < move } ?? true
    }

    /// Whether this device has deleted the record that a copy was made of.
    private func isDeletedHere(_ name: String, _ table: RecordTable, from zoneName: String) throws -> Bool {
        guard let zone = try zones.number(of: ZoneID(zoneName: zoneName)) else { return false }
        if try moves.holdsOwnDelete(of: name, in: zone) { return true }
        // The row of a move is gone where the record was deleted since the last request was decided on.
        if let entry = try moves.entry(of: name, from: zone) { return try file.row(of: entry, db) == nil }
        guard let permission = try tombstones.permission(name, in: zone) else { return false }
        // The delete of what a move has left says nothing, where that of the copy was taken back.
        return try permission != .ofCopy || tombstones.isDeleted(name, of: table.id, outside: zone, in: scope)
    }

    /// The rows of a name in other zones.
    func others(named name: String, than zone: ZoneRowID, _ table: RecordTable) throws -> [LocalRow] {
        try table.rows(
            "_recordName = ? AND _zone <> ? AND _zone IN (\(Zones.presentIDs(in: "?")))",
            [.text(name), ColumnValue(zone), .integer(scope.number)],
            db
        )
    }

    /// The version that the edits of a row were made on.
    func version(of row: LocalRow, _ table: RecordTable) throws -> KnownVersion? {
        let known = try knownVersions.fetch(named: row.name, in: row.zone)
        return known?.tag != nil ? known : try former(of: row, table) ?? known
    }

    /// When and where a record was created. A create whose outcome is unknown, or that arrived late, may be that of a
    /// record that another device has moved since.
    private func creation(of version: KnownVersion, _ row: LocalRow, _ table: RecordTable) throws -> EditTime? {
        if version.tag != nil { return version.creation }
        let sent = try sentOperations.uncertain(version.name, in: version.zone)?.times
        if let creation = sent.flatMap({ EditTimes($0) })?.creation { return creation }
        let insert = try pendingEdits.edits(of: row.id, table).first { $0.field == nil }
        return try insert.map { EditTime($0.time, device: try fileState.device) }
    }

    /// When a row was moved to its zone.
    func move(of row: LocalRow, _ version: KnownVersion, _ table: RecordTable) throws -> EditTime? {
        if version.zone == row.zone { return version.times.move }
        return try moves.entries(of: row.id, table.id).first.map { EditTime($0.time, device: try fileState.device) }
    }

    /// Puts a row into the zone of a copy, which was moved later.
    private func adopt(
        _ row: LocalRow,
        _ base: KnownVersion,
        _ table: RecordTable,
        into zone: StoredZone,
        from former: String,
        movedAt move: EditTime
    ) throws -> Arrival {
        let entries = try moves.entries(of: row.id, table.id)
        let isOwnMove = try !entries.isEmpty || isOwnCopy(base)
        let earlier = try values(of: row, base, table)
        // The device that made the later move deletes the record in the zone that it moved it from.
        for entry in entries where try zones.fetch(entry.zone)?.zoneID.zoneName == former {
            try moves.forget(entry)
            // Without its move, the delete would be that of the record, and end the copy when it is fetched once more.
            try tombstones.forget(entry.name, in: entry.zone)
            if let known = try knownVersions.fetch(named: entry.name, in: entry.zone), known.row == row.id {
                try knownVersions.forget(known.id)
            }
        }
        if let known = try knownVersions.fetch(named: row.name, in: row.zone) {
            if try isDeleted(row.name, in: row.zone, from: former, movedAt: move, isOwnMove: isOwnMove) {
                let isFormer = try zones.fetch(row.zone)?.zoneID.zoneName == former
                let time = isFormer ? move : base.times.move
                try insertMove(of: row, table, from: row.zone, depth: entries.first?.depth ?? 0, at: time)
            } else {
                try knownVersions.forget(known.id)
                // The outcome of a create is known then: the service had the record.
                if known.tag == nil { try sentOperations.forget(row.name, in: row.zone) }
            }
        }
        // It is back where this device has moved it from: nothing is to be deleted there.
        for entry in entries where entry.zone == zone.id {
            try moves.forget(entry)
            try tombstones.forget(entry.name, in: zone.id)
        }
        if base.tag != nil { try pendingEdits.forget(.insert, of: row.id, table.id) }
        try moves.release(row.name, in: row.zone)
        try parking.forget(row.name, in: row.zone)
        guard let present = try table.row(named: row.name, in: zone.id, db) else {
            try table.place(row.id, in: zone.id, db)
            try bringNewChildren(of: row.name, from: row.zone, to: zone.id)
            let isAbsorbed = try isOwnMove || isOwn(move)
            return Arrival(base: base, former: (earlier, row, isAbsorbed ? .all : .ownCounts))
        }
        try unite(row, base, table, with: present)
        return Arrival()
    }

    /// The values of a row without its edits.
    func values(of row: LocalRow, _ base: KnownVersion, _ table: RecordTable) throws -> RemoteVersion {
        var version = RemoteVersion(fields: row.fields, times: base.times, modified: base.modified?.rawValue ?? 0)
        for edit in try pendingEdits.edits(of: row.id, table) {
            guard let field = edit.field else { continue }
            version.fields[field.name] = edit.base
            // The edit is later than the value that it was made on. That may be older than the version, or a link that was
            // left out of a copy, so the version has no time of it.
            if field.schema.merge == .latest {
                version.times.set(EditTime(milliseconds: 0, device: 0), of: field.name, edit.base)
            }
        }
        return version
    }

    /// Notes that a row comes from a zone, in which this device deletes the old record.
    func insertMove(
        of row: LocalRow,
        _ table: RecordTable,
        from zone: ZoneRowID,
        depth: Int64,
        at move: EditTime?
    ) throws {
        try moves.insert(
            row,
            of: table.id,
            from: zone,
            number: try moves.nextNumber(),
            depth: depth,
            time: move.map { ServiceTime($0.milliseconds) } ?? serviceTime,
            raw: now,
            parent: nil
        )
        transaction.noteMoves()
    }

    /// Gives the edits of a row to the row of a later copy, and removes it.
    func unite(_ row: LocalRow, _ base: KnownVersion, _ table: RecordTable, with copy: LocalRow) throws {
        let local = try localEdits(of: row, table)
        var version = RemoteVersion(fields: row.fields, times: base.times, modified: base.modified?.rawValue ?? 0)
        for (name, edit) in local.fields {
            version.times.set(edit.time, of: name, edit.value)
            version.times = version.times.adding(edit.carried.map(\.part))
            if let inherited = edit.inherited { version.times.set(inherited.part(of: name, known: version.times)) }
        }
        try absorb(version, into: copy, table, .all, pending: local)
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
                    if let back = try moves.entries(of: row.id, table.id).first(where: { $0.zone == target }) {
                        // It was moved here, and its copy was never sent: now it is where it was.
                        try moves.forget(back)
                        let isNew = try knownVersions.fetch(named: row.name, in: target)?.tag == nil
                        if !isNew { try pendingEdits.forget(.insert, of: row.id, table.id) }
                    }
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
            try absorb(former.version, into: former.row, table, former.absorption)
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
