import ArgumentParser
import CelestraUpdates
import Foundation
import MistModels
import ProgramSupport

/// `celestra articles`
struct ArticlesCommand: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "articles",
        abstract: "List articles, those that were fetched last first."
    )

    @Option(help: ArgumentHelp("Only articles of this feed.", valueName: "address or record name"))
    var feed: String?

    @Option(help: ArgumentHelp("The most articles to list.", valueName: "count"))
    var limit = 20

    @OptionGroup var listing: ListingOptions

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit is at least 1.") }
    }

    /// The articles, as a table or as JSON.
    func text(of database: CloudKitDatabase) async throws -> String {
        let feedRecordName: String? =
            if let feed { try await FeedArgument(feed).recordName(in: database) } else { nil }
        let query = Query<ArticleRecord>(limit: limit) {
            if let feedRecordName { Filter(\.feedRecordName == feedRecordName) }
            Sort(\.fetchedAt, ascending: false)
            Sort(\.publishedDate, ascending: false)
        }
        let articles = try await database.records(matching: query).collect()
        if listing.json {
            return try jsonText(articles.map { NamedRecord(recordName: $0.recordName, fields: $0.model) })
        }
        var table = TextTable(["published", "title", "minutes", "address"], numbers: [2], addresses: [3])
        for article in articles {
            table.append([
                article.publishedDate?.short ?? "", article.title, article.estimatedReadingTime.map(String.init) ?? "",
                article.url,
            ])
        }
        return table.isEmpty
            ? "There are no articles. `celestra update` fetches them." : table.lines.joined(separator: "\n")
    }
}
