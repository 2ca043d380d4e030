import GRDB
import MistKit

/// The moves of rows that were removed here: the delete of a record concerns the old record in its former zone, too.
struct OrphanedMoves {
    let file: StoreFile
    let scope: DatabaseScope
    let db: Database

    private var moves: Moves { Moves(db: db, sealer: file.sealer) }
    private var tombstones: Tombstones { Tombstones(db: db) }
    private var knownVersions: KnownVersions { KnownVersions(db: db, sealer: file.sealer) }

    /// Ends the moves of all rows that were removed here, the latest first: a later copy says what an earlier one is.
    func endAll() throws {
        guard scope == .private else { return }
        for entry in try moves.all().reversed() where try file.row(of: entry, db) == nil { try end(entry) }
    }

    /// Ends a move.
    ///
    /// The delete of the old record goes with that of its copy, also if it was pending already: another device may have
    /// changed the old record, and an undo brings the copy back. A copy that the service does not have has no delete.
    /// Then the old record is the one that was deleted.
    private func end(_ entry: Moves.Entry) throws {
        // Whether the row of a type is there that this program does not have is for another program to say.
        guard file.tablesByID[entry.type] != nil else { return }
        let hasCopy = try tombstones.isDeleted(entry.name, of: entry.type, outside: entry.zone, in: scope)
        guard let known = try knownVersions.fetch(named: entry.name, in: entry.zone), known.row == entry.row else {
            if hasCopy { try tombstones.set(.ofCopy, entry.name, in: entry.zone) }
            return try moves.end(entry.name, from: entry.zone)
        }
        // The service has deleted the old record with its zone.
        guard try StoredZone.fetch(entry.zone, db)?.state != .gone else {
            try knownVersions.forget(known.id)
            return try moves.forget(entry)
        }
        if hasCopy {
            try tombstones.insertOfMove(known.id, depth: entry.depth, .ofCopy)
            try moves.end(entry.name, from: entry.zone)
        } else {
            try tombstones.insert(known.id)
            try moves.forget(entry)
        }
        try knownVersions.forget(known.id)
    }
}
