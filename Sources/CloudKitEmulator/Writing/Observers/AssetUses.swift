import GRDB

/// The rows of the table `asset_use`, which say which records hold which files, and the receipts that a write uses up.
struct AssetUses {
    let db: Database

    /// Stores which files a record holds now, and removes files that have no use any more.
    func update(for change: RecordChange) throws {
        for receipt in change.spentReceipts {
            try db.run("DELETE FROM asset_receipt WHERE receipt = ?", [receipt])
        }
        let (before, after) = (change.old?.assetFiles ?? [], change.new?.assetFiles ?? [])
        guard before != after else { return }
        for file in after.subtracting(before) {
            try db.run("INSERT OR IGNORE INTO asset_use VALUES (?, ?)", [change.row.id, file])
        }
        let dropped = before.subtracting(after)
        for file in dropped {
            try db.run("DELETE FROM asset_use WHERE record = ? AND file = ?", [change.row.id, file])
        }
        try AssetFile.removeUnused(dropped, db)
    }
}
