/// What the program makes of an error of its send closure.
///
/// ```swift
/// decide: { error, attempt in
///     switch error {
///     case let error as ServiceError where error.status == 429: .again(after: error.retryAfter)
///     case let error as ServiceError where error.status == 401: .wait(.signedOut)
///     case let error as ServiceError where error.status == 422: .refused("\(error.fields)")
///     case is OfflineError: .wait(.offline, for: .seconds(30))
///     default: .again()
///     }
/// }
/// ```
public struct MutationDecision: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case again(after: Duration?)
        case refused
        case wait(MutationPause.Reason, for: Duration?)
    }

    let kind: Kind
    /// What is shown to the user; `nil` for the description of the error.
    let message: String?

    /// Sends the mutation again, under the same key, unless this was its last attempt.
    ///
    /// - Parameters:
    ///   - wait: How long to wait, such as the time of the header field `Retry-After`; up to a second is added. With
    ///     `nil`, the wait is random between zero and ``MutationQueueConfiguration/shortestBackOff`` · 2ⁿ⁻¹ after the
    ///     n-th attempt, at most ``MutationQueueConfiguration/longestBackOff``.
    ///   - message: What to keep as the last error; `nil` for the description of the error.
    /// - Returns: The decision.
    public static func again(after wait: Duration? = nil, _ message: String? = nil) -> MutationDecision {
        MutationDecision(kind: .again(after: wait), message: message)
    }

    /// Keeps the mutation and reports it. It is sent again only when the program asks for it.
    ///
    /// - Parameter message: What to show to the user; `nil` for the description of the error.
    /// - Returns: The decision.
    public static func refused(_ message: String? = nil) -> MutationDecision {
        MutationDecision(kind: .refused, message: message)
    }

    /// Pauses the whole queue. The attempt does not count.
    ///
    /// - Parameters:
    ///   - reason: Why the queue pauses.
    ///   - time: For how long; `nil` until ``MutationQueue/resume(_:in:)``.
    ///   - message: What to keep as the last error; `nil` for the description of the error.
    /// - Returns: The decision.
    public static func wait(
        _ reason: MutationPause.Reason,
        for time: Duration? = nil,
        _ message: String? = nil
    ) -> MutationDecision {
        MutationDecision(kind: .wait(reason, for: time), message: message)
    }
}

/// An attempt to send a mutation, for the closure that decides about its error.
public struct MutationAttempt: Hashable, Sendable {
    /// The mutation's identifier and key.
    public let id: MutationID
    /// What the mutation changes, as it was given to ``MutationQueue/enqueue(_:entity:after:attempts:id:in:)``.
    public let entity: String
    /// The number of the attempt, from 1. Attempts that ended with a pause are not counted.
    public let number: Int
    /// The number of the last attempt.
    public let limit: Int
}
