package import Hummingbird
package import Logging
import NIOCore
import OpenAPISwiftRuntime
import ServiceLifecycle
import Synchronization
package import UnixSignals

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Serves a responder for the length of a closure.
///
/// The server listens before the closure is called. When the closure ends, the server accepts no new connections, and
/// completes the requests in progress. After ``ServerLimits/shutdownTimeout``, or at once when the task is cancelled,
/// it closes the open connections and cancels the handlers that still run. The server has stopped when the function
/// returns.
/// - Parameters:
///   - responder: The responder that handles the requests.
///   - host: The address to listen on.
///   - port: The port to listen on; 0 for a free port.
///   - limits: How long clients may take, and how long the server takes to stop.
///   - logger: Where the server logs.
///   - date: Gives the header field `Date` of each response; the machine's time when `nil`.
///   - body: The closure to run while the server runs; its argument is the URL of the server.
/// - Returns: What the closure returns.
/// - Throws: What the closure throws, or the error of starting the server.
package func withRunningServer<Responder: HTTPResponder, Result>(
    of responder: Responder,
    host: String = "127.0.0.1",
    port: Int = 0,
    limits: ServerLimits = ServerLimits(),
    logger: Logger,
    date: (@Sendable () -> String)? = nil,
    _ body: (URL) async throws -> Result
) async throws -> Result where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let server = try await RunningServer(
        responder,
        host: host,
        port: port,
        limits: limits,
        logger: logger,
        date: date
    )
    let result: Swift.Result<Result, any Error>
    do {
        result = .success(try await body(server.url))
    } catch {
        result = .failure(error)
    }
    await server.stop()
    return try result.get()
}

/// Serves a router for the length of a closure, as ``withRunningServer(of:host:port:limits:logger:_:)`` does, and logs
/// errors only.
/// - Parameters:
///   - router: The routes to serve.
///   - host: The address to listen on.
///   - port: The port to listen on; 0 for a free port.
///   - limits: How long clients may take, and how long the server takes to stop.
///   - body: The closure to run while the server runs; its argument is the URL of the server.
/// - Returns: What the closure returns.
/// - Throws: What the closure throws, or the error of starting the server.
package func withRunningServer<Context: RequestContext, Result>(
    of router: Router<Context>,
    host: String = "127.0.0.1",
    port: Int = 0,
    limits: ServerLimits = ServerLimits(),
    _ body: (URL) async throws -> Result
) async throws -> Result where Context.Source == ApplicationRequestContextSource {
    var logger = Logger(label: "server")
    logger.logLevel = .error
    let responder = router.buildResponder()
    return try await withRunningServer(of: responder, host: host, port: port, limits: limits, logger: logger, body)
}

/// Serves a responder until the process gets a signal, or the task is cancelled.
///
/// After the first signal the server stops as at the end of ``withRunningServer(of:host:port:limits:logger:_:)``. After
/// a second signal, and when the task is cancelled, it closes all connections at once.
/// - Parameters:
///   - responder: The responder that handles the requests.
///   - host: The address to listen on.
///   - port: The port to listen on; 0 for a free port.
///   - limits: How long clients may take, and how long the server takes to stop.
///   - logger: Where the server logs.
///   - date: Gives the header field `Date` of each response; the machine's time when `nil`.
///   - signals: The signals that stop the server.
///   - onReady: Called once with the URL of the server, when it accepts connections.
/// - Throws: The error of starting the server, or the error that ended it without a signal.
package func runServer<Responder: HTTPResponder>(
    of responder: Responder,
    host: String,
    port: Int,
    limits: ServerLimits = ServerLimits(),
    logger: Logger,
    date: (@Sendable () -> String)? = nil,
    until signals: [UnixSignal] = [.sigint, .sigterm],
    onReady: @Sendable (URL) async -> Void
) async throws where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    let signals = await UnixSignalsSequence(trapping: signals)
    let server = try await RunningServer(
        responder,
        host: host,
        port: port,
        limits: limits,
        logger: logger,
        date: date
    )
    let stop = Task {
        var isFirst = true
        for await _ in signals {
            if isFirst {
                isFirst = false
                Task { await server.stop() }
            } else {
                await server.closeConnections()
            }
        }
    }
    defer { stop.cancel() }
    await onReady(server.url)
    try await server.waitUntilStopped()
}

/// A server that listens, and that can be stopped also while clients keep connections open.
private final class RunningServer: Sendable {

    let url: URL
    private let limits: ServerLimits
    private let listener: any Channel
    private let eventLoopGroup: any EventLoopGroup
    private let connections: OpenConnections
    private let services: ServiceGroup
    /// The task of the server. It is not a child of the task that started the server, so cancellation does not end it:
    /// `stop()` closes everything in the right order first.
    private let task: Task<Void, any Error>
    private let isStopping = Mutex(false)

    /// Starts a server, and returns when it listens.
    init<Responder: HTTPResponder>(
        _ responder: Responder,
        host: String,
        port: Int,
        limits: ServerLimits,
        logger: Logger,
        date: (@Sendable () -> String)?
    ) async throws where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let connections = OpenConnections()
        let (listeners, continuation) = AsyncStream<any Channel>.makeStream()
        let application = Application(
            responder: responder,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [
                        ConnectionTimeoutHandler(limits, connections, date: date, logger: logger)
                    ]
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: .maximum(limits.effectiveMaximumConnections, logger: logger)
            ),
            onServerRunning: { listener in
                try? await listener.eventLoop.submit {
                    let handler = AcceptPauseHandler(logger: logger)
                    try listener.pipeline.syncOperations.addHandler(handler, position: .first)
                }.get()
                continuation.yield(listener)
            },
            logger: logger
        )
        let services = ServiceGroup(services: [application], logger: logger)
        let task = Task {
            defer { continuation.finish() }
            try await services.run()
        }
        var iterator = listeners.makeAsyncIterator()
        guard let listener = await iterator.next(isolation: #isolation) else {
            // The server ended before it listened: its error says why.
            try await task.value
            throw CancellationError()
        }
        var components = URLComponents()
        components.scheme = "http"
        components.host = host
        components.port = listener.localAddress?.port ?? port
        self.limits = limits
        self.listener = listener
        self.connections = connections
        self.services = services
        self.task = task
        eventLoopGroup = application.eventLoopGroup
        guard let url = components.url else {
            task.cancel()
            throw InvalidServerURLError(text: host)
        }
        self.url = url
    }

    /// Accepts no more connections, completes the requests in progress, and closes the remaining connections after the
    /// timeout.
    func stop() async {
        isStopping.withLock { $0 = true }
        await services.triggerGracefulShutdown()
        let deadline = Task {
            try await Task.sleep(for: limits.shutdownTimeout.bounded)
            await closeConnections()
        }
        await withTaskCancellationHandler {
            // A server that stops by cancellation has not failed.
            _ = await task.result
        } onCancel: {
            Task { await closeConnections() }
        }
        deadline.cancel()
    }

    /// Closes the listening socket and all connections, and cancels the handlers that still run.
    ///
    /// The order matters. NIO traps when an open connection without a handler is released, and Hummingbird waits until
    /// its connections are closed, even if its task is cancelled.
    func closeConnections() async {
        isStopping.withLock { $0 = true }
        await services.triggerGracefulShutdown()
        try? await listener.closeFuture.get()
        for loop in eventLoopGroup.makeIterator() { try? await loop.submit {}.get() }
        try? await listener.eventLoop.submit {}.get()
        await connections.closeAll()
        task.cancel()
    }

    /// Waits until the server has stopped, and closes its connections when the task is cancelled.
    /// - Throws: The error that ended the server, unless it was stopped.
    func waitUntilStopped() async throws {
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            Task { await closeConnections() }
        }
        if !isStopping.withLock({ $0 }) { try result.get() }
    }
}
