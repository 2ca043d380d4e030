package import Hummingbird
import Logging
import NIOCore
import OpenAPISwiftRuntime

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
    let (channels, continuation) = AsyncStream<any Channel>.makeStream()
    var logger = Logger(label: "server")
    logger.logLevel = .error
    let application = Application(
        router: router,
        configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
        onServerRunning: { continuation.yield($0) },
        logger: logger
    )
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { continuation.finish() }
            try await application.run()
        }
        var iterator = channels.makeAsyncIterator()
        guard let channel = await iterator.next(isolation: #isolation) else {
            // The server ended before it listened: its error tells why.
            try await group.next()
            throw CancellationError()
        }
        let result: Swift.Result<Result, any Error>
        do {
            guard let port = channel.localAddress?.port, let url = URL(string: "http://\(host):\(port)") else {
                throw InvalidServerURLError(text: host)
            }
            result = .success(try await body(url))
        } catch {
            result = .failure(error)
        }
        try? await stopListening(channel, on: application.eventLoopGroup)
        group.cancelAll()
        // Stopping by cancellation is no failure.
        _ = await group.nextResult()
        return try result.get()
    }
}

/// Closes the channel of a server when no connection is on its way from being accepted to being handled.
///
/// NIO traps when it drops such a connection, as it does when the server's task is cancelled in that moment.
private func stopListening(_ channel: any Channel, on group: any EventLoopGroup) async throws {
    try await channel.setOption(.autoRead, value: false).get()
    for loop in group.makeIterator() {
        try await loop.submit {}.get()
    }
    try await channel.eventLoop.submit {}.get()
    try await channel.close().get()
}
