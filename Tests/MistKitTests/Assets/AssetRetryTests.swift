import Foundation
import HTTPTypes
import Logging
import MistTesting
import Testing

@testable import MistKit

/// When a failed transfer continues.
struct AssetRetryTests {
    private let clock = TestClock(skippingWaits: true)

    private func host(_ transport: FakeTransport, retryPolicy: RetryPolicy = RetryPolicy()) -> AssetHostClient {
        AssetHostClient(
            transport: transport,
            retrier: Retrier(
                policy: retryPolicy,
                clock: clock.timer,
                random: { 0 },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                throttle: nil
            )
        )
    }

    @Test(arguments: ["30", "Sun, 06 Nov 1994 08:50:07 GMT"])
    func theAssetHostAsksToWaitInSecondsOrUntilADate(text: String) async throws {
        let headers = ["date": "Sun, 06 Nov 1994 08:49:37 GMT", "retry-after": text]
        let transport = FakeTransport([reply(.serviceUnavailable, "", headers: headers)])
        let address = try #require(AssetHostClient.Address("https://files.example.com/B/a"))
        let error = await #expect(throws: CloudKitError.self) {
            try await host(transport).send(.get, to: address, headerFields: [:], operation: "downloadAsset")
        }
        #expect(error?.retryAfter == .seconds(30))
    }

    @Test func theDeadlineCountsFromTheFirstFailureSinceTheLastProgress() async throws {
        let policy = RetryPolicy(maximumAttempts: 100, deadline: .seconds(10))
        let host = host(FakeTransport([reply()]), retryPolicy: policy)
        var error = CloudKitError(code: .serviceUnavailable, message: "busy")
        error.retryAfter = .seconds(4)
        // The time before the first failure does not count.
        try await clock.timer.sleep(for: .seconds(3600))
        for _ in 0..<2 {
            let failures = host.beginFailures()
            try await host.waitForAnotherAttempt(after: error, failures)
            try await host.waitForAnotherAttempt(after: error, failures)
            await #expect(throws: CloudKitError.self) {
                try await host.waitForAnotherAttempt(after: error, failures)
            }
        }
        #expect(clock.waits == [.seconds(3600)] + Array(repeating: .seconds(4), count: 4))
    }
}
