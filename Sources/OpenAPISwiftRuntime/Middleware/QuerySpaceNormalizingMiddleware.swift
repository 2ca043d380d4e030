public import HTTPTypes

/// Reads `+` in a query as a space, as HTML forms send it.
///
/// According to RFC 3986, a `+` in a query is a plus sign, and without this middleware handlers read it so.
///
/// ```swift
/// try handlers.registerHandlers(on: transport, middlewares: [QuerySpaceNormalizingMiddleware()])
/// // GET /find+all?name=Ann+Lee%2B#a+b   is handled as   /find+all?name=Ann%20Lee%2B#a+b
/// ```
public struct QuerySpaceNormalizingMiddleware: ServerMiddleware {
    /// Creates the middleware.
    public init() {}

    /// Passes the request on with every `+` between `?` and `#` replaced by `%20`.
    public func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var request = request
        if let path = request.path, let normalized = Self.normalizing(path) {
            request.path = normalized
        }
        return try await next(request, body, metadata)
    }

    /// Returns the path with its query rewritten, or nil if there is nothing to rewrite.
    private static func normalizing(_ path: String) -> String? {
        let utf8 = path.utf8
        let end = utf8.firstIndex(of: UInt8(ascii: "#")) ?? utf8.endIndex
        guard let start = utf8[..<end].firstIndex(of: UInt8(ascii: "?")) else { return nil }
        guard utf8[start..<end].contains(UInt8(ascii: "+")) else { return nil }
        var normalized = String(path[..<start])
        for character in path[start..<end] {
            if character == "+" { normalized += "%20" } else { normalized.append(character) }
        }
        normalized += path[end...]
        return normalized
    }
}
