#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A file to download, and where to.
public struct AssetDownload: Sendable {
    let chunks: @Sendable (CloudKitDatabase) -> AssetChunks
    let file: URL

    /// Makes a download of an asset that was read from a record.
    ///
    /// - Parameters:
    ///   - asset: The asset, with an address that is not out of date.
    ///   - file: Where to put it.
    public init(_ asset: Asset, to file: URL) {
        chunks = { $0.chunks(of: asset) }
        self.file = file
    }

    /// Makes a download of what a record holds.
    ///
    /// - Parameters:
    ///   - field: The record and its field.
    ///   - file: Where to put it.
    public init(_ field: AssetField, to file: URL) {
        chunks = { $0.chunks(of: field) }
        self.file = file
    }
}

extension CloudKitDatabase {
    /// The bytes of an asset, fetched while you go through them.
    ///
    /// - Parameter asset: The asset as it was read from a record. Its address is good for about an hour; see
    ///   ``chunks(of:)-(AssetField)`` for longer.
    /// - Returns: The bytes; nothing is sent yet.
    public func chunks(of asset: Asset) -> AssetChunks {
        AssetChunks(host: service.connection.assets, asset: asset, lookUp: nil)
    }

    /// The bytes of what a record holds, fetched while you go through them.
    ///
    /// - Parameter field: The record and its field. The record is looked up when its asset is not known yet, and again when the
    ///   address is out of date.
    /// - Returns: The bytes; nothing is sent yet.
    public func chunks(of field: AssetField) -> AssetChunks {
        AssetChunks(
            host: service.connection.assets,
            asset: field.asset,
            lookUp: { try await fetchAsset(field) }
        )
    }

    /// Downloads an asset to a file.
    ///
    /// ```swift
    /// let record = try await database.fetch("mei")
    /// if let photo = record["photo"]?.assetValue { try await database.download(photo, to: url) }
    /// // GET https://cvws.icloud-content.com/B/…    without credentials
    /// ```
    ///
    /// The bytes go to a hidden file in the same folder, which takes the place of the file when all of them are there. When the
    /// download fails or is cancelled, that file is removed, and a file that was there before stays as it was.
    ///
    /// - Parameters:
    ///   - asset: The asset as it was read from a record. Its address is good for about an hour.
    ///   - file: Where to put it. A file that is there is replaced.
    ///   - progress: Called after each piece that arrived.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/assetAddressExpired`` when the address is out
    ///   of date, ``CloudKitError/Code-swift.struct/localData`` when the file cannot be written.
    public func download(
        _ asset: Asset,
        to file: URL,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws {
        try await write(chunks(of: asset), to: file, progress: progress)
    }

    /// Downloads what a record holds to a file.
    ///
    /// ```swift
    /// try await database.download(AssetField(\.photo, of: user), to: url)
    /// ```
    ///
    /// As ``download(_:to:progress:)-(Asset,_,_)``, and an address that is out of date is replaced by a new one.
    ///
    /// - Parameters:
    ///   - field: The record and its field.
    ///   - file: Where to put it. A file that is there is replaced.
    ///   - progress: Called after each piece that arrived.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` when the record is not there or
    ///   holds no file, ``CloudKitError/Code-swift.struct/conflict`` when it holds another one by now,
    ///   ``CloudKitError/Code-swift.struct/localData`` when the file cannot be written.
    public func download(
        _ field: AssetField,
        to file: URL,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws {
        try await write(chunks(of: field), to: file, progress: progress)
    }

    /// Downloads an asset into memory.
    ///
    /// - Parameters:
    ///   - asset: The asset as it was read from a record.
    ///   - limit: The most bytes to take: 64 MiB. What is longer is refused before it is fetched.
    ///   - progress: Called after each piece that arrived.
    /// - Returns: The bytes.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/assetAddressExpired`` when the address is out
    ///   of date, ``CloudKitError/Code-swift.struct/invalidArgument`` when the asset is longer than `limit`.
    public func download(
        _ asset: Asset,
        upTo limit: Int = 64 << 20,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws -> [UInt8] {
        try await collect(chunks(of: asset), upTo: limit, progress: progress)
    }

    /// Downloads what a record holds into memory.
    ///
    /// - Parameters:
    ///   - field: The record and its field.
    ///   - limit: The most bytes to take: 64 MiB.
    ///   - progress: Called after each piece that arrived.
    /// - Returns: The bytes.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` when the record is not there or
    ///   holds no file, ``CloudKitError/Code-swift.struct/invalidArgument`` when the asset is longer than `limit`.
    public func download(
        _ field: AssetField,
        upTo limit: Int = 64 << 20,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws -> [UInt8] {
        try await collect(chunks(of: field), upTo: limit, progress: progress)
    }

    /// Downloads files side by side.
    ///
    /// ```swift
    /// let results = await database.download(users.map { AssetDownload(AssetField(\.photo, of: $0), to: url(of: $0)) })
    /// ```
    ///
    /// - Parameters:
    ///   - downloads: The assets and where to put them.
    ///   - maximumConcurrency: How many at a time.
    ///   - progress: Called with the progress of all files together.
    /// - Returns: One result for each, in order. One that fails leaves no file, and the others alone.
    public func download(
        _ downloads: [AssetDownload],
        maximumConcurrency: Int = 4,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async -> [Result<Void, CloudKitError>] {
        let sum = ProgressSum(of: downloads.count, progress)
        return await concurrentMap(downloads, atMost: maximumConcurrency) { index, download in
            do {
                try await write(download.chunks(self), to: download.file, progress: sum.handler(for: index))
                return .success(())
            } catch {
                return .failure(CloudKitError(error, operation: AssetChunks.operation))
            }
        }
    }

    private func write(
        _ chunks: AssetChunks,
        to file: URL,
        progress: ProgressHandler<TransferProgress>?
    ) async throws {
        var chunks = chunks
        chunks.progress = progress
        let replacement = try ReplacementFile(for: file)
        defer { replacement.discard() }
        for try await chunk in chunks { try replacement.write(chunk) }
        if Task.isCancelled { throw CloudKitError.cancelled(operation: AssetChunks.operation) }
        try replacement.commit()
    }

    private func collect(
        _ chunks: AssetChunks,
        upTo limit: Int,
        progress: ProgressHandler<TransferProgress>?
    ) async throws -> [UInt8] {
        var chunks = chunks
        chunks.progress = progress
        func tooLong(_ size: Int64) -> CloudKitError {
            .invalidArgument(
                "The asset has \(size) bytes, and at most \(limit) were to be taken. Download it to a file."
            )
        }
        var bytes: [UInt8] = []
        if let size = chunks.asset?.size {
            guard size <= limit else { throw tooLong(size) }
            // On the service's word alone no more than this is set aside.
            bytes.reserveCapacity(Int(min(size, 1 << 20)))
        }
        for try await chunk in chunks {
            guard bytes.count + chunk.count <= limit else { throw tooLong(Int64(bytes.count + chunk.count)) }
            bytes += chunk
        }
        return bytes
    }
}
