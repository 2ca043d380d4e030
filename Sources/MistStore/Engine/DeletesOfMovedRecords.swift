import CloudKitModel
import GRDB
import MistKit

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
        guard try !transaction.isOnly(zone.id) else { return false }
        if try tombstones.created(name, in: zone.id) != nil {
            if try !sentOperations.hasUncertainDelete(of: name, in: zone.id) {
                try hold(name, in: zone, isDeletedHere: true)
            }
            return false
        }
        // The delete of a record whose create was not acknowledged says that it was stored, and maybe moved.
        guard let known = try knownVersions.fetch(named: name, in: zone.id), !known.isDistrusted,
            try known.tag != nil || !reportedDeletes.isOwn(name, in: zone.id),
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

    /// Decides about the old records whose copies were deleted here: see ``OldRecordFate``.
    func decideAboutOldRecords() throws {
        guard scope == .private else { return }
        let left = try tombstones.ofCopies(in: scope)
        guard !left.isEmpty else { return }
        let isRead = try zones.stale().isEmpty && !scopeState.row().isStale
        for old in left {
            guard let table = file.tablesByID[old.type] else { continue }
            let isCopyOpen =
                try tombstones.isDeleted(old.name, of: old.type, outside: old.zone, in: scope)
                || knownVersions.isLookedUp(old.name, of: old.type, outside: old.zone, in: scope)
            let copy = try others(named: old.name, than: old.zone, table)
                .first { try version(of: $0, table)?.tag != nil }
            switch OldRecordFate(isCopyOpen: isCopyOpen, hasCopy: copy != nil, isRead: isRead) {
            case .open: continue
            case .isDeleted: break
            case .moves:
                guard let copy else { continue }
                let move = try version(of: copy, table).flatMap { try self.move(of: copy, $0, table) }
                try insertMove(of: copy, table, from: old.zone, depth: old.depth, at: move)
                // Its changes are in no other copy. They are looked up, because it may be long since they were fetched.
                try tombstones.markConflicting(old.name, in: old.zone)
            }
            try tombstones.set(.given, old.name, in: old.zone)
        }
    }

    /// A copy of a row's record that was moved later.
    private func laterCopy(of row: LocalRow, _ known: KnownVersion, _ table: RecordTable) throws -> LocalRow? {
        try others(named: row.name, than: row.zone, table).first { other in
            guard let version = try knownVersions.fetch(named: other.name, in: other.zone),
                version.creation == known.creation, let move = version.times.move
            else { return false }
            return known.times.isMoved(before: move)
        }
    }

    /// Decides about a record that was moved here, and deleted in its former zone by another device.
    ///
    /// While the copy was never sent, no other device can have seen it. So a delete without a copy elsewhere is the
    /// delete of a user, and wins. Later, the other device may have moved the record, and given up its copy for the
    /// later one of this device.
    private func decide(about entry: Moves.Entry, in zone: StoredZone) throws {
        guard let (row, table) = try file.row(of: entry, db) else { return try endOrphans() }
        try moves.forget(entry)
        try tombstones.forget(entry.name, in: zone.id)
        // The outcome of what was sent is known: the service had the record, and has it no more.
        try sentOperations.forget(entry.name, in: zone.id)
        guard let known = try knownVersions.fetch(named: entry.name, in: zone.id) else { return }
        let hasCopy = try others(named: row.name, than: zone.id, table).contains { other in
            try other.id != row.id && knownVersions.fetch(named: other.name, in: other.zone)?.creation == known.creation
        }
        // Another device has moved it to a zone that this device has moved it on from.
        let isElsewhere = try former(of: row, table)?.tag != nil
        // The zone of the copy was read as well: a copy without a tag never reached the service.
        let copy = try knownVersions.fetch(named: row.name, in: row.zone)
        guard copy?.tag == nil, !hasCopy, !isElsewhere else { return try knownVersions.forget(known.id) }
        try recovery.add(.deleted, row.receipt(), of: table.recordType, row.name, in: zone, at: now)
        try forgetEdits(of: row.id, table)
        try table.delete(row.id, db)
        try knownVersions.forget(known.id)
        if let copy { try knownVersions.forget(copy.id) }
        try sentOperations.forget(row.name, in: row.zone)
        summary.removed += 1
        if let target = try zones.fetch(row.zone) {
            try deletes.cascade(from: row.name, in: target, because: .deletedWithTarget)
        }
    }
}
