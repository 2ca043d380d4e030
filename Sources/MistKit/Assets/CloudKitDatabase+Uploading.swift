import CloudKitWebServices
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON
import Synchronization

/// A file to upload, and the field for it.
public struct AssetUpload: Sendable {
    /// The bytes.
    public var source: AssetSource
    /// The field's name.
    public var fieldName: String
    /// The record's type.
    public var recordType: String
    /// The record's name; with `nil` the service makes a name. All files of one record need the same name.
    public var recordName: String?

    /// Makes an upload.
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - fieldName: The field's name.
    ///   - recordType: The record's type.
    ///   - recordName: The record's name; with `nil` the service makes a name.
    public init(_ source: AssetSource, for fieldName: String, of recordType: String, named recordName: String? = nil) {
        self.source = source
        self.fieldName = fieldName
        self.recordType = recordType
        self.recordName = recordName
    }
}

/// An uploaded file, and the record to save it in.
///
/// The file cannot be fetched until its ``asset`` is saved in the field of a record of this name. The service removes a
/// file that is never saved.
public struct UploadedAsset: Hashable, Sendable {
    /// The value to save. It can be saved once.
    public var asset: Asset
    /// The name that the record must have.
    public var recordName: String
    /// The type that the record must have.
    public var recordType: String
    /// The field that the asset must be saved in.
    public var fieldName: String
    /// The zone that the record must be in; the default zone when `nil`.
    public var zoneID: ZoneID?

    /// Makes a record, to be created, with the file in its field.
    ///
    /// - Parameter fields: The other fields of the record.
    /// - Returns: The record.
    public func record(fields: Record.Fields = [:]) -> Record {
        var record = Record(recordType: recordType, recordName: recordName, fields: fields)
        record.zoneID = zoneID
        record[fieldName] = .asset(asset)
        return record
    }
}

extension CloudKitDatabase {
    /// Uploads a file for a field of a record that you save afterwards.
    ///
    /// ```swift
    /// let upload = try await database.upload(.file(url), for: "photo", of: "User")
    /// // POST …/assets/upload  {"tokens":[{"recordType":"User","fieldName":"photo"}]}
    /// // POST https://cvws.icloud-content.com/…   the bytes, without credentials
    /// try await database.create(upload.record(fields: ["name": "Mei"]))
    /// ```
    ///
    /// The file is sent in pieces, so a long file takes little memory, too. When the connection is lost, or the asset
    /// host is busy, the file is sent again from its beginning, as often as the service's ``RetryPolicy`` says. Each
    /// attempt has a new address, so the file cannot be stored twice.
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - fieldName: The field's name.
    ///   - recordType: The record's type.
    ///   - recordName: The record's name; with `nil` the service makes a name.
    ///   - zone: The record's zone; the default zone when `nil`.
    ///   - progress: Called after each sent piece.
    /// - Returns: The asset, with the name of the record that it must be saved in.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/badRequest`` for a field that is not of the
    ///   type `ASSETID` or a list of it, ``CloudKitError/Code-swift.struct/limitExceeded`` for a file that is too long,
    ///   ``CloudKitError/Code-swift.struct/localData`` when the bytes cannot be read.
    public func upload(
        _ source: AssetSource,
        for fieldName: String,
        of recordType: String,
        named recordName: String? = nil,
        inZone zone: ZoneID? = nil,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws -> UploadedAsset {
        let upload = AssetUpload(source, for: fieldName, of: recordType, named: recordName)
        return try await send(upload, to: nil, inZone: zone, progress: progress)
    }

    /// Uploads a file for a field of a typed record, saved or new.
    ///
    /// ```swift
    /// var user = try await database.fetch(User.self, named: "mei")
    /// user.photo = try await database.upload(.file(url), for: \.photo, of: user)
    /// user = try await database.update(user)
    /// ```
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - field: The field.
    ///   - record: The record. This method does not save it.
    ///   - zone: The record's zone; with `nil`, the zone that the record names, or else the default zone.
    ///   - progress: Called after each sent piece.
    /// - Returns: The value to assign to the field of this record.
    /// - Throws: The same errors as ``upload(_:for:of:named:inZone:progress:)``.
    public func upload<Model: CloudKitRecord>(
        _ source: AssetSource,
        for field: KeyPath<Model.Fields, RecordField<some AssetStorable>>,
        of record: StoredRecord<Model>,
        inZone zone: ZoneID? = nil,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws -> Asset {
        try await upload(
            source,
            for: Model.assetFieldName(field),
            of: Model.recordType,
            named: record.recordName,
            inZone: zone ?? record.zoneID,
            progress: progress
        ).asset
    }

    /// Uploads several files at the same time.
    ///
    /// - Parameters:
    ///   - uploads: The files, any number. All files of one record need the same record name.
    ///   - zone: The records' zone; the default zone when `nil`.
    ///   - maximumConcurrency: The largest number of files to upload at the same time.
    ///   - progress: Called with the sum of the progress of all files.
    /// - Returns: One result for each item, in the order of the request.
    public func upload(
        _ uploads: [AssetUpload],
        inZone zone: ZoneID? = nil,
        maximumConcurrency: Int = 4,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async -> [Result<UploadedAsset, CloudKitError>] {
        let sum = ProgressSum(of: uploads.count, progress)
        if progress != nil {
            for (index, upload) in uploads.enumerated() { sum.expect(try? upload.source.length(), at: index) }
        }
        var results: [Result<UploadedAsset, CloudKitError>] = []
        // An address is valid for 15 minutes (Apple's archived reference), so it is not requested long before its use.
        let batchSize = min(Self.batchSize, 4 * max(1, maximumConcurrency))
        for part in uploads.parts(ofAtMost: batchSize) {
            let batch = Array(uploads[part])
            let targets = await requestEachTarget(for: batch, inZone: zone)
            results += await concurrentMap(Array(zip(batch, targets)), atMost: maximumConcurrency) { index, item in
                do throws(CloudKitError) {
                    return .success(
                        try await send(
                            item.0,
                            to: try item.1.get(),
                            inZone: zone,
                            progress: sum.handler(for: part.lowerBound + index)
                        )
                    )
                } catch {
                    return .failure(error.about(item.0.recordName))
                }
            }
        }
        return results
    }

    /// Makes the file of a record usable in another record, or in another field, without sending its bytes again.
    ///
    /// ```swift
    /// let cover = try await database.rereference(AssetField("photo", of: "mei"))
    /// // POST …/assets/rereference  {"zoneID":{"zoneName":"_defaultZone"},"assets":[{"recordName":"mei","fieldName":"photo"}]}
    /// try await database.create(Record(recordType: "Album", fields: ["cover": .asset(cover)]))
    /// ```
    ///
    /// An asset that was read from a record cannot be saved elsewhere as it is: it lacks the receipt that this request
    /// returns.
    ///
    /// - Parameters:
    ///   - field: The record that has the file, and its field.
    ///   - targetZone: The zone of the other record; with `nil`, the same zone.
    /// - Returns: The value to save. It can be saved once.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` when the record does not exist or
    ///   has no file in the field.
    public func rereference(
        _ field: AssetField,
        forZone targetZone: ZoneID? = nil
    ) async throws -> Asset {
        try await rereference([field], inZone: field.zoneID, forZone: targetZone)[0].get()
    }

    /// Makes the files of records of one zone usable in other records, without sending their bytes again.
    ///
    /// - Parameters:
    ///   - fields: The records and their fields, any number.
    ///   - zone: The zone of these records; the default zone when `nil`.
    ///   - targetZone: The zone of the other records; with `nil`, the same zone.
    /// - Returns: One result for each item, in the order of the request.
    /// - Throws: A ``CloudKitError``: the error of the first request, when it fails as a whole.
    public func rereference(
        _ fields: [AssetField],
        inZone zone: ZoneID? = nil,
        forZone targetZone: ZoneID? = nil
    ) async throws -> [Result<Asset, CloudKitError>] {
        if let field = fields.first(where: { $0.recordName.isEmpty || $0.fieldName.isEmpty }) {
            throw CloudKitError.invalidArgument(
                "The name of a record or field is empty ('\(field.recordName)', '\(field.fieldName)')."
            )
        }
        return try await BatchSender<AssetField, Asset>(
            items: fields,
            service: service,
            about: { error, field in error.about(field.recordName) },
            send: { (fields, call) async throws(CloudKitError) in
                let reply = try await call.reply(to: Operations.RereferenceAssets.id) { client in
                    let response = try await client.rereferenceAssets(
                        path: path,
                        body: .json(
                            .init(
                                zoneID: zone ?? .default,
                                assets: fields.map { .init(recordName: $0.recordName, fieldName: $0.fieldName) },
                                targetZoneID: targetZone
                            )
                        )
                    ).ok
                    return (try response.body.json.assets ?? [], response.headers.xAppleRequestUUID)
                }
                // Responses do not name the record of an asset: only their order shows it.
                guard reply.body.count == fields.count else {
                    throw .wrongCount(reply.body.count, of: fields.count).from(reply.origin)
                }
                return zip(fields, reply.body).map { field, result in
                    switch result {
                    case .Asset(let asset): return .success(asset)
                    case .AssetError(let error):
                        let response = ErrorResponse(
                            serverErrorCode: ServerErrorCode(rawValue: error.serverErrorCode),
                            reason: error.reason,
                            retryAfter: error.retryAfter
                        )
                        return .failure(
                            CloudKitError(response, item: .record(name: field.recordName)).from(reply.origin)
                        )
                    }
                }
            }
        ).results()
    }
}

// MARK: - One upload

/// The address for a file, and the name of its record.
private struct UploadTarget: Sendable {
    var recordName: String
    var address: AssetHostClient.Address
}

extension CloudKitDatabase {
    /// Requests all addresses in one request. If an invalid item makes the whole request fail, requests them one after
    /// the other.
    private func requestEachTarget(
        for uploads: [AssetUpload],
        inZone zone: ZoneID?
    ) async -> [Result<UploadTarget, CloudKitError>] {
        do throws(CloudKitError) {
            return try await requestTargets(for: uploads, inZone: zone)
        } catch {
            guard uploads.count > 1, error.code == .badRequest || error.code == .invalidArgument else {
                return uploads.map { .failure(error.about($0.recordName)) }
            }
            var targets: [Result<UploadTarget, CloudKitError>] = []
            for upload in uploads { targets += await requestEachTarget(for: [upload], inZone: zone) }
            return targets
        }
    }

    private func requestTargets(
        for uploads: [AssetUpload],
        inZone zone: ZoneID?
    ) async throws(CloudKitError) -> [Result<UploadTarget, CloudKitError>] {
        for upload in uploads where upload.fieldName.isEmpty || upload.recordType.isEmpty || upload.recordName == "" {
            throw .invalidArgument("A field, a record type or a record name is empty.")
        }
        let reply = try await service.reply(to: Operations.RequestAssetUploads.id) { client in
            let response = try await client.requestAssetUploads(
                path: path,
                body: .json(
                    .init(
                        tokens: uploads.map {
                            .init(recordName: $0.recordName, recordType: $0.recordType, fieldName: $0.fieldName)
                        },
                        zoneID: zone
                    )
                )
            ).ok
            return (try response.body.json.tokens ?? [], response.headers.xAppleRequestUUID)
        }
        guard reply.body.count == uploads.count else {
            throw CloudKitError.wrongCount(reply.body.count, of: uploads.count).from(reply.origin)
        }
        return zip(uploads, reply.body).map { upload, token in
            let name = token.recordName ?? upload.recordName
            if let code = token.serverErrorCode {
                let dictionary = ErrorResponse(
                    serverErrorCode: ServerErrorCode(rawValue: code),
                    reason: token.reason
                )
                return .failure(
                    CloudKitError(dictionary, item: name.map { .record(name: $0) }).from(reply.origin)
                )
            }
            guard let name, let address = token.url.flatMap({ AssetHostClient.Address($0) }) else {
                return .failure(
                    CloudKitError(
                        code: .unexpectedResponse,
                        message: "The service gave no address to upload to, or no name for the record."
                    ).about(name).from(reply.origin)
                )
            }
            return .success(UploadTarget(recordName: name, address: address))
        }
    }

    /// Sends a file, and after a temporary failure sends it again to another address.
    private func send(
        _ upload: AssetUpload,
        to firstTarget: UploadTarget?,
        inZone zone: ZoneID?,
        progress: ProgressHandler<TransferProgress>?
    ) async throws(CloudKitError) -> UploadedAsset {
        var upload = upload
        var target = firstTarget
        let failures = service.connection.assets.beginFailures()
        var hadExpired = false
        while true {
            let present: UploadTarget
            if let target {
                present = target
            } else {
                // A separate call, with its own retries.
                present = try await requestTargets(for: [upload], inZone: zone)[0].get()
            }
            // The record keeps this name, even if the file is sent to another address later.
            upload.recordName = present.recordName
            target = nil
            do throws(CloudKitError) {
                let asset = try await send(upload.source, to: present.address, progress: progress)
                return UploadedAsset(
                    asset: asset,
                    recordName: present.recordName,
                    recordType: upload.recordType,
                    fieldName: upload.fieldName,
                    zoneID: zone
                )
            } catch {
                let failure = error.about(present.recordName)
                guard upload.source.isReplayable else { throw failure }
                if failure.code == .assetAddressExpired, !hadExpired {
                    // The address was requested long ago, or an attempt whose response was lost has used it up.
                    hadExpired = true
                    continue
                }
                try await service.connection.assets.waitForAnotherAttempt(after: failure, failures)
            }
        }
    }

    private func send(
        _ source: AssetSource,
        to address: AssetHostClient.Address,
        progress: ProgressHandler<TransferProgress>?
    ) async throws(CloudKitError) -> Asset {
        let operation = "uploadAsset"
        let body = try source.body()
        var total: Int64?
        if case .known(let length) = body.length { total = length }
        let sent = SentBytes()
        let counted = CountedChunks(body: body) { [total] count in
            let completed = sent.add(count)
            progress?(TransferProgress(completedBytes: completed, totalBytes: total))
        }
        let (response, responseBody) = try await service.connection.assets.send(
            .post,
            to: address,
            headerFields: [.contentType: "application/octet-stream", .accept: "application/json"],
            body: HTTPBody(counted, length: body.length, iterationBehavior: body.iterationBehavior),
            operation: operation
        )
        var failure: CloudKitError
        do {
            let bytes =
                if let responseBody { try await [UInt8](collecting: responseBody, upTo: 1 << 20) } else { [UInt8]() }
            let asset = try JSONReader.read(Components.Schemas.UploadAssetResponse.self, from: bytes).singleFile
            let count = sent.count
            if let size = asset.size, size != count {
                failure = CloudKitError(
                    code: .unexpectedResponse,
                    message: "\(count) bytes were sent, and the asset host stored \(size). Upload the file again."
                )
            } else if asset.receipt == nil {
                failure = CloudKitError(
                    code: .unexpectedResponse,
                    message: "The asset host gave no receipt, without which the file cannot be saved in a record."
                )
            } else {
                return asset
            }
        } catch let error as JSONError {
            failure = CloudKitError(error, operation: operation)
        } catch {
            failure = .transport(error, operation: operation)
        }
        failure.operation = operation
        failure.httpStatus = response.status
        throw failure
    }
}

/// The number of bytes of a body that were sent.
private final class SentBytes: Sendable {
    private let value = Mutex<Int64>(0)

    var count: Int64 { value.withLock { $0 } }

    func add(_ count: Int) -> Int64 {
        value.withLock { value in
            value += Int64(count)
            return value
        }
    }
}

extension CloudKitError {
    fileprivate static func wrongCount(_ count: Int, of expected: Int) -> CloudKitError {
        CloudKitError(
            code: .unexpectedResponse,
            message:
                "The response holds \(count) results for \(expected) items, so the results cannot be matched with the items."
        )
    }
}
