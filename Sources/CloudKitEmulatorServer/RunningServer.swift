import CloudKitEmulator
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import ServiceLifecycle

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension CloudKitEmulatorServer {
    /// Listens on a socket while a closure runs.
    ///
    /// When the closure ends, the server accepts no new connection and answers the requests under way. It waits at most
    /// ``Configuration/shutdownTimeout`` for clients that have sent only a part of a request or do not read their
    /// response; then it closes their connections. The socket is closed before this method returns. When the task is
    /// cancelled, connections are closed at once.
    ///
    /// ```swift
    /// try await server.withRunningServer { address in
    ///     let service = CloudKitService(…, configuration: .init(serverURL: address))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - host: The name or number of the interface to listen on; the loopback interface unless told otherwise.
    ///   - port: The port to listen on; 0 takes one that is free.
    ///   - body: The closure. It gets the address, such as `http://127.0.0.1:49152`.
    /// - Returns: The result of the closure.
    /// - Throws: The errors of the closure, and the system's error when the server cannot listen there.
    public func withRunningServer<Result>(
        host: String = "127.0.0.1",
        port: Int = 0,
        _ body: (_ address: URL) async throws -> Result
    ) async throws -> Result {
        try await OpenAPISwiftHummingbird.withRunningServer(
            of: responder(listeningOn: host),
            host: host,
            port: port,
            limits: configuration.limits,
            logger: configuration.logger,
            date: { [emulator] in emulator.present.headerField },
            body
        )
    }

    /// Listens on a socket until the process gets SIGINT or SIGTERM, or the task is cancelled.
    ///
    /// With the first signal the server stops as ``withRunningServer(host:port:_:)`` does: requests under way are
    /// answered until ``Configuration/shutdownTimeout``. With a second signal, and when the task is cancelled,
    /// connections are closed at once.
    ///
    /// - Parameters:
    ///   - host: The name or number of the interface to listen on; the loopback interface unless told otherwise.
    ///   - port: The port to listen on; 0 takes one that is free.
    ///   - onReady: Called once, when the server accepts connections, with the address, such as
    ///     `http://127.0.0.1:8080`.
    /// - Throws: The system's error when the server cannot listen there.
    public func run(
        host: String = "127.0.0.1",
        port: Int = 8080,
        onReady: @escaping @Sendable (_ address: URL) async -> Void = { _ in }
    ) async throws {
        try await runServer(
            of: responder(listeningOn: host),
            host: host,
            port: port,
            limits: configuration.limits,
            logger: configuration.logger,
            date: { [emulator] in emulator.present.headerField },
            onReady: onReady
        )
    }

    private func responder(listeningOn host: String) -> CallbackResponder<OperationRequestContext> {
        let hosts = ServedHosts(listeningOn: host, others: configuration.hostNames)
        return CallbackResponder { request, context in
            guard hosts.serve(request.head.authority) else {
                let head = request.head
                let (response, body) = try await logged(head, at: routes.match(head)) { refuse(head, hosts) }
                return Response(response, body)
            }
            return try await respond(to: request, on: context.channel)
        }
    }

    /// Refuses a request for a host that is not the server's.
    private func refuse(_ request: HTTPRequest, _ hosts: ServedHosts) -> (HTTPResponse, HTTPBody?) {
        let failure = hosts.failure(for: request.authority)
        guard let administration = configuration.administration, routes.match(request).isAdministration else {
            return ResponseBuilder(request, with: self).reply(failure)
        }
        return AdministrationHost(server: self, administration: administration, address: request.serverAddress)
            .reply(.foreignHost(failure))
    }

    /// Answers a request of Hummingbird. All requests come here, so that unknown paths get the same response as in
    /// process.
    private func respond(to request: Request, on channel: any Channel) async throws -> Response {
        let route = routes.match(request.head)
        if case .courier = route.destination { return try await respondToWaiting(request, at: route, on: channel) }
        let body = HTTPBody(
            request.body.map { ArraySlice($0.readableBytesView) },
            length: request.headers[.contentLength].flatMap { Int64($0) }.map { .known($0) } ?? .unknown,
            iterationBehavior: .single
        )
        // Most rules answer at once. A query may look at many records; it ends when the client closes the connection. A
        // fault can make any request wait. It then ends when the server stops, too.
        let canTakeLong = route.canTakeLong
        let connection = faults.hasRules || canTakeLong ? await Connection.of(channel) : nil
        let response: HTTPResponse
        let responseBody: HTTPBody?
        do {
            if let connection {
                let head = request.head
                (response, responseBody) = try await connection.withCancellationOnClose {
                    try await withTaskExecutorPreference(canTakeLong ? QueryThreads.shared : nil) {
                        guard faults.hasRules else { return try await respond(to: head, body: body, at: route) }
                        return try await cancelWhenGracefulShutdown {
                            try await respond(to: head, body: body, at: route)
                        }
                    }
                }
            } else {
                (response, responseBody) = try await respond(to: request.head, body: body, at: route)
            }
        } catch is TransportError {
            // A fault: there is to be no answer.
            try? await channel.close()
            throw CancellationError()
        }
        return Response(
            status: response.status,
            headers: response.headerFields,
            body: responseBody.map { ResponseBody($0, on: connection) } ?? ResponseBody()
        )
    }

    /// Answers a request to the web courier. Its wait also ends when the client closes the connection, and when the
    /// server stops.
    private func respondToWaiting(
        _ request: Request,
        at route: ServerRoutes.Match,
        on channel: any Channel
    ) async throws -> Response {
        let head = request.head
        do {
            let (response, body) = try await request.body.consumeWithCancellationOnInboundClose { _ in
                try await cancelWhenGracefulShutdown { try await respond(to: head, body: nil, at: route) }
            }
            // The request's stream was read to its end, so the connection can carry no further request.
            var closing = response
            closing.headerFields[.connection] = "close"
            return Response(closing, body)
        } catch is TransportError {
            // A fault: there is to be no answer.
            try? await channel.close()
            throw CancellationError()
        } catch is CancellationError where !Task.isCancelled {
            // The server stops, and the client is still connected: no push came while it waited.
            return Response(status: .ok, headers: [.connection: "close"])
        }
    }
}

extension Response {
    /// A response whose body is in memory.
    fileprivate init(_ response: HTTPResponse, _ body: HTTPBody?) {
        self.init(
            status: response.status,
            headers: response.headerFields,
            body: body?.bufferedBytes.map { ResponseBody(byteBuffer: ByteBuffer(bytes: $0)) } ?? ResponseBody()
        )
    }
}

extension ResponseBody {
    /// Makes a body from bytes in memory, or from bytes that are read as fast as the connection sends them. A body that
    /// fails closes the connection.
    fileprivate init(_ body: HTTPBody, on connection: Connection?) {
        if let bytes = body.bufferedBytes {
            self.init(byteBuffer: ByteBuffer(bytes: bytes))
            return
        }
        var length: Int?
        if case .known(let count) = body.length { length = Int(count) }
        self.init(contentLength: length) { writer in
            guard let connection else { return try await writer.write(body) }
            // Only the closure has the writer until it returns, and this waits for it.
            nonisolated(unsafe) let shared = writer
            try await connection.withCancellationOnClose {
                try await cancelWhenGracefulShutdown {
                    var writer = shared
                    try await writer.write(body)
                }
            }
        }
    }
}

extension ResponseBodyWriter {
    @concurrent fileprivate mutating func write(_ body: HTTPBody) async throws {
        for try await chunk in body { try await write(ByteBuffer(bytes: chunk)) }
        try await finish(nil)
    }
}
