import CloudKitWebServices
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON
import Synchronization

/// A file to upload, and the field that it is for.
public struct AssetUpload: Sendable {
    /// The bytes.
    public var source: AssetSource
    /// The field's name.
    public var fieldName: String
    /// The record's type.
    public var recordType: String
    /// The record's name; the service makes one when `nil`. Files of one record need the same name.
    public var recordName: String?

    /// Makes an upload.
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - fieldName: The field's name.
    ///   - recordType: The record's type.
    ///   - recordName: The record's name; the service makes one when `nil`.
    public init(_ source: AssetSource, for fieldName: String, of recordType: String, named recordName: String? = nil) {
        self.source = source
        self.fieldName = fieldName
        self.recordType = recordType
        self.recordName = recordName
    }
}

/// A file that was uploaded, and the record that it is to be saved in.
///
/// The file is not reachable until its ``asset`` is saved in the field of a record of this name; one that never is, the service
/// removes.
public struct UploadedAsset: Hashable, Sendable {
    /// The value to save. It is good once.
    public var asset: Asset
    /// The name that the record must have.
    public var recordName: String
    /// The type that the record must have.
    public var recordType: String
    /// The field that the asset must be saved in.
    public var fieldName: String
    /// The zone that the record must be in; the default zone when `nil`.
    public var zoneID: ZoneID?

    /// A record to create with the file in its field.
    ///
    /// - Parameter fields: What else it has.
    /// - Returns: The record.
    public func record(fields: Record.Fields = [:]) -> Record {
        var record = Record(recordType: recordType, recordName: recordName, fields: fields)
        record.zoneID = zoneID
        record[fieldName] = .asset(asset)
        return record
    }
}

extension CloudKitDatabase {
    /// Uploads a file for a field of a record that is to be saved.
    ///
    /// ```swift
    /// let upload = try await database.upload(.file(url), for: "photo", of: "User")
    /// // POST …/assets/upload  {"tokens":[{"recordType":"User","fieldName":"photo"}]}
    /// // POST https://cvws.icloud-content.com/…   the bytes, without credentials
    /// try await database.create(upload.record(fields: ["name": "Mei"]))
    /// ```
    ///
    /// The file is sent piece by piece: however long it is, it takes little memory. When the connection is lost, or the asset host
    /// is busy, it is sent again from its beginning, as often as the service's ``RetryPolicy`` says, each time to a new address; nothing
    /// can be stored twice by that.
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - fieldName: The field's name.
    ///   - recordType: The record's type.
    ///   - recordName: The record's name; the service makes one when `nil`.
    ///   - zone: The record's zone; the default zone when `nil`.
    ///   - progress: Called after each piece that was sent.
    /// - Returns: The asset, with the record's name that it must be saved under.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/badRequest`` for a field that holds something
    ///   else than files, ``CloudKitError/Code-swift.struct/limitExceeded`` for a file that is too long,
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

    /// Uploads a file for a field of a typed record, stored or yet to be saved.
    ///
    /// ```swift
    /// var user = try await database.fetch(User.self, "mei")
    /// user.photo = try await database.upload(.file(url), for: \.photo, of: user)
    /// user = try await database.update(user)
    /// ```
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - field: The field.
    ///   - record: The record. It is not saved by this.
    ///   - zone: The record's zone; that of the record, or else the default zone, when `nil`.
    ///   - progress: Called after each piece that was sent.
    /// - Returns: The value to assign to the field of this record.
    /// - Throws: A ``CloudKitError``, as ``upload(_:for:of:named:inZone:progress:)``.
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

    /// Uploads files side by side.
    ///
    /// - Parameters:
    ///   - uploads: The files, as many as you like. Files of one record need the same name for it.
    ///   - zone: The records' zone; the default zone when `nil`.
    ///   - maximumConcurrency: How many at a time.
    ///   - progress: Called with the progress of all files together.
    /// - Returns: One result for each, in order.
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
        // Addresses are good for 15 minutes, so they are not asked for long before they are used.
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

    /// Makes a file that a record holds usable in another record, or another field, without sending its bytes again.
    ///
    /// ```swift
    /// let cover = try await database.rereference(AssetField("photo", of: "mei"))
    /// // POST …/assets/rereference  {"zoneID":{"zoneName":"_defaultZone"},"assets":[{"recordName":"mei","fieldName":"photo"}]}
    /// try await database.create(Record(recordType: "Album", fields: ["cover": .asset(cover)]))
    /// ```
    ///
    /// An asset that was read from a record cannot be saved elsewhere as it is: it lacks the receipt that this gets.
    ///
    /// - Parameters:
    ///   - field: The record that holds the file, and its field.
    ///   - targetZone: The zone of the record that is to hold it; that of the former when `nil`.
    /// - Returns: The value to save. It is good once.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` when there is no such record or
    ///   file.
    public func rereference(
        _ field: AssetField,
        forZone targetZone: ZoneID? = nil
    ) async throws -> Asset {
        try await rereference([field], inZone: field.zoneID, forZone: targetZone)[0].get()
    }

    /// Makes files that records of one zone hold usable in other records, without sending their bytes again.
    ///
    /// - Parameters:
    ///   - fields: The records and their fields, as many as you like.
    ///   - zone: The zone of these records; the default zone when `nil`.
    ///   - targetZone: The zone of the records that are to hold them; the same when `nil`.
    /// - Returns: One result for each, in order.
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
                // Replies do not say which asset is of which record: the order alone does.
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

/// Where a file may be sent.
private struct UploadTarget: Sendable {
    var recordName: String
    var address: AssetHost.Address
}

extension CloudKitDatabase {
    /// Asks for addresses in one request; or for one after the other, where one that cannot be makes the whole request fail.
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
            guard let name, let address = token.url.flatMap({ AssetHost.Address($0) }) else {
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

    /// Sends a file, again and to another address when that failed and may succeed.
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
                // An attempt of its own, with the retries of any request.
                present = try await requestTargets(for: [upload], inZone: zone)[0].get()
            }
            // The record has this name from now on, at whatever address the file goes in.
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
                    // It was asked for long ago, or an attempt whose reply was lost has used it up.
                    hadExpired = true
                    continue
                }
                try await service.connection.assets.waitForAnotherAttempt(after: failure, failures)
            }
        }
    }

    private func send(
        _ source: AssetSource,
        to address: AssetHost.Address,
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

/// How many bytes of a body went out.
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
            message: "The response holds \(count) results for \(expected) items, and nothing says which is whose."
        )
    }
}
