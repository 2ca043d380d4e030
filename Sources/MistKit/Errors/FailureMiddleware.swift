import HTTPTypes
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads the whole response, and turns every one that is no success into a ``CloudKitError``: the one place that does.
///
/// It stands next to the transport, so that authentication still sees the head of a failed response, and so that a
/// connection lost in the middle of a body is a failed attempt like any other.
struct FailureMiddleware: ClientMiddleware {
    /// 200 records of the largest size, and as much again.
    static let maximumBodySize = 400 << 20

    var maximumBodySize = Self.maximumBodySize

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let response: HTTPResponse
        var bytes: [UInt8] = []
        var requestUUID: String?
        do {
            let (head, body) = try await next(request, body, baseURL)
            response = head
            requestUUID = head.headerFields[.requestUUID]
            if let body {
                do {
                    bytes = try await [UInt8](collecting: body, upTo: maximumBodySize)
                } catch {
                    // The head of a failure tells enough, even when its body breaks off.
                    if response.status.kind == .successful || Task.isCancelled { throw error }
                }
            }
        } catch {
            var error = CloudKitError.transport(error, operation: operationID)
            // A response that broke off has said which request it answers.
            error.requestUUID = error.requestUUID ?? requestUUID
            throw error
        }
        if response.status.kind == .successful { return (response, HTTPBody(bytes)) }
        var error = CloudKitError(response, body: bytes, from: RequestTarget(request, baseURL: baseURL))
        error.operation = operationID
        throw FailedResponse(response: response, error: error)
    }
}

/// A response that is no success, on its way from ``FailureMiddleware`` to ``AuthenticationMiddleware``.
struct FailedResponse: Error {
    let response: HTTPResponse
    let error: CloudKitError
}
