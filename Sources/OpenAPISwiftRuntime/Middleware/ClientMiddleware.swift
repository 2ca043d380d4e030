public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Code around every request of a client: it can inspect and change requests and responses.
///
/// The first middleware in a client's list is the outermost: it sees a request first and its response last.
///
/// ```swift
/// struct BearerToken: ClientMiddleware {
///     var token: String
///
///     func intercept(
///         _ request: HTTPRequest,
///         body: HTTPBody?,
///         baseURL: URL,
///         operationID: String,
///         next: Next
///     ) async throws -> (HTTPResponse, HTTPBody?) {
///         var request = request
///         request.headerFields[.authorization] = "Bearer \(token)"
///         return try await next(request, body, baseURL)
///     }
/// }
/// // GET /pets
/// // authorization: Bearer …
/// ```
public protocol ClientMiddleware: Sendable {
    /// Passes a request on, to the next middleware or to the transport.
    ///
    /// The type is `@concurrent`, so that it means the same in every module: the default isolation of asynchronous
    /// function types depends on the module.
    typealias Next = @concurrent @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)

    /// Handles a request on its way out and its response on its way back.
    ///
    /// The middleware can call `next` once, several times, or not at all. A body whose `iterationBehavior` is `single`
    /// can only be sent once.
    /// - Parameters:
    ///   - request: The request so far.
    ///   - body: The body of the request, or nil if it has none.
    ///   - baseURL: The URL of the server so far.
    ///   - operationID: The operation of the document that the request belongs to.
    ///   - next: Passes the request on.
    /// - Returns: The response, and its body if it has one.
    /// - Throws: Any error; the caller of the operation finds it as the `underlyingError` of a ``ClientError``.
    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?)
}
