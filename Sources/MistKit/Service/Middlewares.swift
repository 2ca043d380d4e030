import Logging
import OpenAPISwiftRuntime

/// The way of a request: retry, authentication, logging, failures, transport.
///
/// Retry is outermost, so that every attempt is signed anew. Authentication comes before logging, so that logging sees
/// what really goes out, and writes none of it that is secret. Failures are next to the transport; what passes them is
/// a success or a ``CloudKitError``.
struct Middlewares {
    var tokenManager: any TokenManager
    var retryPolicy: RetryPolicy
    var logger: Logger
    var clock: any Clock<Duration> = ContinuousClock()
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// Outermost first.
    var inOrder: [any ClientMiddleware] {
        [
            RetryMiddleware(policy: retryPolicy, logger: logger, clock: clock, random: random),
            AuthenticationMiddleware(tokenManager: tokenManager),
            LoggingMiddleware(logger: logger, clock: clock),
            FailureMiddleware(),
        ]
    }
}
