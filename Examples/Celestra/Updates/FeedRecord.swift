import CelestraFeeds
import Crypto
import Foundation
import MistModels

/// A feed in the public database: its address, its subject, and the results of the attempts to fetch it.
@CloudKitRecord("Feed")
public struct FeedRecord: Hashable, Codable, Sendable {
    /// The address of the feed. A permanent redirect changes it.
    @CloudKitField(.queryable, .sortable) public var feedURL: String
    /// The title.
    @CloudKitField(.queryable, .sortable, .searchable) public var title: String
    /// How good the feed is, from 0 to 100; see ``computedQualityScore``.
    @CloudKitField(.queryable, .sortable) public var qualityScore: Int = 50
    /// Whether the feed was fetched and read at least once.
    @CloudKitField(.queryable) public var isVerified: Bool = false
    /// Whether an editor has chosen the feed. Updates do not change it.
    @CloudKitField(.queryable) public var isFeatured: Bool = false
    /// Whether the feed is updated. Status 410 makes it `false`.
    @CloudKitField(.queryable) public var isActive: Bool = true
    /// The number of attempts to fetch the feed, with or without success.
    public var totalAttempts: Int = 0
    /// The number of attempts that succeeded.
    public var successfulAttempts: Int = 0
    /// The number of attempts that failed since the last success.
    @CloudKitField(.queryable, .sortable) public var failureCount: Int = 0
    /// The number of people who read the feed. Updates do not change it.
    @CloudKitField(.queryable, .sortable) public var subscriberCount: Int = 0
    /// When the feed was added.
    @CloudKitField(.sortable) public var addedAt: Date
    /// The categories that the feed names.
    @CloudKitField(.queryable) public var tags: [String] = []
    /// What the feed is about, in its own words.
    public var description: String?
    /// What the feed is about, in the words of the person who added it.
    @CloudKitField(.queryable) public var category: String?
    /// The address of a logo.
    public var imageURL: String?
    /// The address of the web site.
    public var siteURL: String?
    /// The language, as the feed writes it.
    @CloudKitField(.queryable) public var language: String?
    /// When the feed was last fetched and read with success, or was found not to have changed.
    public var lastVerified: Date?
    /// The average time between two articles, in seconds.
    public var updateFrequency: Double?
    /// When the feed was last fetched, with or without success.
    @CloudKitField(.queryable, .sortable) public var lastAttempted: Date?
    /// The ETag of the newest document of which all articles are saved.
    public var etag: String?
    /// The Last-Modified of the newest document of which all articles are saved.
    public var lastModified: String?
    /// Why the last attempt failed; `nil` after a success.
    public var lastFailureReason: String?
    /// The time that the feed asks to leave between two requests, in seconds.
    public var minUpdateInterval: Double?

    /// Creates the record of a feed that was not fetched yet.
    public init(feedURL: String, title: String, category: String? = nil, addedAt: Date) {
        self.feedURL = feedURL
        self.title = title
        self.category = category
        self.addedAt = addedAt
    }

    /// The record name for a feed that is added with an address. The same address gives the same name, so that no feed
    /// is added twice.
    public static func recordName(for feedURL: String) -> String {
        "feed-" + RecordNames.digest([feedURL])
    }
}

extension FeedRecord {
    /// The quality of the feed, from the fields of its record: up to 70 points for attempts that succeeded, 5 points
    /// each for a description, a site, an image and a language, and up to 10 points for frequent articles; minus 5
    /// points for each failure since the last success, at most 30.
    public var computedQualityScore: Int {
        // One success and one failure are added, so that the first attempt alone has little weight.
        let reliability = 70 * (successfulAttempts + 1) / (totalAttempts + 2)
        let information = [description, siteURL, imageURL, language].count { $0?.isEmpty == false } * 5
        let day = 86_400.0
        let frequency =
            switch updateFrequency {
            case let seconds? where seconds <= 7 * day: 10
            case let seconds? where seconds <= 30 * day: 5
            default: 0
            }
        return min(100, max(0, reliability + information + frequency - min(30, 5 * failureCount)))
    }

    /// Whether the feed may be fetched at a time, by its own ``minUpdateInterval``.
    public func isDue(at now: Date) -> Bool {
        guard let lastAttempted, let minUpdateInterval else { return true }
        return now >= lastAttempted.addingTimeInterval(min(minUpdateInterval, FeedRecord.longestInterval))
    }

    /// The longest interval that a feed can demand: a day. Some feeds give a number in the wrong unit.
    static let longestInterval = 86_400.0
}

/// Makes record names from the content of records.
enum RecordNames {
    /// The first 40 hexadecimal digits of the SHA-256 of the parts.
    static func digest(_ parts: [String]) -> String {
        let digits = Array("0123456789abcdef")
        // The lengths make `["a", "bc"]` and `["ab", "c"]` different.
        let text = parts.map { "\($0.utf8.count):\($0)" }.joined()
        return SHA256.hash(data: Array(text.utf8)).prefix(20)
            .reduce(into: "") { name, byte in
                name.append(digits[Int(byte >> 4)])
                name.append(digits[Int(byte & 15)])
            }
    }
}

extension Date {
    /// The date rounded to milliseconds, as the service stores it.
    var inWholeMilliseconds: Date { Date(timeIntervalSince1970: (timeIntervalSince1970 * 1000).rounded() / 1000) }
}
