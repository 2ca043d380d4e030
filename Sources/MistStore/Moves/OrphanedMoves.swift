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

    /// Ends the moves of all rows that were removed here.
    func endAll() throws {
        guard scope == .private else { return }
        for entry in try moves.all() where try file.row(of: entry, db) == nil { try end(entry) }
    }

    /// Ends a move.
    ///
    /// The delete of the old record has a permission, or waits for one, as the delete of the copy does, also if it was
    /// pending already: another device may have changed the old record, and an undo brings back both. Then it is known
    /// which device has to delete the old record.
    func end(_ entry: Moves.Entry) throws {
        // Whether the row of a type is there that this program does not have is for another program to say.
        guard file.tablesByID[entry.type] != nil else { return }
        try moves.end(entry.name, from: entry.zone)
        let permission = try tombstones.permission(entry.name, of: entry.type, outside: entry.zone, in: scope)
        guard let known = try knownVersions.fetch(named: entry.name, in: entry.zone), known.row == entry.row else {
            if permission == false { try tombstones.withdrawPermission(entry.name, in: entry.zone) }
            return
        }
        if permission == true {
            try tombstones.insertOfMove(known.id, depth: entry.depth)
        } else {
            try tombstones.insert(known.id)
        }
        try knownVersions.forget(known.id)
    }
}
