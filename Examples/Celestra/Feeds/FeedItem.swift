import Crypto
import WebText

public import struct Foundation.Date

/// An item of a feed: an article, an episode, an entry.
public struct FeedItem: Sendable, Hashable {
    /// The identifier that the feed gives: `guid` of RSS, `id` of Atom and JSON Feed, `rdf:about` of RSS 1.0.
    public var guid: String?
    /// Whether the ``guid`` is the address of the article, too.
    public var guidIsPermalink = false
    /// The address of the article.
    public var url: String?
    /// The title with its markup.
    public var richTitle: RichText?
    /// The summary with its markup. In RSS, it is the description, which is often the whole article.
    public var richSummary: RichText?
    /// The full content with its markup, where the feed has more than a summary.
    public var richContent: RichText?
    /// The authors of the item. Where the list is empty, the authors of the feed apply.
    public var authors: [FeedAuthor] = []
    /// The address of an image for the item.
    public var imageURL: String?
    /// When the item was published.
    public var published: Date?
    /// When the item changed last.
    public var updated: Date?
    /// The language of the item, where it says so itself.
    public var language: String?
    /// The categories of the item.
    public var categories: [FeedCategory] = []
    /// Files that belong to the item, for instance an episode's recording.
    public var enclosures: [FeedEnclosure] = []
    /// All links of the item.
    public var links: [FeedLink] = []

    /// Creates an item without content.
    public init() {}

    /// The identifier that stays the same between two readings of a feed: the ``guid``, or else the address, or else
    /// ``contentHash``.
    public var identifier: String { guid ?? url ?? contentHash }

    /// The title as plain text.
    public var title: String? { richTitle?.plainText.nonEmpty }

    /// The summary as plain text.
    public var summary: String? { richSummary?.plainText.nonEmpty }

    /// The beginning of the summary, or of the content where there is no summary, as plain text on one line.
    ///
    /// A longer text than `length` characters ends with its last whole word and `…`.
    public func excerpt(upTo length: Int) -> String? {
        guard let text = (summary ?? contentText).map(HTMLText.collapsed) else { return nil }
        guard text.count > length else { return text }
        let start = text.prefix(max(0, length - 1))
        // A word longer than the excerpt is cut.
        let end = start.lastIndex(of: " ") ?? start.endIndex
        return start[..<end] + "…"
    }

    /// The full content as HTML, or the summary where the feed has no more. It is not sanitised: remove scripts before
    /// you show it.
    public var content: String? { (richContent ?? richSummary)?.html.nonEmpty }

    /// The full content as plain text, or the summary where the feed has no more.
    public var contentText: String? { (richContent ?? richSummary)?.plainText.nonEmpty }

    /// The first author.
    public var author: FeedAuthor? { authors.first }

    /// The names of the categories, each once.
    public var tags: [String] { categories.tags }

    /// The SHA-256 of `title|url|guid` in hexadecimal digits; a part that the item lacks is empty.
    public var contentHash: String {
        let text = [richTitle?.plainText, url, guid].map { $0 ?? "" }.joined(separator: "|")
        let digits = Array("0123456789abcdef")
        return SHA256.hash(data: Array(text.utf8))
            .reduce(into: "") { hash, byte in
                hash.append(digits[Int(byte >> 4)])
                hash.append(digits[Int(byte & 15)])
            }
    }

    /// The number of words of ``contentText``.
    public var wordCount: Int { ReadingTime.wordCount(of: contentText ?? "") }

    /// The estimated time to read the item, in minutes: 200 words a minute, at least 1.
    public var readingTime: Int { ReadingTime.minutes(forWords: wordCount) }
}

/// A file that belongs to an item.
public struct FeedEnclosure: Sendable, Hashable {
    /// The address of the file.
    public var url: String
    /// The media type, for instance `audio/mpeg`.
    public var mediaType: String?
    /// The size in bytes.
    public var length: Int?
    /// The playing time in seconds.
    public var duration: Int?

    /// Creates an enclosure.
    public init(url: String, mediaType: String? = nil, length: Int? = nil, duration: Int? = nil) {
        self.url = url
        self.mediaType = mediaType
        self.length = length
        self.duration = duration
    }
}
