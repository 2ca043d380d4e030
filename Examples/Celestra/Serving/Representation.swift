import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The body of a response, with its type and its version.
struct Representation: Sendable {
    var body: [UInt8]
    var contentType: String
    var tag: EntityTag

    /// JSON for programs, with a strong tag: equal bytes have equal tags.
    init(json value: some Encodable, contentType: String = "application/json; charset=utf-8") throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        self.init(Array(try encoder.encode(value)), contentType: contentType)
    }

    /// Any bytes, with a strong tag.
    init(_ body: [UInt8], contentType: String) {
        self.init(body, contentType: contentType, tag: EntityTag(of: body))
    }

    init(_ body: [UInt8], contentType: String, tag: EntityTag) {
        self.body = body
        self.contentType = contentType
        self.tag = tag
    }

    /// The response: status 304 without a body if the browser has this version.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - freshFor: The number of seconds for which the browser may use the response without another request.
    ///   - next: The path of the next page, or `nil` for the last page.
    /// - Returns: The response.
    func response(to request: Request, freshFor: TimeInterval, next: String? = nil) -> Response {
        var headers: HTTPFields = [
            .eTag: tag.description,
            .cacheControl: "public, max-age=\(max(0, Int(freshFor.rounded(.up))))",
        ]
        if let next { headers[.link] = "<\(next)>; rel=\"next\"" }
        let known = request.headers[values: .ifNoneMatch].joined(separator: ", ")
        if !known.isEmpty, tag.isListed(in: known) { return Response(status: .notModified, headers: headers) }
        return response(.ok, headers: headers)
    }

    /// The response to a request that failed. Caches do not keep it.
    func response(to failure: ServingFailure) -> Response {
        var headers: HTTPFields = [.cacheControl: "no-store"]
        if let seconds = failure.retryAfter { headers[.retryAfter] = "\(seconds)" }
        return response(failure.status, headers: headers)
    }

    private func response(_ status: HTTPResponse.Status, headers: HTTPFields) -> Response {
        var headers = headers
        headers[.contentType] = contentType
        headers[.xContentTypeOptions] = "nosniff"
        // Titles and addresses come from arbitrary feeds: a page runs no script and loads nothing but its style.
        headers[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        headers[.referrerPolicy] = "no-referrer"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}

/// A feed in JSON.
struct FeedItem: Encodable {
    var name: String
    var title: String
    var url: String
    var articles: String
    var score: Int
    var category: String?
    var language: String?
    var description: String?
    var site: String?
    var lastVerified: Date?

    init(_ feed: Named<FeedEntry>) {
        name = feed.name
        title = feed.entry.title
        url = feed.entry.feedURL
        articles = "/api/feeds/\(escapedPathComponent(feed.name))/articles"
        score = feed.entry.qualityScore
        category = feed.entry.category
        language = feed.entry.language
        description = feed.entry.description
        site = feed.entry.siteURL
        lastVerified = feed.entry.lastVerified
    }
}

/// A page of feeds in JSON.
struct FeedList: Encodable {
    var feeds: [FeedItem]
    var next: String?

    init(_ page: EntryPage<FeedEntry>) {
        feeds = page.entries.map(FeedItem.init)
        next = page.next?.path(below: "/api/feeds")
    }
}

/// A page of articles in JSON.
struct ArticleList: Encodable {
    struct Item: Encodable {
        var name: String
        var title: String
        var url: String
        var fetched: Date
        var published: Date?
        var excerpt: String?
        var author: String?
        var readingMinutes: Int?
        var tags: [String]?
    }

    var articles: [Item]
    var next: String?

    init(_ page: EntryPage<ArticleEntry>, path: String) {
        articles = page.entries.map { article in
            Item(
                name: article.name,
                title: article.entry.title,
                url: article.entry.url,
                fetched: article.entry.fetchedAt,
                published: article.entry.publishedDate,
                excerpt: article.entry.excerpt,
                author: article.entry.author,
                readingMinutes: article.entry.estimatedReadingTime,
                tags: article.entry.tags
            )
        }
        next = page.next?.path(below: path)
    }
}

extension ServingFailure {
    /// The failure as a problem document (RFC 9457).
    static func json(_ failure: ServingFailure) -> Representation {
        struct Problem: Encodable {
            var status: Int
            var title: String
            var detail: String
        }
        let problem = Problem(
            status: failure.status.code,
            title: failure.status.reasonPhrase,
            detail: failure.message
        )
        return (try? Representation(json: problem, contentType: "application/problem+json"))
            ?? Representation([], contentType: "application/problem+json")
    }
}

extension HTTPField.Name {
    static let link = HTTPField.Name("Link")!
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
