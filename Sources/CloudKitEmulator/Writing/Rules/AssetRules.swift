import CloudKitModel
import CloudKitRuleIDs

/// The facts for the rules about a file in a field.
struct AssetFacts {
    let asset: Asset
    /// The same asset, where the field holds it already.
    let present: Asset?
    /// The receipt of the asset; `nil` for a receipt that is unknown, expired or used up.
    let receipt: Receipt?
    let zone: Int64
    let record: String
    /// Whether the request names the record.
    let isNamed: Bool
    let type: String
    let field: String

    /// The right to attach a file, with its restrictions.
    struct Receipt {
        let file: AssetFile
        let zone: Int64
        let record: String?
        let type: String?
        let field: String?
        /// Whether the record's name was made for the upload.
        let isNameMade: Bool
    }
}

/// The rules about the files of a record.
enum AssetRules {
    static let all: [WriteRule<AssetFacts>] = [
        // An asset without a receipt is valid only where the client read it from this field.
        WriteRule(.assetWithoutReceipt) {
            guard $0.asset.receipt == nil, $0.present == nil else { return nil }
            return .badRequest("the asset for field '\($0.field)' has no receipt")
        },
        WriteRule(.assetOfAnotherField) {
            guard $0.asset.receipt != nil else { return nil }
            if let receipt = $0.receipt, receipt.zone == $0.zone,
                receipt.record ?? $0.record == $0.record || receipt.isNameMade && !$0.isNamed,
                receipt.type ?? $0.type == $0.type, receipt.field ?? $0.field == $0.field
            {
                return nil
            }
            return .badRequest("the receipt of the asset for field '\($0.field)' is not valid")
        },
        WriteRule("an asset is the file of its receipt", tests: "AssetTests") {
            guard let file = $0.receipt?.file else { return nil }
            let isSame =
                $0.asset.fileChecksum ?? file.checksum == file.checksum && $0.asset.size ?? file.size == file.size
            return isSame ? nil : .badRequest("the asset for field '\($0.field)' is not what its receipt is for")
        },
        // Required where an upload gives them: in private databases (Apple's page on uploads).
        WriteRule("a private file has the keys of its upload", tests: "AssetTests") {
            guard let file = $0.receipt?.file,
                $0.asset.wrappingKey != file.wrappingKey || $0.asset.referenceChecksum != file.referenceChecksum
            else { return nil }
            return .badRequest(
                "the asset for field '\($0.field)' needs the wrappingKey and referenceChecksum of its upload"
            )
        },
    ]
}
