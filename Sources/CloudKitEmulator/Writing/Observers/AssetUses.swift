import GRDB

/// The rows of the table `asset_use`, which say which records hold which files, and the receipts that a write spends.
struct AssetUses {
    let db: Database

    /// Notes which files a record holds now, and removes those that nothing holds any more.
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
