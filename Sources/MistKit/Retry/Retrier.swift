import HTTPTypes
import Logging
import Synchronization

/// Decides about repetitions and waits for them: the policy with a clock, chance and the brake.
struct Retrier: Sendable {
    let policy: RetryPolicy
    let clock: any Clock<Duration>
    /// A number from 0 up to 1.
    let random: @Sendable () -> Double
    let logger: Logger
    let brake: ThrottleBrake

    /// Starts to count the attempts of a request.
    func begin() -> RetryBudget { RetryBudget(elapsed: clock.stopwatch()) }

    /// Decides about another attempt.
    ///
    /// - Parameters:
    ///   - error: What the last attempt failed with.
    ///   - budget: The attempts so far.
    ///   - repeatsUnknown: Whether it may be sent again when nobody knows whether it was done.
    /// - Returns: The wait before the attempt; `nil` when there should be none.
    func delay(after error: CloudKitError, within budget: RetryBudget, repeatsUnknown: Bool) -> Duration? {
        let attempts = budget.attempts
        let jitter = policy.backoff(afterAttempt: attempts, random: random())
        let delay = (error.retryAfter ?? .zero) + jitter
        if policy.repeats, error.code == .throttled || (error.retryAfter != nil && error.slowsEverybodyDown) {
            brake.hold(for: error.retryAfter ?? delay)
        }
        let isRepeated =
            switch error.fate {
            case .notDone: true
            case .unknown: repeatsUnknown
            case .final: false
            }
        guard isRepeated, attempts < policy.maximumAttempts, budget.elapsed() + delay <= policy.deadline else {
            return nil
        }
        return delay
    }

    /// Waits for another attempt.
    func wait(_ delay: Duration, after error: CloudKitError, attempt: Int) async throws(CloudKitError) {
        let operation = error.operation ?? "-"
        logger.debug(
            "CloudKit request failed and will be sent again",
            metadata: [
                "operation": "\(operation)",
                "attempt": "\(attempt)",
                "code": "\(error.code)",
                "delay": "\(delay.inSeconds)",
                "request": "\(error.requestUUID ?? "-")",
            ]
        )
        try await sleep(delay, operation: operation)
    }

    /// Waits while the service throttles the container.
    func waitForBrake(within budget: RetryBudget, operation: String) async throws(CloudKitError) {
        guard policy.repeats else { return }
        while let remaining = brake.remaining {
            let delay = remaining + policy.baseDelay * min(max(random(), 0), 1)
            guard budget.elapsed() + delay <= policy.deadline else {
                throw .heldBack(operation: operation, for: remaining, attempts: budget.attempts)
            }
            logger.debug(
                "CloudKit request waits, as the service throttles the container",
                metadata: ["operation": "\(operation)", "delay": "\(delay.inSeconds)"]
            )
            try await sleep(delay, operation: operation)
        }
    }

    private func sleep(_ delay: Duration, operation: String) async throws(CloudKitError) {
        do {
            try await clock.sleep(for: delay)
        } catch {
            throw .cancelled(operation: operation)
        }
    }
}

/// The attempts of one request, counted over all that repeat it: the middleware the request, a batch its items.
final class RetryBudget: Sendable {
    /// What the attempts of the present task are counted with, where more than the middleware counts.
    @TaskLocal static var current: RetryBudget?

    /// The time since the beginning.
    let elapsed: @Sendable () -> Duration
    private let count = Mutex(0)

    init(elapsed: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
    }

    /// How many attempts there were.
    var attempts: Int { count.withLock { $0 } }

    func beginAttempt() {
        count.withLock { $0 += 1 }
    }
}

extension CloudKitError {
    /// What became of a request that failed.
    enum Fate {
        /// It was not done, and may be later.
        case notDone
        /// It was done or not.
        case unknown
        /// Sending it again would not help.
        case final
    }

    /// What became of the request.
    var fate: Fate {
        switch code {
        case .throttled, .tryAgainLater, .zoneBusy, .misdirectedRequest: .notDone
        case .network: isUnsent ? .notDone : .unknown
        // A gateway that answers 502 or 504 handed the request on; what became of it nobody knows.
        case .serviceUnavailable: retryAfter != nil && httpStatus == .serviceUnavailable ? .notDone : .unknown
        case .unexpectedResponse: (httpStatus?.code ?? 0) >= 500 || httpStatus == .requestTimeout ? .unknown : .final
        case .internalError: retryAfter == nil ? .unknown : .notDone
        // A service under load was seen to forget its endpoints for a moment.
        case .notFound where reason == "could not find handler for endpoint": .notDone
        default: code.serverErrorCode != nil && retryAfter != nil ? .notDone : .final
        }
    }

    /// Whether a write that was sent and failed so may have been done.
    var leavesOutcomeOpen: Bool {
        switch code {
        case .outcomeUnknown: true
        // The reply was a success.
        case .decoding, .responseTooLarge: true
        // The middleware may have thrown before or after the request.
        case .middleware: true
        case .unexpectedResponse where httpStatus == nil || httpStatus?.kind == .successful: true
        default: fate == .unknown
        }
    }

    /// Whether other requests to the container had better wait, too. A busy zone is a matter of its own.
    fileprivate var slowsEverybodyDown: Bool {
        code == .serviceUnavailable || (code == .tryAgainLater && httpStatus != nil)
    }

    /// A request that was not sent, as the brake is on for longer than it may wait.
    fileprivate static func heldBack(operation: String, for remaining: Duration, attempts: Int) -> CloudKitError {
        var error = CloudKitError(
            code: .throttled,
            message: """
                Not sent: the service throttles this container, and asks to wait longer than the deadline of the retry policy. \
                Send fewer requests, or bigger batches.
                """
        )
        error.operation = operation
        error.retryAfter = remaining
        error.attempts = attempts
        return error
    }
}

extension Duration {
    /// The duration in seconds with milliseconds, for people: `0.032 s`.
    var inSeconds: String {
        let milliseconds = (components.attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000
        let whole = components.seconds + milliseconds / 1000
        return "\(whole).\(String(1000 + milliseconds % 1000).dropFirst()) s"
    }
}

extension Clock where Duration == Swift.Duration {
    /// Starts to measure; the closure says how long ago that was.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: self.now) }
    }
}
