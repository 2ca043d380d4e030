import Logging
import OpenAPISwiftRuntime
import Tracing

/// The way of a request: observation, retry, observation of the attempt, authentication, logging, failures, transport.
///
/// Retry is outside of authentication, so that every attempt is signed anew. Authentication comes before logging, so
/// that logging sees
/// what really goes out, and writes none of it that is secret. Failures are next to the transport; what passes them is
/// a success or a ``CloudKitError``.
struct Middlewares {
    var tokenManager: any TokenManager
    var retryPolicy: RetryPolicy
    var logger: Logger
    var clock: any Clock<Duration> = ContinuousClock()
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// The brake; one of its own when `nil`.
    var brake: ThrottleBrake?
    var maximumResponseSize = FailureMiddleware.maximumBodySize
    /// Where spans go; the process' tracer when `nil`.
    var tracer: (any Tracer)?

    var retrier: Retrier {
        Retrier(
            policy: retryPolicy,
            clock: clock,
            random: random,
            logger: logger,
            brake: brake ?? ThrottleBrake(clock: clock)
        )
    }

    /// Outermost first.
    var inOrder: [any ClientMiddleware] {
        [
            OperationObserver(clock: clock, tracer: tracer),
            RetryMiddleware(retrier: retrier),
            AttemptObserver(clock: clock, tracer: tracer),
            AuthenticationMiddleware(tokenManager: tokenManager),
            LoggingMiddleware(logger: logger, clock: clock),
            FailureMiddleware(maximumBodySize: maximumResponseSize),
        ]
    }
}
