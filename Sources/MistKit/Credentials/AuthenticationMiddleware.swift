import HTTPTypes
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks the token manager for credentials at every attempt, shows it every response, and takes the credentials out of
/// every error that passes.
struct AuthenticationMiddleware: ClientMiddleware {
    let tokenManager: any TokenManager

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var outgoing = OutgoingRequest(request, body: body, baseURL: baseURL, operationID: operationID)
        do {
            try await tokenManager.authenticate(&outgoing)
            let (response, responseBody) = try await Redactor.$current.withValue(outgoing.redactor) {
                [request = outgoing.request, body = outgoing.body] in
                try await next(request, body, baseURL)
            }
            await tokenManager.didReceive(response, to: outgoing)
            return (response, responseBody)
        } catch {
            // Between middlewares a generated client wraps what was thrown.
            let cause = (error as? ClientError)?.underlyingError ?? error
            if let failure = cause as? FailedResponse {
                await tokenManager.didReceive(failure.response, to: outgoing)
            }
            throw outgoing.redactor.redact(CloudKitError(cause, operation: operationID))
        }
    }
}
