import HTTPTypes
import Logging
import Synchronization

/// Decides about retries and waits before them: the policy with a clock, a source of random numbers and the throttle.
///
/// Everything that repeats a request asks this type: requests to the service, items of a batch, transfers of files and the wait for pushes.
final class Retrier: Sendable {
    let policy: RetryPolicy
    let clock: any Clock<Duration>
    /// A number from 0 up to 1.
    let random: @Sendable () -> Double
    let logger: Logger
    /// Holds requests back while the service throttles the container; `nil` for hosts that do not count requests of a
    /// container.
    let throttle: ContainerThrottle?

    init(
        policy: RetryPolicy,
        clock: any Clock<Duration>,
        random: @escaping @Sendable () -> Double,
        logger: Logger,
        throttle: ContainerThrottle?
    ) {
        self.policy = policy
        self.clock = clock
        self.random = random
        self.logger = logger
        self.throttle = throttle
    }

    /// Starts to count attempts.
    func begin(measuring measure: RetryBudget.Measure = .wholeCall) -> RetryBudget {
        RetryBudget(measure, clock: clock)
    }

    /// The same retrier for requests that are sent once and do not wait for the throttle.
    var withoutRepetition: Retrier {
        Retrier(policy: .never, clock: clock, random: random, logger: logger, throttle: nil)
    }

    /// The same rules for another host, which has no throttle.
    var withoutThrottle: Retrier {
        Retrier(policy: policy, clock: clock, random: random, logger: logger, throttle: nil)
    }

    /// Decides about another attempt, and makes other requests wait if the error throttles the container.
    ///
    /// - Parameters:
    ///   - error: The error of the last attempt.
    ///   - budget: The attempts so far.
    ///   - rule: The errors after which another attempt is allowed.
    /// - Returns: The wait before the attempt; `nil` when there should be no other attempt.
    func delay(after error: CloudKitError, within budget: RetryBudget, _ rule: RetryRule) -> Duration? {
        let wait = policy.wait(after: error, attempt: budget.attempts, random: random())
        if let throttle, policy.repeats, error.throttlesContainer { throttle.hold(for: error.retryAfter ?? wait) }
        return rule.repeats(error) && policy.allows(wait, afterAttempt: budget.attempts, at: budget.elapsed)
            ? wait : nil
    }

    /// Waits for another attempt.
    ///
    /// - Throws: The error, when there should be no other attempt; `cancelled` when the task is cancelled.
    func waitForAnotherAttempt(
        after error: CloudKitError,
        within budget: RetryBudget,
        _ rule: RetryRule
    ) async throws(CloudKitError) {
        guard let delay = delay(after: error, within: budget, rule) else { throw error }
        try await wait(delay, after: error, within: budget)
    }

    /// Waits for a time that ``delay(after:within:_:)`` returned.
    func wait(_ delay: Duration, after error: CloudKitError, within budget: RetryBudget) async throws(CloudKitError) {
        let operation = error.operation ?? "-"
        logger.debug(
            "CloudKit request failed and will be sent again",
            metadata: [
                "operation": "\(operation)",
                "attempt": "\(budget.attempts)",
                "code": "\(error.code)",
                "delay": "\(delay.inSeconds)",
                "request": "\(error.requestUUID ?? "-")",
            ]
        )
        budget.addWait(delay)
        try await pause(delay, operation: operation)
    }

    /// Waits while the service throttles the container.
    func waitForThrottle(within budget: RetryBudget, operation: String) async throws(CloudKitError) {
        guard let throttle, policy.repeats else { return }
        while let remaining = throttle.remaining {
            let delay = remaining + policy.baseDelay * min(max(random(), 0), 1)
            guard budget.elapsed + delay <= policy.deadline else {
                throw .heldBack(operation: operation, for: remaining, attempts: budget.attempts)
            }
            logger.debug(
                "CloudKit request waits, as the service throttles the container",
                metadata: ["operation": "\(operation)", "delay": "\(delay.inSeconds)"]
            )
            try await pause(delay, operation: operation)
        }
    }

    /// Waits, unless the task is cancelled.
    func pause(_ duration: Duration, operation: String) async throws(CloudKitError) {
        do {
            try await clock.sleep(for: duration)
        } catch {
            throw .cancelled(operation: operation)
        }
    }
}

/// Counts the attempts of one call, and measures their time. All stages that repeat requests share it: the pipeline
/// repeats a request, a batch its items.
final class RetryBudget: Sendable {
    /// Which time counts towards ``RetryPolicy/deadline``.
    enum Measure: Sendable {
        /// The time since the call began.
        case wholeCall
        /// The time since the first failure. A transfer that makes progress gets a new budget, so the transfer may take
        /// any time.
        case sinceFirstFailure
        /// Only the pauses. The service holds a request until there is a push; that may take long, and is not a
        /// failure.
        case pauses
    }

    private struct State {
        var attempts = 0
        var waits = Duration.zero
        var stopwatch: (@Sendable () -> Duration)?
    }

    private let measure: Measure
    private let clock: any Clock<Duration>
    private let state: Mutex<State>

    init(_ measure: Measure, clock: any Clock<Duration>) {
        self.measure = measure
        self.clock = clock
        state = Mutex(State(stopwatch: measure == .wholeCall ? clock.stopwatch() : nil))
    }

    /// The number of attempts so far.
    var attempts: Int { state.withLock { $0.attempts } }

    /// The time that counts towards the deadline.
    var elapsed: Duration {
        let (waits, stopwatch) = state.withLock { ($0.waits, $0.stopwatch) }
        return measure == .pauses ? waits : stopwatch?() ?? .zero
    }

    /// Counts an attempt that is about to be sent.
    func beginAttempt() {
        state.withLock { $0.attempts += 1 }
    }

    /// Counts an attempt that has failed, where attempts are not counted when they begin.
    func addFailure() {
        state.withLock {
            $0.attempts += 1
            if $0.stopwatch == nil, measure == .sinceFirstFailure { $0.stopwatch = clock.stopwatch() }
        }
    }

    fileprivate func addWait(_ duration: Duration) {
        state.withLock { $0.waits += duration }
    }
}

extension CloudKitError {
    /// The error of a request that was not sent, as the container is throttled for longer than the request may wait.
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
    /// Starts to measure; the closure returns the time since then.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: self.now) }
    }
}
