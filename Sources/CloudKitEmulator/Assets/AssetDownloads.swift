import CloudKitModel
import Crypto
import GRDB

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The key that signs an emulator's download addresses. It is kept with the data, so addresses outlive the process.
struct AssetKey: Sendable {
    private let key: SymmetricKey

    static func load(from db: Database, identifiers: IdentifierSource) throws -> AssetKey {
        AssetKey(key: SymmetricKey(data: try db.secret("asset key", 32, from: identifiers)))
    }

    fileprivate func signature(of file: Int64, until expires: Int64) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(file) \(expires)".utf8), using: key)
        return code.prefix(24).base64.urlSafe
    }
}

/// Gives the assets of a reply their download addresses.
///
/// An address has the form of the recorded ones: the checksums, the text `${f}` for a file name, its expiry in seconds
/// since 1970, and a signature. Until then the address alone opens the file: the asset host asks for no credentials.
struct AssetLinks {
    let key: AssetKey
    let host: String
    /// When the addresses expire, in seconds since 1970.
    let expires: Int64

    func linked(_ value: FieldValue) -> FieldValue {
        switch value {
        case .asset(let asset): .asset(linked(asset))
        case .assetList(let assets): .assetList(assets.map(linked))
        default: value
        }
    }

    private func linked(_ stored: Asset) -> Asset {
        var asset = stored
        asset.receipt = nil
        guard let file = stored.receipt.flatMap({ Int64($0) }) else { return asset }
        let checksums = ((asset.fileChecksum ?? "") + (asset.referenceChecksum ?? "")).urlSafe
        let signature = key.signature(of: file, until: expires)
        asset.downloadURL = "\(host)/B/\(checksums)/${f}?o=\(file)&v=1&e=\(expires)&s=\(signature)"
        return asset
    }
}

extension RequestContext {
    /// The addresses for the assets of this request's reply.
    var assetLinks: AssetLinks {
        AssetLinks(
            key: emulator.assetKey,
            host: assetHostAddress,
            expires: now / 1000 + Int64(configuration.assets.downloadURLLifetime)
        )
    }
}

extension CloudKitEmulator {
    /// Opens a file by its download address, as the asset host does for a request.
    ///
    /// - Parameters:
    ///   - target: The address from its path on, query included.
    ///   - time: When the request is made; now when `nil`.
    /// - Returns: The file. Its bytes are read later, by ``OutgoingAsset/read(at:upTo:)``.
    /// - Throws: An ``AssetHostError``.
    public func openAsset(_ target: String, at time: Date? = nil) throws -> OutgoingAsset {
        var items: [Substring: Substring] = [:]
        for item in target.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            items[parts[0]] = parts.count == 2 ? parts[1] : ""
        }
        guard let file = items["o"].flatMap({ Int64($0) }), let expires = items["e"].flatMap({ Int64($0) }),
            let signature = items["s"]
        else { throw AssetHostError.notFound }
        guard signature == assetKey.signature(of: file, until: expires) else { throw AssetHostError.forbidden }
        guard expires * 1000 > time?.milliseconds ?? now else { throw AssetHostError.gone }
        guard let found = try readAssets({ db in try AssetFile.fetch(file, db) }) else { throw AssetHostError.notFound }
        return OutgoingAsset(emulator: self, file: found)
    }
}

/// A file that a client downloads.
public struct OutgoingAsset: Sendable {
    let emulator: CloudKitEmulator
    let file: AssetFile

    /// The file's length in bytes.
    public var size: Int64 { file.size }
    /// The file's checksum, as records show it.
    public var fileChecksum: String { file.checksum }

    /// Reads bytes of one piece of the file.
    ///
    /// - Parameters:
    ///   - offset: Where to begin.
    ///   - limit: How many at most.
    /// - Returns: At least one byte, and at most 256 KiB; none for an offset outside of the file.
    /// - Throws: An ``AssetHostError``: ``AssetHostError/notFound`` when the file was removed meanwhile.
    public func read(at offset: Int64, upTo limit: Int64 = .max) throws -> ArraySlice<UInt8> {
        guard (0..<file.size).contains(offset), limit > 0 else { return [] }
        let (number, start) = offset.quotientAndRemainder(dividingBy: Int64(AssetFile.chunkSize))
        let id = AssetFile.firstChunk(of: file.id) + number
        let bytes = try emulator.readAssets { db in
            try db.value("SELECT bytes FROM asset_chunk WHERE id = ?", [id], as: Data.self)
        }
        guard let bytes, bytes.count > Int(start) else { throw AssetHostError.notFound }
        return Array(bytes)[Int(start)...].prefix(Int(min(limit, Int64(AssetFile.chunkSize))))
    }
}
