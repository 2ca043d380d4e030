public import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The bytes of a file to upload, wherever they are.
///
/// ```swift
/// try await database.upload(.file(url), for: "photo", of: "User")
/// try await database.upload(.bytes(jpeg), for: "photo", of: "User")
/// try await database.upload(.chunks(stream, length: 1_000_000), for: "photo", of: "User")
/// ```
///
/// A file is read piece by piece while it is sent: however long it is, no more than a piece of it is in memory.
public struct AssetSource: Sendable {
    /// How many bytes there are, where that is known before they are read.
    let length: @Sendable () throws(CloudKitError) -> Int64?
    /// Whether the bytes can be read again when an attempt failed.
    let isReplayable: Bool
    /// The bytes from their beginning.
    let body: @Sendable () throws(CloudKitError) -> HTTPBody

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
    /// - Parameter url: Where the file is, as a file URL.
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

    /// Bytes that come over time. They can be had once, so an upload that fails after it began is not repeated.
    ///
    /// - Parameters:
    ///   - chunks: The bytes, in pieces.
    ///   - length: How many there are in all, where that is known; the asset host gets to know it then, and progress has an end.
    /// - Returns: The source; nothing is read yet.
    public static func chunks<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks,
        length: Int64? = nil
    ) -> AssetSource where Chunks.Element: Sequence & Sendable, Chunks.Element.Element == UInt8 {
        body(HTTPBody(chunks, length: length.map { .known($0) } ?? .unknown, iterationBehavior: .single))
    }

    /// The body of an HTTP message, such as one that is being received.
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

/// How far an upload or a download has come.
public struct TransferProgress: Hashable, Sendable {
    /// The bytes that went over the wire so far. When an upload has to begin again, so does this; a download goes on from where it was.
    public var completedBytes: Int64
    /// How many there are in all, where that is known.
    public var totalBytes: Int64?

    /// Makes a progress.
    public init(completedBytes: Int64, totalBytes: Int64? = nil) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }

    /// The part that is done, from 0 to 1; `nil` while the length is not known.
    public var fraction: Double? {
        guard let totalBytes else { return nil }
        return totalBytes > 0 ? min(1, Double(completedBytes) / Double(totalBytes)) : 1
    }
}

/// A function to which a call reports its progress: a ``TransferProgress`` on the task that transfers, once for each piece of at most 256 KiB; a
/// ``BatchProgress`` after each request.
public typealias ProgressHandler<Progress> = @Sendable (Progress) -> Void

// MARK: - Bytes on their way out

/// The chunks of a body in pieces of a size that tells something of progress, counted.
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
