import CelestraUpdates
import CloudKitEmulatorServer
import ExampleTesting
import Foundation
import MistModels
import MistTesting
import NIOHTTP1
import Testing
import WebFetching

struct UpdateRunTests {
    /// Runs a test with a server of one host, an emulator, and a clock for both.
    private func withRun(
        _ body: @Sendable (WebServer, CloudKitDatabase, RunningEmulator, UpdateRun, TestClock) async throws -> Void
    ) async throws {
        let clock = TestClock()
        try await withWebServer { server in
            try await withCloudKitEmulator(clock: clock) { emulator in
                let database = try celestraDatabase(of: emulator)
                let pauses = TestClock(skippingWaits: true)
                try await withWebFetcher(.celestra, clock: pauses.timer, timer: TestClock().timer) { fetcher in
                    var run = UpdateRun(database: database, fetcher: fetcher)
                    run.now = { clock.now }
                    try await body(server, database, emulator, run, clock)
                }
            }
        }
    }

    private func add(_ name: String, of server: WebServer, to database: CloudKitDatabase) async throws {
        let address = server.addresses[0] + "/" + name
        try await database.save(
            FeedRecord(feedURL: address, title: name, addedAt: Date(timeIntervalSince1970: 1_767_225_600)),
            named: name
        )
    }

    private func serve(_ feed: SampleFeed, by server: WebServer) {
        server.respond { request in
            guard request.path != "/robots.txt" else { return .response(404) }
            let headers = feed.headers + [("ETag", feed.etag)]
            return request.headers["If-None-Match"] == [feed.etag]
                ? .response(304) : .response(200, headers: headers, body: feed.body)
        }
    }

    @Test func anUpdateSavesTheFeedAndItsArticles() async throws {
        try await withRun { server, database, _, run, clock in
            serve(SampleFeed(number: 0), by: server)
            try await add("a", of: server, to: database)
            var report = try await run.update()
            #expect(report.feeds.map(\.outcome) == [.updated])
            #expect(report.newArticles == 3)
            let feed = try await database.fetch(FeedRecord.self, named: "a")
            #expect(feed.title == "Café 0")
            #expect(feed.etag == "\"0-3-0\"")
            #expect(feed.updateFrequency == 86_400)
            #expect(feed.totalAttempts == 1)

            clock.advance(by: 60)
            report = try await run.update()
            #expect(report.feeds.map(\.outcome) == [.notModified])

            serve(SampleFeed(number: 0, articleCount: 4, corrected: 1), by: server)
            clock.advance(by: 60)
            report = try await run.update()
            #expect(report.newArticles == 1)
            #expect(report.changedArticles == 1)
            #expect(report.feeds.map(\.unchangedArticles) == [2])
        }
    }

    @Test func twoRunsThatBeginWithTheSameRecordLoseNoCount() async throws {
        try await withRun { server, database, _, run, clock in
            serve(SampleFeed(number: 0), by: server)
            try await add("a", of: server, to: database)
            let seen = try await database.fetch(FeedRecord.self, named: "a")
            _ = try await run.update(seen)
            clock.advance(by: 1)
            server.respond { _ in .response(500) }
            _ = try await run.update(seen)
            let feed = try await database.fetch(FeedRecord.self, named: "a")
            #expect(feed.totalAttempts == 2)
            #expect(feed.successfulAttempts == 1)
            #expect(feed.failureCount == 1)
            #expect(feed.title == "Café 0")
        }
    }

    @Test func articlesThatAreNotSavedAreFetchedAgain() async throws {
        try await withRun { server, database, emulator, run, clock in
            serve(SampleFeed(number: 0), by: server)
            try await add("a", of: server, to: database)
            emulator.faults.add(FaultRule(.throttle(retryAfter: 60), on: "records/modify", calls: .only(1)))
            var report = try await run.update()
            #expect(report.feeds.map(\.outcome) == [.notSaved])
            #expect(!report.isSaved)
            #expect(try await database.fetch(FeedRecord.self, named: "a").etag == nil)
            clock.advance(by: 60)
            report = try await run.update()
            #expect(report.feeds.map(\.outcome) == [.updated])
            #expect(report.newArticles == 3)
        }
    }

    @Test func expiredArticlesAreDeleted() async throws {
        try await withRun { server, database, _, run, clock in
            serve(SampleFeed(number: 0), by: server)
            try await add("a", of: server, to: database)
            _ = try await run.update()
            clock.advance(by: 20 * 86_400)
            // The feed still has its three articles, so they are extended. After that, the feed has no articles that
            // expire.
            serve(SampleFeed(number: 0, articleCount: 4), by: server)
            _ = try await run.update()
            clock.advance(by: 29 * 86_400)
            #expect(try await run.update().expiredArticles == 0)
            clock.advance(by: 2 * 86_400)
            #expect(try await run.update().expiredArticles == 4)
            #expect(try await database.count(matching: Query<ArticleRecord> {}) == 0)
        }
    }

    @Test func theSelectionDecides() async throws {
        try await withRun { server, database, _, run, clock in
            serve(SampleFeed(number: 0), by: server)
            func feed(_ name: String, _ change: (inout FeedRecord) -> Void) async throws {
                var feed = FeedRecord(feedURL: server.addresses[0] + "/" + name, title: name, addedAt: clock.now)
                change(&feed)
                try await database.save(feed, named: name)
            }
            try await feed("never") { _ in }
            try await feed("recent") { $0.lastAttempted = clock.now.addingTimeInterval(-60) }
            try await feed("old") { $0.lastAttempted = clock.now.addingTimeInterval(-7200) }
            try await feed("failing") { $0.failureCount = 5 }
            try await feed("popular") { $0.subscriberCount = 10 }
            try await feed("gone") { $0.isActive = false }
            try await feed("patient") {
                $0.minUpdateInterval = 3600
                $0.lastAttempted = clock.now.addingTimeInterval(-1800)
            }
            func names(_ change: (inout FeedSelection) -> Void) async throws -> [String] {
                var selection = FeedSelection()
                change(&selection)
                return try await run.update(selection).feeds.filter { $0.outcome != .postponed }.map(\.recordName)
                    .sorted()
            }
            #expect(try await names { $0.minimumSubscribers = 5 } == ["popular"])
            let since = clock.now.addingTimeInterval(-3600)
            #expect(
                try await names {
                    $0.notAttemptedSince = since
                    $0.maximumFailures = 4
                } == ["never", "old"]
            )
            #expect(try await names { $0.maximumFailures = 4 } == ["never", "old", "popular", "recent"])
            #expect(
                try await names { $0.ignoresIntervals = true }
                    == ["failing", "never", "old", "patient", "popular", "recent"]
            )
        }
    }
}
