import CloudKitModel
import StreamingJSON

/// A checksum of 32 bits of a field's name and value, the same on all devices: FNV-1a over the name, a NUL and the
/// value's JSON.
///
/// Parts that the service may give in another form are left out: the zone of a reference, the address of a file. An
/// absent field has a checksum too, since clearing a field is an edit.
enum Checksum {
    static func of(name: String) -> UInt32 {
        var hash = start
        for byte in name.utf8 { add(byte, to: &hash) }
        return hash
    }

    static func of(_ name: String, _ value: FieldValue?) -> UInt32 {
        var hash = of(name: name)
        add(0, to: &hash)
        guard let plain = value?.plain, plain != .null else { return hash }
        for byte in bytes(of: plain) { add(byte, to: &hash) }
        return hash
    }

    /// The JSON of a value, without the parts that the service may give in another form.
    ///
    /// The result is empty for a number without a form in JSON; the store refuses such a number before it is written.
    static func bytes(of value: FieldValue) -> [UInt8] {
        (try? JSONWriter.bytes(of: value.comparable)) ?? []
    }

    private static let start: UInt32 = 2_166_136_261

    private static func add(_ byte: UInt8, to hash: inout UInt32) {
        hash = (hash ^ UInt32(byte)) &* 16_777_619
    }
}

extension FieldValue {
    /// The value without the parts that the service may add or leave out, for comparisons.
    var comparable: FieldValue {
        func comparable(_ reference: Reference) -> Reference {
            Reference(recordName: reference.recordName, action: reference.action)
        }
        func comparable(_ asset: Asset) -> Asset {
            var same = Asset()
            same.fileChecksum = asset.fileChecksum
            same.size = asset.size
            // Before it is uploaded, a file has no other signature.
            if asset.fileChecksum == nil { same.content = asset.content }
            return same
        }
        return switch plain {
        case .reference(let reference): .reference(comparable(reference))
        case .referenceList(let references): .referenceList(references.map(comparable))
        case .asset(let asset): .asset(comparable(asset))
        case .assetList(let assets): .assetList(assets.map(comparable))
        case let value: value
        }
    }
}
