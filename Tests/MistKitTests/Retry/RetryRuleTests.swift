import MistTesting
import TestSupport
import Testing

@testable import MistKit

/// The failures that are followed by another attempt, as a table.
struct RetryRuleTests {
    private static let wait = Duration.seconds(3)

    @Test(arguments: [
        // The code, a `retryAfter`, and the rules that allow another attempt.
        (CloudKitError.Code.throttled, nil, "repeatable once transfer poll"),
        (.zoneBusy, nil, "repeatable once transfer poll"),
        (.network, nil, "repeatable transfer poll"),
        (.internalError, nil, "repeatable transfer poll"),
        (.internalError, wait, "repeatable once transfer poll"),
        (.serviceUnavailable, nil, "repeatable transfer poll"),
        (.conflict, nil, ""),
        (.conflict, wait, "repeatable once transfer poll"),
        (.assetAddressExpired, nil, ""),
        (.decoding, nil, "poll"),
        (.cancelled, nil, ""),
    ])
    func aRuleRepeatsWhatDoesNoHarm(code: CloudKitError.Code, retryAfter: Duration?, expected: String) {
        var error = CloudKitError(code: code, message: "")
        error.retryAfter = retryAfter
        let rules: [(String, RetryRule)] = [
            ("repeatable", .repeatable), ("once", .once), ("transfer", .transfer), ("poll", .poll),
        ]
        #expect(rules.filter { $0.1.repeats(error) }.map(\.0).joined(separator: " ") == expected)
    }

    @Test func attemptsAndTimeRunOut() {
        let policy = RetryPolicy(maximumAttempts: 3, deadline: .seconds(10))
        #expect(policy.allows(.seconds(4), afterAttempt: 2, at: .seconds(6)))
        #expect(!policy.allows(.seconds(4), afterAttempt: 3, at: .zero))
        #expect(!policy.allows(.seconds(4), afterAttempt: 1, at: .seconds(7)))
    }

    @Test func eachKindOfBudgetCountsItsOwnTime() async throws {
        let clock = TestClock(skippingWaits: true).timer
        let retrier = Retrier(
            policy: RetryPolicy(baseDelay: .seconds(2)),
            clock: clock,
            random: { 1 },
            logger: RecordedLog().logger(),
            throttle: nil
        )
        let budgets = [
            retrier.begin(), retrier.begin(measuring: .sinceFirstFailure), retrier.begin(measuring: .pauses),
        ]
        try await clock.sleep(for: .seconds(100))
        for budget in budgets { budget.addFailure() }
        try await clock.sleep(for: .seconds(10))
        for budget in budgets {
            try await retrier.wait(.seconds(1), after: CloudKitError(code: .network, message: ""), within: budget)
        }
        #expect(budgets.map(\.elapsed) == [.seconds(113), .seconds(13), .seconds(1)])
        #expect(budgets.map(\.attempts) == [1, 1, 1])
    }
}
