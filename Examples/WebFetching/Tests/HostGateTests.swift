import Foundation
import MistTesting
import Synchronization
import Testing

@testable import WebFetching

@Suite(.timeLimit(.minutes(5)))
struct HostGateTests {
    @Test func oneRequestAtATimeGoesToAHost() async throws {
        let gate = HostGate(clock: ElapsedTime(TestClock(skippingWaits: true).timer))
        let visits = Visits()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                let host = number.isMultiple(of: 2) ? "a" : "b"
                group.addTask { @Sendable in
                    try await gate.withTurn(at: host, pause: .seconds(1)) {
                        visits.enter(host)
                        // The other requests get time to come in.
                        for _ in 0..<100 { await Task.yield() }
                        visits.leave(host)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(visits.most == ["a": 1, "b": 1])
    }

    @Test func aCancelledRequestDoesNotBlockThoseBehindIt() async throws {
        let clock = TestClock()
        let gate = HostGate(clock: ElapsedTime(clock.timer))
        try await gate.withTurn(at: "a", pause: .seconds(5)) {}
        // The second request waits for the pause of the first one, and the third waits behind the second.
        let second = Task { try await gate.withTurn(at: "a", pause: .zero) {} }
        await clock.waitForSleepers(1)
        let third = Task { try await gate.withTurn(at: "a", pause: .zero) { clock.now } }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        await clock.waitForSleepers(1)
        // The cancellation does not shorten the host's pause.
        clock.advance(by: 5)
        #expect(try await third.value == TestClock().now.addingTimeInterval(5))
    }
}

/// The number of requests at each host at a time.
private final class Visits: Sendable {
    private let present = Mutex<[String: Int]>([:])
    private let greatest = Mutex<[String: Int]>([:])

    /// The largest number of requests that were at each host at the same time.
    var most: [String: Int] { greatest.withLock(\.self) }

    func enter(_ host: String) {
        let count = present.withLock { present in
            present[host, default: 0] += 1
            return present[host, default: 0]
        }
        greatest.withLock { $0[host] = max($0[host, default: 0], count) }
    }

    func leave(_ host: String) {
        present.withLock { $0[host, default: 0] -= 1 }
    }
}
