import CloudKitEmulator
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime

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
                let (response, body) = try await logged(head, at: routes.match(head)) { _ in refuse(head, hosts) }
                return Response(response, body: body, to: head, on: context.channel)
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
        return AdministrationHost(server: self, administration: administration, request: request)
            .reply(.foreignHost(failure))
    }

    /// Answers a request of Hummingbird. All requests come here, so that unknown paths get the same response as in
    /// process.
    private func respond(to request: Request, on channel: any Channel) async throws -> Response {
        do {
            let (response, body) = try await answer(request, on: channel)
            return Response(response, body: body, to: request.head, on: channel)
        } catch is TransportError {
            // A fault: there is to be no answer.
            try? await channel.close()
            throw CancellationError()
        }
    }

    /// Most rules answer at once. A query may look at many records, the web courier waits for a push, and a fault can
    /// make any request wait: these end when the client closes the connection.
    private func answer(_ request: Request, on channel: any Channel) async throws -> (HTTPResponse, HTTPBody?) {
        let head = request.head
        let body = HTTPBody(of: request)
        let route = routes.match(head)
        guard route.canTakeLong || route.isCourier || faults.hasRules else {
            return try await respond(to: head, body: body, at: route)
        }
        return try await Connection.of(channel).withCancellationOnClose {
            try await withTaskExecutorPreference(route.canTakeLong ? QueryThreads.shared : nil) {
                try await respond(to: head, body: body, at: route)
            }
        }
    }
}
