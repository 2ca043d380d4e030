import CloudKitModel

/// What the rules about a file in a field look at.
struct AssetFacts {
    let asset: Asset
    /// The same file, where the field holds it already.
    let present: Asset?
    /// What the receipt of the asset is good for; `nil` for a receipt that is unknown, expired or spent.
    let receipt: Receipt?
    let zone: Int64
    let record: String
    /// Whether the request names the record.
    let isNamed: Bool
    let type: String
    let field: String

    /// The right to attach a file, with what it is restricted to.
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
        // What was read from this field and comes back is what the field holds.
        WriteRule("an asset that was read has no place in another record") {
            guard $0.asset.receipt == nil, $0.present == nil else { return nil }
            return .badRequest("the asset for field '\($0.field)' has no receipt")
        },
        WriteRule("an asset is saved in the record and field that it was uploaded for") {
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
