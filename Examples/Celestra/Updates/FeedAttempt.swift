import CelestraFeeds
import Foundation
import WebFetching

/// One attempt to fetch a feed, and what it changes in the feed's record.
///
/// The change can be applied to any version of the record: the counts of an attempt are added to the counts of the
/// record. No count is lost when two runs update the same feed.
///
/// ```swift
/// attempt.apply(to: &feed.model)
/// try await database.update(&feed) { conflict in
///     var merged = conflict.server
///     attempt.apply(to: &merged.model)
///     return merged
/// }
/// ```
public struct FeedAttempt: Sendable, Hashable {
    /// The result of an attempt.
    public enum Outcome: Sendable, Hashable {
        /// The feed was fetched and read.
        case fetched(FeedInformation)
        /// The feed has not changed.
        case notModified
        /// The feed was not fetched, or the fetched document is not a feed.
        case failed(reason: String, isGone: Bool)
    }

    /// The address that was fetched.
    public var feedURL: String
    /// When the attempt was made.
    public var date: Date
    /// The result of the attempt.
    public var outcome: Outcome
    /// The address that permanent redirects lead to, or `nil` without a permanent redirect.
    public var newAddress: String?

    /// Creates an attempt.
    public init(feedURL: String, date: Date, outcome: Outcome, newAddress: String? = nil) {
        self.feedURL = feedURL
        self.date = date.inWholeMilliseconds
        self.outcome = outcome
        self.newAddress = newAddress
    }

    /// Applies the attempt to a version of the feed's record.
    ///
    /// Counts are added. Everything else describes the newest attempt, so an attempt that is older than the last one of
    /// the record does not change it.
    public func apply(to feed: inout FeedRecord) {
        let isNewest = feed.lastAttempted.map { $0 <= date } ?? true
        feed.totalAttempts += 1
        feed.lastAttempted = max(feed.lastAttempted ?? date, date)
        if case .failed(let reason, let isGone) = outcome {
            // A failure that is older than a recorded success does not count as a failure since the last success.
            if isNewest || feed.failureCount > 0 { feed.failureCount += 1 }
            if isNewest {
                feed.lastFailureReason = FeedAttempt.shortened(reason)
                if isGone { feed.isActive = false }
            }
        } else {
            feed.successfulAttempts += 1
            feed.isVerified = true
            feed.lastVerified = max(feed.lastVerified ?? date, date)
            if isNewest {
                feed.failureCount = 0
                feed.lastFailureReason = nil
                if let newAddress, feed.feedURL == feedURL { feed.feedURL = newAddress }
                if case .fetched(let information) = outcome { information.apply(to: &feed) }
            }
        }
        feed.qualityScore = feed.computedQualityScore
    }

    /// Whether a record already has this attempt as its last one.
    public func isLast(of feed: FeedRecord) -> Bool { feed.lastAttempted == date }

    private static func shortened(_ reason: String) -> String {
        reason.count > 300 ? String(reason.prefix(299)) + "…" : reason
    }
}

/// What a feed says about itself, with the validators of its response.
public struct FeedInformation: Sendable, Hashable {
    /// The title.
    public var title: String?
    /// What the feed is about.
    public var description: String?
    /// The address of a logo.
    public var imageURL: String?
    /// The address of the web site.
    public var siteURL: String?
    /// The language.
    public var language: String?
    /// The categories.
    public var tags: [String]
    /// The time that the feed asks to leave between two requests, in seconds.
    public var minUpdateInterval: Double?
    /// The average time between two articles, in seconds.
    public var updateFrequency: Double?
    /// The ETag of the response.
    public var etag: String?
    /// The Last-Modified of the response.
    public var lastModified: String?

    /// Takes the information from a feed and its response.
    public init(_ feed: CelestraFeeds.Feed, etag: String? = nil, lastModified: String? = nil) {
        title = feed.title
        description = feed.description
        imageURL = feed.imageURL
        siteURL = feed.siteURL
        language = feed.language
        tags = feed.tags
        minUpdateInterval = feed.minimumUpdateInterval.map(Double.init)
        updateFrequency = FeedInformation.averageInterval(feed.items.compactMap { $0.published ?? $0.updated })
        self.etag = etag
        self.lastModified = lastModified
    }

    /// The average time between dates, in seconds; `nil` unless at least two of them differ.
    static func averageInterval(_ dates: [Date]) -> Double? {
        guard let first = dates.min(), let last = dates.max(), first < last else { return nil }
        return (last.timeIntervalSince(first) / Double(dates.count - 1)).rounded()
    }

    func apply(to feed: inout FeedRecord) {
        if let title { feed.title = title }
        feed.description = description
        feed.imageURL = imageURL
        feed.siteURL = siteURL
        feed.language = language
        feed.tags = tags
        feed.minUpdateInterval = minUpdateInterval
        feed.updateFrequency = updateFrequency
        feed.etag = etag
        feed.lastModified = lastModified
    }
}
