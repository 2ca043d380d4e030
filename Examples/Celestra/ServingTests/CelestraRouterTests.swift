import CelestraUpdates
import CloudKitEmulator
import CloudKitEmulatorServer
import ExampleTesting
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import MistModels
import MistTesting
import NIOCore
import Testing

@testable import CelestraServing

/// The routes over an emulator with the schema of Celestra.
struct CelestraRouterTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// An emulator with 5 active feeds and an inactive one. The first feed has 45 articles.
    static func withFeeds<Value>(
        over connection: EmulatorConnection = .inProcess,
        clock: TestClock,
        _ body: (RunningEmulator) async throws -> Value
    ) async throws -> Value {
        try await withCloudKitEmulator(over: connection, clock: clock) { emulator in
            try emulator.rules.importSchema(CelestraSchema.container(), into: emulator.containerIdentifier)
            let database = emulator.service(as: .serverKey).publicDatabase
            for number in 0..<6 {
                var feed = FeedRecord(
                    feedURL: "http://\(number).example/feed",
                    title: "Feed \(number)",
                    addedAt: clock.now
                )
                feed.isActive = number < 5
                try await database.save(feed, named: "feed \(number)")
            }
            let articles = (0..<45).map { number in
                StoredRecord(article(number, fetchedAt: clock.now), recordName: "article-\(number)")
            }
            _ = try await database.save(articles).allOrThrow()
            return try await body(emulator)
        }
    }

    private static func article(_ number: Int, fetchedAt: Date) -> ArticleRecord {
        let item = """
            {"feedRecordName": "feed 0", "guid": "\(number)", "title": "Article \(number)", "contentHash": "",
            "url": "https://0.example/\(number)", "fetchedAt": \(fetchedAt.timeIntervalSinceReferenceDate + Double(number)),
            "expiresAt": 0, "content": "<p>unsafe</p>", "excerpt": "Beginning of \(number)"}
            """
        guard let article = try? JSONDecoder().decode(ArticleRecord.self, from: Data(item.utf8)) else {
            preconditionFailure("The article of the test is not valid.")
        }
        return article
    }

    private func withRouter(
        retryPolicy: RetryPolicy = .never,
        _ body: @Sendable (any TestClientProtocol, RunningEmulator, TestClock) async throws -> Void
    ) async throws {
        let clock = TestClock()
        try await CelestraRouterTests.withFeeds(clock: clock) { emulator in
            var configuration = FeedReader.Configuration()
            configuration.now = { clock.now }
            configuration.timer = clock.timer
            let reader = FeedReader(
                emulator.service(as: .serverKey) { $0.retryPolicy = retryPolicy }.publicDatabase,
                configuration: configuration,
                logger: CelestraRouterTests.quiet
            )
            let router = CelestraRouter(reader, logger: CelestraRouterTests.quiet).router()
            try await Application(router: router).test(.router) { client in try await body(client, emulator, clock) }
        }
    }

    private func object(_ response: TestResponse) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(response.body.readableBytesView))
        return try #require(value as? [String: Any])
    }

    /// The path in `Link: <…>; rel="next"`.
    private func next(_ response: TestResponse) -> String? {
        guard let link = response.headers[.link] else { return nil }
        return link.hasPrefix("<") && link.hasSuffix(">; rel=\"next\"") ? String(link.dropFirst().dropLast(13)) : nil
    }

    @Test func theFeedsThatAreUpdatedAreListedByTitle() async throws {
        try await withRouter { client, _, _ in
            let response = try await client.execute(uri: "/api/feeds", method: .get)
            #expect(response.status == .ok)
            #expect(response.headers[.contentType] == "application/json; charset=utf-8")
            #expect(response.headers[.cacheControl] == "public, max-age=60")
            #expect(response.headers[.link] == nil)
            #expect(response.headers[.xContentTypeOptions] == "nosniff")
            #expect(response.headers[.contentSecurityPolicy]?.hasPrefix("default-src 'none';") == true)
            let page = try object(response)
            let feeds = try #require(page["feeds"] as? [[String: Any]])
            #expect(feeds.map { $0["title"] as? String } == (0..<5).map { "Feed \($0)" })
            #expect(feeds[0]["articles"] as? String == "/api/feeds/feed%200/articles")
            #expect(feeds[0]["score"] as? Int == 50)

            let feed = try await client.execute(uri: "/api/feeds/feed%203", method: .get)
            #expect(try object(feed)["url"] as? String == "http://3.example/feed")
        }
    }

    @Test(arguments: ["/api/feeds/feed%200/articles", "/feeds/feed%200"])
    func aListingIsPassedThroughPageByPage(path: String) async throws {
        try await withRouter { client, _, _ in
            var uri: String? = path
            var counts: [Int] = []
            var seen: Set<Int> = []
            while let page = uri, counts.count < 10 {
                let response = try await client.execute(uri: page, method: .get)
                #expect(response.status == .ok)
                let text = String(buffer: response.body)
                #expect(!text.contains("unsafe"))
                let numbers = text.matches(of: #/Article (\d+)/#).compactMap { Int($0.output.1) }
                counts.append(numbers.count)
                seen.formUnion(numbers)
                uri = next(response)
                if let uri { #expect(text.contains(uri)) }
            }
            #expect(counts == [20, 20, 5])
            #expect(seen == Set(0..<45))
        }
    }

    @Test func theNewestArticlesComeFirst() async throws {
        try await withRouter { client, _, _ in
            let uri = "/api/feeds/feed%200/articles?limit=2"
            let page = try object(try await client.execute(uri: uri, method: .get))
            let articles = try #require(page["articles"] as? [[String: Any]])
            #expect(articles.map { $0["name"] as? String } == ["article-44", "article-43"])
            #expect(Set(articles[0].keys) == ["name", "title", "url", "fetched", "excerpt"])
        }
    }

    @Test(arguments: ["/api/feeds", "/", "/feeds/feed%200", "/style.css"])
    func aVersionThatTheBrowserHasIsNotSentAgain(uri: String) async throws {
        try await withRouter { client, _, clock in
            let first = try await client.execute(uri: uri, method: .get)
            let tag = try #require(first.headers[.eTag])
            #expect(tag.hasPrefix("W/") == (uri.hasPrefix("/api") || uri == "/style.css" ? false : true))
            clock.advance(by: 100)
            for field in [tag, "\"other\", \(tag)", "*", tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : "W/" + tag] {
                let second = try await client.execute(uri: uri, method: .get, headers: [.ifNoneMatch: field])
                #expect(second.status == .notModified)
                #expect(second.body.readableBytes == 0)
                #expect(second.headers[.eTag] == tag)
            }
            let other = try await client.execute(uri: uri, method: .get, headers: [.ifNoneMatch: "\"other\""])
            #expect(other.status == .ok)
            let head = try await client.execute(uri: uri, method: .head)
            #expect(head.headers[.eTag] == tag)
        }
    }

    /// A second query to the emulator would fail.
    @Test func manyBrowsersAreOneRequestToCloudKit() async throws {
        try await withRouter { client, emulator, clock in
            emulator.faults.add(FaultRule(.throttle(retryAfter: 60), on: "records/query", calls: .from(2)))
            emulator.faults.add(FaultRule(.delay(.seconds(2)), on: "records/query", calls: .only(1)))
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for index in 0..<60 {
                    let uri = index % 2 == 0 ? "/" : "/api/feeds"
                    group.addTask { try await client.execute(uri: uri, method: .get).status.code }
                }
                // The two sleepers are the emulator's delay and the time limit of the reader.
                await clock.waitForSleepers(2)
                clock.advance(by: 2)
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(statuses == [200])
            clock.advance(by: 50)
            let kept = try await client.execute(uri: "/api/feeds", method: .get)
            #expect(kept.status == .ok)
            #expect(kept.headers[.cacheControl] == "public, max-age=10")
            // The service fails from now on, but the cached page is still served.
            clock.advance(by: 20)
            let stale = try await client.execute(uri: "/api/feeds", method: .get)
            #expect(stale.status == .ok)
            #expect(stale.headers[.cacheControl] == "public, max-age=0")
        }
    }

    @Test(
        arguments: [
            ("/api/feeds/none", 404), ("/api/feeds/none/articles", 404), ("/feeds/none", 404), ("/api/feeds/%FF", 404),
            ("/api/feeds/\(String(repeating: "a", count: 256))", 404), ("/api/feeds?cursor=abc", 400),
            ("/?cursor=abc", 400),
            ("/api/feeds?limit=0", 400), ("/api/feeds?limit=101", 400), ("/api/feeds?limit=x", 400), ("/none", 404),
            ("/api/feeds?cursor=" + Cursor(listing: "feeds", limit: 20, marker: "not a marker").text, 400),
            (
                "/api/feeds/feed%200/articles?cursor="
                    + Cursor(listing: "feeds/feed 0/articles", limit: 20, marker: "not a marker").text, 400
            ),
            ("/api/feeds?cursor=" + Cursor(listing: "feeds/feed 0/articles", limit: 20, marker: "a").text, 400),
        ]
    )
    func mistakesOfTheAddressHaveStatuses(uri: String, status: Int) async throws {
        try await withRouter { client, _, _ in
            let response = try await client.execute(uri: uri, method: .get)
            #expect(response.status.code == status)
            guard uri != "/none" else { return }
            #expect(response.headers[.cacheControl] == "no-store")
            #expect(response.headers[.eTag] == nil)
            if uri.hasPrefix("/api") {
                #expect(response.headers[.contentType] == "application/problem+json")
                #expect(try object(response)["status"] as? Int == status)
            } else {
                #expect(String(buffer: response.body).contains("<h1>\(status) "))
            }
        }
    }

    /// A lookup in the emulator would fail with status 500.
    @Test func aNameThatNoRecordCanHaveIsNotAskedFor() async throws {
        try await withRouter { client, emulator, _ in
            emulator.faults.add(FaultRule(.htmlPage(status: 500), on: "records/lookup", calls: .from(1)))
            for (name, status) in [
                (String(repeating: "a", count: 255), 502), (String(repeating: "a", count: 256), 404),
            ] {
                let response = try await client.execute(uri: "/api/feeds/\(name)", method: .get)
                #expect(response.status.code == status)
            }
        }
    }

    @Test func articlesAreAsFreshAsTheirFeed() async throws {
        try await withRouter { client, _, clock in
            _ = try await client.execute(uri: "/api/feeds/feed%200", method: .get)
            clock.advance(by: 40)
            let articles = try await client.execute(uri: "/api/feeds/feed%200/articles", method: .get)
            #expect(articles.headers[.cacheControl] == "public, max-age=20")
        }
    }

    @Test func failuresOfCloudKitSayWhenToTryAgain() async throws {
        try await withRouter { client, emulator, clock in
            emulator.faults.add(FaultRule(.throttle(retryAfter: 20), on: "records/query", calls: .only(1)))
            emulator.faults.add(FaultRule(.htmlPage(status: 500), on: "records/query", calls: .only(2)))
            for _ in 0..<2 {
                // The failure is kept, so the second request does not reach CloudKit.
                let busy = try await client.execute(uri: "/api/feeds", method: .get)
                #expect(busy.status == .serviceUnavailable)
                #expect(busy.headers[.retryAfter] == "20")
            }
            clock.advance(by: 20)
            let broken = try await client.execute(uri: "/", method: .get)
            #expect(broken.status == .badGateway)
            clock.advance(by: 20)
            #expect(try await client.execute(uri: "/", method: .get).status == .ok)
        }
    }

    @Test func aBrowserWaitsForTenSecondsAtMost() async throws {
        try await withRouter { client, emulator, clock in
            emulator.faults.add(FaultRule(.hang(for: .seconds(3600)), on: "records/query", calls: .only(1)))
            async let response = client.execute(uri: "/api/feeds", method: .get)
            await clock.waitForSleepers(2)
            clock.advance(by: 10)
            let found = try await response
            #expect(found.status == .serviceUnavailable)
            #expect(found.headers[.retryAfter] == "5")
        }
    }

    // MARK: - Over a socket

    /// The built command: curl sends requests, and a signal ends the program while it responds.
    @Test func theProgramServesBrowsersAndEndsAfterTheLastResponse() async throws {
        let curl = URL(filePath: "/usr/bin/curl")
        guard FileManager.default.isExecutableFile(atPath: curl.path) else {
            print("Skipped: /usr/bin/curl is missing.")
            return
        }
        // The program signs its requests with the system time.
        let clock = TestClock(Date())
        try await CelestraRouterTests.withFeeds(over: .socket, clock: clock) { emulator in
            let program = try RunningProgram(
                RunningProgram.built("celestra"),
                ["serve", "--port", "0"],
                environment: [
                    "MISTKIT_CONTAINER": emulator.containerIdentifier, "MISTKIT_KEY_ID": emulator.serverKeyID,
                    "MISTKIT_PRIVATE_KEY": emulator.serverKeyPEM,
                    "MISTKIT_SERVER_URL": emulator.serverURL.absoluteString,
                ]
            )
            defer { program.send(SIGKILL) }
            let line = await program.firstLine()
            let address = try #require(line.split(separator: " ").last.map(String.init))
            #expect(line == "Serving at \(address)")
            let first = try await RunningProgram.run(curl, ["-si", "--max-time", "30", "\(address)api/feeds?limit=2"])
            #expect(first.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(first.output.contains("\"title\":\"Feed 1\""))
            #expect(first.output.lowercased().contains("\r\nlink: </api/feeds?cursor="))

            // A request is under way when the signal comes.
            emulator.faults.add(FaultRule(.delay(.seconds(2)), on: "records/query"))
            let last = try RunningProgram(curl, ["-si", "--max-time", "30", "\(address)feeds/feed%200"])
            await clock.waitForSleepers()
            program.send(SIGTERM)
            clock.advance(by: 2)
            let response = await last.outcome()
            #expect(response.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(response.output.contains("Article 44"))
            let outcome = await program.outcome()
            #expect(outcome.status == 0)
            #expect(outcome.errors == "")
        }
    }

    @Test func aPortThatIsTakenIsOneLineAndAnExitCode() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "celestra-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let celestra = RunningProgram.built("celestra")
        // Without credentials, the program serves its embedded emulator, whose data are in the folder.
        let first = try RunningProgram(celestra, ["serve", "--port", "0", "--data-folder", folder.path])
        defer { first.send(SIGKILL) }
        let port = try #require(await first.firstLine().split(separator: ":").last?.dropLast())
        let second = try await RunningProgram.run(
            celestra,
            ["serve", "--port", String(port), "--data-folder", folder.path]
        )
        #expect(second.status == 69)
        #expect(second.errors.contains("celestra: 127.0.0.1:\(port) cannot be served:"))
        first.send(SIGINT)
        #expect(await first.outcome().status == 0)
    }
}
