public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An error of calling an operation through a generated client.
///
/// Every failure is thrown as a `ClientError`: of writing the request, a middleware, the transport, or reading the
/// response. Its ``underlyingError`` is the original error. The other properties hold what the call had produced before
/// it failed.
///
/// ```swift
/// do {
///     _ = try await client.listPets()
/// } catch let error as ClientError {
///     error.operationID          // "listPets"
///     error.response?.status     // nil if no response arrived
///     error.underlyingError      // the transport's own error
/// }
/// ```
public struct ClientError: Error {
    /// The operation that was called.
    public var operationID: String

    /// The input of the operation.
    public var operationInput: any Sendable

    /// The request, once it was made.
    public var request: HTTPRequest?

    /// The body of the request, once it was made.
    public var requestBody: HTTPBody?

    /// The URL of the server, once the request was made.
    public var baseURL: URL?

    /// The response, once it arrived.
    public var response: HTTPResponse?

    /// The body of the response, once it arrived; it may have been read already.
    public var responseBody: HTTPBody?

    /// The step that failed, in words.
    public var causeDescription: String

    /// The original error.
    public var underlyingError: any Error

    /// Creates an error.
    /// - Parameters:
    ///   - operationID: The operation that was called.
    ///   - operationInput: The input of the operation.
    ///   - request: The request, once it was made.
    ///   - requestBody: The body of the request, once it was made.
    ///   - baseURL: The URL of the server, once the request was made.
    ///   - response: The response, once it arrived.
    ///   - responseBody: The body of the response, once it arrived.
    ///   - causeDescription: The step that failed, in words.
    ///   - underlyingError: The original error.
    public init(
        operationID: String,
        operationInput: any Sendable,
        request: HTTPRequest? = nil,
        requestBody: HTTPBody? = nil,
        baseURL: URL? = nil,
        response: HTTPResponse? = nil,
        responseBody: HTTPBody? = nil,
        causeDescription: String,
        underlyingError: any Error
    ) {
        self.operationID = operationID
        self.operationInput = operationInput
        self.request = request
        self.requestBody = requestBody
        self.baseURL = baseURL
        self.response = response
        self.responseBody = responseBody
        self.causeDescription = causeDescription
        self.underlyingError = underlyingError
    }
}

extension ClientError: CustomStringConvertible {
    /// The operation, the step, the error, and where the request went.
    ///
    /// The text contains neither header fields nor the query nor the input, because these can hold credentials.
    public var description: String {
        var text = "Client error: operation \(operationID): \(causeDescription): \(underlyingError)"
        if let request {
            let base = baseURL?.description ?? ""
            text +=
                " (\(request.method) \(base.hasSuffix("/") ? base.dropLast() : base[...])\(request.pathWithoutQuery)"
            if let response { text += ", status \(response.status.code)" }
            text += ")"
        }
        return text
    }
}

extension ClientError: LocalizedError {
    /// The operation, the step and the error.
    public var errorDescription: String? { description }
}

extension HTTPRequest {
    /// The path up to the query, for texts that people and logs see.
    var pathWithoutQuery: Substring {
        guard let path else { return "" }
        return path[..<(path.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? path.endIndex)]
    }
}
