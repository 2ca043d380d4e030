import CloudKitEmulatorAdministration
import StreamingJSON
import Synchronization

/// One event of the stream.
struct EmulatorEvent: Sendable {
    let bytes: [UInt8]

    init(_ name: String, _ value: some JSONWritable) {
        // The values are those of replies, which JSON always has a form for.
        let json = (try? JSONWriter.bytes(of: value)) ?? Array("{}".utf8)
        bytes = Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8)
    }

    private static let nothing = JSONValue.object([:])

    /// The first event of a stream.
    static let hello = EmulatorEvent("hello", nothing)
    /// A snapshot was restored, or contents were reset.
    static let restored = EmulatorEvent("restored", nothing)
    /// The list of users changed.
    static let users = EmulatorEvent("users", nothing)
    /// The list of snapshots changed.
    static let snapshots = EmulatorEvent("snapshots", nothing)

    static func request(_ request: Components.Schemas.AnsweredRequest) -> EmulatorEvent { .init("request", request) }
    static func change(_ change: Components.Schemas.ZoneChange) -> EmulatorEvent { .init("change", change) }
    static func faults(_ rules: Components.Schemas.FaultRuleStates) -> EmulatorEvent { .init("faults", rules) }
    static func schema(of container: String) -> EmulatorEvent {
        .init("schema", Components.Schemas.ContainerName(container: container))
    }
    static func lost(_ count: Int) -> EmulatorEvent { .init("lost", ["events": .integer(Int64(count))] as JSONValue) }
}

/// Passes events on to those who listen. An event without a listener is not made.
final class EventHub: Sendable {
    typealias Stream = AsyncStream<ArraySlice<UInt8>>

    private struct Listener {
        let continuation: Stream.Continuation
        /// The number of events that the listener was too slow for.
        var lost = 0

        /// - Returns: Whether there was room. Otherwise the oldest event is lost.
        func send(_ event: EmulatorEvent) -> Bool {
            if case .dropped = continuation.yield(event.bytes[...]) { false } else { true }
        }
    }

    private let listeners = Mutex<[Int: Listener]>([:])
    private let next = Atomic(0)
    private let count = Atomic(0)

    /// How many events wait for a listener that does not read. Then the oldest are given up.
    static let bufferSize = 1000

    /// The number of listeners.
    var listenerCount: Int { count.load(ordering: .relaxed) }

    /// Begins to listen.
    ///
    /// - Returns: The bytes of the events, and what ends the stream.
    func listen() -> (stream: Stream, continuation: Stream.Continuation) {
        let (stream, continuation) = Stream.makeStream(bufferingPolicy: .bufferingNewest(Self.bufferSize))
        let id = next.add(1, ordering: .relaxed).newValue
        listeners.withLock { $0[id] = Listener(continuation: continuation) }
        count.add(1, ordering: .relaxed)
        continuation.onTermination = { [weak self] _ in
            guard let self, self.listeners.withLock({ $0.removeValue(forKey: id) }) != nil else { return }
            self.count.subtract(1, ordering: .relaxed)
        }
        return (stream, continuation)
    }

    /// Sends an event to all who listen.
    ///
    /// - Parameter event: Makes the event. It is not called without a listener.
    func send(_ event: () -> EmulatorEvent) {
        guard listenerCount > 0 else { return }
        let event = event()
        listeners.withLock { listeners in
            for id in listeners.keys {
                guard var listener = listeners[id] else { continue }
                if listener.lost > 0, listener.send(.lost(listener.lost)) { listener.lost = 0 }
                if !listener.send(event) { listener.lost += 1 }
                listeners[id] = listener
            }
        }
    }
}
