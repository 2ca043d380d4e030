import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MistModels

/// Serves the feeds and articles over HTTP: JSON for programs below `/api`, and pages for people.
///
/// ```swift
/// let router = CelestraRouter(database, logger: logger).router()
/// try await Application(router: router).runService()
/// ```
public struct CelestraRouter: Sendable {
    private let reader: FeedReader
    private let logger: Logger

    /// Creates the routes.
    ///
    /// - Parameters:
    ///   - database: The database with the feeds.
    ///   - lifetime: The number of seconds that a page is kept before CloudKit is asked again.
    ///   - logger: Where failures of CloudKit are written.
    public init(_ database: CloudKitDatabase, lifetime: Double = 60, logger: Logger) {
        var configuration = FeedReader.Configuration()
        configuration.lifetime = lifetime
        self.init(FeedReader(database, configuration: configuration, logger: logger), logger: logger)
    }

    init(_ reader: FeedReader, logger: Logger) {
        self.reader = reader
        self.logger = logger
    }

    /// A router with the routes.
    public func router() -> Router<BasicRequestContext> {
        let router = Router(context: BasicRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.get("health") { _, _ in HTTPResponse.Status.ok }
        router.get("style.css") { request, _ in
            HTMLPage.style.response(to: request, freshFor: 86_400)
        }
        router.get("api/feeds") { request, _ in
            await answer(request, asProblem: ServingFailure.json) {
                let copy = try await reader.feeds(PageAddress(request, of: FeedReader.feedListing))
                return try Representation(json: FeedList(copy.value))
                    .response(to: request, freshFor: copy.freshFor, next: copy.value.next?.path(below: "/api/feeds"))
            }
        }
        router.get("api/feeds/:name") { request, context in
            await answer(request, asProblem: ServingFailure.json) {
                let name = try feedName(context)
                let copy = try await reader.feed(name)
                return try Representation(json: FeedItem(Named(name: name, entry: copy.value)))
                    .response(to: request, freshFor: copy.freshFor)
            }
        }
        router.get("api/feeds/:name/articles") { request, context in
            await answer(request, asProblem: ServingFailure.json) {
                let name = try feedName(context)
                let page = try PageAddress(request, of: FeedReader.articleListing(of: name))
                let found = try await reader.articles(of: name, page)
                let path = "/api/feeds/\(escapedPathComponent(name))/articles"
                return try Representation(json: ArticleList(found.articles, path: path))
                    .response(to: request, freshFor: found.freshFor, next: found.articles.next?.path(below: path))
            }
        }
        router.get("/") { request, _ in
            await answer(request, asProblem: HTMLPage.problem) {
                let copy = try await reader.feeds(PageAddress(request, of: FeedReader.feedListing))
                return HTMLPage.feeds(copy.value).representation(asOf: copy.loadedAt)
                    .response(to: request, freshFor: copy.freshFor, next: copy.value.next?.path(below: "/"))
            }
        }
        router.get("feeds/:name") { request, context in
            await answer(request, asProblem: HTMLPage.problem) {
                let name = try feedName(context)
                let page = try PageAddress(request, of: FeedReader.articleListing(of: name))
                let found = try await reader.articles(of: name, page)
                let path = "/feeds/\(escapedPathComponent(name))"
                return HTMLPage.articles(found.articles, of: found.feed, path: path).representation(
                    asOf: found.loadedAt
                )
                .response(to: request, freshFor: found.freshFor, next: found.articles.next?.path(below: path))
            }
        }
        return router
    }

    private func feedName(_ context: BasicRequestContext) throws -> String {
        guard let name = context.parameters.get("name")?.removingPercentEncoding else {
            throw ServingFailure.noSuchFeed
        }
        return name
    }

    /// Runs `body`. If it throws, responds with the failure in the form of the route: JSON or HTML.
    private func answer(
        _ request: Request,
        asProblem problem: (ServingFailure) -> Representation,
        _ body: () async throws -> Response
    ) async -> Response {
        do {
            return try await body()
        } catch {
            let failure: ServingFailure
            if let known = error as? ServingFailure {
                failure = known
            } else {
                logger.error("\(request.uri.path) failed: \(error)")
                failure = ServingFailure(status: .internalServerError, message: "This page cannot be shown.")
            }
            return problem(failure).response(to: failure)
        }
    }
}

extension PageAddress {
    /// Reads the page from the query of a request: a cursor, or the number of entries of the first page and of those
    /// that follow it.
    fileprivate init(_ request: Request, of listing: String) throws(ServingFailure) {
        let parameters = request.uri.queryParameters
        if let text = parameters.get("cursor") {
            guard let cursor = Cursor(text, of: listing) else { throw ServingFailure.invalidCursor }
            self.init(limit: cursor.limit, marker: cursor.marker)
        } else if let text = parameters.get("limit") {
            guard let limit = Int(text), PageLimit.range.contains(limit) else { throw ServingFailure.invalidLimit }
            self.init(limit: limit)
        } else {
            self.init()
        }
    }
}

extension Cursor {
    /// The address of the page.
    func path(below path: String) -> String { "\(path)?cursor=\(text)" }
}

/// A record name, percent-encoded for a path.
func escapedPathComponent(_ name: String) -> String {
    let allowed = CharacterSet(charactersIn: "-._~").union(.init(charactersIn: "a"..."z"))
        .union(.init(charactersIn: "A"..."Z")).union(.init(charactersIn: "0"..."9"))
    return name.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
}
