#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A file to download, and the local file to write it to.
public struct AssetDownload: Sendable {
    let chunks: @Sendable (CloudKitDatabase) -> AssetChunks
    let file: URL

    /// Makes a download of an asset that was read from a record.
    ///
    /// - Parameters:
    ///   - asset: The asset, with an address that has not expired.
    ///   - file: The file to write. An existing file is replaced.
    public init(_ asset: Asset, to file: URL) {
        chunks = { $0.chunks(of: asset) }
        self.file = file
    }

    /// Makes a download of an asset by its record and field.
    ///
    /// - Parameters:
    ///   - field: The record and its field.
    ///   - file: The file to write. An existing file is replaced.
    public init(_ field: AssetField, to file: URL) {
        chunks = { $0.chunks(of: field) }
        self.file = file
    }
}

extension CloudKitDatabase {
    /// The bytes of an asset, fetched while you iterate over them.
    ///
    /// - Parameter asset: The asset as it was read from a record. Its address is valid for about an hour; after that
    ///   use ``chunks(of:)-(AssetField)``.
    /// - Returns: The bytes; nothing is sent yet.
    public func chunks(of asset: Asset) -> AssetChunks {
        AssetChunks(host: service.connection.assets, asset: asset, lookUp: nil)
    }

    /// The bytes of the asset in a record's field, fetched while you iterate over them.
    ///
    /// - Parameter field: The record and its field. The record is looked up if its asset is not known yet, and again
    ///   when the address has expired.
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
    /// The bytes are written to a hidden file in the same folder, which replaces the file when the download is
    /// complete. When the download fails or is cancelled, the hidden file is removed, and an existing file stays
    /// unchanged.
    ///
    /// - Parameters:
    ///   - asset: The asset as it was read from a record. Its address is valid for about an hour.
    ///   - file: The file to write. An existing file is replaced.
    ///   - progress: Called after each piece that arrives.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/assetAddressExpired`` when the address has
    ///   expired, ``CloudKitError/Code-swift.struct/localData`` when the file cannot be written.
    public func download(
        _ asset: Asset,
        to file: URL,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws {
        try await write(chunks(of: asset), to: file, progress: progress)
    }

    /// Downloads the asset in a record's field to a file.
    ///
    /// ```swift
    /// try await database.download(AssetField(\.photo, of: user), to: url)
    /// ```
    ///
    /// Works like ``download(_:to:progress:)-(Asset,_,_)``, but replaces an expired address by a new one.
    ///
    /// - Parameters:
    ///   - field: The record and its field.
    ///   - file: The file to write. An existing file is replaced.
    ///   - progress: Called after each piece that arrives.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` when the record does not exist or
    ///   has no file in the field, ``CloudKitError/Code-swift.struct/conflict`` when it has another file by now,
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
    ///   - limit: The largest number of bytes to accept, by default 64 MiB. A longer asset is refused before it is
    ///     fetched if its size is known.
    ///   - progress: Called after each piece that arrives.
    /// - Returns: The bytes.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/assetAddressExpired`` when the address has
    ///   expired, ``CloudKitError/Code-swift.struct/invalidArgument`` when the asset is longer than `limit`.
    public func download(
        _ asset: Asset,
        upTo limit: Int = 64 << 20,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws -> [UInt8] {
        try await collect(chunks(of: asset), upTo: limit, progress: progress)
    }

    /// Downloads the asset in a record's field into memory.
    ///
    /// - Parameters:
    ///   - field: The record and its field.
    ///   - limit: The largest number of bytes to accept, by default 64 MiB.
    ///   - progress: Called after each piece that arrives.
    /// - Returns: The bytes.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` when the record does not exist or
    ///   has no file in the field, ``CloudKitError/Code-swift.struct/invalidArgument`` when the asset is longer than
    ///   `limit`.
    public func download(
        _ field: AssetField,
        upTo limit: Int = 64 << 20,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws -> [UInt8] {
        try await collect(chunks(of: field), upTo: limit, progress: progress)
    }

    /// Downloads several files at the same time.
    ///
    /// ```swift
    /// let results = await database.download(users.map { AssetDownload(AssetField(\.photo, of: $0), to: url(of: $0)) })
    /// ```
    ///
    /// - Parameters:
    ///   - downloads: The assets and the files to write.
    ///   - maximumConcurrency: The largest number of files to download at the same time.
    ///   - progress: Called with the sum of the progress of all files.
    /// - Returns: One result for each download, in the order of `downloads`. A failed download writes no file and does
    ///   not affect the others.
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

    /// Downloads the asset in a record's field to a file, and goes on where an earlier process was interrupted.
    ///
    /// The bytes are written to a file beside it, with the host's validator for them. After a break they stay there, and
    /// the next call for the same file asks for the rest. Without a validator, or when the host has another file, the
    /// download begins again.
    ///
    /// - Parameters:
    ///   - field: The record and its field.
    ///   - file: The file to write. It has the same path only where it is the same file.
    ///   - progress: Called after each piece that arrives.
    /// - Throws: The same errors as ``download(_:to:progress:)-(AssetField,_,_)``.
    package func resumeDownload(
        of field: AssetField,
        to file: URL,
        progress: ProgressHandler<TransferProgress>? = nil
    ) async throws {
        var chunks = chunks(of: field)
        chunks.progress = progress
        let partial = try PartialFile(for: file)
        defer { partial.close() }
        chunks.start = partial.start(ofFileWith: field.asset?.size)
        do {
            var iterator = chunks.makeAsyncIterator()
            while let chunk = try await iterator.next(isolation: #isolation) {
                try partial.write(chunk, upTo: iterator.offset, iterator.entityTag)
            }
            if Task.isCancelled { throw CloudKitError.cancelled(operation: AssetChunks.operation) }
            try partial.commit()
        } catch {
            // Only a transfer that was interrupted goes on later.
            switch (error as? CloudKitError)?.code {
            case .network, .serviceUnavailable, .throttled, .cancelled, .assetAddressExpired: partial.keep()
            default: partial.discard()
            }
            throw error
        }
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
            // The service's claim alone does not make the client reserve more memory than this.
            bytes.reserveCapacity(Int(min(size, 1 << 20)))
        }
        for try await chunk in chunks {
            guard bytes.count + chunk.count <= limit else { throw tooLong(Int64(bytes.count + chunk.count)) }
            bytes += chunk
        }
        return bytes
    }
}
