import Foundation
import MistModels

/// The feeds that a run updates.
public struct FeedSelection: Sendable, Hashable {
    /// Feeds that were last fetched before this time, or never.
    public var notAttemptedSince: Date?
    /// Feeds that at least this many people read.
    public var minimumSubscribers: Int?
    /// Feeds with at most this many failures since the last success.
    public var maximumFailures: Int?
    /// Whether to update feeds that ask for more time between two requests; see ``FeedRecord/minUpdateInterval``.
    public var ignoresIntervals = false

    /// Selects all feeds that are active.
    public init() {}

    /// The part of the selection that the service can evaluate. It cannot find records that lack a field, so
    /// ``includes(_:)`` checks the time of the last attempt, and keeps the feeds that were never fetched.
    var query: Query<FeedRecord> {
        Query<FeedRecord> {
            Filter(\.isActive == true)
            if let minimumSubscribers { Filter(\.subscriberCount >= minimumSubscribers) }
            if let maximumFailures { Filter(\.failureCount <= maximumFailures) }
        }
    }

    /// Whether a feed that the query found belongs to the selection.
    func includes(_ feed: FeedRecord) -> Bool {
        guard let notAttemptedSince, let lastAttempted = feed.lastAttempted else { return true }
        return lastAttempted < notAttemptedSince
    }
}
