/// A format whose bodies are divided into pieces, such as lines or records.
public protocol ByteSplittingFormat: SendableMetatype {
    /// How a body of the format is divided.
    static var splitting: ByteSplitting { get }
}

/// How a stream of bytes is divided into pieces.
///
/// Only the formats of this module can create a value.
public struct ByteSplitting: Sendable {
    /// What ends a piece.
    enum Terminator: Sendable {
        /// One byte.
        case byte(UInt8)

        /// LF, CR, or CR LF as one ending.
        case lineEnding
    }

    /// What ends a piece.
    var terminator: Terminator

    /// What a piece is called in errors.
    var pieceName: String

    /// Whether the stream must begin with the terminator, and empty pieces are skipped.
    var beginsWithTerminator = false

    /// Whether a byte order mark before the first piece is removed.
    var removesByteOrderMark = false
}

/// The pieces of a body, without their separators.
///
/// Use it under the name of a format: ``JSONLinesDeserializationSequence``, ``JSONSequenceDeserializationSequence``,
/// ``ServerSentEventsLineDeserializationSequence``.
///
/// Chunks of the upstream may end anywhere. The sequence holds one chunk and one piece in memory: set a maximum length
/// if you do not trust the sender.
public struct ByteSplittingSequence<Upstream: AsyncSequence & Sendable, Format: ByteSplittingFormat>: Sendable
where Upstream.Element == ArraySlice<UInt8> {
    private let upstream: Upstream

    private let maximumLength: Int

    /// Creates a sequence of the pieces of a stream of chunks.
    /// - Parameters:
    ///   - upstream: The chunks.
    ///   - maximumLength: The number of bytes above which a line or a record is refused with ``EventStreamError``.
    ///     There is no limit by default.
    public init(upstream: Upstream, maximumLength: Int = .max) {
        self.upstream = upstream
        self.maximumLength = maximumLength
    }
}

extension ByteSplittingSequence: AsyncSequence {
    /// A line or a record.
    public typealias Element = ArraySlice<UInt8>

    /// The errors of reading: whatever the upstream throws, or ``EventStreamError``.
    public typealias Failure = any Error

    /// Reads the pieces in order.
    public struct Iterator: AsyncIteratorProtocol {
        private var splitter: ByteSplitter

        private var upstream: Upstream.AsyncIterator

        fileprivate init(_ sequence: ByteSplittingSequence) {
            splitter = ByteSplitter(Format.splitting, maximumLength: sequence.maximumLength)
            upstream = sequence.upstream.makeAsyncIterator()
        }

        /// Returns the next line or record, or nil at the end of the stream.
        /// - Returns: A line or a record, or nil.
        /// - Throws: What the upstream throws, or ``EventStreamError``.
        public mutating func next() async throws -> ArraySlice<UInt8>? {
            try await next(isolation: #isolation)
        }

        /// Returns the next line or record, or nil at the end of the stream.
        /// - Parameter actor: The actor the caller runs on.
        /// - Returns: A line or a record, or nil.
        /// - Throws: What the upstream throws, or ``EventStreamError``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
            try await splitter.next(isolation: actor, from: &upstream)
        }
    }

    /// Starts to read the pieces.
    /// - Returns: An iterator at the first piece.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }
}
