import ArgumentParser
import CelestraUpdates
import Foundation
import MistModels
import ProgramSupport

/// `celestra report`
struct ReportCommand: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Show how well the feeds do: attempts, failures and quality scores."
    )

    @Flag(help: "List feeds without failures, too.")
    var all = false

    @OptionGroup var listing: ListingOptions

    /// The report, as a table or as JSON.
    func text(of database: CloudKitDatabase) async throws -> String {
        let query = Query<FeedRecord> {
            Sort(\.failureCount, ascending: false)
            Sort(\.title)
        }
        let feeds = try await database.records(matching: query).collect()
        let health = FeedHealth(
            feeds,
            articles: try await database.count(
                matching: Query<ArticleRecord> { Filter(\.expiresAt > Date(timeIntervalSince1970: 0)) }
            )
        )
        if listing.json { return try jsonText(health) }
        var table = TextTable(
            ["feed", "score", "attempts", "succeeded", "failures", "last attempt", "last failure"],
            numbers: [1, 2, 3, 4]
        )
        for feed in health.feeds where all || feed.failureCount > 0 || !feed.isActive {
            table.append([
                feed.title, "\(feed.qualityScore)", "\(feed.totalAttempts)", "\(feed.successfulAttempts)",
                "\(feed.failureCount)", feed.lastAttempted?.short ?? "never",
                (feed.isActive ? "" : "no longer updated: ") + (feed.lastFailureReason ?? ""),
            ])
        }
        return ((table.isEmpty ? [] : table.lines + [""]) + health.lines).joined(separator: "\n")
    }
}

/// The feeds of a database in numbers.
struct FeedHealth: Codable {
    /// What the report says about a feed.
    struct Entry: Codable {
        var recordName: String
        var title: String
        var feedURL: String
        var isActive: Bool
        var qualityScore: Int
        var totalAttempts: Int
        var successfulAttempts: Int
        var failureCount: Int
        var lastAttempted: Date?
        var lastFailureReason: String?
    }

    /// The number of feeds that are updated.
    var activeFeeds: Int
    /// The number of feeds that are no longer updated.
    var inactiveFeeds: Int
    /// The number of active feeds whose last attempt failed.
    var failingFeeds: Int
    /// The number of active feeds that were never fetched.
    var neverAttempted: Int
    /// The number of attempts.
    var totalAttempts: Int
    /// The number of attempts with success.
    var successfulAttempts: Int
    /// The average quality score of active feeds, or `nil` without such a feed.
    var averageQualityScore: Double?
    /// The number of articles.
    var articles: Int
    var feeds: [Entry]

    init(_ records: [StoredRecord<FeedRecord>], articles: Int) {
        let active = records.filter(\.isActive)
        activeFeeds = active.count
        inactiveFeeds = records.count - active.count
        failingFeeds = active.count { $0.failureCount > 0 }
        neverAttempted = active.count { $0.totalAttempts == 0 }
        totalAttempts = records.reduce(0) { $0 + $1.totalAttempts }
        successfulAttempts = records.reduce(0) { $0 + $1.successfulAttempts }
        averageQualityScore =
            active.isEmpty ? nil : Double(active.reduce(0) { $0 + $1.qualityScore } * 10 / active.count) / 10
        self.articles = articles
        feeds = records.map {
            Entry(
                recordName: $0.recordName,
                title: $0.title,
                feedURL: $0.feedURL,
                isActive: $0.isActive,
                qualityScore: $0.qualityScore,
                totalAttempts: $0.totalAttempts,
                successfulAttempts: $0.successfulAttempts,
                failureCount: $0.failureCount,
                lastAttempted: $0.lastAttempted,
                lastFailureReason: $0.lastFailureReason
            )
        }
    }

    /// The numbers, for people.
    var lines: [String] {
        [
            "feeds     \(activeFeeds) active, \(failingFeeds) of them failing, \(neverAttempted) never fetched; "
                + "\(inactiveFeeds) no longer updated",
            "attempts  \(totalAttempts), \(successfulAttempts) with success",
            "score     " + (averageQualityScore.map { "\($0) on average" } ?? "-"),
            "articles  \(articles)",
        ]
    }
}
