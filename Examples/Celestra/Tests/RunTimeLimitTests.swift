import ExampleTesting
import Foundation
import MistModels
import MistTesting
import Testing
import WebFetching

@testable import CelestraUpdates

/// Runs with a time limit.
@Suite(.timeLimit(.minutes(5)))
struct RunTimeLimitTests {
    private let start = Date(timeIntervalSince1970: 1_767_225_600)

    /// The length of a run; the time of the last start of a feed, of the end for feeds, and of the end of the run, in
    /// seconds.
    @Test(
        arguments: [
            (600.0, 570.0, 590.0, 600.0), (100, 70, 90, 100), (10, 7, 9, 10), (0, 0, 0, 0), (-5, -5, -5, -5),
        ]
    )
    func theTimeIsDivided(length: Double, lastStart: Double, end: Double, expiryEnd: Double) {
        let limit = RunTimeLimit(from: start, to: start.addingTimeInterval(length))
        let seconds = [limit.lastStart, limit.end, limit.expiryEnd].map { $0.timeIntervalSince(start) }
        #expect(seconds == [lastStart, end, expiryEnd])
    }

    /// The host of each feed and the hours since its last attempt; the expected order of their indexes.
    @Test(
        arguments: [
            (["a", "b", "b", "c"], [1.0, 2, 3, 4], false, [[1, 2], [0], [3]]),
            (["a", "b", "b", "c"], [1, 2, 3, 4], true, [[3], [2, 1], [0]]),
            (["a", "b", "a", "c"], [1, 5, nil, 9], true, [[2, 0], [3], [1]]), ([], [], true, []),
        ] as [([String], [Double?], Bool, [[Int]])]
    )
    func hostsHaveAnOrder(hosts: [String], hours: [Double?], oldestFirst: Bool, order: [[Int]]) {
        let feeds = zip(hosts, hours).map { host, hours in
            var feed = FeedRecord(feedURL: "http://\(host).example/\(hours ?? 0)", title: host, addedAt: start)
            feed.lastAttempted = hours.map { start.addingTimeInterval(-3600 * $0) }
            return feed
        }
        #expect(UpdateOrder.hosts(of: feeds, oldestFirst: oldestFirst) == order)
    }

    @Test func aClosureEndsWithItsTime() async throws {
        let clock = TestClock()
        #expect(try await within(0, on: clock.timer) { 1 } == nil)
        #expect(try await within(5, on: clock.timer) { 1 } == 1)
        async let late = within(5, on: clock.timer) {
            try await clock.timer.sleep(for: .seconds(60))
            return 1
        }
        await clock.waitForSleepers(2)
        clock.advance(by: 5)
        let value = try await late
        #expect(value == nil)
        struct Broken: Error {}
        await #expect(throws: Broken.self) { try await within(5, on: clock.timer) { () -> Int in throw Broken() } }
        // The closure continues after its cancellation, and its result counts.
        async let stubborn = within(5, on: clock.timer) {
            try? await clock.timer.sleep(for: .seconds(60))
            return 1
        }
        await clock.waitForSleepers(2)
        clock.advance(by: 5)
        let done = try await stubborn
        #expect(done == 1)
        let task = Task {
            try await within(60, on: clock.timer) {
                try await clock.timer.sleep(for: .seconds(60))
                return 1
            }
        }
        await clock.waitForSleepers(2)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// One request gets no response. Its feed and the feeds of the same host behind it are left at the end of the time,
    /// and they are the first of the next run.
    @Test func whatOneRunLeavesIsFirstInTheNext() async throws {
        let clock = TestClock()
        let silent = "/silent"
        try await withWebServer { server in
            server.respond { request in
                switch request.path {
                case "/robots.txt": .response(404)
                case silent: .silence
                default: .response(200, headers: SampleFeed(number: 0).headers, body: SampleFeed(number: 0).body)
                }
            }
            try await withCloudKitEmulator(clock: clock) { emulator in
                let database = try celestraDatabase(of: emulator)
                for (name, hours) in [("recent", 1.0), ("silent", 2), ("old", 3)] {
                    var feed = FeedRecord(feedURL: "\(server.addresses[0])/\(name)", title: name, addedAt: clock.now)
                    feed.lastAttempted = clock.now.addingTimeInterval(-3600 * hours)
                    try await database.save(feed, named: name)
                }
                @Sendable func run(stopAfter seconds: Double) async throws -> UpdateReport {
                    let pauses = TestClock(skippingWaits: true)
                    return try await withWebFetcher(.celestra, clock: pauses.timer, timer: TestClock().timer) {
                        fetcher in
                        var run = UpdateRun(database: database, fetcher: fetcher)
                        run.now = { clock.now }
                        run.timer = clock.timer
                        run.timeLimit = RunTimeLimit(from: clock.now, to: clock.now.addingTimeInterval(seconds))
                        return try await run.update()
                    }
                }
                async let first = run(stopAfter: 100)
                await server.waitForRequests { $0.path == silent }
                clock.advance(by: 90)
                var report = try await first
                let outcomes = Dictionary(uniqueKeysWithValues: report.feeds.map { ($0.recordName, $0.outcome) })
                #expect(outcomes == ["old": .updated, "silent": .outOfTime, "recent": .outOfTime])
                #expect(report.count(.outOfTime) == 2)
                #expect(report.isSaved)
                // Nothing was counted for the feeds that were left.
                #expect(try await database.fetch(FeedRecord.self, named: "silent").totalAttempts == 0)
                #expect(try await database.fetch(FeedRecord.self, named: "recent").totalAttempts == 0)

                server.forgetRequests()
                server.respond { request in
                    request.path == "/robots.txt"
                        ? .response(404)
                        : .response(200, headers: SampleFeed(number: 0).headers, body: SampleFeed(number: 0).body)
                }
                report = try await run(stopAfter: 100)
                #expect(report.count(.updated) == 3)
                #expect(server.requests.map(\.path) == ["/robots.txt", "/silent", "/recent", "/old"])
                // Without any time, no feed is fetched, and another run deletes the expired articles.
                server.forgetRequests()
                report = try await run(stopAfter: 0)
                #expect(report.count(.outOfTime) == 3)
                #expect(report.expiryFailure?.contains("The next run deletes them.") == true)
                #expect(server.requests.isEmpty)
            }
        }
    }
}
