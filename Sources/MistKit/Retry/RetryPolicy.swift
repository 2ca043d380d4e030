import HTTPTypes
import OpenAPISwiftRuntime

/// When a failed request is sent again, and how long to wait before.
///
/// ```swift
/// var policy = RetryPolicy()
/// policy.maximumAttempts = 8
/// let service = CloudKitService(
///     containerIdentifier: "iCloud.com.example", tokenManager: manager, retryPolicy: policy)
/// ```
///
/// ## What is repeated
///
/// 1. **What the service says it did not do** is repeated whatever it was: ``CloudKitError/Code-swift.struct/throttled``,
///    ``CloudKitError/Code-swift.struct/tryAgainLater``, ``CloudKitError/Code-swift.struct/zoneBusy``, a request on the
///    wrong connection (``CloudKitError/Code-swift.struct/misdirectedRequest``), any failure of the service with a
///    `retryAfter`, and a 503 with a `Retry-After`. So is a request that was never sent, as no connection came about.
///    Nothing was stored, so nothing can be stored twice.
/// 2. **What only reads** is repeated as well after a lost connection, a proxy's 502, 503 or 504, and an internal error:
///    reading twice does no harm.
/// 3. **What writes** is not repeated after those. The reply is lost, the write perhaps not: a second `create` without
///    a name would make a second record, a second `update` would meet its own first as a conflict, and a second
///    `forceUpdate` could overwrite what somebody wrote in between. The call fails, and the caller, who knows the
///    data, fetches and decides.
/// 4. **Anything else** would fail again: a bad request, a conflict, a refused credential.
///
/// ## How long it waits
///
/// As long as the service asks. Where it does not say, the n-th wait is a random time between nothing and
/// ``baseDelay`` · 2ⁿ⁻¹, at most ``maximumDelay``: spread over the whole range, so that many clients that failed together
/// do not come back together.
///
/// ## Topics
///
/// ### Policies
/// - ``init(maximumAttempts:baseDelay:maximumDelay:maximumTotalDelay:)``
/// - ``never``
///
/// ### Limits
/// - ``maximumAttempts``
/// - ``baseDelay``
/// - ``maximumDelay``
/// - ``maximumTotalDelay``
public struct RetryPolicy: Hashable, Sendable {
    /// How often a request is sent at most, the first time included.
    public var maximumAttempts: Int

    /// The longest first wait.
    public var baseDelay: Duration

    /// The longest wait, where the service does not ask for another.
    public var maximumDelay: Duration

    /// How long all waits of one request may be together. A service that asks for more gets no further attempt: the
    /// error says how long to wait, and the caller decides.
    public var maximumTotalDelay: Duration

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - maximumAttempts: How often a request is sent at most; 1 and less mean once.
    ///   - baseDelay: The longest first wait.
    ///   - maximumDelay: The longest wait.
    ///   - maximumTotalDelay: The longest sum of waits.
    public init(
        maximumAttempts: Int = 5,
        baseDelay: Duration = .milliseconds(500),
        maximumDelay: Duration = .seconds(20),
        maximumTotalDelay: Duration = .seconds(60)
    ) {
        self.maximumAttempts = maximumAttempts
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
        self.maximumTotalDelay = maximumTotalDelay
    }

    /// Every request is sent once.
    public static let never = RetryPolicy(maximumAttempts: 1)

    /// Decides about another attempt.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt that failed, from 1.
    ///   - error: Its error.
    ///   - onlyReads: Whether the operation changes nothing.
    ///   - waited: The sum of the waits before it.
    ///   - random: A number from 0 up to 1.
    /// - Returns: The wait before the attempt; `nil` when there should be none.
    func delay(
        afterAttempt attempt: Int,
        error: CloudKitError,
        onlyReads: Bool,
        waited: Duration,
        random: Double
    ) -> Duration? {
        guard attempt < maximumAttempts, Self.isRepeatable(error, onlyReads: onlyReads) else { return nil }
        var limit = baseDelay
        for _ in 1..<attempt where limit < maximumDelay { limit *= 2 }
        let jittered = min(limit, maximumDelay) * min(max(random, 0), 1)
        let delay = max(error.retryAfter ?? .zero, jittered)
        return waited + delay <= maximumTotalDelay ? delay : nil
    }

    private static func isRepeatable(_ error: CloudKitError, onlyReads: Bool) -> Bool {
        switch error.code {
        case .throttled, .tryAgainLater, .zoneBusy, .misdirectedRequest: true
        case .network where (error.cause as? TransportError)?.code == .connectionFailed: true
        // A gateway that answers 502 or 504 handed the request on; what became of it nobody knows.
        case .serviceUnavailable: onlyReads || (error.retryAfter != nil && error.httpStatus == .serviceUnavailable)
        case .unexpectedResponse: onlyReads && error.retryAfter != nil
        case .network, .internalError: onlyReads || error.retryAfter != nil
        case .cancelled: false
        default: error.retryAfter != nil
        }
    }
}
