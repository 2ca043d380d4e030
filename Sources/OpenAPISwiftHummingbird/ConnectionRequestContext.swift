public import Hummingbird
public import NIOCore
import Synchronization

/// A context that knows the connection on which its request came.
///
/// On a router with such a context, a ``HummingbirdTransport`` cancels the task of a handler, and that of a response body, as soon as
/// the client closes the connection. With other contexts, such as `BasicRequestContext`, a handler finds out when it reads on in the request,
/// and a response body at its next chunk.
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

    /// The connection, or the stream within a connection, on which the request came.
    var channel: any Channel { get }
}

/// The least that a context with a connection needs.
public struct OperationRequestContext: ConnectionRequestContext {

    /// What Hummingbird keeps of each request.
    public var coreContext: CoreRequestContextStorage

    /// The connection on which the request came.
    public let channel: any Channel

    /// Creates the context of a request.
    /// - Parameter source: What Hummingbird knows of the request.
    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}

/// A connection whose end can be waited for.
package final class Connection: Sendable {

    private struct State {
        var isClosed = false
        var lastID = 0
        var tasks: [Int: @Sendable () -> Void] = [:]
    }

    /// Where the connection reads and writes.
    let eventLoop: any EventLoop

    private let state = Mutex(State())

    private init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// By the identity of their channels. An entry leaves with its channel.
    private static let known = Mutex<[ObjectIdentifier: Connection]>([:])

    /// The connection of a channel.
    package static func of(_ channel: any Channel) async -> Connection {
        let id = ObjectIdentifier(channel)
        let (connection, isNew) = known.withLock { known in
            if let connection = known[id] { return (connection, false) }
            let connection = Connection(eventLoop: channel.eventLoop)
            known[id] = connection
            return (connection, true)
        }
        if isNew {
            channel.closeFuture.whenComplete { _ in
                connection.close()
                _ = known.withLock { $0.removeValue(forKey: id) }
            }
            // A channel that takes no handlers any more is closed, which is known by the line above.
            try? await channel.pipeline.addHandler(InputCloseHandler(connection), position: .first).get()
            // A client that went away with its request still on the way did so before the handler could see it.
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

/// Notices that a client will send no more. The servers of Hummingbird allow that without the end of the connection, but a client that
/// does so in the middle of a request has nearly always gone.
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
