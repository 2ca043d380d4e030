public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// MARK: - Reading

/// The lines of a body of JSON Lines, each without its LF.
///
/// The last line may lack its LF. A blank line is delivered as such, and makes a JSON decoder fail. Chunks of the
/// upstream may end anywhere. Memory is that of one chunk and one line: set a maximum for a sender you do not trust.
public typealias JSONLinesDeserializationSequence<Upstream: AsyncSequence & Sendable> =
    ByteSplittingSequence<Upstream, JSONLineFraming> where Upstream.Element == ArraySlice<UInt8>

/// The records of a JSON sequence (RFC 7464), each without the record separator (0x1E) before it.
///
/// A stream that does not begin with a record separator is refused; several in a row count as one. The LF that ends a
/// record is delivered with it: JSON decoders take it for white space. Only what follows tells that a record is over,
/// so a record is delivered when the next begins or the stream ends. Chunks of the upstream may end anywhere. Memory is
/// that of one chunk and one record: set a maximum for a sender you do not trust.
public typealias JSONSequenceDeserializationSequence<Upstream: AsyncSequence & Sendable> =
    ByteSplittingSequence<Upstream, JSONRecordFraming> where Upstream.Element == ArraySlice<UInt8>

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

// MARK: - Writing

/// A body of JSON Lines: each element of the upstream, one JSON value on a single line, and LF after it.
public typealias JSONLinesSerializationSequence<Upstream: AsyncSequence & Sendable> =
    EventSerializationSequence<Upstream, JSONLineFraming> where Upstream.Element == ArraySlice<UInt8>

/// A JSON value as a line.
public enum JSONLineFraming: EventFraming, ByteSplittingFormat {
    /// A line ends with LF.
    public static var splitting: ByteSplitting {
        ByteSplitting(terminator: .byte(UInt8(ascii: "\n")), pieceName: "line")
    }

    /// The value and LF.
    /// - Parameter value: JSON on a single line.
    /// - Returns: A line.
    public static func bytes(of value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = value
        line.append(UInt8(ascii: "\n"))
        return line
    }
}

/// A JSON sequence (RFC 7464): a record separator (0x1E), an element of the upstream, which is one JSON value, and LF,
/// for each.
public typealias JSONSequenceSerializationSequence<Upstream: AsyncSequence & Sendable> =
    EventSerializationSequence<Upstream, JSONRecordFraming> where Upstream.Element == ArraySlice<UInt8>

/// A JSON value as a record of a JSON sequence.
public enum JSONRecordFraming: EventFraming, ByteSplittingFormat {
    /// A record begins with a record separator.
    public static var splitting: ByteSplitting {
        ByteSplitting(terminator: .byte(recordSeparator), pieceName: "record", beginsWithTerminator: true)
    }

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
        encoder: JSONEncoder = .forEvents
    ) -> JSONLinesSerializationSequence<AsyncThrowingMapSequence<Self, ArraySlice<UInt8>>> {
        JSONLinesSerializationSequence(
            upstream: map { event throws in ArraySlice(try encoder.encode(event)) }
        )
    }

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
        encoder: JSONEncoder = .forEvents
    ) -> JSONSequenceSerializationSequence<AsyncThrowingMapSequence<Self, ArraySlice<UInt8>>> {
        JSONSequenceSerializationSequence(
            upstream: map { event throws in ArraySlice(try encoder.encode(event)) }
        )
    }
}

/// What begins a record.
private let recordSeparator: UInt8 = 0x1E
