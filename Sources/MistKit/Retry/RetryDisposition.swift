import HTTPTypes

/// Whether a request that failed was carried out, as far as its error shows.
enum RetryDisposition {
    /// The service did not carry it out, and may do so later.
    case notDone
    /// The service may have carried it out or not.
    case unknown
    /// Sending it again does not help.
    case final
}

/// The failures after which another attempt is allowed.
enum RetryRule {
    /// A request that may be carried out twice: it only reads, or a second write does no harm.
    case repeatable
    /// A request that must not be carried out twice: it is sent again only when the service did not carry it out.
    case once
    /// The transfer of a file.
    case transfer
    /// The wait for a push. A response that is not a push may be a proxy's page, which the next attempt may not get.
    case poll

    func repeats(_ error: CloudKitError) -> Bool {
        switch (self, error.disposition) {
        case (.repeatable, let disposition): disposition != .final
        case (.once, let disposition): disposition == .notDone
        case (.transfer, _): error.isTransient
        case (.poll, let disposition): disposition != .final || error.code == .decoding
        }
    }
}

extension RetryPolicy {
    /// The wait before another attempt: the time that the service asks for, and a random time more.
    ///
    /// - Parameters:
    ///   - error: The error of the last attempt.
    ///   - attempt: The number of that attempt, from 1.
    ///   - random: A number from 0 up to 1.
    /// - Returns: The wait.
    func wait(after error: CloudKitError, attempt: Int, random: Double) -> Duration {
        (error.retryAfter ?? .zero) + backoff(afterAttempt: attempt, random: random)
    }

    /// Whether there may be another attempt after a wait.
    ///
    /// - Parameters:
    ///   - wait: The wait.
    ///   - attempt: The number of the last attempt, from 1.
    ///   - elapsed: The time that counts towards the deadline.
    /// - Returns: Whether neither attempts nor time are used up.
    func allows(_ wait: Duration, afterAttempt attempt: Int, at elapsed: Duration) -> Bool {
        attempt < maximumAttempts && elapsed + wait <= deadline
    }

    /// The random part of a wait: exponential, with full jitter.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt that failed, from 1.
    ///   - random: A number from 0 up to 1.
    /// - Returns: The wait.
    func backoff(afterAttempt attempt: Int, random: Double) -> Duration {
        var limit = baseDelay
        for _ in 1..<max(attempt, 1) where limit < maximumDelay { limit *= 2 }
        return min(limit, maximumDelay) * min(max(random, 0), 1)
    }

    /// Whether the policy allows retries.
    var repeats: Bool { maximumAttempts > 1 }
}

extension CloudKitError {
    /// Whether the request was carried out.
    var disposition: RetryDisposition {
        switch code {
        case .throttled, .tryAgainLater, .zoneBusy, .misdirectedRequest: .notDone
        case .network: isUnsent ? .notDone : .unknown
        // A gateway that responds with 502 or 504 has passed the request on; whether it was carried out is not known.
        case .serviceUnavailable: retryAfter != nil && httpStatus == .serviceUnavailable ? .notDone : .unknown
        case .unexpectedResponse: (httpStatus?.code ?? 0) >= 500 || httpStatus == .requestTimeout ? .unknown : .final
        case .internalError: retryAfter == nil ? .unknown : .notDone
        // Under load the service was observed to send this for endpoints that exist.
        case .notFound where reason == "could not find handler for endpoint": .notDone
        default: code.serverErrorCode != nil && retryAfter != nil ? .notDone : .final
        }
    }

    /// Whether a write that was sent and failed with this error may have been done.
    var leavesOutcomeOpen: Bool {
        switch code {
        case .outcomeUnknown: true
        // The reply was a success.
        case .decoding, .responseTooLarge: true
        // The middleware may have thrown before or after the request.
        case .middleware: true
        case .unexpectedResponse where httpStatus == nil || httpStatus?.kind == .successful: true
        default: disposition == .unknown
        }
    }

    /// Whether the service is asking for fewer requests to the container. A busy zone says nothing about other zones.
    var throttlesContainer: Bool {
        switch code {
        case .throttled: true
        case .serviceUnavailable: retryAfter != nil
        case .tryAgainLater: retryAfter != nil && httpStatus != nil
        default: false
        }
    }
}
