import Foundation
import HTTPTypes
import MistTesting
import Synchronization
import Testing

@testable import CelestraServing

struct PageCacheTests {
    private let clock = TestClock()

    private func cache(capacity: Int = 10) -> PageCache<String, Int> {
        PageCache(
            lifetime: 60,
            staleLifetime: 600,
            capacity: capacity,
            now: { [clock] in clock.now },
            pause: ServingFailure.pause
        )
    }

    /// A source that counts its loads and fails when a test says so.
    private final class Source: Sendable {
        private let state = Mutex((loads: 0, failure: ServingFailure?.none))

        var loads: Int { state.withLock { $0.loads } }

        func fail(with failure: ServingFailure?) { state.withLock { $0.failure = failure } }

        func load() throws -> Int {
            try state.withLock { state in
                state.loads += 1
                if let failure = state.failure { throw failure }
                return state.loads
            }
        }
    }

    @Test func aValueIsKeptForItsLifetime() async throws {
        let (cache, source) = (cache(), Source())
        func read() async throws -> (Int, Double) {
            let copy = try await cache.value(for: "a") { try source.load() }
            return (copy.value, copy.freshFor)
        }
        #expect(try await read() == (1, 60))
        clock.advance(by: 59)
        #expect(try await read() == (1, 1))
        clock.advance(by: 1)
        #expect(try await read() == (2, 60))
        #expect(source.loads == 2)
    }

    @Test func callersThatAskMeanwhileShareOneLoad() async throws {
        let (cache, clock, source) = (cache(), clock, Source())
        let values = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await cache.value(for: "a") {
                        try await clock.timer.sleep(for: .seconds(1))
                        return try source.load()
                    }.value
                }
            }
            await clock.waitForSleepers()
            clock.advance(by: 1)
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: 1, count: 100))
        #expect(source.loads == 1)
    }

    /// The load does not depend on the caller that was first.
    @Test func aCallerWhoGoesAwayLeavesTheLoadToTheOthers() async throws {
        let (cache, clock) = (cache(), clock)
        let first = Task {
            try await cache.value(for: "a") {
                try await clock.timer.sleep(for: .seconds(1))
                return 7
            }.value
        }
        await clock.waitForSleepers()
        first.cancel()
        async let second = cache.value(for: "a") { 8 }
        clock.advance(by: 1)
        let copy = try await second
        #expect(copy.value == 7)
    }

    @Test func aFailureIsKeptForItsPause() async throws {
        let (cache, source) = (cache(), Source())
        let busy = ServingFailure(status: .serviceUnavailable, message: "busy", retryAfter: 30)
        source.fail(with: busy)
        for _ in 0..<3 {
            await #expect(throws: busy) { try await cache.value(for: "a") { try source.load() } }
        }
        #expect(source.loads == 1)
        source.fail(with: nil)
        clock.advance(by: 30)
        #expect(try await cache.value(for: "a") { try source.load() }.value == 2)
    }

    @Test func aFailureOfTheBrowserIsNotKept() async throws {
        let (cache, source) = (cache(), Source())
        source.fail(with: .noSuchFeed)
        for _ in 0..<3 {
            await #expect(throws: ServingFailure.noSuchFeed) { try await cache.value(for: "a") { try source.load() } }
        }
        #expect(source.loads == 3)
        #expect(cache.count == 0)
    }

    @Test func aStaleValueIsBetterThanAFailureOfTheService() async throws {
        let (cache, source) = (cache(), Source())
        func read() async throws -> Int { try await cache.value(for: "a") { try source.load() }.value }
        #expect(try await read() == 1)
        source.fail(with: .timedOut)
        clock.advance(by: 70)
        #expect(try await read() == 1)
        // The service is not asked again before the pause of the failure is over.
        #expect(try await read() == 1)
        #expect(source.loads == 2)
        // A feed that was deleted is no longer shown.
        clock.advance(by: 10)
        source.fail(with: .noSuchFeed)
        await #expect(throws: ServingFailure.noSuchFeed) { try await read() }
        clock.advance(by: 600)
        source.fail(with: .timedOut)
        await #expect(throws: ServingFailure.timedOut) { try await read() }
    }

    @Test func theValueThatWasUsedLongestAgoMakesRoom() async throws {
        let (cache, source) = (cache(capacity: 2), Source())
        func read(_ key: String) async throws -> Int { try await cache.value(for: key) { try source.load() }.value }
        #expect(try await read("a") == 1)
        #expect(try await read("b") == 2)
        #expect(try await read("a") == 1)
        #expect(try await read("c") == 3)
        #expect(cache.count == 2)
        #expect(try await read("a") == 1)
        #expect(try await read("b") == 4)
    }
}
