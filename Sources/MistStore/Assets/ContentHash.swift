public import CloudKitModel
import StreamingJSON

/// The content of a file, named by its SHA-256: 64 digits, `0` to `9` and `a` to `f`.
///
/// Files with the same bytes have the same hash, and one copy on this machine.
public struct ContentHash: RawRepresentable, Hashable, Sendable {
    /// The 64 digits.
    public let rawValue: String

    /// Makes the hash with these digits; `nil` for a text that is not a hash, so that no text of another program or of
    /// the service can be a path.
    public init?(rawValue: String) {
        let digits = rawValue.utf8
        guard digits.count == 64, digits.allSatisfy(Self.digits.contains) else { return nil }
        self.rawValue = rawValue
    }

    init(bytes: some Sequence<UInt8>) {
        rawValue = bytes.hexadecimal
    }

    fileprivate static let digits = Array("0123456789abcdef".utf8)
}

extension Sequence<UInt8> {
    /// The bytes as hexadecimal digits, `0` to `9` and `a` to `f`.
    var hexadecimal: String {
        let digits = ContentHash.digits
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension ContentHash: CustomStringConvertible {
    /// The 64 digits.
    public var description: String { rawValue }
}

extension Asset {
    /// The content of the file, where it is on this machine: a member of the JSON in the column that is never sent.
    ///
    /// ```json
    /// {"fileChecksum":"AUStEc…","size":51682,"content":"9f86d0…"}
    /// ```
    ///
    /// ``LocalDatabase/addFile(at:)`` makes an asset with a content, and a downloaded file has one.
    /// ``LocalDatabase/file(of:)`` gives the file.
    public var content: ContentHash? {
        get {
            otherKeys[Self.contentKey].flatMap { try? $0.read(String.self) }.flatMap(ContentHash.init(rawValue:))
        }
        set { otherKeys[Self.contentKey] = newValue.flatMap { try? JSONRawValue(parsing: "\"\($0)\"") } }
    }

    static let contentKey = "content"

    /// The asset without what only this machine knows.
    var ofService: Asset {
        var asset = self
        asset.otherKeys[Self.contentKey] = nil
        return asset
    }

    /// The asset as it is stored: without its receipt, which is good for one save, and with its content.
    func stored(with content: ContentHash?) -> Asset {
        var asset = self
        asset.receipt = nil
        asset.otherKeys[Self.contentKey] = nil
        asset.content = content
        return asset
    }
}
