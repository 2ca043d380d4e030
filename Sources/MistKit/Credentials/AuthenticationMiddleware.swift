import HTTPTypes
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks the token manager for credentials at every attempt, shows it every response, makes the attempt again where the
/// manager found better credentials, and takes the credentials out of every error that passes.
struct AuthenticationMiddleware: ClientMiddleware {
    /// How often one attempt is made again with other credentials.
    static let maximumRecoveries = 3

    let tokenManager: any TokenManager

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var body = body
        var recoveries = 0
        while true {
            var outgoing = OutgoingRequest(request, body: body, baseURL: baseURL, operationID: operationID)
            do {
                try await tokenManager.authenticate(&outgoing)
            } catch {
                throw outgoing.redactor.redact(CloudKitError(error, operation: operationID))
            }
            do {
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
                let failure = outgoing.redactor.redact(CloudKitError(cause, operation: operationID))
                guard
                    try await recover(from: failure, outgoing),
                    recoveries < Self.maximumRecoveries,
                    outgoing.body?.iterationBehavior != .single
                else { throw failure }
            }
            body = outgoing.body
            recoveries += 1
        }
    }

    private func recover(
        from failure: CloudKitError,
        _ request: OutgoingRequest
    ) async throws(CloudKitError) -> Bool {
        do {
            return try await tokenManager.recover(from: failure, request: request)
        } catch {
            var error = error
            error.operation = error.operation ?? failure.operation
            error.requestUUID = error.requestUUID ?? failure.requestUUID
            error.redirectURL = error.redirectURL ?? failure.redirectURL
            throw request.redactor.redact(error)
        }
    }
}
