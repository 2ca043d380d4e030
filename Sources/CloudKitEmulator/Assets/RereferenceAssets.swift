import CloudKitModel
package import CloudKitWebServices
import GRDB

extension RequestContext {
    /// Makes files of records usable in other records, without another upload (`assets/rereference`).
    ///
    /// - Parameter request: The fields that hold the files, at most 200. A field with a list of files is refused,
    ///   because the request cannot say which file it means. Without a target zone, the files are for the same zone.
    /// - Returns: For each field, in order, the dictionary to save, with a receipt that can be used once; or an error:
    ///   `NOT_FOUND` where there is no such record or file, `BAD_REQUEST` where the field holds no file or a list of
    ///   them.
    /// - Throws: An ``EmulatorError``: `ZONE_NOT_FOUND`; in the public database without a user
    ///   `AUTHENTICATION_REQUIRED` or `ACCESS_DENIED`, see
    ///   ``EmulatorConfiguration/Unsettled/anonymousWrite``; `BAD_REQUEST` for too many.
    package func rereferenceAssets(
        _ request: Components.Schemas.RereferenceAssetsRequest
    ) throws -> Components.Schemas.RereferenceAssetsResponse {
        let assets = try writeFiles(request.assets.count, of: "assets", in: request.zoneID) { context, zone in
            let access = try context.sharedAccess(to: [zone])
            let target = try request.targetZoneID.map { try context.zone($0) } ?? zone
            return try request.assets.map { field -> Components.Schemas.AssetResult in
                let result = try Result(ofItem: {
                    try OperationRules.name.check(field.recordName)
                    return try rereference(field, in: zone, for: target, context.db) { try access?.sees($0) ?? true }
                })
                switch result {
                case .success(let asset): return .Asset(asset)
                case .failure(let error):
                    return .AssetError(
                        Components.Schemas.AssetError(
                            recordName: field.recordName,
                            fieldName: field.fieldName,
                            serverErrorCode: error.serverErrorCode.rawValue,
                            reason: error.reason,
                            retryAfter: error.retryAfter
                        )
                    )
                }
            }
        }
        return Components.Schemas.RereferenceAssetsResponse(assets: assets)
    }

    private func rereference(
        _ field: Components.Schemas.AssetField,
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
