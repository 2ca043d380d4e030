import ArgumentParser
import CelestraUpdates
import ExampleTesting
import Foundation
import MistModels
import MistTesting
import ProgramSupport
import Testing
import WebFetching

@testable import celestra

struct CommandTests {
    private let clock = TestClock()

    /// Runs a test with a server that has three feeds on one host, a database, and a run.
    private func withDatabase(_ body: @Sendable (WebServer, CloudKitDatabase, UpdateRun) async throws -> Void)
        async throws
    {
        try await withWebServer { server in
            server.respond { request in
                switch request.path {
                case "/0": .response(200, headers: SampleFeed(number: 0).headers, body: SampleFeed(number: 0).body)
                case "/1": .response(200, headers: SampleFeed(number: 1).headers, body: SampleFeed(number: 1).body)
                case "/2", "/3?category=news&language=en&format=rss&p=1": .response(500)
                case "/page":
                    .response(
                        200,
                        headers: [("Content-Type", "text/html")],
                        body: Array("<html><link rel=alternate type='application/rss+xml' href='/0'><p>Hi".utf8)
                    )
                default: .response(404)
                }
            }
            try await withCloudKitEmulator(clock: clock) { emulator in
                let database = try celestraDatabase(of: emulator)
                let pauses = TestClock(skippingWaits: true)
                try await withWebFetcher(.celestra, clock: pauses.timer, timer: TestClock().timer) { fetcher in
                    var run = UpdateRun(database: database, fetcher: fetcher)
                    run.now = { [clock] in clock.now }
                    try await body(server, database, run)
                }
            }
        }
    }

    private func add(_ address: String, _ database: CloudKitDatabase, _ run: UpdateRun) async throws -> String {
        try await AddCommand.parse([address, "--category", "news"]).add(to: database, updatingWith: run)
    }

    @Test func aFeedIsAddedOnce() async throws {
        try await withDatabase { server, database, run in
            let address = server.addresses[0] + "/0"
            let name = FeedRecord.recordName(for: address)
            #expect(try await add(address, database, run) == "Added Café 0 as \(name), with 3 articles.")
            #expect(try await add(" \(address)#top", database, run) == "\(address) is there already, as \(name).")
            let broken = try await add(server.addresses[0] + "/2", database, run)
            #expect(broken.contains("The first update failed: "))
            #expect(broken.hasSuffix("answers with status 500. The next one tries again."))
            await #expect(throws: CommandFailure.self) { try await add("swift.org", database, run) }
            #expect(try await database.count(matching: Query<FeedRecord> {}) == 2)
        }
    }

    @Test func anAddressWithoutAFeedIsNotAdded() async throws {
        try await withDatabase { server, database, run in
            let host = server.addresses[0]
            for (path, found) in [
                ("/page", "An HTML page is not a feed. The page names its feeds: \(host)/0 (line 1)"),
                ("/none", "\(host)/none answers with status 404."),
            ] {
                let error = await #expect(throws: CommandFailure.self) { try await add(host + path, database, run) }
                #expect(error?.kind == .data)
                let text = error?.description ?? ""
                #expect(text.hasPrefix("\(host)\(path) has no feed, and was not added. \(found)\nGive "), "\(text)")
            }
            let feeds = try await database.count(matching: Query<FeedRecord> {})
            let articles = try await database.count(matching: Query<ArticleRecord> { Sort(\.fetchedAt) })
            #expect(feeds == 0 && articles == 0)
        }
    }

    @Test func aFeedIsRemovedWithItsArticles() async throws {
        try await withDatabase { server, database, run in
            let host = server.addresses[0]
            for path in ["/0", "/1"] { _ = try await add(host + path, database, run) }
            #expect(
                try await RemoveCommand.parse([host + "/0"]).remove(from: database) == "Removed Café 0 with 3 articles."
            )
            #expect(try await database.records(matching: Query<FeedRecord> {}).collect().map(\.title) == ["Café 1"])
            let articles = try await database.records(matching: Query<ArticleRecord> { Sort(\.fetchedAt) }).collect()
            #expect(articles.count == 3)
            #expect(Set(articles.map(\.feedRecordName)) == [FeedRecord.recordName(for: host + "/1")])
            for feed in [host + "/0", "no-such-record"] {
                let error = await #expect(throws: CommandFailure.self) {
                    try await RemoveCommand.parse([feed]).remove(from: database)
                }
                #expect(error?.kind == .data)
            }
        }
    }

    @Test func feedsOfOneHostAreToldApart() async throws {
        try await withDatabase { server, database, run in
            let host = server.addresses[0]
            for path in ["/2", "/3?category=news&language=en&format=rss&p=1"] {
                _ = try await add(host + path, database, run)
            }
            let list = try await ListCommand.parse([]).text(of: database).split(separator: "\n").dropFirst(2)
            let name = host.dropFirst("http://".count)
            let titles = list.map { $0.split(separator: " ")[0] }
            #expect(titles == ["\(name)/2", "\(name)/3?category=news&language=en&format=rss&p=1"])
            #expect(list.last?.contains("…") == true && list.last?.hasSuffix("language=en&format=rss&p=1") == true)
        }
    }

    @Test func theTablesShowWhatIsThere() async throws {
        try await withDatabase { server, database, run in
            for path in ["/0", "/1", "/2"] { _ = try await add(server.addresses[0] + path, database, run) }
            clock.advance(by: 3600)
            let command = try UpdateCommand.parse(["--not-attempted-since", "30m", "--max-failures", "1"])
            let report = try await command.report(run)
            let address = server.addresses[0]
            let host = address.dropFirst("http://".count)
            let lines = try command.text(of: report).split(separator: "\n")
            #expect(lines.count == 7)
            #expect(lines[0].split(separator: " ") == ["feed", "outcome", "new", "changed", "reason"])
            #expect(lines[2].split(separator: " ").prefix(4) == ["\(host)/2", "failed", "0", "0"])
            #expect(lines[2].hasSuffix("\(address)/2 answers with status 500."))
            #expect(lines[3] == "feeds     3: 2 updated, 1 failed")
            #expect(lines[4] == "articles  0 new, 0 changed, 0 expired")
            #expect(lines[5] == "failures  1 status")
            #expect(UpdateCommand.failure(of: report) == nil)

            let list = try await ListCommand.parse([]).text(of: database).split(separator: "\n")
            #expect(list.count == 5)
            #expect(list[0].hasPrefix("title"))
            #expect(list[2].hasPrefix("\(host)"))
            #expect(list[3].hasPrefix("Café 0"))

            let articles = try await ArticlesCommand.parse(["--feed", address + "/1", "--limit", "2"]).text(
                of: database
            )
            #expect(articles.split(separator: "\n").count == 4)
            #expect(articles.contains("2026-01-03 10:00  Crème 3 of 1"))

            let health = try await ReportCommand.parse([]).text(of: database)
            #expect(health.contains("feeds     3 active, 1 of them failing, 0 never fetched; 0 no longer updated"))
            #expect(health.contains("attempts  6, 4 with success"))
            #expect(health.contains("articles  6"))
        }
    }

    @Test func theReportsAreJSONForPrograms() async throws {
        try await withDatabase { server, database, run in
            for path in ["/0", "/2"] { _ = try await add(server.addresses[0] + path, database, run) }
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            let command = try UpdateCommand.parse(["--json"])
            let text = try command.text(of: try await command.report(run))
            let summary = try decoder.decode(RunSummary.self, from: Data(text.utf8))
            #expect(summary.outcomes.filter { $0.value > 0 } == ["updated": 1, "failed": 1])
            #expect(Set(summary.outcomes.keys) == Set(FeedReport.Outcome.allCases.map(\.rawValue)))
            #expect(summary.failures == ["status": 1])
            #expect(summary.startedAt == clock.now)

            let report = try await ReportCommand.parse(["--json"]).text(of: database)
            let health = try decoder.decode(FeedHealth.self, from: Data(report.utf8))
            #expect(health.totalAttempts == 4)
            #expect(health.feeds.map(\.failureCount) == [2, 0])
        }
    }

    @Test func feedsAreExported() async throws {
        try await withDatabase { server, database, run in
            _ = try await add(server.addresses[0] + "/0", database, run)
            let address = server.addresses[0] + "/0"
            let opml = try await ExportCommand.parse([]).text(of: database)
            let line = "<outline type=\"rss\" text=\"Café 0\" xmlUrl=\"\(address)\" htmlUrl=\"http://example.com/0\"/>"
            #expect(opml.contains(line))
            #expect(opml.contains("<outline text=\"news\">"))
            let json = try await ExportCommand.parse(["--format", "json"]).text(of: database)
            #expect(json.contains("\"recordName\" : \"\(FeedRecord.recordName(for: address))\""))
            #expect(json.contains("\"guid\" : \"guid-3\""))
        }
    }

    @Test func exitCodesAreForSchedules() async throws {
        try await withDatabase { server, database, run in
            _ = try await add(server.addresses[0] + "/2", database, run)
            let failed = try await UpdateCommand.parse([]).report(run)
            #expect(UpdateCommand.failure(of: failed)?.kind == .unavailable)
            // The feeds that were left do not matter: all fetched feeds failed.
            var late = failed
            late.feeds.append(failed.feeds[0])
            late.feeds[1].outcome = .outOfTime
            #expect(UpdateCommand.failure(of: late)?.kind == .unavailable)
            let noTime = try await UpdateCommand.parse(["--stop-after", "0s"]).report(run)
            #expect(noTime.feeds.map(\.outcome) == [.outOfTime])
            #expect(UpdateCommand.failure(of: noTime)?.kind == .tryAgain)
            _ = try await add(server.addresses[0] + "/0", database, run)
            let mixed = try await UpdateCommand.parse([]).report(run)
            #expect(UpdateCommand.failure(of: mixed) == nil)
            var unsaved = mixed
            unsaved.feeds[0].outcome = .notSaved
            #expect(UpdateCommand.failure(of: unsaved)?.kind == .tryAgain)
        }
    }

    @Test func optionsAreChecked() throws {
        #expect(TimeSpan(argument: "90s")?.seconds == 90)
        #expect(TimeSpan(argument: "2h")?.seconds == 7200)
        #expect(TimeSpan(argument: "7d")?.description == "7d")
        for text in ["", "2", "h", "-2h", "2.5h", "99999999999d", "2w"] { #expect(TimeSpan(argument: text) == nil) }
        #expect(throws: (any Error).self) { try UpdateCommand.parse(["--concurrency", "0"]) }
        #expect(throws: (any Error).self) { try UpdateCommand.parse(["--pause=-1"]) }
        #expect(throws: (any Error).self) { try UpdateCommand.parse(["--user-agent", "a\nb"]) }
        #expect(throws: (any Error).self) { try ArticlesCommand.parse(["--limit", "0"]) }
    }

    @Test func settingsAreChecked() throws {
        func failure(_ variables: [String: String]) throws -> CommandFailure.Kind? {
            let error = #expect(throws: CommandFailure.self) {
                try ServiceOptions<Celestra>.parse([]).database(variables)
            }
            return error?.kind
        }
        #expect(try failure(["MISTKIT_SERVER_URL": "http://127.0.0.1:1"]) == .permission)
        #expect(try failure(["MISTKIT_KEY_ID": "1"]) == .usage)
        let key = ["MISTKIT_KEY_ID": "1", "MISTKIT_CONTAINER": "iCloud.a"]
        #expect(try failure(key) == .permission)
        #expect(try failure(key.merging(["MISTKIT_PRIVATE_KEY_FILE": "/no/file"]) { $1 }) == .permission)
        #expect(try failure(key.merging(["MISTKIT_SERVER_URL": "localhost"]) { $1 }) == .usage)
        #expect(try failure(["MISTKIT_ENVIRONMENT": "test"]) == .usage)
        // Any case is accepted: some users write the name as Apple's pages do.
        #expect(try failure(key.merging(["MISTKIT_ENVIRONMENT": "Production"]) { $1 }) == .permission)
    }

    @Test func withoutCredentialsTheDataAreInAFolder() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "celestra-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let options = try ServiceOptions<Celestra>.parse(["--data-folder", folder.path])
        let feed = FeedRecord(feedURL: "http://a.example/", title: "A", addedAt: clock.now)
        try await options.database([:]).save(feed, named: "a")
        #expect(try await options.database([:]).fetch(FeedRecord.self, named: "a").model == feed)
    }
}
