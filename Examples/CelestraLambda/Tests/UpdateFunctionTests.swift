import CelestraUpdates
import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import LambdaRuntime
import MistModels
import MistTesting
import NIOCore
import Synchronization
import Testing
import WebFetching

@testable import CelestraLambda

/// The whole function: events from a runtime interface, feeds from a server, and records of an emulator behind a
/// socket.
@Suite(.timeLimit(.minutes(5)))
struct UpdateFunctionTests {
    /// A server of feeds. A path that begins with `/slow` gets no response until the test advances the clock.
    private func withFeeds(
        _ clock: TestClock,
        _ body: @Sendable (_ address: String) async throws -> Void
    ) async throws {
        let router = Router()
        router.get("robots.txt") { _, _ in HTTPResponse.Status.notFound }
        router.get("missing") { _, _ in HTTPResponse.Status.notFound }
        router.get("slow") { _, _ in
            try await clock.timer.sleep(for: .seconds(3600))
            return HTTPResponse.Status.ok
        }
        router.get("feed/:name") { _, context in
            let name = context.parameters.get("name") ?? ""
            let text = """
                <rss version="2.0"><channel><title>Feed \(name)</title>
                <item><guid>1</guid><title>First of \(name)</title></item></channel></rss>
                """
            return Response(
                status: .ok,
                headers: [.contentType: "application/rss+xml"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text))
            )
        }
        try await Application(router: router).test(.live) { client in
            try await body("http://127.0.0.1:\(client.port ?? 0)")
        }
    }

    /// Runs a test with an emulator, its settings, and a server of feeds.
    private func withEmulator(
        clock: TestClock,
        _ body:
            @Sendable (RunningEmulator, CloudKitDatabase, _ environment: [String: String], _ feeds: String) async throws
            -> Void
    ) async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            try emulator.rules.importSchema(CelestraSchema.container(), into: emulator.containerIdentifier)
            let environment = [
                "MISTKIT_CONTAINER": emulator.containerIdentifier, "MISTKIT_KEY_ID": emulator.serverKeyID,
                "MISTKIT_PRIVATE_KEY": emulator.serverKeyPEM,
                "MISTKIT_SERVER_URL": emulator.serverURL.absoluteString,
            ]
            try await withFeeds(clock) { feeds in
                try await body(emulator, emulator.service(as: .serverKey).publicDatabase, environment, feeds)
            }
        }
    }

    private func add(
        _ address: String,
        to database: CloudKitDatabase,
        lastAttempted: Date? = nil
    ) async throws {
        var feed = FeedRecord(feedURL: address, title: address, addedAt: Date(timeIntervalSince1970: 0))
        feed.lastAttempted = lastAttempted
        try await database.save(feed, named: FeedRecord.recordName(for: address))
    }

    /// Responds to one event with the function.
    private func respond(
        to event: String,
        _ environment: [String: String],
        deadlineIn seconds: Double = 600,
        clock: TestClock
    ) async throws -> UpdateSummary {
        var function = try CelestraLambda.function(environment, logger: LambdaRuntimeTests.quiet)
        function.fetching.pause = .zero
        function.now = { clock.now }
        function.timer = clock.timer
        let deadline = clock.now.addingTimeInterval(seconds)
        let body = try await function.respond(
            to: Invocation(requestID: "1", deadline: deadline, event: Array(event.utf8))
        )
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(UpdateSummary.self, from: Data(body))
    }

    @Test func anEventUpdatesTheFeedsThatItChooses() async throws {
        let clock = TestClock()
        try await withEmulator(clock: clock) { _, database, environment, feeds in
            try await add(feeds + "/feed/a", to: database)
            try await add(feeds + "/feed/b", to: database, lastAttempted: clock.now.addingTimeInterval(-600))
            try await add(feeds + "/missing", to: database)
            var summary = try await respond(to: "{\"notAttemptedForMinutes\": 50}", environment, clock: clock)
            #expect(summary.outcomes.filter { $0.value > 0 } == ["updated": 1, "failed": 1])
            #expect(summary.newArticles == 1)
            #expect(summary.feeds.map(\.feedURL) == [feeds + "/missing"])
            #expect(summary.unlistedFeeds == 0)
            // The event of a schedule has other members, which are ignored.
            let scheduled = "{\"version\": \"0\", \"detail-type\": \"Scheduled Event\", \"detail\": {}}"
            summary = try await respond(to: scheduled, environment, clock: clock)
            #expect(summary.outcomes.filter { $0.value > 0 } == ["updated": 2, "failed": 1])
            #expect(try await database.count(matching: Query<ArticleRecord> {}) == 2)
        }
    }

    @Test func feedsForWhichThereIsNoTimeAreNamedAndComeFirstInTheNextRun() async throws {
        let clock = TestClock()
        try await withEmulator(clock: clock) { _, database, environment, feeds in
            // All feeds are on one host, so they are fetched one after the other, beginning with the feed that was
            // fetched longest ago.
            try await add(feeds + "/feed/old", to: database, lastAttempted: clock.now.addingTimeInterval(-9000))
            try await add(feeds + "/slow", to: database, lastAttempted: clock.now.addingTimeInterval(-8000))
            try await add(feeds + "/feed/recent", to: database, lastAttempted: clock.now.addingTimeInterval(-7000))
            async let answer = respond(to: "{}", environment, deadlineIn: 103, clock: clock)
            // The two sleepers are the response of the slow feed and the time limit of the run.
            await clock.waitForSleepers(2)
            clock.advance(by: 90)
            let summary = try await answer
            // This ends the server's wait for the slow feed.
            clock.advance(by: 3600)
            #expect(summary.outcomes.filter { $0.value > 0 } == ["updated": 1, "outOfTime": 2])
            #expect(Set(summary.feeds.map(\.feedURL)) == [feeds + "/slow", feeds + "/feed/recent"])
            #expect(try await database.count(matching: Query<ArticleRecord> {}) == 1)
        }
    }

    @Test func aRunThatSavesNothingIsAnErrorOfTheFunction() async throws {
        let clock = TestClock()
        try await withEmulator(clock: clock) { emulator, database, environment, feeds in
            try await add(feeds + "/missing", to: database)
            var error = await #expect(throws: FunctionError.self) {
                try await respond(to: "{}", environment, clock: clock)
            }
            #expect(error?.type == "Celestra.Unavailable")
            #expect(error?.message.contains("answers with status 404.") == true)

            try await add(feeds + "/feed/a", to: database)
            emulator.faults.add(FaultRule(.throttle(retryAfter: 3600), on: "records/modify", calls: .only(1)))
            error = await #expect(throws: FunctionError.self) {
                try await respond(to: "{}", environment, clock: clock)
            }
            #expect(error?.type == "Celestra.NotSaved")
        }
    }

    @Test func credentialsThatAreRefusedAreNamed() async throws {
        let clock = TestClock()
        try await withEmulator(clock: clock) { _, _, environment, _ in
            for (change, text) in [("MISTKIT_PRIVATE_KEY", "not a key"), ("MISTKIT_KEY_ID", "no-such-key")] {
                let error = await #expect(throws: FunctionError.self) {
                    try await respond(to: "{}", environment.merging([change: text]) { $1 }, clock: clock)
                }
                #expect(error?.type == "Celestra.Credentials")
            }
        }
    }

    /// If a key is replaced in Parameter Store, the program uses the new key without a restart.
    @Test func aKeyThatIsRefusedIsFetchedAgainWithTheNextEvent() async throws {
        let clock = TestClock()
        try await withEmulator(clock: clock) { emulator, database, environment, feeds in
            try await add(feeds + "/feed/a", to: database)
            let other = ServerToServerKey.generate().revealPrivateKeyPEM()
            let replies = try [other, emulator.serverKeyPEM].map { pem in
                let body = try JSONEncoder().encode(["Parameter": ["Value": pem]])
                return (status: 200, body: String(decoding: body, as: UTF8.self))
            }
            var environment = environment
            environment["MISTKIT_PRIVATE_KEY"] = nil
            environment["MISTKIT_PRIVATE_KEY_PARAMETER"] = "/celestra/key"
            let settings = environment
            let requests = try await ParameterStoreTests.withExtension(replies) { port in
                var function = try CelestraLambda.function(
                    settings.merging(port) { $1 },
                    logger: LambdaRuntimeTests.quiet
                )
                function.fetching.pause = .zero
                func invoke() async throws -> String {
                    let deadline = Date().addingTimeInterval(600)
                    let event = Invocation(requestID: "1", deadline: deadline, event: Array("{}".utf8))
                    return String(decoding: try await function.respond(to: event), as: UTF8.self)
                }
                let error = await #expect(throws: FunctionError.self) { try await invoke() }
                #expect(error?.type == "Celestra.Credentials")
                #expect(try await invoke().contains("\"updated\":1"))
                #expect(try await invoke().contains("\"updated\":1"))
            }
            #expect(requests.count == 2)
        }
    }

    @Test func anEventIsASelection() throws {
        let now = Date(timeIntervalSince1970: 6000)
        let text = """
            {"notAttemptedForMinutes": 50, "minSubscribers": 10, "maxFailures": 3, "ignoreIntervals": true}
            """
        let selection = try JSONDecoder().decode(UpdateEvent.self, from: Data(text.utf8)).selection(at: now)
        #expect(selection.notAttemptedSince == Date(timeIntervalSince1970: 3000))
        #expect(selection.minimumSubscribers == 10)
        #expect(selection.maximumFailures == 3)
        #expect(selection.ignoresIntervals)
        #expect(!UpdateEvent().selection(at: now).ignoresIntervals)
    }

    /// Feeds that were left do not count: the run failed if all other feeds failed.
    @Test(arguments: [("outOfTime", "Celestra.Unavailable"), ("postponed", "Celestra.Unavailable"), ("updated", nil)])
    func everyFeedThatWasFetchedFailed(other: String, type: String?) throws {
        let feeds = ["failed", other].map { outcome in
            """
            {"recordName": "a", "title": "A", "feedURL": "http://a.example/", "outcome": "\(outcome)", "problems": [],
            "newArticles": 0, "changedArticles": 0, "unchangedArticles": 0}
            """
        }
        let text = """
            {"startedAt": 0, "endedAt": 0, "feeds": [\(feeds.joined(separator: ","))], "expiredArticles": 0}
            """
        let report = try JSONDecoder().decode(UpdateReport.self, from: Data(text.utf8))
        #expect(UpdateFunction.error(of: report, summary: UpdateSummary(report))?.type == type)
    }

    @Test func aLargeReportIsShortened() throws {
        let feed = """
            {"recordName": "a", "title": "\(String(repeating: "t", count: 5000))", "feedURL": "http://a.example/",
            "outcome": "failed", "reason": "\(String(repeating: "r", count: 5000))", "problems": ["p"],
            "newArticles": 0, "changedArticles": 0, "unchangedArticles": 0}
            """
        let report = try JSONDecoder().decode(FeedReport.self, from: Data(feed.utf8))
        let update = """
            {"startedAt": 0, "endedAt": 0, "feeds": [], "expiredArticles": 0}
            """
        var whole = try JSONDecoder().decode(UpdateReport.self, from: Data(update.utf8))
        whole.feeds = Array(repeating: report, count: 12_000)
        let summary = UpdateSummary(whole)
        #expect(summary.feeds.count == 1000)
        #expect(summary.feeds.map(\.problems) == Array(repeating: [], count: 1000))
        #expect(summary.unlistedFeeds == 11_000)
        #expect(summary.outcomes["failed"] == 12_000)
        #expect(try summary.json().count < 1_000_000)
    }
}
