public import Hummingbird
public import NIOCore
import Synchronization

/// A request context that holds the connection of its request.
///
/// On a router with such a context, a ``HummingbirdTransport`` cancels the task of a handler, and the task of a
/// response body, as soon as the client closes the connection. With other contexts, such as `BasicRequestContext`, the
/// handler gets an error when it next reads from the request's body, and a response body ends at its next chunk.
///
/// ```swift
/// let router = Router(context: OperationRequestContext.self)
/// let transport = HummingbirdTransport(router)
/// ```
///
/// A context of your own conforms by keeping the channel of its source:
///
/// ```swift
/// struct AppContext: ConnectionRequestContext {
///     var coreContext: CoreRequestContextStorage
///     let channel: any Channel
///     var user: User?
///
///     init(source: Source) {
///         coreContext = .init(source: source)
///         channel = source.channel
///     }
/// }
/// ```
public protocol ConnectionRequestContext: RequestContext {

    /// The connection of the request, or its stream within a connection.
    var channel: any Channel { get }
}

/// A request context with a connection and nothing else.
public struct OperationRequestContext: ConnectionRequestContext {

    /// The data that Hummingbird keeps for each request.
    public var coreContext: CoreRequestContextStorage

    /// The connection of the request.
    public let channel: any Channel

    /// Creates the context of a request.
    /// - Parameter source: Hummingbird's source of the request, with its channel.
    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}

/// A connection that cancels tasks when its client closes it.
package final class Connection: Sendable {

    private struct State {
        var isClosed = false
        var lastID = 0
        var tasks: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// The connections by the identity of their channels. An entry is removed when its channel closes.
    private static let known = Mutex<[ObjectIdentifier: Connection]>([:])

    /// The connection of a channel.
    package static func of(_ channel: any Channel) async -> Connection {
        let id = ObjectIdentifier(channel)
        let (connection, isNew) = known.withLock { known in
            if let connection = known[id] { return (connection, false) }
            let connection = Connection()
            known[id] = connection
            return (connection, true)
        }
        if isNew {
            channel.closeFuture.whenComplete { _ in
                connection.close()
                _ = known.withLock { $0.removeValue(forKey: id) }
            }
            // If adding a handler fails, the channel is closed already, and the callback above has noticed it.
            try? await channel.pipeline.addHandler(InputCloseHandler(connection), position: .first).get()
            // A client can have closed the connection before the handler was added.
            if await channel.isInputClosed { connection.close() }
        }
        return connection
    }

    /// Runs an operation in a task that is cancelled with the current one, and when the client closes the connection.
    package func withCancellationOnClose<Value: Sendable>(
        _ operation: @escaping @Sendable @concurrent () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await operation() }
        let id: Int? = state.withLock { state in
            if state.isClosed { return nil }
            state.lastID += 1
            state.tasks[state.lastID] = { task.cancel() }
            return state.lastID
        }
        if id == nil { task.cancel() }
        defer {
            if let id { _ = state.withLock { $0.tasks.removeValue(forKey: id) } }
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    fileprivate func close() {
        let tasks = state.withLock { state in
            state.isClosed = true
            defer { state.tasks = [:] }
            return state.tasks.values
        }
        for cancel in tasks { cancel() }
    }
}

/// Notices that a client has closed its side of the connection. Hummingbird's servers keep such a connection open, but
/// a client that does this in the middle of a request is nearly always gone.
private final class InputCloseHandler: ChannelInboundHandler, Sendable {

    typealias InboundIn = NIOAny

    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { connection.close() }
        context.fireUserInboundEventTriggered(event)
    }
}
