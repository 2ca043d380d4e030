#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A body of server-sent events: the fields in the order id, event, retry, data, and a blank line, for each event.
///
/// Every line of the data becomes a `data` line, whether it ends with LF, CR or CR LF: the format cannot distinguish
/// these. An identifier or a name with a line break would add fields to the event, so it is refused with
/// ``EventStreamError``.
public typealias ServerSentEventsSerializationSequence<Upstream: AsyncSequence & Sendable> =
    EventSerializationSequence<Upstream, ServerSentEventFraming> where Upstream.Element == ServerSentEvent

/// An event as the lines of a body of server-sent events.
public enum ServerSentEventFraming: EventFraming {
    /// The lines of an event, with the blank line at its end.
    /// - Parameter event: The event.
    /// - Returns: Its lines.
    /// - Throws: ``EventStreamError`` for an identifier or a name with a line break in it.
    public static func bytes(of event: ServerSentEvent) throws(EventStreamError) -> ArraySlice<UInt8> {
        try event.text[...]
    }
}

extension ServerSentEvent {
    /// The lines of the event, with the blank line.
    fileprivate var text: [UInt8] {
        get throws(EventStreamError) {
            var text: [UInt8] = []
            if let id {
                guard !id.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
                    throw Self.invalidField("identifier", id, "must not contain line breaks or NUL")
                }
                Self.add("id: ", id.utf8, to: &text)
            }
            if let event {
                guard !event.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) else {
                    throw Self.invalidField("name", event, "must not contain line breaks")
                }
                Self.add("event: ", event.utf8, to: &text)
            }
            if let retry {
                guard retry >= 0 else {
                    throw Self.invalidField("waiting time", String(retry), "must not be negative")
                }
                Self.add("retry: ", String(retry).utf8, to: &text)
            }
            if let data {
                var rest = data.utf8[...]
                while let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
                    Self.add("data: ", rest[..<end], to: &text)
                    let isPair = rest[end...].starts(with: [0x0D, 0x0A])
                    rest = rest[end...].dropFirst(isPair ? 2 : 1)
                }
                Self.add("data: ", rest, to: &text)
            }
            text.append(UInt8(ascii: "\n"))
            return text
        }
    }

    private static func add(_ name: StaticString, _ value: some Collection<UInt8>, to text: inout [UInt8]) {
        name.withUTF8Buffer { text += $0 }
        text += value
        text.append(UInt8(ascii: "\n"))
    }

    private static func invalidField(_ field: String, _ value: String, _ rule: String) -> EventStreamError {
        EventStreamError(
            code: .invalidField,
            message: "The \(field) of an event \(rule), which \(value.debugDescription) does."
        )
    }
}

extension AsyncSequence where Self: Sendable, Element == ServerSentEvent {
    /// Writes a body of server-sent events.
    ///
    /// ```swift
    /// let body = HTTPBody(events.asEncodedServerSentEvents(), length: .unknown, iterationBehavior: .single)
    /// // event: greeting
    /// // data: Hello
    /// //
    /// ```
    /// - Returns: The chunks of the body, one per event.
    public func asEncodedServerSentEvents() -> ServerSentEventsSerializationSequence<Self> {
        ServerSentEventsSerializationSequence(upstream: self)
    }
}

extension AsyncSequence where Self: Sendable {
    /// Writes a body of server-sent events whose data is JSON.
    /// - Parameter encoder: The encoder of the data: by default with sorted keys and unescaped slashes.
    /// - Returns: The chunks of the body, one per event.
    public func asEncodedServerSentEventsWithJSONData<JSONDataType: Encodable>(
        encoder: JSONEncoder = .forEvents
    ) -> ServerSentEventsSerializationSequence<AsyncThrowingMapSequence<Self, ServerSentEvent>>
    where Element == ServerSentEventWithJSONData<JSONDataType> {
        ServerSentEventsSerializationSequence(
            upstream: map { event throws in
                ServerSentEvent(
                    id: event.id,
                    event: event.event,
                    data: try event.data.map { String(decoding: try encoder.encode($0), as: UTF8.self) },
                    retry: event.retry
                )
            }
        )
    }
}
