import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import OpenAPISwiftRuntime
import ServiceLifecycle

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension CloudKitEmulatorServer {
    /// Listens on a socket for the length of a closure.
    ///
    /// When the closure ends, no new connection is taken, requests under way are answered, and the socket is closed before
    /// this method returns.
    ///
    /// ```swift
    /// try await server.withRunningServer { address in
    ///     let service = CloudKitService(…, serverURL: address)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - host: The name or number of the interface to listen on; the loopback interface unless told otherwise.
    ///   - port: The port to listen on; 0 takes one that is free.
    ///   - body: What to do meanwhile. It is given the address, such as `http://127.0.0.1:49152`.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws; what the system throws when it cannot listen there.
    public func withRunningServer<Result>(
        host: String = "127.0.0.1",
        port: Int = 0,
        _ body: (_ address: URL) async throws -> Result
    ) async throws -> Result {
        let (addresses, continuation) = AsyncThrowingStream<URL, any Error>.makeStream()
        let application = application(host: host, port: port) { continuation.yield($0) }
        let services = ServiceGroup(services: [application], logger: configuration.logger)
        return try await withThrowingTaskGroup { group in
            group.addTask {
                do {
                    try await services.run()
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                    throw error
                }
            }
            var iterator = addresses.makeAsyncIterator()
            guard let address = try await iterator.next() else { throw CancellationError() }
            do {
                let result = try await body(address)
                await services.triggerGracefulShutdown()
                try await group.waitForAll()
                return result
            } catch {
                await services.triggerGracefulShutdown()
                try? await group.waitForAll()
                throw error
            }
        }
    }

    /// Listens on a socket until the process gets SIGINT or SIGTERM, or the task is cancelled.
    ///
    /// Requests under way are answered first.
    ///
    /// - Parameters:
    ///   - host: The name or number of the interface to listen on; the loopback interface unless told otherwise.
    ///   - port: The port to listen on; 0 takes one that is free.
    ///   - onReady: Called once, when connections are taken, with the address, such as `http://127.0.0.1:8080`.
    /// - Throws: What the system throws when it cannot listen there.
    public func run(
        host: String = "127.0.0.1",
        port: Int = 8080,
        onReady: @escaping @Sendable (_ address: URL) async -> Void = { _ in }
    ) async throws {
        try await application(host: host, port: port, onReady: onReady).runService()
    }

    private func application(
        host: String,
        port: Int,
        onReady: @escaping @Sendable (URL) async -> Void
    ) -> some ApplicationProtocol {
        Application(
            responder: CallbackResponder<BasicRequestContext> { request, _ in try await respond(to: request) },
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { channel in
                var components = URLComponents()
                components.scheme = "http"
                components.host = host
                components.port = channel.localAddress?.port ?? port
                if let address = components.url { await onReady(address) }
            },
            logger: configuration.logger
        )
    }

    /// Answers a request of Hummingbird's. All requests come here, so that a path that is unknown is answered as in process.
    private func respond(to request: Request) async throws -> Response {
        let body = HTTPBody(
            request.body.map { ArraySlice($0.readableBytesView) },
            length: request.headers[.contentLength].flatMap { Int64($0) }.map { .known($0) } ?? .unknown,
            iterationBehavior: .single
        )
        let (response, responseBody) = try await respond(to: request.head, body: body)
        guard let bytes = responseBody?.bufferedBytes else {
            return Response(status: response.status, headers: response.headerFields)
        }
        return Response(
            status: response.status,
            headers: response.headerFields,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}
