import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import MistModels
import MistTesting
import NIOCore
import Testing

/// What the server tells about a feed.
struct FeedSummary: ResponseEncodable {
    var name: String
    var title: String
    var score: Int
}

/// The public feeds over HTTP.
func feedRouter(_ service: CloudKitService) -> Router<BasicRequestContext> {
    let router = Router()
    router.get("feeds/:category") { _, context in
        let category = try context.parameters.require("category")
        let query = Query<Feed> {
            Filter(\.category == category)
            Sort(\.qualityScore, ascending: false)
        }
        let feeds = try await answering(context.logger) {
            try await service.publicDatabase.records(matching: query).collect(limit: 50)
        }
        return feeds.map { FeedSummary(name: $0.recordName, title: $0.title, score: $0.qualityScore) }
    }
    router.delete("feeds/by-name/:name") { _, context in
        let name = try context.parameters.require("name")
        try await answering(context.logger) {
            let feed = try await service.publicDatabase.fetch(Feed.self, named: name)
            try await service.publicDatabase.delete(feed)
        }
        return HTTPResponse.Status.noContent
    }
    return router
}

/// Turns CloudKit's errors into answers of this server, and writes them down.
func answering<Output>(
    _ logger: Logger,
    _ body: () async throws -> Output
) async throws -> Output {
    do {
        return try await body()
    } catch let error as CloudKitError {
        logger.error("CloudKit failed", metadata: ["error": "\(error)"])
        switch error.code {
        case .notFound: throw HTTPError(.notFound)
        case .conflict, .exists: throw HTTPError(.conflict)
        default:
            guard error.isTransient else { throw HTTPError(.internalServerError) }
            let seconds = max(1, error.retryAfter?.components.seconds ?? 30)
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "\(seconds)"])
        }
    }
}

/// What the program does when it starts.
func serve() async throws {
    let service = try CloudKitService.fromEnvironment()
    let app = Application(router: feedRouter(service), configuration: .init(address: .hostname("0.0.0.0", port: 8080)))
    try await app.runService()
}

/// The Swift of "On a server".
@Suite(.serialized)
struct ServerTests {
    @Test func feedsAreServed() async throws {
        try await withCloudKitEmulator { emulator in
            let service = emulator.service(as: .serverKey)
            try await service.publicDatabase.save(Feed.swift, named: "feed-swift")

            let app = Application(router: feedRouter(service))
            try await app.test(.router) { client in
                try await client.execute(uri: "/feeds/programming", method: .get) { response in
                    #expect(response.status == .ok)
                    #expect(String(buffer: response.body).contains(#""title":"Swift.org""#))
                }
                try await client.execute(uri: "/feeds/by-name/nothing", method: .delete) { response in
                    #expect(response.status == .notFound)
                }
                try await client.execute(uri: "/feeds/by-name/feed-swift", method: .delete) { response in
                    #expect(response.status == .noContent)
                }
            }
        }
    }
}
