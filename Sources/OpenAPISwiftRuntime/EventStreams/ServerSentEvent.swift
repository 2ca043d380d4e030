/// An event of a stream of server-sent events.
///
/// ```swift
/// ServerSentEvent(id: "7", event: "greeting", data: "Hello\nworld")
/// // id: 7
/// // event: greeting
/// // data: Hello
/// // data: world
/// ```
public struct ServerSentEvent: Sendable, Hashable {
    /// The identifier, which a reader sends as `Last-Event-ID` when it reconnects.
    public var id: String?

    /// The name of the event. For a reader, an event without a name is a `message`.
    public var event: String?

    /// The data. Lines are separated by LF.
    public var data: String?

    /// The number of milliseconds that a reader waits before it connects again.
    public var retry: Int64?

    /// Creates an event.
    /// - Parameters:
    ///   - id: The identifier.
    ///   - event: The name.
    ///   - data: The data.
    ///   - retry: The number of milliseconds that a reader waits before it connects again.
    public init(id: String? = nil, event: String? = nil, data: String? = nil, retry: Int64? = nil) {
        self.id = id
        self.event = event
        self.data = data
        self.retry = retry
    }
}

/// An event of a stream of server-sent events whose data is one JSON value.
public struct ServerSentEventWithJSONData<JSONDataType: Sendable & Hashable>: Sendable, Hashable {
    /// The name of the event. For a reader, an event without a name is a `message`.
    public var event: String?

    /// The value of the data.
    public var data: JSONDataType?

    /// The identifier, which a reader sends as `Last-Event-ID` when it reconnects.
    public var id: String?

    /// The number of milliseconds that a reader waits before it connects again.
    public var retry: Int64?

    /// Creates an event.
    /// - Parameters:
    ///   - event: The name.
    ///   - data: The value of the data.
    ///   - id: The identifier.
    ///   - retry: The number of milliseconds that a reader waits before it connects again.
    public init(event: String? = nil, data: JSONDataType? = nil, id: String? = nil, retry: Int64? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}
