public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// MARK: - Reading

/// The lines of a body of JSON Lines, each without its LF.
///
/// The last line may lack its LF. A blank line is delivered as an empty element, for which a JSON decoder throws.
/// Chunks of the upstream may end anywhere. The sequence holds one chunk and one line in memory: set a maximum length
/// if you do not trust the sender.
public typealias JSONLinesDeserializationSequence<Upstream: AsyncSequence & Sendable> =
    ByteSplittingSequence<Upstream, JSONLineFraming> where Upstream.Element == ArraySlice<UInt8>

/// The records of a JSON sequence (RFC 7464), each without the record separator (0x1E) before it.
///
/// A stream that does not begin with a record separator is refused. Several separators in a row count as one. The LF
/// that ends a record is delivered with it; for JSON decoders it is white space. A record is complete, and is
/// delivered, when the next one begins or the stream ends. Chunks of the upstream may end anywhere. The sequence holds
/// one chunk and one record in memory: set a maximum length if you do not trust the sender.
public typealias JSONSequenceDeserializationSequence<Upstream: AsyncSequence & Sendable> =
    ByteSplittingSequence<Upstream, JSONRecordFraming> where Upstream.Element == ArraySlice<UInt8>

extension AsyncSequence where Self: Sendable, Element == ArraySlice<UInt8> {
    /// Reads a body of JSON Lines: one value per line.
    ///
    /// A value is delivered as soon as its line is complete. A line that is not a value of the type ends the stream
    /// with the decoder's error.
    ///
    /// ```swift
    /// let greetings = try response.ok.body.application_jsonl.asDecodedJSONLines(of: Components.Schemas.Greeting.self)
    /// for try await greeting in greetings { print(greeting.message) }
    /// // {"message":"Hello"}
    /// // {"message":"Hi"}
    /// ```
    /// - Parameters:
    ///   - eventType: The type of the values.
    ///   - decoder: The decoder of each line.
    /// - Returns: The values.
    public func asDecodedJSONLines<Event: Decodable & SendableMetatype>(
        of eventType: Event.Type = Event.self,
        decoder: JSONDecoder = JSONDecoder()
    ) -> AsyncThrowingMapSequence<JSONLinesDeserializationSequence<Self>, Event> {
        JSONLinesDeserializationSequence(upstream: self).map { line throws in
            try decoder.decode(Event.self, from: Data(line))
        }
    }

    /// Reads a body of JSON Lines into values that are `JSONReadable`, as generated types are. This is several times
    /// faster than a decoder.
    ///
    /// The compiler prefers this function if you pass no decoder and the type is `JSONReadable`. The values are the
    /// same; an error in a line is thrown as `JSONError`.
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
    /// A value is delivered when the next record begins or the stream ends. A record that is not a value of the type
    /// ends the stream with the decoder's error.
    ///
    /// ```swift
    /// let body = try response.ok.body.application_json_hyphen_seq
    /// let greetings = body.asDecodedJSONSequence(of: Components.Schemas.Greeting.self)
    /// for try await greeting in greetings { print(greeting.message) }
    /// // ␞{"message":"Hello"}
    /// // ␞{"message":"Hi"}
    /// ```
    /// - Parameters:
    ///   - eventType: The type of the values.
    ///   - decoder: The decoder of each record.
    /// - Returns: The values.
    public func asDecodedJSONSequence<Event: Decodable & SendableMetatype>(
        of eventType: Event.Type = Event.self,
        decoder: JSONDecoder = JSONDecoder()
    ) -> AsyncThrowingMapSequence<JSONSequenceDeserializationSequence<Self>, Event> {
        JSONSequenceDeserializationSequence(upstream: self).map { record throws in
            try decoder.decode(Event.self, from: Data(record))
        }
    }

    /// Reads a JSON sequence (RFC 7464) into values that are `JSONReadable`, as generated types are. This is several
    /// times faster than a decoder.
    ///
    /// The compiler prefers this function if you pass no decoder and the type is `JSONReadable`. The values are the
    /// same; an error in a record is thrown as `JSONError`.
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

/// A body of JSON Lines. Each element of the upstream must be one JSON value on a single line; LF follows it.
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

/// A JSON sequence (RFC 7464): for each element of the upstream a record separator (0x1E), the element, and LF. Each
/// element must be one JSON value.
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
    /// Writes a body of JSON Lines: one value per line.
    ///
    /// ```swift
    /// let body = HTTPBody(greetings.asEncodedJSONLines(), length: .unknown, iterationBehavior: .single)
    /// // {"message":"Hello"}
    /// // {"message":"Hi"}
    /// ```
    /// - Parameter encoder: The encoder of each value: by default with sorted keys and unescaped slashes. It must not
    ///   pretty-print, because a value has to be on a single line.
    /// - Returns: The chunks of the body, one per value.
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
    /// - Parameter encoder: The encoder of each value: by default with sorted keys and unescaped slashes.
    /// - Returns: The chunks of the body, one per value.
    public func asEncodedJSONSequence(
        encoder: JSONEncoder = .forEvents
    ) -> JSONSequenceSerializationSequence<AsyncThrowingMapSequence<Self, ArraySlice<UInt8>>> {
        JSONSequenceSerializationSequence(
            upstream: map { event throws in ArraySlice(try encoder.encode(event)) }
        )
    }
}

/// The byte before each record.
private let recordSeparator: UInt8 = 0x1E
