public import HTTPTypes
import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A transport that carries requests to handlers in the same process, without a socket.
///
/// Handlers register on it as a server transport, and clients send through it as a client transport. It is for tests,
/// and for programs that contain their own server.
///
/// ```swift
/// let transport = InProcessTransport()
/// try PetStore().registerHandlers(on: transport, serverURL: URL(string: "/v1")!)
///
/// let client = Client(serverURL: URL(string: "http://pets.test/v1")!, transport: transport)
/// let pet = try await client.getPet(path: .init(petId: "a/b")).ok.body.json
/// // GET /v1/pets/a%2Fb
/// ```
///
/// Requests are handled as over a network. Paths are joined with the path of the base URL, and path parameters are
/// percent-decoded. The response is 404 for an unknown path, 405 with `allow` for a known path with another method, and
/// 500 for an error that no middleware handled. Responses to HEAD and those with status 204 or 304 lose their body.
///
/// Bodies are passed on unchanged: a streamed body is read only as fast as the other side reads it. The handler runs in
/// the task of the caller, so cancelling the caller cancels the handler.
public final class InProcessTransport: Sendable {
    private let router = Mutex(PathRouter<Handler>())
    private let onUnhandledError: (@Sendable (any Error) -> Void)?

    /// Creates a transport with no handlers.
    /// - Parameter onUnhandledError: Called with each error of a handler that becomes a 500.
    public init(onUnhandledError: (@Sendable (any Error) -> Void)? = nil) {
        self.onUnhandledError = onUnhandledError
    }
}

extension InProcessTransport: ServerTransport {
    /// Registers the handler of an operation.
    /// - Parameters:
    ///   - handler: The function that handles the request.
    ///   - method: The method of the operation.
    ///   - path: The path of the operation; placeholders such as `{petId}` may stand anywhere in a segment.
    /// - Throws: ``RouteError`` if the path is not a template or has a handler for the method already.
    public func register(_ handler: @escaping Handler, method: HTTPRequest.Method, path: String) throws {
        try router.withLock { router in
            try router.add(handler, method: method, template: path)
        }
    }
}

extension InProcessTransport: ClientTransport {
    /// Returns the response of the handler that is registered for a request.
    /// - Parameters:
    ///   - request: The request; its path is relative to the path of the base URL.
    ///   - body: The body of the request, or nil if it has none.
    ///   - baseURL: The URL of the server; only its scheme, host and path matter.
    ///   - operationID: The operation of the document; it is ignored.
    /// - Returns: The response of the handler.
    /// - Throws: `CancellationError` if the task was cancelled.
    public func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try Task.checkCancellation()
        let request = request.addressed(to: baseURL)
        let router = router.withLock { $0 }
        switch router.match(request.method, request.path ?? "/") {
        case .notFound:
            return (HTTPResponse(status: .notFound), nil)
        case .methodNotAllowed(let allowed):
            let methods = allowed.map(\.rawValue).joined(separator: ", ")
            return (HTTPResponse(status: .methodNotAllowed, headerFields: [.allow: methods]), nil)
        case .found(let handler, _, let parameters):
            return try await answer(request, body: body, parameters: parameters, by: handler)
        }
    }

    private func answer(
        _ request: HTTPRequest,
        body: HTTPBody?,
        parameters: [String: Substring],
        by handler: Handler
    ) async throws -> (HTTPResponse, HTTPBody?) {
        do {
            let (response, body) = try await handler(request, body, ServerRequestMetadata(pathParameters: parameters))
            return (response, response.mayHaveBody(toRequest: request) ? body : nil)
        } catch {
            try Task.checkCancellation()
            onUnhandledError?(error)
            return (HTTPResponse(status: .internalServerError), nil)
        }
    }
}

extension HTTPRequest {
    /// The request as it arrives at the server of a URL: with the whole path, and with scheme and authority.
    package func addressed(to baseURL: URL) -> HTTPRequest {
        var request = self
        request.path = baseURL.requestTarget(appending: path)
        if scheme == nil { request.scheme = baseURL.scheme }
        if authority == nil { request.authority = baseURL.authority }
        return request
    }
}

extension URL {
    /// The path of this URL followed by the path of a request. The percent-encoding of both is kept.
    ///
    /// `https://example.com/v1/` and `/pets/a%2Fb?q=1` give `/v1/pets/a%2Fb?q=1`.
    package func requestTarget(appending path: String?) -> String {
        var target = self.path(percentEncoded: true)
        while target.utf8.last == UInt8(ascii: "/") { target.removeLast() }
        guard let path, !path.isEmpty else { return target.isEmpty ? "/" : target }
        if path.utf8.first != UInt8(ascii: "/"), path.utf8.first != UInt8(ascii: "?") || target.isEmpty {
            target += "/"
        }
        return target.isEmpty ? path : target + path
    }

    /// Host and port in the form that a request has.
    package var authority: String? {
        guard let host = host(percentEncoded: true) else { return nil }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }
}

extension HTTPResponse {
    /// Whether HTTP allows a body in this response: not after HEAD, nor with the statuses 1xx, 204 and 304.
    package func mayHaveBody(toRequest request: HTTPRequest) -> Bool {
        request.method != .head && status.kind != .informational && status != .noContent && status != .notModified
    }
}
