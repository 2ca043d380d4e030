import Foundation

/// What a run did with one feed.
public struct FeedReport: Sendable, Hashable, Codable {
    /// The result of the run for the feed.
    public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
        /// The feed was fetched and read, and everything is saved.
        case updated
        /// The feed has not changed since the last run.
        case notModified
        /// The feed could not be fetched or read. The failure is counted in its record.
        case failed
        /// The feed was left out: it or its host asked for more time. Nothing was counted.
        case postponed
        /// CloudKit did not save everything. The next run tries again.
        case notSaved
        /// The time of the run was over before the feed was fetched and saved. The next run with a time limit begins
        /// with this feed.
        case outOfTime
    }

    /// The feed's record name.
    public var recordName: String
    /// The title.
    public var title: String
    /// The address that was fetched.
    public var feedURL: String
    /// The new address after a permanent redirect.
    public var newAddress: String?
    /// The result of the run for the feed.
    public var outcome: Outcome
    /// Why it failed, was left out or was not saved.
    public var reason: String?
    /// The kind of failure in one word, such as `timedOut`, for programs.
    public var failure: String?
    /// The mistakes of the document that were repaired.
    public var problems: [String] = []
    /// The number of articles that were created.
    public var newArticles = 0
    /// The number of articles that were changed.
    public var changedArticles = 0
    /// The number of articles that stay as they are.
    public var unchangedArticles = 0

    init(recordName: String, title: String, feedURL: String, outcome: Outcome) {
        self.recordName = recordName
        self.title = title
        self.feedURL = feedURL
        self.outcome = outcome
    }
}

/// What a run did.
public struct UpdateReport: Sendable, Hashable, Codable {
    /// When the run began.
    public var startedAt: Date
    /// When the run ended.
    public var endedAt: Date
    /// The feeds of the selection, in its order.
    public var feeds: [FeedReport]
    /// The number of articles that were deleted because their time was over.
    public var expiredArticles: Int
    /// Why expired articles could not be deleted.
    public var expiryFailure: String?

    /// The number of feeds with an outcome.
    public func count(_ outcome: FeedReport.Outcome) -> Int { feeds.count { $0.outcome == outcome } }

    /// The number of feeds for each kind of failure.
    public var failures: [String: Int] {
        feeds.reduce(into: [:]) { counts, feed in if let kind = feed.failure { counts[kind, default: 0] += 1 } }
    }

    /// The number of articles that were created.
    public var newArticles: Int { feeds.reduce(0) { $0 + $1.newArticles } }

    /// The number of articles that were changed.
    public var changedArticles: Int { feeds.reduce(0) { $0 + $1.changedArticles } }

    /// Whether everything that was fetched is saved.
    public var isSaved: Bool { count(.notSaved) == 0 && expiryFailure == nil }
}
