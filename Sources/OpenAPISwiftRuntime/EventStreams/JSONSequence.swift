public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The records of a JSON sequence (RFC 7464), each without the record separator (0x1E) before it.
///
/// A stream that does not begin with a record separator is refused; several in a row count as one. The LF that ends a
/// record is delivered with it: JSON decoders take it for white space. Only what follows tells that a record is over,
/// so a record is delivered when the next begins or the stream ends. Chunks of the upstream may end anywhere. Memory is
/// that of one chunk and one record: set a maximum for a sender you do not trust.
public struct JSONSequenceDeserializationSequence<Upstream: AsyncSequence & Sendable>: Sendable
where Upstream.Element == ArraySlice<UInt8> {
    private let upstream: Upstream

    private let maximumRecordLength: Int

    /// Creates a sequence of the records of a stream of chunks.
    /// - Parameters:
    ///   - upstream: The chunks.
    ///   - maximumRecordLength: The number of bytes above which a record is refused with ``EventStreamError``; no bound
    ///     by default.
    public init(upstream: Upstream, maximumRecordLength: Int = .max) {
        self.upstream = upstream
        self.maximumRecordLength = maximumRecordLength
    }
}

extension JSONSequenceDeserializationSequence: AsyncSequence {
    /// A record.
    public typealias Element = ArraySlice<UInt8>

    /// The errors of reading: whatever the upstream throws, or ``EventStreamError``.
    public typealias Failure = any Error

    /// Reads the records in order.
    public struct Iterator: AsyncIteratorProtocol {
        private var splitter: ByteSplitter

        private var upstream: SeparatorIterator<Upstream.AsyncIterator>

        fileprivate init(_ sequence: JSONSequenceDeserializationSequence) {
            splitter = ByteSplitter(
                .byte(recordSeparator),
                name: "record",
                maximumLength: sequence.maximumRecordLength
            )
            upstream = SeparatorIterator(base: sequence.upstream.makeAsyncIterator())
        }

        /// Returns the next record, or nil at the end of the stream.
        /// - Returns: A record, or nil.
        /// - Throws: What the upstream throws, or ``EventStreamError``.
        public mutating func next() async throws -> ArraySlice<UInt8>? {
            try await next(isolation: #isolation)
        }

        /// Returns the next record, or nil at the end of the stream.
        /// - Parameter actor: The actor the caller runs on.
        /// - Returns: A record, or nil.
        /// - Throws: What the upstream throws, or ``EventStreamError``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
            while let record = try await splitter.next(isolation: actor, from: &upstream) {
                if !record.isEmpty { return record }
            }
            return nil
        }
    }

    /// Starts to read the records.
    /// - Returns: An iterator at the first record.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }
}

/// A JSON sequence (RFC 7464): a record separator (0x1E), an element of the upstream, which is one JSON value, and LF,
/// for each.
public typealias JSONSequenceSerializationSequence<Upstream: AsyncSequence & Sendable> =
    EventSerializationSequence<Upstream, JSONRecordFraming> where Upstream.Element == ArraySlice<UInt8>

/// A JSON value as a record of a JSON sequence.
public enum JSONRecordFraming: EventFraming {
    /// A record separator, the value and LF.
    /// - Parameter value: JSON.
    /// - Returns: A record.
    public static func bytes(of value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var record: [UInt8] = []
        record.reserveCapacity(value.count + 2)
        record.append(recordSeparator)
        record += value
        record.append(UInt8(ascii: "\n"))
        return record[...]
    }
}

extension AsyncSequence where Self: Sendable, Element == ArraySlice<UInt8> {
    /// Reads a body of a JSON sequence (RFC 7464): record separator, value, LF.
    ///
    /// A value is delivered when the next begins or the stream ends; a record that is not such a value ends the stream
    /// with the decoder's error.
    ///
    /// ```swift
    /// let greetings = try response.ok.body.application_json_hyphen_seq.asDecodedJSONSequence(of: Components.Schemas.Greeting.self)
    /// for try await greeting in greetings { print(greeting.message) }
    /// // ␞{"message":"Hello"}
    /// // ␞{"message":"Hi"}
    /// ```
    /// - Parameters:
    ///   - eventType: The type of the values.
    ///   - decoder: What reads a record.
    /// - Returns: The values.
    public func asDecodedJSONSequence<Event: Decodable & SendableMetatype>(
        of eventType: Event.Type = Event.self,
        decoder: JSONDecoder = JSONDecoder()
    ) -> AsyncThrowingMapSequence<JSONSequenceDeserializationSequence<Self>, Event> {
        JSONSequenceDeserializationSequence(upstream: self).map { record throws in
            try decoder.decode(Event.self, from: Data(record))
        }
    }
}

extension AsyncSequence where Self: Sendable, Element == ArraySlice<UInt8> {
    /// Reads a JSON sequence (RFC 7464) into values that read themselves, as generated types do: several times faster
    /// than through a decoder.
    ///
    /// Without a decoder the compiler prefers this function where it can. What it reads is the same; what is wrong with
    /// a record is thrown as `JSONError`.
    /// - Parameter eventType: The type of the values.
    /// - Returns: The values.
    public func asDecodedJSONSequence<Event: Decodable & JSONReadable & Sendable>(
        of eventType: Event.Type = Event.self
    ) -> DecodedEventSequence<JSONSequenceDeserializationSequence<Self>, Event> {
        DecodedEventSequence(JSONSequenceDeserializationSequence(upstream: self)) { record in
            try JSONReader.read(Event.self, from: record)
        }
    }
}

extension AsyncSequence where Self: Sendable, Element: Encodable & Sendable {
    /// Writes a body of a JSON sequence (RFC 7464): record separator, value, LF.
    ///
    /// ```swift
    /// let body = HTTPBody(greetings.asEncodedJSONSequence(), length: .unknown, iterationBehavior: .single)
    /// // ␞{"message":"Hello"}
    /// // ␞{"message":"Hi"}
    /// ```
    /// - Parameter encoder: What writes a value: by default with sorted keys and unescaped slashes.
    /// - Returns: The chunks of the body, one a value.
    public func asEncodedJSONSequence(
        encoder: JSONEncoder = {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return encoder
        }()
    ) -> JSONSequenceSerializationSequence<AsyncThrowingMapSequence<Self, ArraySlice<UInt8>>> {
        JSONSequenceSerializationSequence(
            upstream: map { event throws in ArraySlice(try encoder.encode(event)) }
        )
    }
}

/// What begins a record.
private let recordSeparator: UInt8 = 0x1E

/// Passes chunks on without the record separator that the first of them must begin with.
private struct SeparatorIterator<Base: AsyncIteratorProtocol>: AsyncIteratorProtocol
where Base.Element == ArraySlice<UInt8> {
    var base: Base

    private var hasBegun = false

    init(base: Base) {
        self.base = base
    }

    mutating func next() async throws -> ArraySlice<UInt8>? {
        try await next(isolation: #isolation)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
        guard let chunk = try await base.next(isolation: actor) else { return nil }
        guard !hasBegun, let first = chunk.first else { return chunk }
        guard first == recordSeparator else {
            throw EventStreamError(
                code: .missingRecordSeparator,
                message: "The stream begins with the byte \(first), not with a record separator (30): is it JSON Lines?"
            )
        }
        hasBegun = true
        return chunk.dropFirst()
    }
}
