import CelestraUpdates
import Foundation
import HTTPTypes
import Logging
import MistModels

/// The fields of a feed that a browser sees. The record has more.
@CloudKitRecord("Feed")
struct FeedEntry: Sendable, Hashable, Codable {
    @CloudKitField(.queryable, .sortable) var title: String
    @CloudKitField(.queryable, .sortable) var feedURL: String
    @CloudKitField(.queryable) var isActive: Bool = true
    @CloudKitField(.queryable, .sortable) var qualityScore: Int = 50
    @CloudKitField(.queryable) var category: String?
    @CloudKitField(.queryable) var language: String?
    var description: String?
    var siteURL: String?
    var lastVerified: Date?
}

/// The fields of an article that a browser sees. The content is left out: it is HTML of the feed that is not sanitised.
@CloudKitRecord("Article")
struct ArticleEntry: Sendable, Hashable, Codable {
    @CloudKitField(.queryable, .sortable) var feedRecordName: String
    @CloudKitField(.searchable) var title: String
    var url: String
    @CloudKitField(.queryable, .sortable) var fetchedAt: Date
    @CloudKitField(.queryable, .sortable) var publishedDate: Date?
    var excerpt: String?
    var author: String?
    var estimatedReadingTime: Int?
    var tags: [String]?
}

/// An entry with its record name.
struct Named<Entry: Sendable & Hashable & Codable>: Sendable, Hashable, Codable {
    var name: String
    var entry: Entry
}

/// A page of entries.
struct EntryPage<Entry: Sendable & Hashable & Codable>: Sendable, Hashable {
    var entries: [Named<Entry>]
    /// Where the next page begins; `nil` for the last one.
    var next: Cursor?
}

/// The address of a page: its number of records, and the continuation marker where it begins, or `nil` for the first
/// page.
struct PageAddress: Sendable, Hashable {
    var limit = PageLimit.usual
    var marker: String?
}

/// Reads the feeds and articles of a public database. Each page is fetched once for all browsers that ask for it within
/// its lifetime.
struct FeedReader: Sendable {
    /// How a reader fetches and keeps pages.
    struct Configuration: Sendable {
        /// How long a page is fresh, in seconds.
        var lifetime = 60.0
        /// How long a page may still be shown after that while the service fails, in seconds.
        var staleLifetime = 3600.0
        /// The most pages of each kind that are kept.
        var capacity = 500
        /// How long a browser waits for CloudKit, in seconds.
        var timeLimit = 10.0
        /// Returns the current time.
        var now: @Sendable () -> Date = { Date() }
        /// The clock of the time limit.
        var timer: any Clock<Duration> = ContinuousClock()
    }

    private struct ArticleKey: Hashable {
        var feed: String
        var page: PageAddress
    }

    private let database: CloudKitDatabase
    private let configuration: Configuration
    private let logger: Logger
    private let feedPages: PageCache<PageAddress, EntryPage<FeedEntry>>
    private let feeds: PageCache<String, FeedEntry>
    private let articlePages: PageCache<ArticleKey, EntryPage<ArticleEntry>>

    init(_ database: CloudKitDatabase, configuration: Configuration = Configuration(), logger: Logger) {
        func cache<Key, Value>() -> PageCache<Key, Value> {
            PageCache(
                lifetime: configuration.lifetime,
                staleLifetime: configuration.staleLifetime,
                capacity: configuration.capacity,
                now: configuration.now,
                pause: ServingFailure.pause
            )
        }
        self.database = database
        self.configuration = configuration
        self.logger = logger
        feedPages = cache()
        feeds = cache()
        articlePages = cache()
    }

    /// The listing of the feeds, for cursors.
    static let feedListing = "feeds"

    /// The listing of a feed's articles, for cursors.
    static func articleListing(of feed: String) -> String { "feeds/\(feed)/articles" }

    /// A page of the feeds that are updated, by title.
    ///
    /// - Throws: A ``ServingFailure``.
    func feeds(_ page: PageAddress) async throws -> PageCache<PageAddress, EntryPage<FeedEntry>>.Copy {
        try await feedPages.value(for: page) {
            try await answering(hasMarker: page.marker != nil) {
                let query = Query<FeedEntry>(limit: page.limit) {
                    Filter(\.isActive == true)
                    Sort(\.title)
                }
                return try await self.page(query, page, of: FeedReader.feedListing)
            }
        }
    }

    /// The feed with a record name.
    ///
    /// - Throws: A ``ServingFailure``.
    func feed(_ name: String) async throws -> PageCache<String, FeedEntry>.Copy {
        guard FeedReader.isRecordName(name) else { throw ServingFailure.noSuchFeed }
        return try await feeds.value(for: name) {
            try await answering(hasMarker: false) { try await database.fetch(FeedEntry.self, named: name).model }
        }
    }

    /// A feed with a page of its articles, the most recently fetched first.
    ///
    /// - Throws: A ``ServingFailure``.
    func articles(
        of name: String,
        _ page: PageAddress
    ) async throws -> (feed: FeedEntry, articles: EntryPage<ArticleEntry>, loadedAt: Date, freshFor: TimeInterval) {
        // Both requests are sent at the same time. Where the feed does not exist, the request for it fails, and that
        // error is thrown.
        async let found = articlePages.value(for: ArticleKey(feed: name, page: page)) {
            try await answering(hasMarker: page.marker != nil) {
                let query = Query<ArticleEntry>(limit: page.limit) {
                    Filter(\.feedRecordName == name)
                    Sort(\.fetchedAt, ascending: false)
                    Sort(\.publishedDate, ascending: false)
                }
                return try await self.page(query, page, of: FeedReader.articleListing(of: name))
            }
        }
        let feed = try await feed(name)
        let articles = try await found
        return (
            feed.value, articles.value, min(feed.loadedAt, articles.loadedAt), min(feed.freshFor, articles.freshFor)
        )
    }

    /// Fetches one page of a query, without a request for the page after it.
    private func page<Entry: CloudKitRecord & Sendable & Hashable & Codable>(
        _ query: Query<Entry>,
        _ page: PageAddress,
        of listing: String
    ) async throws -> EntryPage<Entry> {
        let records = database.records(
            matching: query,
            desiredKeys: Entry.desiredKeys,
            pageSize: page.limit,
            startingAt: page.marker
        )
        var pages = records.pages.makeAsyncIterator()
        guard let found = try await pages.next(isolation: nil) else { return EntryPage(entries: []) }
        let entries = try found.results.map { result in
            let record = try result.get()
            return Named(name: record.recordName, entry: record.model)
        }
        return EntryPage(
            entries: entries,
            next: found.marker.map { Cursor(listing: listing, limit: page.limit, marker: $0) }
        )
    }

    /// Runs `body` until the time limit, turns its CloudKit errors into ``ServingFailure``s, and logs failures of the
    /// service.
    private func answering<Value: Sendable>(
        hasMarker: Bool,
        _ body: @Sendable @escaping () async throws -> Value
    ) async throws -> Value {
        do {
            guard let value = try await within(configuration.timeLimit, on: configuration.timer, body) else {
                logger.warning("CloudKit did not answer within \(configuration.timeLimit) seconds.")
                throw ServingFailure.timedOut
            }
            return value
        } catch let error as CloudKitError {
            let failure = ServingFailure(error, hasMarker: hasMarker)
            if failure.status.kind == .serverError { logger.error("CloudKit failed: \(error)") }
            throw failure
        }
    }

    /// Whether CloudKit accepts a text as a record name. For other text, no request is sent.
    private static func isRecordName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && name.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
