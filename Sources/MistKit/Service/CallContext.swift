import CloudKitWebServices
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The context of one call of an operation: the service, the attempts so far, and what the caller allows.
///
/// It is passed on from the public function to the last stage of the ``RequestPipeline``. It has the size of three
/// words, so that the generated client can store it without an allocation.
package struct CallContext: Sendable {
    let connection: ServiceConnection
    /// The attempts so far. A call about many items counts the attempts of all requests for the same items.
    let budget: RetryBudget
    /// Whether a person may be asked to sign in.
    let allowsSignIn: Bool

    /// Writes request bodies in the fewest bytes: on one line, with keys in any order.
    private static let configuration = Configuration(jsonEncodingOptions: .withoutEscapingSlashes)

    /// Calls the generated client; any error becomes a ``CloudKitError``.
    func call<Output>(
        _ operation: String,
        _ body: (Client) async throws -> Output
    ) async throws(CloudKitError) -> Output {
        let client = Client(
            serverURL: connection.configuration.serverURL,
            configuration: Self.configuration,
            transport: PipelineTransport(context: self),
            middlewares: connection.configuration.middlewares
        )
        do {
            return try await body(client)
        } catch {
            var error = CloudKitError(error, operation: operation)
            if error.leavesOutcomeOpen, Operations.isWrite(operation) { error.mayHaveBeenDone = true }
            throw error
        }
    }

    /// Calls the generated client, and keeps the operation and the UUID of the request for the errors of single items
    /// and of a body that is read later.
    ///
    /// - Parameters:
    ///   - operation: The operation's name.
    ///   - body: Calls the client, and returns a part of the response with the request's UUID.
    /// - Returns: What `body` returns.
    /// - Throws: What the client throws, as a ``CloudKitError``.
    func reply<Body>(
        to operation: String,
        _ body: (Client) async throws -> (Body, requestUUID: String?)
    ) async throws(CloudKitError) -> Reply<Body> {
        let (body, requestUUID) = try await call(operation, body)
        return Reply(body, operation: operation, requestUUID: requestUUID)
    }
}

/// The transport that the generated client of one call sends through.
private struct PipelineTransport: ClientTransport {
    let context: CallContext

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await context.connection.pipeline.send(request, body, baseURL, operation: operationID, in: context)
    }
}
