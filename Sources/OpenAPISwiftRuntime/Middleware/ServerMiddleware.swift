public import HTTPTypes

/// Code around every request to a server: it can inspect and change requests and responses.
///
/// The first middleware in a server's list is the outermost: it sees a request first and its response last.
///
/// ```swift
/// struct ServerName: ServerMiddleware {
///     func intercept(
///         _ request: HTTPRequest,
///         body: HTTPBody?,
///         metadata: ServerRequestMetadata,
///         operationID: String,
///         next: Next
///     ) async throws -> (HTTPResponse, HTTPBody?) {
///         var (response, body) = try await next(request, body, metadata)
///         response.headerFields[.server] = "pets"
///         return (response, body)
///     }
/// }
/// // HTTP/1.1 200 OK
/// // server: pets
/// ```
public protocol ServerMiddleware: Sendable {
    /// Passes a request on, to the next middleware or to the handler.
    ///
    /// The type is `@concurrent`, so that it means the same in every module: the default isolation of asynchronous
    /// function types depends on the module.
    typealias Next =
        @concurrent @Sendable (HTTPRequest, HTTPBody?, ServerRequestMetadata) async throws -> (HTTPResponse, HTTPBody?)

    /// Handles a request on its way in and its response on its way back.
    /// - Parameters:
    ///   - request: The request so far.
    ///   - body: The body of the request, or nil if it has none.
    ///   - metadata: The path parameters of the request.
    ///   - operationID: The operation of the document that the request belongs to.
    ///   - next: Passes the request on.
    /// - Returns: The response, and its body if it has one.
    /// - Throws: Any error; ``ErrorHandlingMiddleware``, if it is earlier in the list, turns it into a response.
    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?)
}
