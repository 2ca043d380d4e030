#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The form of an event in a body: its bytes, and the separator between events.
public protocol EventFraming: SendableMetatype {
    /// The type of the values in the body.
    associatedtype Event

    /// The bytes of an event.
    /// - Parameter event: The event.
    /// - Returns: Its part of the body.
    /// - Throws: ``EventStreamError`` for an event that the format cannot hold.
    static func bytes(of event: Event) throws(EventStreamError) -> ArraySlice<UInt8>
}

/// A body that is written event by event.
///
/// Use it under the name of a format: ``JSONLinesSerializationSequence``, ``JSONSequenceSerializationSequence``,
/// ``ServerSentEventsSerializationSequence``.
public struct EventSerializationSequence<Upstream: AsyncSequence & Sendable, Framing: EventFraming>: Sendable
where Upstream.Element == Framing.Event {
    private let upstream: Upstream

    /// Creates a body of a stream of events.
    /// - Parameter upstream: The events. For JSON Lines and JSON sequences, each is the bytes of one JSON value; for
    ///   JSON Lines, the value must be on a single line.
    public init(upstream: Upstream) {
        self.upstream = upstream
    }
}

extension EventSerializationSequence: AsyncSequence {
    /// A chunk of the body: one event.
    public typealias Element = ArraySlice<UInt8>

    /// The errors of reading: whatever the upstream throws, or ``EventStreamError``.
    public typealias Failure = any Error

    /// Writes the events in order.
    public struct Iterator: AsyncIteratorProtocol {
        private var upstream: Upstream.AsyncIterator

        fileprivate init(_ upstream: Upstream.AsyncIterator) {
            self.upstream = upstream
        }

        /// Returns the next event, or nil at the end of the stream.
        /// - Returns: The bytes of an event, or nil.
        /// - Throws: What the upstream throws, or ``EventStreamError``.
        public mutating func next() async throws -> ArraySlice<UInt8>? {
            try await next(isolation: #isolation)
        }

        /// Returns the next event, or nil at the end of the stream.
        /// - Parameter actor: The actor the caller runs on.
        /// - Returns: The bytes of an event, or nil.
        /// - Throws: What the upstream throws, or ``EventStreamError``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
            guard let event = try await upstream.next(isolation: actor) else { return nil }
            return try Framing.bytes(of: event)
        }
    }

    /// Starts to write the events.
    /// - Returns: An iterator at the first event.
    public func makeAsyncIterator() -> Iterator {
        Iterator(upstream.makeAsyncIterator())
    }
}

extension JSONEncoder {
    /// The default encoder of events: with sorted keys and unescaped slashes.
    @usableFromInline static var forEvents: JSONEncoder {
        let encoder = JSONEncoder()
        // As in other messages.
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(ISO8601DateTranscoder.iso8601.encode(date))
        }
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
