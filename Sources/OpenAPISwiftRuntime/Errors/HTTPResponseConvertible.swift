public import HTTPTypes

/// An error that describes the response that a server should send for it.
///
/// Handlers and middlewares throw such errors; ``ErrorHandlingMiddleware`` sends the responses.
///
/// ```swift
/// struct Busy: Error, HTTPResponseConvertible {
///     var httpStatus: HTTPResponse.Status { .serviceUnavailable }
///     var httpHeaderFields: HTTPFields { [.retryAfter: "30"] }
/// }
/// // HTTP/1.1 503 Service Unavailable
/// // retry-after: 30
/// ```
public protocol HTTPResponseConvertible {
    /// The status of the response.
    var httpStatus: HTTPResponse.Status { get }

    /// The header fields of the response; none by default.
    var httpHeaderFields: HTTPFields { get }

    /// The body of the response; nil by default.
    var httpBody: HTTPBody? { get }
}

extension HTTPResponseConvertible {
    /// No header fields.
    public var httpHeaderFields: HTTPFields { [:] }

    /// No body.
    public var httpBody: HTTPBody? { nil }
}
