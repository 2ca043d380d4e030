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
                    repeatsUnknown: Self.repeatableOperations.contains(operationID)
                )
                guard let delay, body?.iterationBehavior != .single else { throw error }
                try await retrier.wait(delay, after: error, attempt: budget.attempts)
            }
        }
    }

    /// The operations that do no harm when they are done twice.
    ///
    /// All but the last four change nothing at the service. Of these, the first gives an address to upload to, the second a receipt for
    /// bytes that are there, the third a device token: none means anything before it is used. Registering a device token that is
    /// registered leaves it so.
    static let repeatableOperations: Set<String> = [
        "queryRecords", "lookupRecords", "fetchRecordChanges", "resolveShares", "fetchDatabaseChanges",
        "fetchZoneChanges", "listZones", "lookupZones", "fetchZoneListChanges", "fetchCaller", "fetchCurrentUser",
        "discoverUsers", "discoverAllUsers", "lookupUsersByEmail", "lookupUsersByID", "lookupContacts",
        "listSubscriptions", "lookupSubscriptions",
        "requestAssetUploads", "rereferenceAssets", "createDeviceToken", "registerDeviceToken",
    ]

    /// The operations that change what the service keeps: all others of the protocol.
    static let writes: Set<String> = ["modifyRecords", "modifyZones", "modifySubscriptions", "acceptShares"]
}
