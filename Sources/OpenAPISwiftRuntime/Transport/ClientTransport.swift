public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A transport that carries the requests of a generated client to a server.
///
/// A transport for tests can be a struct with one method:
///
/// ```swift
/// struct Fixed: ClientTransport {
///     func send(
///         _ request: HTTPRequest,
///         body: HTTPBody?,
///         baseURL: URL,
///         operationID: String
///     ) async throws -> (HTTPResponse, HTTPBody?) {
///         (HTTPResponse(status: .ok), #"{"message":"Hello"}"#)
///     }
/// }
/// let client = Client(serverURL: URL(string: "https://example.com/v1")!, transport: Fixed())
/// ```
///
/// To answer requests from handlers in the same process, see ``InProcessTransport``.
public protocol ClientTransport: Sendable {
    /// Sends a request and returns the response.
    ///
    /// Cancelling the calling task cancels the request.
    /// - Parameters:
    ///   - request: The request; its path begins with `/`, is percent-encoded and relative to the path of the base
    ///     URL.
    ///   - body: The body of the request, or nil if it has none.
    ///   - baseURL: The URL of the server.
    ///   - operationID: The operation of the document that the request belongs to.
    /// - Returns: The response, and its body if it has one.
    /// - Throws: Any error; the caller of the operation finds it as the `underlyingError` of a ``ClientError``.
    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?)
}

/// The protocol of types whose metatypes can be passed between tasks, under the name that code of other generators
/// uses.
public typealias _OpenAPIRuntimeSendableMetatype = SendableMetatype
