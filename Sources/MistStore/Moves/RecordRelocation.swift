import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

/// Puts rows of this device into another zone, and notes what has to be deleted in the former one.
///
/// The rows keep their edits. What the service has of them stays in ``KnownVersions`` under the former zone: the copies
/// get their edit times and their fields without a column from it.
struct RecordRelocation {
    let file: StoreFile
    let scope: DatabaseScope
    let db: Database
    /// The number of the call.
    let number: Int64
    let time: ServiceTime
    let raw: MachineTime

    private var moves: Moves { Moves(db: db, sealer: file.sealer) }
    private var knownVersions: KnownVersions { KnownVersions(db: db, sealer: file.sealer) }
    private var pendingEdits: PendingEdits { PendingEdits(db: db) }

    /// A record to be moved, and how far it is below the one that was named.
    struct Item {
        let row: LocalRow
        let table: RecordTable
        let depth: Int64
    }

    /// A record with all records below it, parents first.
    static func family(of row: LocalRow, _ table: RecordTable, _ file: StoreFile, _ db: Database) throws -> [Item] {
        var items = [Item(row: row, table: table, depth: 0)]
        var seen: Set<String> = [row.name]
        var index = 0
        while index < items.count {
            let item = items[index]
            index += 1
            for table in file.allTables {
                guard let parent = table.parentField else { continue }
                let children = try table.rows(
                    "\(parent.column) = ? AND _zone = ? ORDER BY _id",
                    [.text(item.row.name), ColumnValue(row.zone)],
                    db
                )
                for child in children where seen.insert(child.name).inserted {
                    items.append(Item(row: child, table: table, depth: item.depth + 1))
                }
            }
        }
        return items
    }

    /// Puts a row into a zone.
    ///
    /// The engine's writing is on, so that triggers do not take this for a delete and a new record.
    ///
    /// - Parameters:
    ///   - item: The row.
    ///   - zone: The zone.
    ///   - extraDepth: How far the call's first record is below another one that moves.
    /// - Throws: A `DatabaseError` when the file fails.
    func relocate(_ item: Item, to zone: StoredZone, extraDepth: Int64 = 0) throws {
        let (row, table, depth) = (item.row, item.table, item.depth + extraDepth)
        let known = try knownVersions.fetch(named: row.name, in: row.zone)
        let entries = try moves.entries(of: row.id, table.id)
        if known == nil, let back = entries.first(where: { $0.zone == zone.id }) {
            // The copy was never sent, and the record is where it was.
            try moves.forget(back)
            let isNew = try knownVersions.fetch(named: row.name, in: zone.id)?.tag == nil
            if !isNew { try pendingEdits.forget(.insert, of: row.id, table.id) }
            return try table.place(row.id, in: zone.id, db)
        }
        if known == nil {
            for entry in entries {
                try moves.renew(entry, number: number, depth: depth, time: time, raw: raw)
            }
        } else {
            let parent = table.parentField.flatMap { row.fields[$0.name]?.referenceValue?.recordName }
            try moves.insert(
                row,
                of: table.id,
                from: row.zone,
                number: number,
                depth: depth,
                time: time,
                raw: raw,
                parent: parent
            )
        }
        try moves.forgetDeparture(of: row.name, from: zone.id)
        try table.place(row.id, in: zone.id, db)
        try pendingEdits.note(nil, of: row.id, table, at: time, raw: raw)
        try Parking(scope: scope, db: db, sealer: file.sealer).forget(row.name, in: row.zone)
    }
}

extension RecordTable {
    /// Puts a row into a zone. Its tag is that of the version which the zone has: none, or the one from before where a
    /// move is taken back.
    func place(_ row: RecordRowID, in zone: ZoneRowID, _ db: Database) throws {
        let tag = KnownVersions.column("tag", ofName: "_recordName", in: "?1")
        try db.run("UPDATE \(name) SET _zone = ?1, _changeTag = (\(tag)) WHERE _id = ?2", [zone, row])
    }
}
