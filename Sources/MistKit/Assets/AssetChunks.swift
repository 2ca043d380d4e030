import HTTPTypes
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The bytes of an asset, fetched while you go through them.
///
/// ```swift
/// for try await chunk in database.chunks(of: asset) {
///     hash.update(data: chunk)
/// }
/// // GET https://cvws.icloud-content.com/B/…    without credentials
/// ```
///
/// No more than a few chunks are in memory, however long the file is: nothing is fetched that was not asked for.
///
/// A connection that is lost is no error at once: the bytes go on from where they were, on another connection, as often as the
/// service's ``RetryPolicy`` says for each time that new bytes came. An address that is out of date is replaced by a new one, where the
/// asset's record is known (``AssetField``). The number of bytes is checked at the end; the checksum cannot be, as how the service makes
/// it is not known.
///
/// Going through it again fetches the file again. A cancelled task gets ``CloudKitError/Code-swift.struct/cancelled``.
public struct AssetChunks: AsyncSequence, Sendable {
    /// Some bytes, in order.
    public typealias Element = ArraySlice<UInt8>
    /// What going through the bytes can throw.
    public typealias Failure = any Error

    let host: AssetHost
    /// What is known of the asset at the beginning; `nil` when it has to be looked up.
    let asset: Asset?
    /// Looks up the asset, where its record is known.
    let lookUp: (@Sendable () async throws -> Asset)?
    var progress: ProgressHandler<TransferProgress>?

    /// Starts to go through the bytes; the first request is made when the first are asked for.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(chunks: self)
    }

    /// Goes through the bytes.
    public struct Iterator: AsyncIteratorProtocol {
        private let chunks: AssetChunks
        private var asset: Asset?
        private var body: HTTPBody.Iterator?
        /// How many bytes were given out.
        private var offset: Int64 = 0
        /// How many bytes of the present response were given out before.
        private var surplus: Int64 = 0
        /// How many there are, once that is known.
        private var size: Int64?
        private var entityTag: String?
        private var failures: RetryBudget?
        private var hasNewAddress = false
        private var isFinished = false

        fileprivate init(chunks: AssetChunks) {
            self.chunks = chunks
            asset = chunks.asset
            size = chunks.asset?.size
        }

        /// The next bytes.
        ///
        /// - Parameter actor: Where the caller runs.
        /// - Returns: Some bytes; `nil` after the last ones.
        /// - Throws: A ``CloudKitError``.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> ArraySlice<UInt8>? {
            while !isFinished {
                do throws(CloudKitError) {
                    if body == nil { try await open() }
                    if let chunk = try await read(isolation: actor) { return chunk }
                } catch {
                    body = nil
                    try await recover(from: error)
                }
            }
            return nil
        }

        /// Takes the next chunk of the response, or finds that it ended as it should.
        private mutating func read(
            isolation actor: isolated (any Actor)?
        ) async throws(CloudKitError) -> ArraySlice<UInt8>? {
            let next: ArraySlice<UInt8>?
            do {
                next = try await body?.next(isolation: actor)
            } catch {
                throw .transport(error, operation: AssetChunks.operation)
            }
            if Task.isCancelled { throw .cancelled(operation: AssetChunks.operation) }
            guard var chunk = next else {
                body = nil
                guard let size, offset < size else {
                    isFinished = true
                    return nil
                }
                throw CloudKitError.endedEarly(after: offset, of: size)
            }
            let known = Swift.min(surplus, Int64(chunk.count))
            surplus -= known
            chunk = chunk.dropFirst(Int(known))
            guard !chunk.isEmpty else { return nil }
            offset += Int64(chunk.count)
            if let size, offset > size { throw CloudKitError.wrongSize(expected: size, found: nil) }
            (failures, hasNewAddress) = (nil, false)
            chunks.progress?(TransferProgress(completedBytes: offset, totalBytes: size))
            return chunk
        }

        /// Asks for the bytes from where we are.
        private mutating func open() async throws(CloudKitError) {
            let asset = try await currentAsset()
            guard let text = asset.downloadURL, let address = AssetHost.Address(text) else {
                throw .invalidArgument(
                    """
                    The asset has no address to download from. What an upload returns has none: save it in its record, and \
                    take the asset that the service returns.
                    """
                )
            }
            var fields: HTTPFields = [.accept: "*/*", .acceptEncoding: "identity"]
            if offset > 0 {
                fields[.range] = "bytes=\(offset)-"
                fields[.ifRange] = entityTag
            }
            let (response, responseBody) = try await chunks.host.send(
                .get,
                to: address,
                headerFields: fields,
                operation: AssetChunks.operation
            )
            try check(response)
            entityTag = response.headerFields[.eTag].flatMap { $0.hasPrefix("W/") ? nil : $0 }
            body = (responseBody ?? HTTPBody()).makeAsyncIterator()
        }

        private mutating func currentAsset() async throws(CloudKitError) -> Asset {
            if let asset, asset.downloadURL != nil || chunks.lookUp == nil { return asset }
            guard let lookUp = chunks.lookUp else { throw .invalidArgument("There is no asset to download.") }
            let found: Asset
            do {
                found = try await lookUp()
            } catch {
                throw CloudKitError(error, operation: AssetChunks.operation)
            }
            if let checksum = asset?.fileChecksum, let other = found.fileChecksum, checksum != other {
                throw CloudKitError(
                    code: .conflict,
                    message: "The record holds another file by now. Fetch the record again, and download that one."
                )
            }
            asset = found
            size = size ?? found.size
            return found
        }

        /// Whether a response holds the bytes that were asked for.
        private mutating func check(_ response: HTTPResponse) throws(CloudKitError) {
            let length = response.headerFields[.contentLength].flatMap { Int64($0) }
            switch response.status {
            case .partialContent:
                guard let range = ContentRange(response.headerFields[.contentRange] ?? ""), range.first == offset else {
                    throw CloudKitError(
                        code: .unexpectedResponse,
                        message: "The asset host sent other bytes than those from \(offset) on."
                    )
                }
                surplus = 0
                try take(range.size)
            default:
                // All of it, though we may have asked for the rest.
                surplus = offset
                try take(length)
            }
        }

        private mutating func take(_ found: Int64?) throws(CloudKitError) {
            guard let found else { return }
            if let size, size != found { throw .wrongSize(expected: size, found: found) }
            size = found
        }

        /// Prepares another attempt, or gives up.
        private mutating func recover(from error: CloudKitError) async throws(CloudKitError) {
            if error.code == .assetAddressExpired, chunks.lookUp != nil, !hasNewAddress {
                hasNewAddress = true
                asset?.downloadURL = nil
                return
            }
            let failures = failures ?? chunks.host.beginFailures()
            self.failures = failures
            do throws(CloudKitError) {
                try await chunks.host.waitForAnotherAttempt(after: error, failures)
            } catch {
                isFinished = true
                throw error
            }
        }
    }

    static let operation = "downloadAsset"
}

extension CloudKitError {
    fileprivate static func endedEarly(after count: Int64, of size: Int64) -> CloudKitError {
        var error = CloudKitError(
            code: .network,
            message: "The file ended after \(count) of \(size) bytes. The connection was lost; download it again."
        )
        error.operation = AssetChunks.operation
        return error
    }

    fileprivate static func wrongSize(expected: Int64, found: Int64?) -> CloudKitError {
        var error = CloudKitError(
            code: .unexpectedResponse,
            message: """
                The file should have \(expected) bytes, and the asset host sends \(found.map { "\($0)" } ?? "more"). Fetch the \
                record again: it may hold another file by now.
                """
        )
        error.operation = AssetChunks.operation
        return error
    }
}

/// What the header field `Content-Range` says: `bytes 100-199/1000`.
private struct ContentRange {
    var first: Int64
    var size: Int64?

    init?(_ text: String) {
        guard text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst("bytes ".count).split(whereSeparator: { $0 == "-" || $0 == "/" })
        guard parts.count == 3, let first = Int64(parts[0]) else { return nil }
        self.first = first
        size = Int64(parts[2])
    }
}
