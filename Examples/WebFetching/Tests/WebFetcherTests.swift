import ExampleTesting
import Foundation
import MistTesting
import NIOHTTP1
import Testing
import WebFetching

struct WebFetcherTests {
    private func fetch(
        _ server: WebServer,
        _ path: String = "/feed",
        _ configuration: FetchConfiguration = FetchConfiguration(product: "celestra"),
        etag: String? = nil,
        lastModified: String? = nil
    ) async throws -> FetchResult {
        try await withWebFetcher(configuration, clock: TestClock(skippingWaits: true).timer, timer: TestClock().timer) {
            try await $0.fetch(server.addresses[0] + path, etag: etag, lastModified: lastModified)
        }
    }

    private func failure(_ result: FetchResult) -> FetchFailure.Code? {
        if case .failure(let failure) = result.answer { failure.code } else { nil }
    }

    /// Checks that a fetch succeeds, or fails as expected.
    private func expect(
        _ code: FetchFailure.Code?,
        _ server: WebServer,
        _ path: String = "/feed",
        _ configuration: FetchConfiguration = FetchConfiguration(product: "celestra"),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let result = try await fetch(server, path, configuration)
        expect(code, result, sourceLocation: sourceLocation)
    }

    private func expect(
        _ code: FetchFailure.Code?,
        _ result: FetchResult,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(failure(result) == code, sourceLocation: sourceLocation)
    }

    @Test func aDocumentComesWithItsValidators() async throws {
        try await withWebServer { server in
            server.respond { request in
                guard request.path == "/feed" else { return .response(404) }
                let headers = [
                    ("Content-Type", "text/xml"), ("ETag", "\"1\""), ("Last-Modified", "Thu, 01 Jan 2026 10:00:00 GMT"),
                ]
                return .response(200, headers: headers, body: Array("<rss/>".utf8))
            }
            let result = try await fetch(server, etag: "\"0\"", lastModified: "yesterday")
            let address = try #require(WebAddress(server.addresses[0] + "/feed"))
            let document = FetchedDocument(
                body: Array("<rss/>".utf8),
                contentType: "text/xml",
                address: address,
                etag: "\"1\"",
                lastModified: "Thu, 01 Jan 2026 10:00:00 GMT"
            )
            #expect(result == FetchResult(.document(document)))
            #expect(server.requests.map(\.path) == ["/robots.txt", "/feed"])
            let headers = server.requests[1].headers
            #expect(headers["If-None-Match"] == ["\"0\""])
            #expect(headers["If-Modified-Since"] == ["yesterday"])
            #expect(headers["User-Agent"] == ["celestra/1.0"])
            #expect(server.requests[0].headers["If-None-Match"] == [])
        }
    }

    @Test func anUnchangedDocumentIsNotSent() async throws {
        try await withWebServer { server in
            server.respond { $0.headers["If-None-Match"] == ["\"1\""] ? .response(304) : .response(200) }
            let result = try await fetch(server, etag: "\"1\"")
            #expect(result == FetchResult(.notModified))
        }
    }

    @Test func permanentRedirectsGiveANewAddress() async throws {
        try await withWebServer { server in
            server.respond { request in
                switch request.path {
                case "/feed": .response(301, headers: [("Location", "/b")])
                case "/b": .response(308, headers: [("Location", "/c")])
                case "/c": .response(302, headers: [("Location", "/d")])
                case "/d": .response(301, headers: [("Location", "/e")])
                case "/e": .response(200)
                default: .response(404)
                }
            }
            let result = try await fetch(server)
            // A redirect after a temporary one counts as temporary, too.
            #expect(result.newAddress?.text == server.addresses[0] + "/c")
            guard case .document(let document) = result.answer else {
                Issue.record("There should be a document.")
                return
            }
            #expect(document.address.text == server.addresses[0] + "/e")
        }
    }

    @Test func redirectsEnd() async throws {
        try await withWebServer { server in
            server.respond { request in
                switch request.path {
                case "/robots.txt": .response(404)
                case "/loop": .response(301, headers: [("Location", "/pool")])
                case "/pool": .response(302, headers: [("Location", "/loop")])
                default: .response(302, headers: [("Location", request.path + "x")])
                }
            }
            try await expect(.redirectLoop, server, "/loop")
            server.forgetRequests()
            try await expect(.tooManyRedirects, server)
            #expect(server.requests.count == 1 + 6)
        }
    }

    @Test func responsesHaveALimit() async throws {
        var configuration = FetchConfiguration(product: "celestra")
        configuration.sizeLimit = 1000
        try await withWebServer { server in
            let large = [UInt8](repeating: 0x20, count: 1001)
            server.respond { request in
                switch request.path {
                case "/feed": .response(200, body: large)
                case "/zip": .response(200, headers: [("Content-Encoding", "gzip")], body: gzip(large))
                case "/fits": .response(200, headers: [("Content-Encoding", "gzip")], body: gzip(large.dropLast()))
                default: .response(404)
                }
            }
            try await expect(.tooLarge, server, "/feed", configuration)
            try await expect(.tooLarge, server, "/zip", configuration)
            try await expect(nil, server, "/fits", configuration)
        }
    }

    @Test func damagedResponsesAreFailures() async throws {
        try await withWebServer { server in
            let bytes = Array("<rss></rss>".utf8)
            server.respond { request in
                let zipped = [("Content-Encoding", "gzip")]
                return switch request.path {
                case "/truncated": .truncated(body: bytes, missing: 1)
                case "/noise": .response(200, headers: zipped, body: bytes)
                case "/half": .response(200, headers: zipped, body: gzip(bytes).dropLast(9))
                default: .response(404)
                }
            }
            try await expect(.truncated, server, "/truncated")
            try await expect(.undecodable, server, "/noise")
            try await expect(.undecodable, server, "/half")
        }
    }

    @Test func aSilentHostIsLeftAfterTheTimeLimit() async throws {
        try await withWebServer { server in
            server.respond { $0.path == "/robots.txt" ? .response(404) : .silence }
            let timer = TestClock()
            try await withWebFetcher(FetchConfiguration(product: "celestra"), timer: timer.timer) { fetcher in
                async let result = fetcher.fetch(server.addresses[0] + "/feed")
                await server.waitForRequests { $0.path == "/feed" }
                await timer.waitForSleepers()
                timer.advance(by: 31)
                expect(.timedOut, try await result)
            }
        }
    }

    @Test func aHostThatIsDownIsUnreachable() async throws {
        try await withWebServer { server in
            try await server.stop(0)
            try await expect(.unreachable, server)
            let result = try await fetch(server, "/\u{0} not an address")
            #expect(failure(result) != nil)
        }
    }

    @Test(arguments: [(200, true), (401, true), (404, true), (500, false), (503, false)])
    func theStatusOfRobotsDecides(status: Int, isAllowed: Bool) async throws {
        try await withWebServer { server in
            server.respond { $0.path == "/robots.txt" ? .response(status) : .response(200) }
            try await expect(isAllowed ? nil : .refusedByRobots, server)
            #expect(server.requests.count == (isAllowed ? 2 : 1))
        }
    }

    @Test func rulesAreAskedOnceAndObeyedAfterRedirects() async throws {
        try await withWebServer(hosts: 2) { server in
            let other = server.addresses[1]
            server.respond { request in
                switch (request.host, request.path) {
                case (0, "/robots.txt"): .response(302, headers: [("Location", "/rules")])
                case (0, "/rules"), (1, "/robots.txt"): .response(200, body: Array("User-agent: *\nDisallow: /no".utf8))
                case (0, "/away"): .response(302, headers: [("Location", other + "/no")])
                default: .response(200)
                }
            }
            try await withWebFetcher(
                FetchConfiguration(product: "celestra"),
                clock: TestClock(skippingWaits: true).timer,
                timer: TestClock().timer
            ) {
                fetcher in
                for (path, code) in [("/yes", nil), ("/no", .refusedByRobots), ("/away", .refusedByRobots)]
                    as [(String, FetchFailure.Code?)]
                {
                    expect(code, try await fetcher.fetch(server.addresses[0] + path))
                }
            }
            #expect(
                server.requests.map { "\($0.host)\($0.path)" } == [
                    "0/robots.txt", "0/rules", "0/yes", "0/away", "1/robots.txt",
                ]
            )
        }
    }

    @Test func requestsOfAHostComeOneByOneWithPauses() async throws {
        let clock = TestClock(skippingWaits: true)
        try await withWebServer(hosts: 2) { server in
            server.respond { request in
                guard request.path == "/robots.txt" else { return .response(200) }
                return request.host == 0
                    ? .response(404) : .response(200, body: Array("User-agent: *\nCrawl-delay: 5".utf8))
            }
            try await withWebFetcher(
                FetchConfiguration(product: "celestra"),
                clock: clock.timer,
                timer: TestClock().timer
            ) { fetcher in
                for host in [0, 1] {
                    for path in ["/1", "/2", "/3"] { _ = try await fetcher.fetch(server.addresses[host] + path) }
                }
            }
        }
        #expect(clock.waits == [.seconds(1), .seconds(1), .seconds(5), .seconds(5)])
    }

    @Test func requestsThatComeTogetherAskForRulesOnce() async throws {
        try await withWebServer { server in
            server.respond { $0.path == "/robots.txt" ? .response(404) : .response(200) }
            try await withWebFetcher(
                FetchConfiguration(product: "celestra"),
                clock: TestClock(skippingWaits: true).timer,
                timer: TestClock().timer
            ) { fetcher in
                await withTaskGroup { group in
                    for number in 1...8 {
                        group.addTask { _ = try? await fetcher.fetch(server.addresses[0] + "/\(number)") }
                    }
                }
            }
            #expect(server.requests.map(\.path).sorted() == (1...8).map { "/\($0)" } + ["/robots.txt"])
            #expect(server.requests.first?.path == "/robots.txt")
        }
    }

    @Test(arguments: [429, 503])
    func aHostThatAsksToWaitGetsNoRequest(status: Int) async throws {
        let clock = TestClock(skippingWaits: true)
        try await withWebServer { server in
            server.respond { request in
                switch request.path {
                case "/busy": .response(status, headers: [("Retry-After", "600")])
                // Without Retry-After there is no reason to wait, and with another status Retry-After is ignored.
                case "/full": .response(status)
                case "/broken": .response(500, headers: [("Retry-After", "600")])
                default: .response(200)
                }
            }
            try await withWebFetcher(
                FetchConfiguration(product: "celestra"),
                clock: clock.timer,
                timer: TestClock().timer
            ) { fetcher in
                let address = server.addresses[0]
                for path in ["/full", "/broken"] { expect(.status, try await fetcher.fetch(address + path)) }
                expect(nil, try await fetcher.fetch(address + "/a"))
                expect(.status, try await fetcher.fetch(address + "/busy"))
                expect(.postponed, try await fetcher.fetch(address + "/a"))
                clock.advance(by: 598)
                expect(.postponed, try await fetcher.fetch(address + "/a"))
                clock.advance(by: 2)
                expect(nil, try await fetcher.fetch(address + "/a"))
            }
            #expect(server.requests.map(\.path) == ["/robots.txt", "/full", "/broken", "/a", "/busy", "/a"])
        }
    }

    @Test func aCancelledFetchEnds() async throws {
        try await withWebServer { server in
            server.respond { _ in .silence }
            try await withWebFetcher(FetchConfiguration(product: "celestra"), timer: TestClock().timer) { fetcher in
                let address = server.addresses[0]
                let first = Task { try await fetcher.fetch(address + "/1") }
                await server.waitForRequests { _ in true }
                // The second fetch waits for its turn at the host.
                let second = Task { try await fetcher.fetch(address + "/2") }
                second.cancel()
                await #expect(throws: CancellationError.self) { try await second.value }
                first.cancel()
                await #expect(throws: CancellationError.self) { try await first.value }
            }
        }
    }
}
