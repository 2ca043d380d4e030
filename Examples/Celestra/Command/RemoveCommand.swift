import ArgumentParser
import CelestraUpdates
import MistModels
import ProgramSupport

/// `celestra remove`
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a feed and its articles.",
        discussion:
            "The feed is deleted after its articles, so the same command finishes a removal that was interrupted."
    )

    @Argument(help: ArgumentHelp("The feed.", valueName: "address or record name"))
    var feed: String

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Celestra>

    func run() async throws {
        try await Celestra.explainingFailures { print(try await remove(from: try service.database())) }
    }

    /// Removes the feed. Returns the line to print.
    func remove(from database: CloudKitDatabase) async throws -> String {
        let name = try await FeedArgument(feed).recordName(in: database)
        let record: StoredRecord<FeedRecord>
        do {
            record = try await database.fetch(FeedRecord.self, named: name)
        } catch let error as CloudKitError where error.code == .notFound {
            throw CommandFailure(.data, "There is no feed \(feed). `celestra list` lists the feeds.")
        }
        let articles = try await database.records(
            matching: Query<ArticleRecord> { Filter(\.feedRecordName == name) }
        ).collect()
        // Without change tags: an update that runs at the same time does not keep what is removed.
        for result in try await database.modify(articles.map { .forceDelete($0.recordName) }) {
            switch result {
            case .success: break
            // Another run deleted the article.
            case .failure(let error) where error.code == .notFound: break
            case .failure(let error): throw error
            }
        }
        _ = try await database.modify([.forceDelete(name)])[0].get()
        return "Removed \(record.title) with \(articles.count == 1 ? "1 article" : "\(articles.count) articles")."
    }
}
