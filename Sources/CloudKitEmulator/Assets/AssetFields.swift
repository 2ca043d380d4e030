import CloudKitModel
import GRDB

/// The files of a record that is written.
///
/// In the body of a stored record, ``Asset/receipt`` is the number of the file's row. No reply shows it: ``AssetLinks``
/// replaces it with the download address.
extension RecordWriter {
    /// Puts the files that a request refers to into a record's content, and returns the receipts that are then used up.
    ///
    /// - Throws: The failure of ``AssetRules``.
    func attachAssets(
        to content: inout Record,
        from request: Record,
        over old: Record?,
        as name: String,
        of type: String
    ) throws -> Set<String> {
        var receipts: Set<String> = []
        for (field, _) in request.fields {
            guard let value = content.fields[field], !value.assets.isEmpty else { continue }
            let present = old?.fields[field]?.assets ?? []
            let attached = try value.assets.map { asset in
                let facts = AssetFacts(
                    asset: asset,
                    present: present.first { $0.fileChecksum != nil && $0.fileChecksum == asset.fileChecksum },
                    receipt: try asset.receipt.flatMap(fetchReceipt),
                    zone: zone.id,
                    record: name,
                    isNamed: request.recordName != nil,
                    type: type,
                    field: field
                )
                try AssetRules.all.check(facts)
                guard let receipt = asset.receipt, let file = facts.receipt?.file else { return facts.present ?? asset }
                receipts.insert(receipt)
                return Asset(file, receipt: String(file.id))
            }
            if case .assetList = value {
                content.fields[field] = .assetList(attached)
            } else {
                content.fields[field] = .asset(attached[0])
            }
        }
        return receipts
    }

    private func fetchReceipt(_ receipt: String) throws -> AssetFacts.Receipt? {
        let row = try db.row(
            """
            SELECT file, zone, record, type, field, is_name_made FROM asset_receipt
            WHERE receipt = ? AND expires > ?
            """,
            [receipt, context.now]
        )
        guard let row, let file = try AssetFile.fetch(row[0], db) else { return nil }
        return AssetFacts.Receipt(
            file: file,
            zone: row[1],
            record: row[2],
            type: row[3],
            field: row[4],
            isNameMade: row[5]
        )
    }

    /// The record name for a record that a request leaves unnamed: the name that its files were uploaded for.
    ///
    /// CloudKit JS uploads a file for a record without a name, does not copy the name of the upload token into the
    /// record, and saves it without one. A name that the client chose for an upload goes before a name that the
    /// emulator made for it. Among several names, the first field decides.
    func recordName(ofUploadsFor request: Record) throws -> String? {
        var madeName: String?
        for receipt in request.fields.flatMap({ $0.value.plain.assets }).compactMap(\.receipt) {
            let row = try db.row(
                """
                SELECT record, is_name_made FROM asset_receipt
                WHERE receipt = ? AND zone = ? AND record IS NOT NULL AND expires > ?
                """,
                [receipt, zone.id, context.now]
            )
            guard let row else { continue }
            if row[1] == false { return row[0] }
            madeName = madeName ?? row[0]
        }
        return madeName
    }
}

extension DatabaseContext {
    /// Removes the files, receipts and upload addresses of a zone, before its records are removed.
    func eraseAssets(of zone: ZoneRow) throws {
        let files = try db.values(
            """
            SELECT DISTINCT file FROM asset_use WHERE record IN (SELECT id FROM record WHERE zone = ?1)
            UNION SELECT file FROM asset_receipt WHERE zone = ?1
            """,
            [zone.id],
            as: Int64.self
        )
        try db.run("DELETE FROM asset_use WHERE record IN (SELECT id FROM record WHERE zone = ?)", [zone.id])
        try db.run("DELETE FROM asset_receipt WHERE zone = ?", [zone.id])
        try db.run("DELETE FROM asset_upload WHERE zone = ?", [zone.id])
        try AssetFile.removeUnused(files, db)
    }
}

extension FieldValue {
    /// The assets of a field that holds one asset or a list.
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
    var assetFiles: Set<Int64> {
        var files: Set<Int64> = []
        for field in fields {
            for asset in field.value.assets {
                if let file = asset.receipt.flatMap({ Int64($0) }) { files.insert(file) }
            }
        }
        return files
    }
}
