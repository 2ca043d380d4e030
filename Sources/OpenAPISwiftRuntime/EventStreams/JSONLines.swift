public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The lines of a body of JSON Lines, each without its LF.
///
/// The last line may lack its LF. A blank line is delivered as such, and makes a JSON decoder fail. Chunks of the
/// upstream may end anywhere. Memory is that of one chunk and one line: set a maximum for a sender you do not trust.
public struct JSONLinesDeserializationSequence<Upstream: AsyncSequence & Sendable>: Sendable
where Upstream.Element == ArraySlice<UInt8> {
    private let upstream: Upstream

    private let maximumLineLength: Int

    /// Creates a sequence of the lines of a stream of chunks.
    /// - Parameters:
    ///   - upstream: The chunks.
    ///   - maximumLineLength: The number of bytes above which a line is refused with ``EventStreamError``; no bound by
    ///     default.
    public init(upstream: Upstream, maximumLineLength: Int = .max) {
        self.upstream = upstream
        self.maximumLineLength = maximumLineLength
    }
}

extension JSONLinesDeserializationSequence: AsyncSequence {
    /// A line.
    public typealias Element = ArraySlice<UInt8>

    /// The errors of reading: whatever the upstream throws, or ``EventStreamError``.
    public typealias Failure = any Error

    /// Reads the lines in order.
    public struct Iterator: AsyncIteratorProtocol {
        private var splitter: ByteSplitter

        private var upstream: ErasedIterator<Upstream.AsyncIterator>

        fileprivate init(_ sequence: JSONLinesDeserializationSequence) {
            splitter = ByteSplitter(
                .byte(UInt8(ascii: "\n")),
                name: "line",
                maximumLength: sequence.maximumLineLength
            )
            upstream = ErasedIterator(base: sequence.upstream.makeAsyncIterator())
        }

        /// Returns the next line, or nil at the end of the stream.
        /// - Returns: A line, or nil.
        /// - Throws: What the upstream throws, or ``EventStreamError``.
        public mutating func next() async throws -> ArraySlice<UInt8>? {
            try await next(isolation: #isolation)
        }

        /// Returns the next line, or nil at the end of the stream.
        /// - Parameter actor: The actor the caller runs on.
        /// - Returns: A line, or nil.
        /// - Throws: What the upstream throws, or ``EventStreamError``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
            try await splitter.next(isolation: actor, from: &upstream)
        }
    }

    /// Starts to read the lines.
    /// - Returns: An iterator at the first line.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }
}

/// A body of JSON Lines: each element of the upstream, one JSON value on a single line, and LF after it.
public typealias JSONLinesSerializationSequence<Upstream: AsyncSequence & Sendable> =
    EventSerializationSequence<Upstream, JSONLineFraming> where Upstream.Element == ArraySlice<UInt8>

/// A JSON value as a line.
public enum JSONLineFraming: EventFraming {
    /// The value and LF.
    /// - Parameter value: JSON on a single line.
    /// - Returns: A line.
    public static func bytes(of value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = value
        line.append(UInt8(ascii: "\n"))
        return line
    }
}

extension AsyncSequence where Self: Sendable, Element == ArraySlice<UInt8> {
    /// Reads a body of JSON Lines: one value a line.
    ///
    /// A value is delivered as soon as its line is complete; a line that is not such a value ends the stream with the
    /// decoder's error.
    ///
    /// ```swift
    /// let greetings = try response.ok.body.application_jsonl.asDecodedJSONLines(of: Components.Schemas.Greeting.self)
    /// for try await greeting in greetings { print(greeting.message) }
    /// // {"message":"Hello"}
    /// // {"message":"Hi"}
    /// ```
    /// - Parameters:
    ///   - eventType: The type of the values.
    ///   - decoder: What reads a line.
    /// - Returns: The values.
    public func asDecodedJSONLines<Event: Decodable & SendableMetatype>(
        of eventType: Event.Type = Event.self,
        decoder: JSONDecoder = JSONDecoder()
    ) -> AsyncThrowingMapSequence<JSONLinesDeserializationSequence<Self>, Event> {
        JSONLinesDeserializationSequence(upstream: self).map { line throws in
            try decoder.decode(Event.self, from: Data(line))
        }
    }
}

extension AsyncSequence where Self: Sendable, Element == ArraySlice<UInt8> {
    /// Reads a body of JSON Lines into values that read themselves, as generated types do: several times faster than
    /// through a decoder.
    ///
    /// Without a decoder the compiler prefers this function where it can. What it reads is the same; what is wrong with
    /// a line is thrown as `JSONError`.
    /// - Parameter eventType: The type of the values.
    /// - Returns: The values.
    public func asDecodedJSONLines<Event: Decodable & JSONReadable & Sendable>(
        of eventType: Event.Type = Event.self
    ) -> DecodedEventSequence<JSONLinesDeserializationSequence<Self>, Event> {
        DecodedEventSequence(JSONLinesDeserializationSequence(upstream: self)) { line in
            try JSONReader.read(Event.self, from: line)
        }
    }
}

extension AsyncSequence where Self: Sendable, Element: Encodable & Sendable {
    /// Writes a body of JSON Lines: one value a line.
    ///
    /// ```swift
    /// let body = HTTPBody(greetings.asEncodedJSONLines(), length: .unknown, iterationBehavior: .single)
    /// // {"message":"Hello"}
    /// // {"message":"Hi"}
    /// ```
    /// - Parameter encoder: What writes a value: by default with sorted keys and unescaped slashes. It must
    ///   not be one that prints pretty, since a value must stay on its line.
    /// - Returns: The chunks of the body, one a value.
    public func asEncodedJSONLines(
        encoder: JSONEncoder = {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return encoder
        }()
    ) -> JSONLinesSerializationSequence<AsyncThrowingMapSequence<Self, ArraySlice<UInt8>>> {
        JSONLinesSerializationSequence(
            upstream: map { event throws in ArraySlice(try encoder.encode(event)) }
        )
    }
}
