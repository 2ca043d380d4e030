package import Hummingbird
import Logging
import NIOCore

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Serves a router on this machine for the length of a closure.
///
/// The server listens before the closure is called, and has stopped when the function returns; connections that are still open then are
/// closed, and handlers that still run are cancelled.
/// - Parameters:
///   - router: The routes to serve.
///   - host: The address to listen on.
///   - port: The port to listen on; 0 for one that is free.
///   - body: What to do while the server runs; it is passed the URL of the server.
/// - Returns: What the closure returns.
/// - Throws: What the closure throws, or the error of starting the server.
package func withRunningServer<Context: RequestContext, Result>(
    of router: Router<Context>,
    host: String = "127.0.0.1",
    port: Int = 0,
    _ body: (URL) async throws -> Result
) async throws -> Result where Context.Source == ApplicationRequestContextSource {
    let (ports, continuation) = AsyncStream<Int>.makeStream()
    var logger = Logger(label: "server")
    logger.logLevel = .error
    let application = Application(
        router: router,
        configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
        onServerRunning: { channel in
            if let port = channel.localAddress?.port { continuation.yield(port) }
        },
        logger: logger
    )
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { continuation.finish() }
            try await application.run()
        }
        var iterator = ports.makeAsyncIterator()
        guard let port = await iterator.next(isolation: #isolation), let url = URL(string: "http://\(host):\(port)")
        else {
            try await group.next()
            throw CancellationError()
        }
        let result: Result
        do {
            result = try await body(url)
        } catch {
            group.cancelAll()
            throw error
        }
        group.cancelAll()
        // Stopping by cancellation is no failure.
        _ = await group.nextResult()
        return result
    }
}
