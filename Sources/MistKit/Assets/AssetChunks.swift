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
/// The file is fetched only as fast as you read it, so no more than a few chunks are in memory.
///
/// When the connection is lost, the download continues on another connection from the last byte. It tries again as
/// often as the service's ``RetryPolicy`` says, and counts from the beginning whenever new bytes arrive. An expired
/// address is replaced by a new one if the asset's record is known (``AssetField``). The number of bytes is checked at
/// the end. The checksum is not checked, because its algorithm is not known.
///
/// A second iteration fetches the file again. A cancelled task gets ``CloudKitError/Code-swift.struct/cancelled``.
public struct AssetChunks: AsyncSequence, Sendable {
    /// Some bytes, in order.
    public typealias Element = ArraySlice<UInt8>
    /// The errors of an iteration, which are all ``CloudKitError``s.
    public typealias Failure = any Error

    let host: AssetHostClient
    /// The asset as it is known at the beginning; `nil` when it has to be looked up.
    let asset: Asset?
    /// Looks up the asset; `nil` if its record is not known.
    let lookUp: (@Sendable () async throws -> Asset)?
    var progress: ProgressHandler<TransferProgress>?
    /// How far an earlier process has come.
    var start: PartialFile.State?

    /// Starts an iteration; the first request is sent with the first call of `next`.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(chunks: self)
    }

    /// Iterates over the bytes.
    public struct Iterator: AsyncIteratorProtocol {
        private let chunks: AssetChunks
        private var asset: Asset?
        private var body: HTTPBody.Iterator?
        /// The offset in the file after the bytes that were returned.
        private(set) var offset: Int64 = 0
        /// Whether the bytes before ``offset`` are of an earlier process.
        private var isResumed = false
        /// The number of bytes at the start of the present response that were returned before.
        private var surplus: Int64 = 0
        /// The number of all bytes, once it is known.
        private var size: Int64?
        /// The strong validator of the bytes; `nil` where the host gave none.
        private(set) var entityTag: String?
        private var failures: RetryBudget?
        private var hasNewAddress = false
        private var isFinished = false

        fileprivate init(chunks: AssetChunks) {
            self.chunks = chunks
            asset = chunks.asset
            size = chunks.asset?.size
            if let start = chunks.start {
                (offset, entityTag, isResumed) = (start.length, start.validator, true)
            }
        }

        /// The next bytes.
        ///
        /// - Parameter actor: The actor of the caller.
        /// - Returns: Some bytes; `nil` at the end.
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

        /// Reads the next chunk of the response; `nil` for a chunk with nothing new, and at the end of the file.
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
            isResumed = false
            if let size, offset > size { throw CloudKitError.wrongSize(expected: size, found: nil) }
            (failures, hasNewAddress) = (nil, false)
            chunks.progress?(TransferProgress(completedBytes: offset, totalBytes: size))
            return chunk
        }

        /// Requests the bytes from the present offset on.
        private mutating func open() async throws(CloudKitError) {
            let asset = try await currentAsset()
            guard let text = asset.downloadURL, let address = AssetHostClient.Address(text) else {
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

        /// Checks that a response has the requested bytes, and takes the length of the file from it.
        private mutating func check(_ response: HTTPResponse) throws(CloudKitError) {
            let length = response.headerFields[.contentLength].flatMap { Int64($0) }
            let tag = response.headerFields[.eTag]
            switch response.status {
            case .partialContent:
                guard let range = ContentRange(response.headerFields[.contentRange] ?? ""), range.first == offset else {
                    throw CloudKitError(
                        code: .unexpectedResponse,
                        message: "The asset host sent other bytes than those from \(offset) on."
                    )
                }
                guard !isResumed || tag == nil || tag == entityTag else {
                    throw CloudKitError(
                        code: .unexpectedResponse,
                        message: "The asset host sent the rest of another file. Download the file from its beginning."
                    )
                }
                surplus = 0
                try take(range.size)
            default:
                // The bytes of an earlier process may be those of another file.
                if isResumed { offset = 0 }
                // The response has the whole file, even if only the rest was requested.
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

/// The value of the header field `Content-Range`, such as `bytes 100-199/1000`.
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
