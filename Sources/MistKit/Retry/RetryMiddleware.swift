import HTTPTypes
import Logging
import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends a request again by the rules of ``RetryPolicy``. It is the outermost, so every attempt is signed anew.
struct RetryMiddleware: ClientMiddleware {
    let policy: RetryPolicy
    let logger: Logger
    let clock: any Clock<Duration>
    /// A number from 0 up to 1.
    let random: @Sendable () -> Double

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var attempt = 1
        var waited: Duration = .zero
        while true {
            do {
                return try await next(request, body, baseURL)
            } catch {
                let error = CloudKitError(error, operation: operationID)
                guard
                    body?.iterationBehavior != .single,
                    let delay = policy.delay(
                        afterAttempt: attempt,
                        error: error,
                        onlyReads: Self.readingOperations.contains(operationID),
                        waited: waited,
                        random: random()
                    )
                else { throw error.gaveUp(after: attempt) }
                logger.info(
                    "CloudKit request failed and will be sent again",
                    metadata: [
                        "operation": "\(operationID)",
                        "attempt": "\(attempt)",
                        "code": "\(error.code)",
                        "delay": "\(delay)",
                        "request": "\(error.requestUUID ?? "-")",
                    ]
                )
                do {
                    try await clock.sleep(for: delay)
                } catch {
                    throw CloudKitError.cancelled(operation: operationID)
                }
                waited += delay
                attempt += 1
            }
        }
    }

    /// The operations that change nothing on the server.
    static let readingOperations: Set<String> = [
        "queryRecords", "lookupRecords", "fetchRecordChanges", "resolveShares", "fetchDatabaseChanges",
        "fetchZoneChanges", "listZones", "lookupZones", "fetchZoneListChanges", "fetchCaller", "fetchCurrentUser",
        "discoverUsers", "discoverAllUsers", "lookupUsersByEmail", "lookupUsersByID", "lookupContacts",
        "listSubscriptions", "lookupSubscriptions",
    ]
}

extension CloudKitError {
    fileprivate func gaveUp(after attempts: Int) -> CloudKitError {
        guard attempts > 1 else { return self }
        var error = self
        error.message += " (\(attempts) attempts were made.)"
        return error
    }
}
