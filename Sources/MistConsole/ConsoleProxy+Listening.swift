import CloudKitEmulatorAdministration
import CloudKitEmulatorServer
import HTTPTypes
import Hummingbird
package import Logging
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension ConsoleProxy {
    /// Listens on a socket until the process gets SIGINT or SIGTERM, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - host: The name or number of the interface to listen on.
    ///   - port: The port to listen on; 0 takes one that is free.
    ///   - hostNames: Further names under which the page is reached.
    ///   - logger: Where the server logs.
    ///   - onReady: Called once with the address, when connections are accepted.
    /// - Throws: The system's error when the server cannot listen there.
    package func run(
        host: String,
        port: Int,
        hostNames: [String] = [],
        logger: Logger,
        onReady: @escaping @Sendable (_ address: URL) async -> Void
    ) async throws {
        try await runServer(
            of: responder(listeningOn: host, hostNames),
            host: host,
            port: port,
            logger: logger,
            onReady: onReady
        )
    }

    /// Listens on a socket while a closure runs.
    ///
    /// - Parameters:
    ///   - host: The name or number of the interface to listen on.
    ///   - port: The port to listen on; 0 takes one that is free.
    ///   - logger: Where the server logs.
    ///   - body: The closure. It gets the address.
    /// - Returns: The result of the closure.
    /// - Throws: The errors of the closure, and the system's error when the server cannot listen there.
    package func withRunningServer<Result>(
        host: String = "127.0.0.1",
        port: Int = 0,
        logger: Logger,
        _ body: (_ address: URL) async throws -> Result
    ) async throws -> Result {
        try await OpenAPISwiftHummingbird.withRunningServer(
            of: responder(listeningOn: host, []),
            host: host,
            port: port,
            logger: logger,
            body
        )
    }

    private func responder(
        listeningOn host: String,
        _ hostNames: [String]
    ) -> CallbackResponder<OperationRequestContext> {
        let hosts = ServedHosts(listeningOn: host, others: hostNames)
        return CallbackResponder { request, context in
            let (head, channel) = (request.head, context.channel)
            guard hosts.serve(head.authority) else {
                let problem = ConsoleProblem(
                    .forbidden,
                    .foreignHost,
                    "The host '\(String((head.authority ?? "").prefix(255)))' is not this server's. --allow-host adds it."
                )
                let (response, body) = problem.response(to: head)
                return Response(response, body: body, to: head, on: channel)
            }
            // A request to the service ends when the browser leaves.
            return try await Connection.of(channel).withCancellationOnClose {
                let (response, body) = try await respond(to: head, body: HTTPBody(of: request))
                return Response(response, body: body, to: head, on: channel)
            }
        }
    }
}
