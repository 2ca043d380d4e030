public import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The bytes of a file to upload: in a file, in memory, or from a stream.
///
/// ```swift
/// try await database.upload(.file(url), for: "photo", of: "User")
/// try await database.upload(.bytes(jpeg), for: "photo", of: "User")
/// try await database.upload(.chunks(stream, length: 1_000_000), for: "photo", of: "User")
/// ```
///
/// A file is read in pieces while it is sent, and only one piece is in memory at a time.
public struct AssetSource: Sendable {
    /// The number of bytes, if it is known before they are read.
    let length: @Sendable () throws(CloudKitError) -> Int64?
    /// Whether the bytes can be read again after a failed attempt.
    let isReplayable: Bool
    /// The bytes from their beginning.
    package let body: @Sendable () throws(CloudKitError) -> HTTPBody

    /// Bytes in memory.
    public static func bytes(_ bytes: [UInt8]) -> AssetSource {
        body(HTTPBody(bytes))
    }

    /// Bytes in memory.
    public static func data(_ data: Data) -> AssetSource {
        body(HTTPBody(data))
    }

    /// A file of this machine. It must not change while it is sent.
    ///
    /// - Parameter url: The file URL of the file.
    /// - Returns: The source; nothing is read yet.
    public static func file(_ url: URL) -> AssetSource {
        AssetSource(
            length: { () throws(CloudKitError) in try LocalFile.size(of: url) },
            isReplayable: true,
            body: { () throws(CloudKitError) in
                let size = try LocalFile.size(of: url)
                return HTTPBody(
                    LocalFile.Chunks(url: url, size: size),
                    length: .known(size),
                    iterationBehavior: .multiple
                )
            }
        )
    }

    /// Bytes that arrive over time. They can be read only once, so an upload that fails after it began is not retried.
    ///
    /// - Parameters:
    ///   - chunks: The bytes, in pieces.
    ///   - length: The number of all bytes; `nil` if it is not known. With a number, the asset host learns the length
    ///     in advance, and the progress has a total.
    /// - Returns: The source; nothing is read yet.
    public static func chunks<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks,
        length: Int64? = nil
    ) -> AssetSource where Chunks.Element: Sequence & Sendable, Chunks.Element.Element == UInt8 {
        body(HTTPBody(chunks, length: length.map { .known($0) } ?? .unknown, iterationBehavior: .single))
    }

    /// The body of an HTTP message, such as a request that your server is receiving.
    public static func body(_ body: HTTPBody) -> AssetSource {
        var length: Int64?
        if case .known(let count) = body.length { length = count }
        return AssetSource(
            length: { [length] in length },
            isReplayable: body.iterationBehavior == .multiple,
            body: { body }
        )
    }
}

/// The progress of an upload or a download.
public struct TransferProgress: Hashable, Sendable {
    /// The number of bytes transferred so far. It begins at 0 again when an upload has to begin again; a download
    /// continues from its last byte.
    public var completedBytes: Int64
    /// The number of all bytes; `nil` if it is not known.
    public var totalBytes: Int64?

    /// Makes a progress.
    public init(completedBytes: Int64, totalBytes: Int64? = nil) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }

    /// The transferred part, from 0 to 1; `nil` while the length is not known.
    public var fraction: Double? {
        guard let totalBytes else { return nil }
        return totalBytes > 0 ? min(1, Double(completedBytes) / Double(totalBytes)) : 1
    }
}

/// A function to which a call reports its progress.
///
/// A transfer calls it with a ``TransferProgress``, on its own task, once for each piece of at most 256 KiB. A batch
/// calls it with a ``BatchProgress`` after each request.
public typealias ProgressHandler<Progress> = @Sendable (Progress) -> Void

// MARK: - The bytes of an upload

/// Splits the chunks of a body into pieces that are small enough for a useful progress report, and counts their bytes.
struct CountedChunks: AsyncSequence, Sendable {
    let body: HTTPBody
    let count: @Sendable (Int) -> Void

    static let pieceSize = 256 * 1024

    struct AsyncIterator: AsyncIteratorProtocol {
        var chunks: HTTPBody.Iterator
        var rest: ArraySlice<UInt8> = []
        let count: @Sendable (Int) -> Void

        mutating func next() async throws -> ArraySlice<UInt8>? {
            while rest.isEmpty {
                do {
                    guard let chunk = try await chunks.next() else { return nil }
                    rest = chunk
                } catch let error as CloudKitError {
                    throw error
                } catch let error as CancellationError {
                    throw error
                } catch {
                    throw CloudKitError(
                        code: .localData,
                        message: "The bytes to upload could not be read to their end.",
                        cause: error
                    )
                }
            }
            try Task.checkCancellation()
            let piece = rest.prefix(CountedChunks.pieceSize)
            rest = rest.dropFirst(piece.count)
            count(piece.count)
            return piece
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(chunks: body.makeAsyncIterator(), count: count)
    }
}
