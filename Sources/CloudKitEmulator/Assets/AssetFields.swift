import CloudKitModel
import GRDB

/// What a write does with files: receipts turn into uses, and files that are no longer used go.
///
/// In the body of a stored record, ``Asset/receipt`` is the number of the file's row. No reply shows it: ``AssetLinks`` puts
/// the download address in its place.
extension RecordWriter {
    /// The receipts that a record of a request is going to spend.
    struct SpentReceipts {
        var receipts: Set<String> = []
    }

    /// Puts the files that a request refers to into a record's content.
    ///
    /// - Parameters:
    ///   - content: The content to be, with the values of the request.
    ///   - request: The record of the request.
    ///   - old: The content that was.
    ///   - name: The record's name.
    ///   - type: The record's type.
    /// - Returns: What ``settleAssets(of:content:over:spending:)`` needs.
    /// - Throws: `BAD_REQUEST` for a receipt that is unknown, expired, spent, or for another record or field, and for an asset
    ///   without receipt that is not in this very field already.
    func attachAssets(
        to content: inout Record,
        from request: Record,
        over old: Record?,
        as name: String,
        of type: String
    ) throws -> SpentReceipts {
        var spent = SpentReceipts()
        for (field, _) in request.fields {
            guard let value = content.fields[field], !value.assets.isEmpty else { continue }
            let present = old?.fields[field]?.assets ?? []
            let place = AssetPlace(record: name, isNamed: request.recordName != nil, type: type, field: field)
            let attached = try value.assets.map { asset in
                try stored(asset, over: present, at: place, spending: &spent)
            }
            if case .assetList = value {
                content.fields[field] = .assetList(attached)
            } else {
                content.fields[field] = .asset(attached[0])
            }
        }
        return spent
    }

    /// The record name for a record that a request leaves unnamed: the one that its files were uploaded for.
    ///
    /// CloudKit JS uploads a file for a record without a name, does not copy the name of the upload token into the record, and saves
    /// it without one. A name that the client chose for an upload goes before one that was made for it; among several, the first
    /// field decides.
    func recordName(ofUploadsFor request: Record) throws -> String? {
        var madeName: String?
        for receipt in request.fields.flatMap({ $0.value.plain.assets }).compactMap(\.receipt) {
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT record, is_name_made FROM asset_receipt
                        WHERE receipt = ? AND zone = ? AND record IS NOT NULL AND expires > ?
                        """
                ),
                arguments: [receipt, zone.id, now]
            )
            guard let row else { continue }
            if row[1] == false { return row[0] }
            madeName = madeName ?? row[0]
        }
        return madeName
    }

    private struct AssetPlace {
        var record: String
        /// Whether the request named the record.
        var isNamed: Bool
        var type: String
        var field: String
    }

    private func stored(
        _ asset: Asset,
        over present: [Asset],
        at place: AssetPlace,
        spending spent: inout SpentReceipts
    ) throws -> Asset {
        guard let receipt = asset.receipt else {
            // What was read from this field and comes back is what is there.
            if let same = present.first(where: { $0.fileChecksum != nil && $0.fileChecksum == asset.fileChecksum }) {
                return same
            }
            throw EmulatorError.badRequest("the asset for field '\(place.field)' has no receipt")
        }
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT file, zone, record, type, field, is_name_made FROM asset_receipt
                    WHERE receipt = ? AND expires > ?
                    """
            ),
            arguments: [receipt, now]
        )
        guard let row, let file = try AssetFile.fetch(row[0], db), zone.id == row[1],
            row[2] ?? place.record == place.record || row[5] && !place.isNamed,
            row[3] ?? place.type == place.type, row[4] ?? place.field == place.field
        else {
            throw EmulatorError.badRequest("the receipt of the asset for field '\(place.field)' is not valid")
        }
        guard asset.fileChecksum ?? file.checksum == file.checksum, asset.size ?? file.size == file.size else {
            throw EmulatorError.badRequest("the asset for field '\(place.field)' is not what its receipt is for")
        }
        guard asset.wrappingKey == file.wrappingKey, asset.referenceChecksum == file.referenceChecksum else {
            // Required where an upload gives them: in private databases (Apple's page on uploads).
            throw EmulatorError.badRequest(
                "the asset for field '\(place.field)' needs the wrappingKey and referenceChecksum of its upload"
            )
        }
        spent.receipts.insert(receipt)
        var stored = Asset(file)
        stored.receipt = String(file.id)
        return stored
    }

    /// Notes which files a record uses now, and removes those that nothing uses any more.
    ///
    /// - Parameters:
    ///   - record: The record's row.
    ///   - new: Its content; `nil` when it is deleted.
    ///   - old: The content that was.
    ///   - spent: The receipts spent.
    /// - Throws: What the storage throws.
    func settleAssets(of record: Int64, content new: Record?, over old: Record?, spending spent: SpentReceipts) throws {
        for receipt in spent.receipts {
            try db.cachedStatement(sql: "DELETE FROM asset_receipt WHERE receipt = ?").execute(arguments: [receipt])
        }
        let (before, after) = (old?.assetFiles ?? [], new?.assetFiles ?? [])
        guard before != after else { return }
        for file in after.subtracting(before) {
            try db.cachedStatement(sql: "INSERT OR IGNORE INTO asset_use VALUES (?, ?)")
                .execute(arguments: [record, file])
        }
        let dropped = before.subtracting(after)
        for file in dropped {
            try db.cachedStatement(sql: "DELETE FROM asset_use WHERE record = ? AND file = ?")
                .execute(arguments: [record, file])
        }
        try AssetFile.removeUnused(dropped, db)
    }
}

extension DatabaseContext {
    /// Removes what a zone has of files, before its records go.
    func eraseAssets(of zone: ZoneRow) throws {
        let files = try Int64.fetchAll(
            db,
            sql: """
                SELECT DISTINCT file FROM asset_use WHERE record IN (SELECT id FROM record WHERE zone = ?1)
                UNION SELECT file FROM asset_receipt WHERE zone = ?1
                """,
            arguments: [zone.id]
        )
        try db.execute(
            sql: "DELETE FROM asset_use WHERE record IN (SELECT id FROM record WHERE zone = ?)",
            arguments: [zone.id]
        )
        try db.execute(sql: "DELETE FROM asset_receipt WHERE zone = ?", arguments: [zone.id])
        try db.execute(sql: "DELETE FROM asset_upload WHERE zone = ?", arguments: [zone.id])
        try AssetFile.removeUnused(files, db)
    }
}

extension FieldValue {
    /// The assets of a field of either kind.
    var assets: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .assetList(let assets): assets
        default: []
        }
    }
}

extension Record {
    /// The files that a stored record holds.
    fileprivate var assetFiles: Set<Int64> {
        var files: Set<Int64> = []
        for field in fields {
            for asset in field.value.assets {
                if let file = asset.receipt.flatMap({ Int64($0) }) { files.insert(file) }
            }
        }
        return files
    }
}
