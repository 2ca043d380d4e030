import ArgumentParser
import CelestraUpdates
import Foundation
import MistModels
import ProgramSupport
import WebFetching

/// `celestra articles`
struct ArticlesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "articles",
        abstract: "List articles, those that were fetched last first."
    )

    @Option(help: ArgumentHelp("Only articles of this feed.", valueName: "address or record name"))
    var feed: String?

    @Option(help: ArgumentHelp("The most articles to list.", valueName: "count"))
    var limit = 20

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Celestra>

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit is at least 1.") }
    }

    func run() async throws {
        try await Celestra.explainingFailures { print(try await text(of: try service.database())) }
    }

    /// The articles, as a table or as JSON.
    func text(of database: CloudKitDatabase) async throws -> String {
        let feedRecordName = try await recordName(in: database)
        let query = Query<ArticleRecord>(limit: limit) {
            if let feedRecordName { Filter(\.feedRecordName == feedRecordName) }
            Sort(\.fetchedAt, ascending: false)
            Sort(\.publishedDate, ascending: false)
        }
        let articles = try await database.records(matching: query).collect()
        if json { return try jsonText(articles.map { NamedRecord(recordName: $0.recordName, fields: $0.model) }) }
        var table = TextTable(["published", "title", "minutes", "address"], numbers: [2])
        for article in articles {
            table.append([
                article.publishedDate?.short ?? "", article.title, article.estimatedReadingTime.map(String.init) ?? "",
                article.url,
            ])
        }
        return table.isEmpty
            ? "There are no articles. `celestra update` fetches them." : table.lines.joined(separator: "\n")
    }

    /// The record name of the feed that the user named.
    private func recordName(in database: CloudKitDatabase) async throws -> String? {
        guard let feed else { return nil }
        guard let address = WebAddress(feed) else { return feed }
        let query = Query<FeedRecord>(limit: 1) { Filter(\.feedURL == address.text) }
        guard let record = try await database.records(matching: query).first() else {
            throw CommandFailure(
                .data,
                "There is no feed with the address \(address). `celestra list` lists the feeds."
            )
        }
        return record.recordName
    }
}
