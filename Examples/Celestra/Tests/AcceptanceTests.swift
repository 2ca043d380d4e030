import CelestraFeeds
import CelestraUpdates
import ExampleTesting
import Foundation
import MistModels
import MistTesting
import NIOHTTP1
import Synchronization
import Testing
import WebFetching

/// Runs over 500 feeds of a local server into the emulator. Each port of the server is a host.
struct AcceptanceTests {
    /// The ways in which a feed breaks. With the first five, the feed can still be read.
    enum Damage: CaseIterable, Sendable {
        case wrongEncoding, permanentRedirect, cutMarkup, noValidators, gzipWithoutValidators
        case notFound, gone, serverError, silence, tooLarge, truncated, notXML, redirectLoop, brokenGzip, empty
        case refusedByRobots, connectionRefused

        /// The kind of failure in the report, or `nil` if the feed can be read.
        var failure: String? {
            switch self {
            case .wrongEncoding, .permanentRedirect, .cutMarkup, .noValidators, .gzipWithoutValidators: nil
            case .notFound, .serverError: "status"
            case .gone: "gone"
            case .silence: "timedOut"
            case .tooLarge: "tooLarge"
            case .truncated: "truncated"
            case .notXML: "notAFeed"
            case .redirectLoop: "redirectLoop"
            case .brokenGzip: "undecodable"
            case .empty: "empty"
            case .refusedByRobots: "refusedByRobots"
            case .connectionRefused: "unreachable"
            }
        }
    }

    /// The feeds of a test: 25 on each host, except for the feeds whose host is stopped later. Each of these has a host
    /// of its own.
    struct Site: Sendable {
        var feeds: [SampleFeed]
        /// The damage of each feed that has one.
        var damages: [Int: Damage] = [:]
        /// The host of each feed.
        var hosts: [Int]
        var hostCount: Int

        init(count: Int) {
            feeds = (0..<count).map { SampleFeed(number: $0) }
            hosts = (0..<count).map { $0 / 25 }
            hostCount = (count + 24) / 25
            for number in stride(from: 3, to: count, by: 10) {
                let damage = Damage.allCases[number / 10 % Damage.allCases.count]
                guard damage == .silence || damage == .connectionRefused else { continue }
                hosts[number] = hostCount
                hostCount += 1
            }
        }

        /// Breaks every tenth feed.
        mutating func breakFeeds() {
            for number in stride(from: 3, to: feeds.count, by: 10) {
                damages[number] = Damage.allCases[number / 10 % Damage.allCases.count]
            }
        }

        func path(of number: Int) -> String { "/\(number).xml" }

        func reply(to request: WebServer.Request) -> WebServer.Reply {
            if request.path == "/robots.txt" {
                let refused = damages.filter { $0.value == .refusedByRobots && hosts[$0.key] == request.host }
                let rules = refused.keys.sorted().map { "Disallow: \(path(of: $0))$" }
                return .response(200, body: Array(("User-agent: *\n" + rules.joined(separator: "\n")).utf8))
            }
            let name = request.path.dropFirst().split(separator: ".").first ?? ""
            guard let number = Int(name), feeds.indices.contains(number), hosts[number] == request.host else {
                return .response(404)
            }
            let feed = feeds[number]
            let html = [("Content-Type", "text/html")]
            let headers = feed.headers + [("ETag", feed.etag)]
            switch damages[number] {
            case nil: break
            case .wrongEncoding:
                let body = Array("<rss><channel><title>Caf".utf8) + [0xE9] + Array("</title></channel></rss>".utf8)
                return .response(200, headers: [("Content-Type", "text/xml; charset=utf-8")], body: body)
            case .permanentRedirect where !request.path.hasSuffix(".new"):
                return .response(301, headers: [("Location", request.path + ".new")])
            case .permanentRedirect: break
            case .cutMarkup:
                return .response(200, body: Array("<rss><channel><item><title>A & B</title><guid>cut</guid>".utf8))
            case .noValidators: return .response(200, headers: feed.headers, body: feed.body)
            case .gzipWithoutValidators:
                let headers = feed.headers.filter { $0.0 != "Content-Encoding" } + [("Content-Encoding", "gzip")]
                return .response(200, headers: headers, body: feed.style == .gzip ? feed.body : gzip(feed.body))
            case .notFound: return .response(404, headers: html, body: Array("<p>Not found".utf8))
            case .gone: return .response(410)
            case .serverError: return .response(500)
            case .silence: return .silence
            case .tooLarge: return .response(200, body: [UInt8](repeating: 0x20, count: 100_001))
            case .truncated: return .truncated(headers: feed.headers, body: Array("<rss><channel>".utf8), missing: 500)
            case .notXML:
                return .response(200, headers: html, body: Array("<!DOCTYPE html><p>Welcome to our blog".utf8))
            case .redirectLoop:
                let target = request.path.hasSuffix(".again") ? path(of: number) : request.path + ".again"
                return .response(302, headers: [("Location", target)])
            case .brokenGzip:
                return .response(200, headers: [("Content-Encoding", "gzip")], body: gzip(feed.body).dropLast(20))
            case .empty: return .response(200, headers: html)
            case .refusedByRobots, .connectionRefused: return .response(500)
            }
            if request.headers["If-None-Match"] == [feed.etag] { return .response(304) }
            return .response(200, headers: headers, body: feed.body)
        }
    }

    /// Everything in the database.
    struct Contents {
        var feeds: [String: StoredRecord<FeedRecord>] = [:]
        var articles: [String: StoredRecord<ArticleRecord>] = [:]

        init(_ database: CloudKitDatabase) async throws {
            for try await feed in database.records(matching: Query<FeedRecord> {}) { feeds[feed.recordName] = feed }
            for try await article in database.records(matching: Query<ArticleRecord> {}) {
                articles[article.recordName] = article
            }
        }

        /// The titles of a feed's articles, in alphabetical order.
        func titles(of feed: String) -> [String] {
            articles.values.filter { $0.feedRecordName == feed }.map(\.title).sorted()
        }
    }

    private var configuration: FetchConfiguration {
        var configuration = FetchConfiguration.celestra
        configuration.sizeLimit = 100_000
        return configuration
    }

    private func name(_ number: Int) -> String { "feed-\(number)" }

    private func add(_ site: Site, of server: WebServer, to database: CloudKitDatabase, at date: Date) async throws {
        let addresses = server.addresses
        let records = site.feeds.map { feed in
            StoredRecord(
                FeedRecord(
                    feedURL: addresses[site.hosts[feed.number]] + site.path(of: feed.number),
                    title: "?",
                    addedAt: date
                ),
                recordName: name(feed.number)
            )
        }
        _ = try await database.save(records).allOrThrow()
    }

    @Test(.timeLimit(.minutes(5)))
    func fiveHundredFeeds() async throws {
        let clock = TestClock()
        let pauses = TestClock(skippingWaits: true)
        var site = Site(count: 500)
        try await withWebServer(hosts: site.hostCount) { server in
            try await withCloudKitEmulator(clock: clock) { emulator in
                let database = try celestraDatabase(of: emulator)
                try await add(site, of: server, to: database, at: clock.now)

                func update(timer: TestClock = TestClock(), progress: @escaping @Sendable () -> Void = {}) async throws
                    -> UpdateReport
                {
                    try await withWebFetcher(configuration, clock: pauses.timer, timer: timer.timer) { fetcher in
                        var run = UpdateRun(database: database, fetcher: fetcher)
                        run.now = { clock.now }
                        run.concurrency = 16
                        return try await run.update { _ in progress() }
                    }
                }

                // The first run saves everything.
                var current = site
                server.respond { [current] in current.reply(to: $0) }
                let first = try await update()
                #expect(first.count(.updated) == 500)
                #expect(first.newArticles == 1500)
                #expect(first.feeds.allSatisfy { $0.outcome == .updated }, "\(first.feeds.compactMap(\.reason))")
                let afterFirst = try await Contents(database)
                #expect(afterFirst.articles.count == 1500)
                for feed in site.feeds {
                    let record = try #require(afterFirst.feeds[name(feed.number)])
                    #expect(record.title == feed.title)
                    #expect(afterFirst.titles(of: name(feed.number)) == feed.articleTitles.sorted())
                }
                let dates = afterFirst.articles.values.filter { $0.feedRecordName.hasSuffix("5") }.map(\.publishedDate)
                let expectedDates = site.feeds.filter { $0.number % 10 == 5 }.flatMap(\.articleDates)
                #expect(dates.compactMap(\.self).sorted() == expectedDates.sorted())

                // The second run writes only changes: the counts of the attempts, and the articles of ten feeds.
                clock.advance(by: 3600)
                for number in stride(from: 7, to: 500, by: 50) {
                    site.feeds[number].articleCount = 4
                    site.feeds[number].corrected = 2
                }
                current = site
                server.respond { [current] in current.reply(to: $0) }
                let second = try await update()
                #expect(second.count(.updated) == 10)
                #expect(second.count(.notModified) == 490)
                #expect(second.newArticles == 10)
                #expect(second.changedArticles == 10)
                let afterSecond = try await Contents(database)
                let rewritten = afterSecond.articles.values.filter { article in
                    afterFirst.articles[article.recordName]?.recordChangeTag != article.recordChangeTag
                }
                #expect(rewritten.count == 20)
                for (name, feed) in afterSecond.feeds {
                    var expected = try #require(afterFirst.feeds[name]).model
                    expected.totalAttempts = 2
                    expected.successfulAttempts = 2
                    expected.lastAttempted = clock.now
                    expected.lastVerified = clock.now
                    expected.etag = feed.etag
                    expected.qualityScore = expected.computedQualityScore
                    #expect(feed.model == expected)
                }

                // In the third run, a tenth of the feeds is broken.
                clock.advance(by: 3600)
                site.breakFeeds()
                current = site
                server.respond { [current] in current.reply(to: $0) }
                for (number, damage) in site.damages where damage == .connectionRefused {
                    try await server.stop(site.hosts[number])
                }
                // After all other feeds, the time limit of the silent ones ends.
                let silent = site.damages.filter { $0.value == .silence }.keys.map { site.path(of: $0) }
                let timer = TestClock()
                let rest = Mutex(500 - silent.count)
                server.forgetRequests()
                let third = try await update(timer: timer) {
                    guard
                        rest.withLock({
                            $0 -= 1
                            return $0
                        }) == 0
                    else { return }
                    Task {
                        await server.waitForRequests(silent.count) { silent.contains($0.path) }
                        await timer.waitForSleepers(silent.count)
                        timer.advance(by: 31)
                    }
                }
                let expectedFailures = site.damages.values.compactMap(\.failure).reduce(into: [:]) {
                    $0[$1, default: 0] += 1
                }
                #expect(third.failures == expectedFailures)
                #expect(third.count(.failed) == expectedFailures.values.reduce(0, +))
                #expect(third.count(.notSaved) == 0)
                #expect(third.feeds.count == 500)
                let afterThird = try await Contents(database)
                for feed in site.feeds {
                    let record = try #require(afterThird.feeds[name(feed.number)])
                    let failure = site.damages[feed.number]?.failure
                    #expect(record.totalAttempts == 3)
                    #expect(record.successfulAttempts == (failure == nil ? 3 : 2))
                    #expect(record.failureCount == (failure == nil ? 0 : 1))
                    #expect((record.lastFailureReason == nil) == (failure == nil))
                    #expect(record.isActive == (site.damages[feed.number] != .gone))
                    let isMoved = site.damages[feed.number] == .permanentRedirect
                    #expect(record.feedURL.hasSuffix(site.path(of: feed.number) + (isMoved ? ".new" : "")))
                }
                // A broken feed keeps its articles.
                #expect(Set(afterSecond.articles.keys).isSubset(of: afterThird.articles.keys))
                // The runs did not wait in real time: the test clock recorded all pauses.
                #expect(pauses.waits.allSatisfy { $0 <= .seconds(1) })
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func twoRunsAtOnceLoseNoCount() async throws {
        let site = Site(count: 200)
        try await withWebServer(hosts: site.hostCount) { server in
            server.respond { site.reply(to: $0) }
            try await withCloudKitEmulator { emulator in
                let database = try celestraDatabase(of: emulator)
                try await add(site, of: server, to: database, at: Date())
                let reports = try await withThrowingTaskGroup(of: UpdateReport.self) { group in
                    for _ in 0..<2 {
                        group.addTask {
                            let pauses = TestClock(skippingWaits: true)
                            return try await withWebFetcher(.celestra, clock: pauses.timer, timer: TestClock().timer) {
                                try await UpdateRun(database: database, fetcher: $0).update()
                            }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(reports.allSatisfy { $0.isSaved && $0.count(.failed) == 0 && $0.feeds.count == 200 })
                #expect(reports.reduce(0) { $0 + $1.newArticles } == 600)
                let contents = try await Contents(database)
                #expect(contents.articles.count == 600)
                #expect(contents.feeds.values.allSatisfy { $0.totalAttempts == 2 && $0.successfulAttempts == 2 })
            }
        }
    }
}
