import ArgumentParser
import CelestraUpdates
import Foundation
import MistModels
import ProgramSupport

/// `celestra list`
struct ListCommand: ListingCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the feeds.")

    @Option(help: "Only feeds of this category.")
    var category: String?

    @Flag(help: "List feeds that are no longer updated, too.")
    var all = false

    @OptionGroup var listing: ListingOptions

    /// The feeds by title, as a table or as JSON.
    func text(of database: CloudKitDatabase) async throws -> String {
        let query = Query<FeedRecord> {
            if let category { Filter(\.category == category) }
            if !all { Filter(\.isActive == true) }
            Sort(\.title)
        }
        let feeds = try await database.records(matching: query).collect()
        if listing.json { return try jsonText(feeds.map { NamedRecord(recordName: $0.recordName, fields: $0.model) }) }
        var table = TextTable(
            ["title", "score", "failures", "last attempt", "address"],
            numbers: [1, 2],
            addresses: [4]
        )
        for feed in feeds {
            table.append([
                feed.title, "\(feed.qualityScore)", "\(feed.failureCount)", feed.lastAttempted?.short ?? "never",
                feed.feedURL,
            ])
        }
        return table.isEmpty ? "There are no feeds. Add one: celestra add <url>" : table.lines.joined(separator: "\n")
    }
}
