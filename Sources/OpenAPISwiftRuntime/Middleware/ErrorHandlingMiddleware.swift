public import HTTPTypes

/// Turns errors into responses.
///
/// An error that conforms to ``HTTPResponseConvertible``, or a ``ServerError`` around one, decides the status, header
/// fields and body of its response; every other error becomes a 500 without a body. Without this middleware the error
/// reaches the transport.
///
/// ```swift
/// try handlers.registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
/// // GET /pets?limit=many
/// // HTTP/1.1 400 Bad Request
/// ```
///
/// It handles errors of the handler and of the middlewares after it in the list, not of those before it.
public struct ErrorHandlingMiddleware: ServerMiddleware {
    /// Creates the middleware.
    public init() {}

    /// Passes the request on and turns a thrown error into a response.
    public func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        do {
            return try await next(request, body, metadata)
        } catch let error as any HTTPResponseConvertible {
            return (HTTPResponse(status: error.httpStatus, headerFields: error.httpHeaderFields), error.httpBody)
        } catch {
            return (HTTPResponse(status: .internalServerError), nil)
        }
    }
}
