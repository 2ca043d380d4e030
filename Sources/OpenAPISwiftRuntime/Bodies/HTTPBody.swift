#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How often a sequence of chunks can be read.
public enum IterationBehavior: Sendable {
    /// Once: the chunks are gone after they have been read, as with a stream that arrives from the network.
    case single

    /// Any number of times, as with bytes in memory.
    case multiple
}

/// The body of an HTTP request or response: an asynchronous sequence of chunks of bytes.
///
/// A body is created from a string, an array, `Data`, or a sequence that produces its chunks over time. You read it
/// whole with one of the collecting initialisers, or chunk by chunk.
///
/// ```swift
/// let greeting: HTTPBody = "Hello"
/// let text = try await String(collecting: greeting, upTo: 1024)     // "Hello"
///
/// for try await chunk in response.body { file.append(chunk) }
/// ```
///
/// Bodies of bytes in memory are ``IterationBehavior/multiple``; bodies over a stream are ``IterationBehavior/single``:
/// a second iterator over one of those throws ``HTTPBodyError`` with the code `alreadyIterated` from its first
/// `next()`.
///
/// Two bodies are equal when they are the same object: to compare bytes, collect them.
///
/// ## Topics
///
/// ### Making a body of bytes in memory
/// - ``init()``
/// - ``init(_:)-([UInt8])``
/// - ``init(_:)-(Data)``
///
/// ### Reading a body whole
/// - ``Swift/ArraySlice/init(collecting:upTo:)``
/// - ``Swift/Array/init(collecting:upTo:)``
/// - ``Swift/String/init(collecting:upTo:)``
public final class HTTPBody: Sendable {
    /// The element of a body: some of its bytes, in order.
    public typealias ByteChunk = ArraySlice<UInt8>

    /// The number of bytes in a body, where it is known before the bytes are read.
    public enum Length: Sendable, Equatable {
        /// The number of bytes is not known; the transport ends the body in its own way, as with chunked transfer
        /// coding.
        case unknown

        /// The number of bytes; transports send it as `content-length`.
        case known(Int64)
    }

    /// The number of bytes, where it is known.
    public let length: Length

    /// Whether the body can be read more than once.
    public var iterationBehavior: IterationBehavior { source.iterationBehavior }

    private let source: BodySource<ByteChunk>

    private init(_ content: BodySource<ByteChunk>.Content, length: Length, iterationBehavior: IterationBehavior) {
        self.source = BodySource(content, iterationBehavior: iterationBehavior)
        self.length = length
    }

    private convenience init(bytes: ByteChunk, length: Length, iterationBehavior: IterationBehavior = .multiple) {
        self.init(.one(bytes.isEmpty ? nil : bytes), length: length, iterationBehavior: iterationBehavior)
    }

    /// The whole body if its bytes are in memory and may be read more than once, otherwise nil.
    ///
    /// This is the fast path: it neither suspends nor copies.
    package var bufferedBytes: ByteChunk? {
        guard case .one(let bytes) = source.content, iterationBehavior == .multiple else { return nil }
        return bytes ?? []
    }
}

// MARK: - Bodies of bytes in memory

extension HTTPBody {
    /// Creates an empty body.
    public convenience init() {
        self.init(bytes: [], length: .known(0))
    }

    /// Creates a body of one chunk.
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - length: The length that the body reports.
    public convenience init(_ bytes: ByteChunk, length: Length) {
        self.init(bytes: bytes, length: length)
    }

    /// Creates a body of one chunk.
    /// - Parameter bytes: The bytes.
    public convenience init(_ bytes: ByteChunk) {
        self.init(bytes, length: .known(Int64(bytes.count)))
    }

    /// Creates a body of the bytes of a sequence.
    /// - Parameters:
    ///   - bytes: The bytes; they are copied at once.
    ///   - length: The length that the body reports.
    ///   - iterationBehavior: Whether the body may be read more than once.
    public convenience init(
        _ bytes: some Sequence<UInt8> & Sendable,
        length: Length,
        iterationBehavior: IterationBehavior
    ) {
        self.init(bytes: ArraySlice(bytes), length: length, iterationBehavior: iterationBehavior)
    }

    /// Creates a body of the bytes of a collection.
    /// - Parameters:
    ///   - bytes: The bytes; they are copied at once.
    ///   - length: The length that the body reports.
    public convenience init(_ bytes: some Collection<UInt8> & Sendable, length: Length) {
        self.init(bytes: ArraySlice(bytes), length: length)
    }

    /// Creates a body of the bytes of a collection.
    /// - Parameter bytes: The bytes; they are copied at once.
    public convenience init(_ bytes: some Collection<UInt8> & Sendable) {
        self.init(ArraySlice(bytes))
    }

    /// Creates a body of an array of bytes, which is not copied.
    /// - Parameter bytes: The bytes.
    public convenience init(_ bytes: [UInt8]) {
        self.init(bytes[...])
    }

    /// Creates a body of the bytes of a data value.
    /// - Parameter data: The bytes.
    public convenience init(_ data: Data) {
        self.init(ArraySlice(data))
    }

    /// Creates a body of the UTF-8 of a string.
    /// - Parameters:
    ///   - string: The text.
    ///   - length: The length that the body reports, in UTF-8 bytes.
    public convenience init(_ string: some StringProtocol & Sendable, length: Length) {
        self.init(ArraySlice(string.utf8), length: length)
    }

    /// Creates a body of the UTF-8 of a string.
    /// - Parameter string: The text.
    public convenience init(_ string: some StringProtocol & Sendable) {
        self.init(ArraySlice(string.utf8))
    }
}

// MARK: - Bodies that arrive over time

extension HTTPBody {
    /// Creates a body of a stream of chunks that can fail.
    ///
    /// The body can be read once.
    /// - Parameters:
    ///   - stream: The chunks; an error of the sequence is thrown to the reader of the body.
    ///   - length: The number of bytes, if it is known.
    public convenience init(_ stream: AsyncThrowingStream<ByteChunk, any Error>, length: Length) {
        self.init(stream, length: length, iterationBehavior: .single)
    }

    /// Creates a body of a stream of chunks.
    ///
    /// The body can be read once.
    /// - Parameters:
    ///   - stream: The chunks.
    ///   - length: The number of bytes, if it is known.
    public convenience init(_ stream: AsyncStream<ByteChunk>, length: Length) {
        self.init(stream, length: length, iterationBehavior: .single)
    }

    /// Creates a body of a stream of strings that can fail.
    ///
    /// The body can be read once.
    /// - Parameters:
    ///   - stream: The text; an error of the stream is thrown to the reader of the body.
    ///   - length: The number of UTF-8 bytes, if it is known.
    public convenience init(
        _ stream: AsyncThrowingStream<some StringProtocol & Sendable, any Error>,
        length: Length
    ) {
        self.init(stream, length: length, iterationBehavior: .single)
    }

    /// Creates a body of a stream of strings.
    ///
    /// The body can be read once.
    /// - Parameters:
    ///   - stream: The text.
    ///   - length: The number of UTF-8 bytes, if it is known.
    public convenience init(_ stream: AsyncStream<some StringProtocol & Sendable>, length: Length) {
        self.init(stream, length: length, iterationBehavior: .single)
    }

    /// Creates a body of an asynchronous sequence of chunks.
    /// - Parameters:
    ///   - sequence: The chunks; each is passed on unchanged.
    ///   - length: The number of bytes, if it is known.
    ///   - iterationBehavior: Whether the sequence can be read more than once.
    public convenience init<Chunks: AsyncSequence & Sendable>(
        _ sequence: Chunks,
        length: Length,
        iterationBehavior: IterationBehavior
    ) where Chunks.Element == ByteChunk {
        self.init(
            .stream { Iterator(sequence) { $0 } },
            length: length,
            iterationBehavior: iterationBehavior
        )
    }

    /// Creates a body of an asynchronous sequence of sequences of bytes, such as arrays or data values.
    /// - Parameters:
    ///   - sequence: The bytes; each element becomes one chunk.
    ///   - length: The number of bytes, if it is known.
    ///   - iterationBehavior: Whether the sequence can be read more than once.
    public convenience init<Bytes: AsyncSequence & Sendable>(
        _ sequence: Bytes,
        length: Length,
        iterationBehavior: IterationBehavior
    ) where Bytes.Element: Sequence & Sendable, Bytes.Element.Element == UInt8 {
        self.init(
            .stream { Iterator(sequence) { ArraySlice($0) } },
            length: length,
            iterationBehavior: iterationBehavior
        )
    }

    /// Creates a body of an asynchronous sequence of strings.
    /// - Parameters:
    ///   - sequence: The text; the UTF-8 of each element becomes one chunk.
    ///   - length: The number of UTF-8 bytes, if it is known.
    ///   - iterationBehavior: Whether the sequence can be read more than once.
    public convenience init<Strings: AsyncSequence & Sendable>(
        _ sequence: Strings,
        length: Length,
        iterationBehavior: IterationBehavior
    ) where Strings.Element: StringProtocol & Sendable {
        self.init(
            .stream { Iterator(sequence) { ArraySlice($0.utf8) } },
            length: length,
            iterationBehavior: iterationBehavior
        )
    }
}

// MARK: - Reading

extension HTTPBody: AsyncSequence {
    /// Some bytes of the body.
    public typealias Element = ByteChunk

    /// The errors of reading: whatever the sequence behind the body throws, or ``HTTPBodyError``.
    public typealias Failure = any Error

    /// Reads the chunks of a body in order.
    public typealias Iterator = BodyIterator<ByteChunk>

    /// Starts to read the body.
    ///
    /// If the body can be read only once and was read before, the iterator's `next()` throws.
    /// - Returns: An iterator at the first chunk.
    public func makeAsyncIterator() -> Iterator {
        source.makeIterator()
    }
}

// MARK: - Identity and literals

extension HTTPBody: Hashable {
    /// Tells whether two bodies are the same object.
    public static func == (lhs: HTTPBody, rhs: HTTPBody) -> Bool {
        lhs === rhs
    }

    /// Hashes the identity of the body.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

extension HTTPBody: ExpressibleByStringLiteral {
    /// Creates a body of the UTF-8 of a literal.
    public convenience init(stringLiteral value: String) {
        self.init(value)
    }
}

extension HTTPBody: ExpressibleByArrayLiteral {
    /// Creates a body of the bytes of a literal.
    public convenience init(arrayLiteral elements: UInt8...) {
        self.init(elements)
    }
}
