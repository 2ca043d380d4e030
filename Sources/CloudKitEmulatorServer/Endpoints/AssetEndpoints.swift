import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import OpenAPISwiftRuntime

extension EndpointHandlers {
    func requestAssetUploads(
        _ input: Operations.RequestAssetUploads.Input,
        context: RequestContext
    ) throws -> Operations.RequestAssetUploads.Output {
        let request = try input.body.json
        let tickets = try context.requestAssetUploads(
            request.tokens.map {
                AssetUploadRequest(recordName: $0.recordName, recordType: $0.recordType, fieldName: $0.fieldName)
            },
            zoneID: request.zoneID
        )
        let tokens = tickets.map {
            Components.Schemas.AssetUploadToken(recordName: $0.recordName, fieldName: $0.fieldName, url: $0.url)
        }
        return .ok(.init(body: .json(.init(tokens: tokens))))
    }

    func rereferenceAssets(
        _ input: Operations.RereferenceAssets.Input,
        context: RequestContext
    ) throws -> Operations.RereferenceAssets.Output {
        let request = try input.body.json
        let results = try context.rereferenceAssets(
            request.assets.map { AssetFieldID(recordName: $0.recordName, fieldName: $0.fieldName) },
            zoneID: request.zoneID,
            targetZoneID: request.targetZoneID
        )
        let assets = zip(request.assets, results).map { field, result -> Components.Schemas.AssetResult in
            switch result {
            case .success(let asset): .Asset(asset)
            case .failure(let error):
                .AssetError(
                    .init(
                        recordName: field.recordName,
                        fieldName: field.fieldName,
                        serverErrorCode: error.serverErrorCode.rawValue,
                        reason: error.reason,
                        retryAfter: error.retryAfter
                    )
                )
            }
        }
        return .ok(.init(body: .json(.init(assets: assets))))
    }
}
