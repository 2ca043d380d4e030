import CelestraUpdates
import Foundation

/// The feeds that an event selects. Each member may be absent; other members, such as those of a scheduled event, are
/// ignored.
///
/// ```json
/// {"notAttemptedForMinutes": 50, "minSubscribers": 10, "maxFailures": 3, "ignoreIntervals": false}
/// ```
struct UpdateEvent: Sendable, Hashable, Decodable {
    var notAttemptedForMinutes: Double?
    var minSubscribers: Int?
    var maxFailures: Int?
    var ignoreIntervals: Bool?

    /// The selection of the event.
    func selection(at now: Date) -> FeedSelection {
        var selection = FeedSelection()
        selection.notAttemptedSince = notAttemptedForMinutes.map { now.addingTimeInterval(-60 * $0) }
        selection.minimumSubscribers = minSubscribers
        selection.maximumFailures = maxFailures
        selection.ignoresIntervals = ignoreIntervals ?? false
        return selection
    }
}

/// The response of the function.
struct UpdateSummary: Sendable, Hashable, Codable {
    var startedAt: Date
    var endedAt: Date
    /// The number of feeds for each outcome.
    var outcomes: [String: Int]
    /// The number of feeds for each kind of failure.
    var failures: [String: Int]
    var newArticles: Int
    var changedArticles: Int
    var expiredArticles: Int
    /// The feeds that were not updated, each with the reason: those that failed, that were not saved, or that were left
    /// when the time was over.
    var feeds: [FeedReport]
    /// The number of those feeds that are not listed, since the size of a response is limited.
    var unlistedFeeds: Int

    /// The maximum number of feeds in a response.
    static let feedLimit = 1000

    init(_ report: UpdateReport) {
        startedAt = report.startedAt
        endedAt = report.endedAt
        outcomes = FeedReport.Outcome.allCases.reduce(into: [:]) { $0[$1.rawValue] = report.count($1) }
        failures = report.failures
        newArticles = report.newArticles
        changedArticles = report.changedArticles
        expiredArticles = report.expiredArticles
        let unfinished = report.feeds.filter { [.failed, .notSaved, .outOfTime].contains($0.outcome) }
        feeds = unfinished.prefix(UpdateSummary.feedLimit).map { feed in
            var feed = feed
            feed.title = String(feed.title.prefix(200))
            feed.reason = feed.reason.map { String($0.prefix(500)) }
            feed.problems = []
            return feed
        }
        unlistedFeeds = unfinished.count - feeds.count
    }

    /// The response.
    func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return Array(try encoder.encode(self))
    }

    /// The numbers on one line, for the log.
    var line: String {
        let outcomes = FeedReport.Outcome.allCases.compactMap { outcome in
            self.outcomes[outcome.rawValue].flatMap { $0 > 0 ? "\($0) \(outcome.rawValue)" : nil }
        }
        return "feeds: \(outcomes.isEmpty ? "none" : outcomes.joined(separator: ", ")); articles: \(newArticles) new, "
            + "\(changedArticles) changed, \(expiredArticles) expired"
    }
}
