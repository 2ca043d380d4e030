public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The lines of a stream of server-sent events, each without its ending, which is LF, CR or CR LF.
///
/// A byte order mark before the first line is removed. A last line without an ending is delivered. Chunks of the
/// upstream may end anywhere, also between CR and LF. The sequence holds one chunk and one line in memory: set a
/// maximum length if you do not trust the sender.
public typealias ServerSentEventsLineDeserializationSequence<Upstream: AsyncSequence & Sendable> =
    ByteSplittingSequence<Upstream, ServerSentEventLines> where Upstream.Element == ArraySlice<UInt8>

/// The lines that server-sent events consist of.
public enum ServerSentEventLines: ByteSplittingFormat {
    /// A line ends with LF, CR or CR LF.
    public static var splitting: ByteSplitting {
        ByteSplitting(terminator: .lineEnding, pieceName: "line", removesByteOrderMark: true)
    }
}

/// The events of the lines of a stream of server-sent events, by the rules of the HTML standard.
///
/// A blank line ends an event. An event that is incomplete at the end of the stream is dropped. Several `data` lines
/// are joined by LF. Comments, unknown fields, identifiers with NUL, and `retry` values that are not digits are
/// ignored. An event with nothing else is not delivered. Text that is not UTF-8 is repaired with U+FFFD.
public struct ServerSentEventsDeserializationSequence<Upstream: AsyncSequence & Sendable>: Sendable
where Upstream.Element == ArraySlice<UInt8> {
    private let upstream: Upstream

    private let predicate: @Sendable (ArraySlice<UInt8>) -> Bool

    /// Creates a sequence of the events of a stream of lines.
    /// - Parameters:
    ///   - upstream: The lines, as ``ServerSentEventsLineDeserializationSequence`` gives them.
    ///   - predicate: Called with the data of each event that has data, before the event is delivered. If it returns
    ///     false, the stream ends instead.
    public init(upstream: Upstream, while predicate: @escaping @Sendable (ArraySlice<UInt8>) -> Bool) {
        self.upstream = upstream
        self.predicate = predicate
    }
}

extension ServerSentEventsDeserializationSequence: AsyncSequence {
    /// An event.
    public typealias Element = ServerSentEvent

    /// The errors of reading: whatever the upstream throws.
    public typealias Failure = any Error

    /// Reads the events in order.
    public struct Iterator: AsyncIteratorProtocol {
        private var upstream: Upstream.AsyncIterator

        private let predicate: @Sendable (ArraySlice<UInt8>) -> Bool

        private var isFinished = false

        fileprivate init(_ sequence: ServerSentEventsDeserializationSequence) {
            upstream = sequence.upstream.makeAsyncIterator()
            predicate = sequence.predicate
        }

        /// Returns the next event, or nil at the end of the stream.
        /// - Returns: An event, or nil.
        /// - Throws: What the upstream throws.
        public mutating func next() async throws -> ServerSentEvent? {
            try await next(isolation: #isolation)
        }

        /// Returns the next event, or nil at the end of the stream.
        /// - Parameter actor: The actor the caller runs on.
        /// - Returns: An event, or nil.
        /// - Throws: What the upstream throws.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? {
            guard !isFinished else { return nil }
            var fields = EventFields()
            while let line = try await upstream.next(isolation: actor) {
                guard line.isEmpty else {
                    fields.add(line)
                    continue
                }
                if let data = fields.data, !predicate(data[...]) { break }
                if let event = fields.event { return event }
            }
            isFinished = true
            return nil
        }
    }

    /// Starts to read the events.
    /// - Returns: An iterator at the first event.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }
}

/// An event while its lines arrive.
private struct EventFields {
    private var id: String?
    private var name: String?
    private var retry: Int64?

    /// The bytes of the data lines.
    private(set) var data: [UInt8]?

    /// The event, or nil if no line had a known field.
    var event: ServerSentEvent? {
        if id == nil, name == nil, retry == nil, data == nil { return nil }
        return ServerSentEvent(
            id: id,
            event: name,
            data: data.map { String(decoding: $0, as: UTF8.self) },
            retry: retry
        )
    }

    mutating func add(_ line: ArraySlice<UInt8>) {
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        let field = line[..<colon]
        if field.elementsEqual("data".utf8) {
            if data == nil {
                data = Array(value)
            } else {
                data?.append(UInt8(ascii: "\n"))
                data?.append(contentsOf: value)
            }
        } else if field.elementsEqual("event".utf8) {
            name = String(decoding: value, as: UTF8.self)
        } else if field.elementsEqual("id".utf8) {
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        } else if field.elementsEqual("retry".utf8) {
            let isNumber = value.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            if isNumber, let number = Int64(String(decoding: value, as: UTF8.self)) { retry = number }
        }
    }
}

extension AsyncSequence where Self: Sendable, Element == ArraySlice<UInt8> {
    /// Reads a stream of server-sent events.
    ///
    /// An event is delivered as soon as the blank line at its end has arrived.
    ///
    /// ```swift
    /// let events = try response.ok.body.text_event_hyphen_stream.asDecodedServerSentEvents { data in
    ///     data != ArraySlice("[DONE]".utf8)
    /// }
    /// for try await event in events { print(event.data ?? "") }
    /// ```
    /// - Parameter predicate: Called with the data of each event that has data, before the event is delivered. If it
    ///   returns false, the stream ends instead.
    /// - Returns: The events.
    public func asDecodedServerSentEvents(
        while predicate: @escaping @Sendable (ArraySlice<UInt8>) -> Bool = { _ in true }
    ) -> ServerSentEventsDeserializationSequence<ServerSentEventsLineDeserializationSequence<Self>> {
        ServerSentEventsDeserializationSequence(
            upstream: ServerSentEventsLineDeserializationSequence(upstream: self),
            while: predicate
        )
    }

    /// Reads a stream of server-sent events whose data is JSON.
    ///
    /// ```swift
    /// let events = body.asDecodedServerSentEventsWithJSONData(of: Components.Schemas.Greeting.self) { data in
    ///     data != ArraySlice("[DONE]".utf8)
    /// }
    /// for try await event in events { print(event.data?.message ?? "") }
    /// ```
    ///
    /// Data that is not a value of the type ends the stream with the decoder's error.
    /// - Parameters:
    ///   - dataType: The type of the data.
    ///   - decoder: The decoder of the data.
    ///   - predicate: Called with the data of each event that has data, before the data is decoded. If it returns
    ///     false, the stream ends instead.
    /// - Returns: The events.
    public func asDecodedServerSentEventsWithJSONData<JSONDataType: Decodable & Sendable & Hashable>(
        of dataType: JSONDataType.Type = JSONDataType.self,
        decoder: JSONDecoder = JSONDecoder(),
        while predicate: @escaping @Sendable (ArraySlice<UInt8>) -> Bool = { _ in true }
    ) -> AsyncThrowingMapSequence<
        ServerSentEventsDeserializationSequence<ServerSentEventsLineDeserializationSequence<Self>>,
        ServerSentEventWithJSONData<JSONDataType>
    > {
        asDecodedServerSentEvents(while: predicate).map { event throws in
            ServerSentEventWithJSONData(
                event: event.event,
                data: try event.data.map { try decoder.decode(JSONDataType.self, from: Data($0.utf8)) },
                id: event.id,
                retry: event.retry
            )
        }
    }
}

extension AsyncSequence where Self: Sendable, Element == ArraySlice<UInt8> {
    /// Reads a stream of server-sent events whose data is `JSONReadable`, as generated types are. This is several times
    /// faster than a decoder.
    ///
    /// The compiler prefers this function if you pass no decoder and the type is `JSONReadable`. The values are the
    /// same; an error in the data is thrown as `JSONError`.
    /// - Parameters:
    ///   - dataType: The type of the data.
    ///   - predicate: Called with the data of each event that has data, before the data is read. If it returns false,
    ///     the stream ends instead.
    /// - Returns: The events.
    public func asDecodedServerSentEventsWithJSONData<JSONDataType: Decodable & JSONReadable & Sendable & Hashable>(
        of dataType: JSONDataType.Type = JSONDataType.self,
        while predicate: @escaping @Sendable (ArraySlice<UInt8>) -> Bool = { _ in true }
    ) -> DecodedEventSequence<
        ServerSentEventsDeserializationSequence<ServerSentEventsLineDeserializationSequence<Self>>,
        ServerSentEventWithJSONData<JSONDataType>
    > {
        DecodedEventSequence(asDecodedServerSentEvents(while: predicate)) { event in
            ServerSentEventWithJSONData(
                event: event.event,
                data: try event.data.map { try JSONReader.read(JSONDataType.self, from: $0) },
                id: event.id,
                retry: event.retry
            )
        }
    }
}
