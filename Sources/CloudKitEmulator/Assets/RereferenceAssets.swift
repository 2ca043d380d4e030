public import CloudKitModel
import GRDB

/// A field of a record that holds a file.
public struct AssetFieldID: Hashable, Sendable {
    /// The record's name.
    public var recordName: String
    /// The field's name.
    public var fieldName: String

    /// Makes an identifier.
    public init(recordName: String, fieldName: String) {
        self.recordName = recordName
        self.fieldName = fieldName
    }
}

extension RequestContext {
    /// Makes files of records usable in other records, without another upload (`assets/rereference`).
    ///
    /// - Parameters:
    ///   - fields: The fields that hold the files, at most 200. A field with a list of files is refused, because the
    ///     request cannot say which file it means.
    ///   - zoneID: The zone of the records that hold the files; the default zone when `nil`.
    ///   - targetZoneID: The zone of the records that will hold them; the same zone when `nil`.
    /// - Returns: For each field, in order, the dictionary to save, with a receipt that can be used once; or an error:
    ///   `NOT_FOUND` where there is no such record or file, `BAD_REQUEST` where the field holds no file or a list of
    ///   them.
    /// - Throws: An ``EmulatorError``: `ZONE_NOT_FOUND`; in the public database without a user
    ///   `AUTHENTICATION_REQUIRED` or `ACCESS_DENIED`, see
    ///   ``EmulatorConfiguration/Unsettled/anonymousWrite``; `BAD_REQUEST` for too many.
    public func rereferenceAssets(
        _ fields: [AssetFieldID],
        zoneID: ZoneID? = nil,
        targetZoneID: ZoneID? = nil
    ) throws -> [Result<Asset, EmulatorError>] {
        try configuration.limits.check(fields.count, of: "assets", atMost: configuration.limits.uploadTokensPerRequest)
        try checkCallerMayWrite()
        return try write { context in
            if database.scope == .public, user == nil { throw EmulatorError.denied("CREATE") }
            try AssetFile.sweep(now: now, context.db)
            let zone = try context.zone(zoneID)
            let access = try context.sharedAccess(to: [zone])
            let target = try targetZoneID.map { try context.zone($0) } ?? zone
            return try fields.map { field in
                try Result(ofItem: {
                    try OperationRules.name.check(field.recordName)
                    return try rereference(field, in: zone, for: target, context.db) { try access?.sees($0) ?? true }
                })
            }
        }
    }

    private func rereference(
        _ field: AssetFieldID,
        in zone: ZoneRow,
        for target: ZoneRow,
        _ db: Database,
        isSeen: (_ record: Int64) throws -> Bool
    ) throws -> Asset {
        guard let row = try RecordRow.fetch(field.recordName, in: zone, db), !row.isDeleted, try isSeen(row.id) else {
            throw EmulatorError(.notFound, "Record not found")
        }
        let file: AssetFile
        switch try row.content().fields[field.fieldName] {
        case .asset(let asset):
            guard let found = try asset.receipt.flatMap({ Int64($0) }).flatMap({ try AssetFile.fetch($0, db) }) else {
                throw EmulatorError(.notFound, "Asset not found")
            }
            file = found
        case .assetList:
            throw EmulatorError.badRequest("field '\(field.fieldName)' holds a list of assets")
        case nil, .null:
            throw EmulatorError(.notFound, "Asset not found")
        default:
            throw EmulatorError.badRequest("field '\(field.fieldName)' holds no asset")
        }
        let expires = now + Int64(configuration.assets.receiptLifetime * 1000)
        let receipt = identifiers.next(48).base64
        try db.run(
            "INSERT INTO asset_receipt (receipt, file, zone, expires) VALUES (?, ?, ?, ?)",
            [receipt, file.id, target.id, expires]
        )
        try db.run("UPDATE asset_file SET keep_until = max(keep_until, ?) WHERE id = ?", [expires, file.id])
        return Asset(file, receipt: receipt)
    }
}
