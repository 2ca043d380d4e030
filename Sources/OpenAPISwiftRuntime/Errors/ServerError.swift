public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An error of handling a request in a generated server.
///
/// Every failure is thrown as a `ServerError`: of a middleware, reading the request, the handler, or writing the
/// response. Its ``underlyingError`` is the original error. The other properties hold what was produced before the
/// failure.
///
/// If the underlying error conforms to ``HTTPResponseConvertible``, its response is the response of this error, too.
/// Otherwise the response is a 500 without a body. ``ErrorHandlingMiddleware`` sends it.
public struct ServerError: Error, HTTPResponseConvertible {
    /// The operation that was called.
    public var operationID: String

    /// The request.
    public var request: HTTPRequest

    /// The body of the request; it may have been read already.
    public var requestBody: HTTPBody?

    /// The path parameters of the request.
    public var requestMetadata: ServerRequestMetadata

    /// The input of the operation, once it was read.
    public var operationInput: (any Sendable)?

    /// The output of the operation, once the handler returned.
    public var operationOutput: (any Sendable)?

    /// The step that failed, in words.
    public var causeDescription: String

    /// The original error.
    public var underlyingError: any Error

    /// The status of the response.
    public var httpStatus: HTTPResponse.Status

    /// The header fields of the response.
    public var httpHeaderFields: HTTPFields

    /// The body of the response.
    public var httpBody: HTTPBody?

    /// Creates an error with its response.
    /// - Parameters:
    ///   - operationID: The operation that was called.
    ///   - request: The request.
    ///   - requestBody: The body of the request.
    ///   - requestMetadata: The path parameters of the request.
    ///   - operationInput: The input of the operation, once it was read.
    ///   - operationOutput: The output of the operation, once the handler returned.
    ///   - causeDescription: The step that failed, in words.
    ///   - underlyingError: The original error.
    ///   - httpStatus: The status of the response.
    ///   - httpHeaderFields: The header fields of the response.
    ///   - httpBody: The body of the response.
    public init(
        operationID: String,
        request: HTTPRequest,
        requestBody: HTTPBody?,
        requestMetadata: ServerRequestMetadata,
        operationInput: (any Sendable)? = nil,
        operationOutput: (any Sendable)? = nil,
        causeDescription: String,
        underlyingError: any Error,
        httpStatus: HTTPResponse.Status,
        httpHeaderFields: HTTPFields,
        httpBody: HTTPBody?
    ) {
        self.operationID = operationID
        self.request = request
        self.requestBody = requestBody
        self.requestMetadata = requestMetadata
        self.operationInput = operationInput
        self.operationOutput = operationOutput
        self.causeDescription = causeDescription
        self.underlyingError = underlyingError
        self.httpStatus = httpStatus
        self.httpHeaderFields = httpHeaderFields
        self.httpBody = httpBody
    }

    /// Creates an error whose response is that of the underlying error, or a bare 500.
    /// - Parameters:
    ///   - operationID: The operation that was called.
    ///   - request: The request.
    ///   - requestBody: The body of the request.
    ///   - requestMetadata: The path parameters of the request.
    ///   - operationInput: The input of the operation, once it was read.
    ///   - operationOutput: The output of the operation, once the handler returned.
    ///   - causeDescription: The step that failed, in words.
    ///   - underlyingError: The original error.
    public init(
        operationID: String,
        request: HTTPRequest,
        requestBody: HTTPBody?,
        requestMetadata: ServerRequestMetadata,
        operationInput: (any Sendable)? = nil,
        operationOutput: (any Sendable)? = nil,
        causeDescription: String,
        underlyingError: any Error
    ) {
        let convertible = underlyingError as? any HTTPResponseConvertible
        self.init(
            operationID: operationID,
            request: request,
            requestBody: requestBody,
            requestMetadata: requestMetadata,
            operationInput: operationInput,
            operationOutput: operationOutput,
            causeDescription: causeDescription,
            underlyingError: underlyingError,
            httpStatus: convertible?.httpStatus ?? .internalServerError,
            httpHeaderFields: convertible?.httpHeaderFields ?? [:],
            httpBody: convertible?.httpBody
        )
    }
}

extension ServerError: CustomStringConvertible {
    /// The operation, the step, the error and the path of the request.
    ///
    /// The text contains neither header fields nor the query nor the input, because these can hold credentials.
    public var description: String {
        "Server error: operation \(operationID): \(causeDescription): \(underlyingError)"
            + " (\(request.method) \(request.pathWithoutQuery))"
    }
}

extension ServerError: LocalizedError {
    /// The operation, the step, the error and the path of the request.
    public var errorDescription: String? { description }
}
