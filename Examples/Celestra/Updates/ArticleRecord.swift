import CelestraFeeds
import Foundation
import MistModels

/// An article in the public database.
@CloudKitRecord("Article")
public struct ArticleRecord: Hashable, Codable, Sendable {
    /// The record name of the article's feed.
    @CloudKitField(.queryable, .sortable) public var feedRecordName: String
    /// The identifier within the feed: the one that the feed gives, or else the address, or else the content hash.
    @CloudKitField(.queryable) public var guid: String
    /// The title, or the beginning of the text where there is no title.
    @CloudKitField(.searchable) public var title: String
    /// The address of the article.
    public var url: String
    /// The SHA-256 of `title|url|guid`.
    @CloudKitField(.queryable) public var contentHash: String
    /// When the article was first seen.
    @CloudKitField(.queryable, .sortable) public var fetchedAt: Date
    /// When the article is deleted, unless the feed still has it.
    @CloudKitField(.queryable, .sortable) public var expiresAt: Date
    /// The beginning of the text.
    public var excerpt: String?
    /// The content as HTML, not sanitised.
    public var content: String?
    /// The content as plain text.
    public var contentText: String?
    /// The author.
    public var author: String?
    /// The address of an image.
    public var imageURL: String?
    /// When the article was published.
    @CloudKitField(.queryable, .sortable) public var publishedDate: Date?
    /// The number of words.
    public var wordCount: Int?
    /// The estimated time to read the article, in minutes.
    public var estimatedReadingTime: Int?
    /// The language.
    public var language: String?
    /// The categories.
    public var tags: [String]?

    /// The size limit of the HTML and of the text, in bytes: longer HTML is left out, and longer text is cut. A record
    /// can have 1 MB.
    static let longestContent = 200_000

    /// Makes the record of an item.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - feed: The feed that has it.
    ///   - feedURL: The address of the feed, for an item without an address.
    ///   - feedRecordName: The feed's record name.
    ///   - now: The current time.
    ///   - lifetime: The number of seconds that the article is kept.
    public init(
        _ item: FeedItem,
        of feed: CelestraFeeds.Feed,
        feedURL: String,
        feedRecordName: String,
        now: Date,
        lifetime: Double
    ) {
        let text = item.contentText
        self.feedRecordName = feedRecordName
        guid = item.identifier
        title = item.title ?? item.excerpt(upTo: 80) ?? item.url ?? "Untitled"
        url = item.url ?? feed.siteURL ?? feedURL
        contentHash = item.contentHash
        fetchedAt = now.inWholeMilliseconds
        expiresAt = now.addingTimeInterval(lifetime).inWholeMilliseconds
        excerpt = item.excerpt(upTo: 300)
        // A part of an HTML document is not valid, so HTML is kept as a whole or not at all.
        content = item.content.flatMap { $0.utf8.count <= ArticleRecord.longestContent ? $0 : nil }
        contentText = text.map { ArticleRecord.shortened($0) }
        author = (item.author ?? feed.author).flatMap { $0.name ?? $0.email }
        imageURL = item.imageURL
        publishedDate = (item.published ?? item.updated)?.inWholeMilliseconds
        wordCount = text == nil ? nil : item.wordCount
        estimatedReadingTime = text == nil ? nil : item.readingTime
        language = item.language ?? feed.language
        tags = item.tags.isEmpty ? nil : item.tags
    }

    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > longestContent else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: longestContent)
        while end > text.startIndex, end.samePosition(in: text) == nil { text.utf8.formIndex(before: &end) }
        return String(text[..<end])
    }
}
