import WebText

public import struct Foundation.Date

/// The formats of feeds.
public enum FeedFormat: String, Sendable, Hashable {
    /// RSS 0.91 to 2.0.
    case rss = "RSS"
    /// RSS 0.90 and 1.0, which are RDF.
    case rdf = "RSS (RDF)"
    /// Atom 0.3 and 1.0.
    case atom = "Atom"
    /// JSON Feed 1.0 and 1.1.
    case json = "JSON Feed"
}

/// A feed: what it is about, and its items in the order of the document.
public struct Feed: Sendable, Hashable {
    /// The format of the document.
    public var format: FeedFormat
    /// The version that the document names or that follows from its namespace, for instance `2.0`.
    public var version: String?
    /// The feed's identifier, the `id` of Atom.
    public var identifier: String?
    /// The title with its markup.
    public var richTitle: RichText?
    /// The description or subtitle with its markup.
    public var richDescription: RichText?
    /// The address of the web site.
    public var siteURL: String?
    /// The address that the feed gives as its own.
    public var feedURL: String?
    /// The address of a logo or another image for the feed.
    public var imageURL: String?
    /// The language as the feed writes it, for instance `en-gb`.
    public var language: String?
    /// The categories of the feed.
    public var categories: [FeedCategory] = []
    /// The authors of the feed.
    public var authors: [FeedAuthor] = []
    /// When the feed was published, by its own words.
    public var published: Date?
    /// When the feed changed last, by its own words.
    public var updated: Date?
    /// The number of seconds that a client should wait between two requests: `ttl` of RSS, or the period of the
    /// syndication module.
    public var minimumUpdateInterval: Int?
    /// All links of the feed.
    public var links: [FeedLink] = []
    /// The items in the order of the document.
    public var items: [FeedItem] = []

    /// Creates a feed without content.
    public init(format: FeedFormat, version: String? = nil) {
        self.format = format
        self.version = version
    }

    /// The title as plain text.
    public var title: String? { richTitle?.plainText.nonEmpty }

    /// The description or subtitle as plain text.
    public var description: String? { richDescription?.plainText.nonEmpty }

    /// The first author.
    public var author: FeedAuthor? { authors.first }

    /// The names of the categories, each once.
    public var tags: [String] { categories.tags }
}

/// A category of a feed or an item.
public struct FeedCategory: Sendable, Hashable {
    /// The category's name for programs.
    public var term: String
    /// The address of the scheme that the term is from.
    public var scheme: String?
    /// The category's name for people, where it differs from the term.
    public var label: String?

    /// Creates a category.
    public init(term: String, scheme: String? = nil, label: String? = nil) {
        self.term = term
        self.scheme = scheme
        self.label = label
    }
}

extension [FeedCategory] {
    /// The names for people, each once, in the order of the feed.
    var tags: [String] {
        var seen: Set<String> = []
        return map { $0.label ?? $0.term }.filter { seen.insert($0).inserted }
    }
}

/// A link of a feed or an item.
public struct FeedLink: Sendable, Hashable {
    /// The relation, for instance `alternate`, `self` or `enclosure`.
    public var relation: String
    /// The address, resolved against the base of the document.
    public var url: String
    /// The media type of the target.
    public var mediaType: String?
    /// The title of the target.
    public var title: String?
    /// The language of the target.
    public var language: String?
    /// The size of the target in bytes.
    public var length: Int?

    /// Creates a link.
    public init(
        relation: String,
        url: String,
        mediaType: String? = nil,
        title: String? = nil,
        language: String? = nil,
        length: Int? = nil
    ) {
        self.relation = relation
        self.url = url
        self.mediaType = mediaType
        self.title = title
        self.language = language
        self.length = length
    }
}
