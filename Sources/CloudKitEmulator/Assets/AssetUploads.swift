public import CloudKitModel
import CloudKitSchema
package import CloudKitWebServices
import Crypto
import GRDB

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Why the asset host refuses a request.
///
/// The host responds with a bare HTTP status (observed live), so this error has no code of the service.
public enum AssetHostError: Error, Hashable, Sendable {
    /// There is no such address, or the file is gone.
    case notFound
    /// The address was valid once: it has expired, or it was used. The service was seen to answer 410 for expired
    /// download addresses.
    case gone
    /// The address was tampered with.
    case forbidden
    /// The file is longer than ``EmulatorConfiguration/Limits/assetSize``.
    case tooLarge
    /// The storage failed.
    case storage(EmulatorError)
}

extension RequestContext {
    /// Issues addresses to upload files to (`assets/upload`).
    ///
    /// - Parameter request: The record and field of each file, at most 200.
    /// - Returns: One address for each file, in order, valid for 15 minutes. The record must be saved under the name of
    ///   the reply. Where the request had no name, it can also be saved without one, and then gets this name.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for too many, and for a field that holds something else than
    ///   files; `ZONE_NOT_FOUND`; in the public database without a user `AUTHENTICATION_REQUIRED` or `ACCESS_DENIED`,
    ///   see ``EmulatorConfiguration/Unsettled/anonymousWrite``.
    package func requestAssetUploads(
        _ request: Components.Schemas.RequestAssetUploadsRequest
    ) throws -> Components.Schemas.RequestAssetUploadsResponse {
        let tokens = try writeFiles(request.tokens.count, of: "tokens", in: request.zoneID) { context, zone in
            let schema = try context.schema()
            return try request.tokens.map { upload in
                try check(upload, in: zone, schema: schema, context.db)
                let name = upload.recordName ?? identifiers.uuid()
                let token = identifiers.hex(24)
                try context.db.run(
                    """
                    INSERT INTO asset_upload (token, zone, record, type, field, is_private, expires, is_name_made)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    [
                        token, zone.id, name, upload.recordType, upload.fieldName, database.scope != .public,
                        now + Int64(configuration.assets.uploadURLLifetime * 1000), upload.recordName == nil,
                    ]
                )
                return Components.Schemas.AssetUploadToken(
                    recordName: name,
                    fieldName: upload.fieldName,
                    url: "\(assetHostAddress)/asset-upload/\(token)"
                )
            }
        }
        return Components.Schemas.RequestAssetUploadsResponse(tokens: tokens)
    }

    /// Prepares a change of the files of a zone, after a check of the request's size and of what the caller may do.
    ///
    /// - Parameters:
    ///   - count: The number of the request's files.
    ///   - list: The name of their list, for the error.
    ///   - zoneID: The zone of the request; the default zone when `nil`.
    ///   - change: The change. It gets the zone.
    /// - Returns: What the change returns.
    /// - Throws: An ``EmulatorError``.
    func writeFiles<Value>(
        _ count: Int,
        of list: String,
        in zoneID: ZoneID?,
        _ change: (DatabaseContext, ZoneRow) throws -> Value
    ) throws -> Value {
        try configuration.limits.check(count, of: list, atMost: configuration.limits.uploadTokensPerRequest)
        try checkCallerMayWrite()
        return try write { context in
            if database.scope == .public, user == nil { throw EmulatorError.denied("CREATE") }
            try AssetFile.sweep(now: now, context.db)
            return try change(context, try context.zone(zoneID))
        }
    }

    private func check(
        _ request: Components.Schemas.AssetUploadRequest,
        in zone: ZoneRow,
        schema: Schema,
        _ db: Database
    ) throws {
        let limit = configuration.limits.nameLength
        for name in [request.recordType, request.fieldName] where !name.isSchemaIdentifier || name.utf8.count > limit {
            throw EmulatorError.badRequest("'\(name)' is not a valid name")
        }
        if let kind = schema[request.recordType]?.fields[request.fieldName]?.kind, kind.element != .asset {
            throw EmulatorError.badRequest(
                "invalid attempt to set value type ASSETID for field '\(request.fieldName)' for type "
                    + "'\(request.recordType)', defined to be: \(kind.rawValue)"
            )
        }
        guard let name = request.recordName else { return }
        guard configuration.allowsRecordName(name) else {
            throw EmulatorError.badRequest("'\(name)' is not a valid record name")
        }
        if let row = try RecordRow.fetch(name, in: zone, db), !row.isDeleted,
            let type = schema.name(of: row.type), type != request.recordType
        {
            throw EmulatorError.badRequest("record '\(name)' is of type '\(type)', not '\(request.recordType)'")
        }
    }
}

extension CloudKitEmulator {
    /// Begins to receive a file, as the asset host does for a request to an upload address.
    ///
    /// The address can be used again until a whole file has arrived there.
    ///
    /// - Parameters:
    ///   - token: The last part of the upload address.
    ///   - length: The file's length in bytes, where it is known already.
    ///   - time: When the request is made; now when `nil`.
    /// - Returns: The upload, which takes the bytes.
    /// - Throws: An ``AssetHostError``.
    public func beginAssetUpload(_ token: String, length: Int64? = nil, at time: Date? = nil) throws -> IncomingAsset {
        let now = time?.milliseconds ?? now
        if let length, length > configuration.limits.assetSize { throw AssetHostError.tooLarge }
        let id = try writeAssets { db in
            try checkAddress(token, now: now, db)
            // Far longer than any upload takes, so that only interrupted uploads are removed.
            let deadline = now + 24 * 60 * 60 * 1000
            try db.run("INSERT INTO asset_file (keep_until) VALUES (?)", [deadline])
            return db.lastInsertedRowID
        }
        return IncomingAsset(emulator: self, token: token, file: id)
    }

    private func checkAddress(_ token: String, now: Int64, _ db: Database) throws {
        let row = try db.row("SELECT expires, used FROM asset_upload WHERE token = ?", [token])
        guard let row else { throw AssetHostError.notFound }
        guard row[0] > now, row[1] == false else { throw AssetHostError.gone }
    }

    fileprivate func finish(_ upload: IncomingAsset, digest: [UInt8]) throws(AssetHostError) -> Asset {
        try writeAssets { db in
            try checkAddress(upload.token, now: now, db)
            try db.run("UPDATE asset_upload SET used = 1 WHERE token = ?", [upload.token])
            let isPrivate: Bool? = try db.value("SELECT is_private FROM asset_upload WHERE token = ?", [upload.token])
            // Private files are encrypted: each has its own key and the checksum of the encrypted bytes (recorded).
            let key = isPrivate == true ? identifiers.next(16) : nil
            let reference = key.map { key in [1] + Array(Insecure.SHA1.hash(data: key + digest)) }
            let expires = now + Int64(configuration.assets.receiptLifetime * 1000)
            let receipt = identifiers.next(48).base64
            try db.run(
                """
                UPDATE asset_file
                SET checksum = ?, size = ?, wrapping_key = ?, reference_checksum = ?, keep_until = ? WHERE id = ?
                """,
                [
                    ([1] + digest).base64, upload.size, key?.base64, reference?.base64, expires, upload.file,
                ]
            )
            try db.run(
                """
                INSERT INTO asset_receipt (receipt, file, zone, record, type, field, expires, is_name_made)
                SELECT ?, ?, zone, record, type, field, ?, is_name_made FROM asset_upload WHERE token = ?
                """,
                [receipt, upload.file, expires, upload.token]
            )
            guard let file = try AssetFile.fetch(upload.file, db) else { throw AssetHostError.notFound }
            return Asset(file, receipt: receipt)
        }
    }

    /// Reads for the asset host.
    func readAssets<Value>(_ body: (Database) throws -> Value) throws(AssetHostError) -> Value {
        do { return try read(body) } catch { throw .storage(error) }
    }

    /// Writes for the asset host.
    fileprivate func writeAssets<Value>(_ body: (Database) throws -> Value) throws(AssetHostError) -> Value {
        do {
            return try writeUnwrapped(body)
        } catch {
            throw error as? AssetHostError ?? .storage(EmulatorError(wrapping: error))
        }
    }
}

/// A file that a client uploads.
///
/// An upload that is neither finished nor discarded, as when the process dies, is removed after a day.
public struct IncomingAsset: Sendable {
    let emulator: CloudKitEmulator
    let token: String
    let file: Int64
    /// The bytes taken so far.
    public private(set) var size: Int64 = 0
    private var hash = Insecure.SHA1()
    private var piece: [UInt8] = []
    private var pieces: Int64 = 0

    init(emulator: CloudKitEmulator, token: String, file: Int64) {
        self.emulator = emulator
        self.token = token
        self.file = file
    }

    /// Takes the next bytes.
    ///
    /// - Throws: An ``AssetHostError``: ``AssetHostError/tooLarge`` as soon as the file is longer than allowed.
    public mutating func append(_ bytes: ArraySlice<UInt8>) throws {
        guard size + Int64(bytes.count) <= emulator.configuration.limits.assetSize else {
            throw AssetHostError.tooLarge
        }
        size += Int64(bytes.count)
        var rest = bytes
        while !rest.isEmpty {
            let part = rest.prefix(AssetFile.chunkSize - piece.count)
            piece.append(contentsOf: part)
            rest = rest.dropFirst(part.count)
            if piece.count == AssetFile.chunkSize { try store() }
        }
    }

    private mutating func store() throws(AssetHostError) {
        hash.update(data: piece)
        let (id, bytes) = (AssetFile.firstChunk(of: file) + pieces, Data(piece))
        try emulator.writeAssets { db in
            try db.run("INSERT INTO asset_chunk VALUES (?, ?)", [id, bytes])
        }
        pieces += 1
        piece.removeAll(keepingCapacity: true)
    }

    /// Ends the file: the address is used up, and the file can be attached.
    ///
    /// - Returns: The dictionary to save in the field, with its receipt.
    /// - Throws: An ``AssetHostError``: ``AssetHostError/gone`` when the address went out of date or was used
    ///   meanwhile; the file is then removed.
    public consuming func finish() throws -> Asset {
        do throws(AssetHostError) {
            if !piece.isEmpty { try store() }
            return try emulator.finish(self, digest: Array(hash.finalize()))
        } catch {
            discard()
            throw error
        }
    }

    /// Gives the upload up, and removes the bytes that have arrived.
    public func discard() {
        try? emulator.writeAssets { db in try AssetFile.remove(file, db) }
    }
}

extension Asset {
    /// The asset of a response for a file, without the file's address.
    init(_ file: AssetFile, receipt: String) {
        self.init(
            fileChecksum: file.checksum,
            size: file.size,
            wrappingKey: file.wrappingKey,
            referenceChecksum: file.referenceChecksum,
            receipt: receipt
        )
    }
}
