import CloudKitWebServices
import HTTPTypes
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends a request again by the rules of ``RetryPolicy``. It is outside of authentication, so every attempt is signed anew.
///
/// Items of a batch, and writes of which nobody knows whether they were done, are the matter of ``BatchSender``, which knows
/// the items.
struct RetryMiddleware: ClientMiddleware {
    let retrier: Retrier

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let budget = RetryBudget.current ?? retrier.begin()
        while true {
            try await retrier.waitForBrake(within: budget, operation: operationID)
            // A transport may throw before it sends anything, and does not say so.
            if Task.isCancelled { throw CloudKitError.cancelled(operation: operationID) }
            budget.beginAttempt()
            do {
                return try await next(request, body, baseURL)
            } catch {
                var error = CloudKitError(error, operation: operationID)
                error.attempts = budget.attempts
                let delay = retrier.delay(
                    after: error,
                    within: budget,
                    repeatsUnknown: Operations.isRepeatable(operationID)
                )
                guard let delay, body?.iterationBehavior != .single else { throw error }
                try await retrier.wait(delay, after: error, attempt: budget.attempts)
            }
        }
    }
}

extension Operations {
    /// Whether the operation may be sent again when the client cannot know whether the service carried it out.
    static func isRepeatable(_ operationID: String) -> Bool { mistkitRepeatable[operationID] == true }

    /// Whether a request of the operation that was sent twice may change more than one that was sent once.
    static func isWrite(_ operationID: String) -> Bool { mistkitRepeatable[operationID] == false }
}
