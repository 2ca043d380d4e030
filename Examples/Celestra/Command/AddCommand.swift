import ArgumentParser
import CelestraUpdates
import Foundation
import MistModels
import ProgramSupport
import WebFetching

/// `celestra add`
struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a feed, and fetch it for the first time.",
        discussion: """
            A feed that exists is not added again; the command says so and exits with 0. An address without a feed, such as that of a web \
            page, is not added. A feed whose host does not answer now is added, and the next update tries again.
            """
    )

    @Argument(help: ArgumentHelp("The address of the feed.", valueName: "url"))
    var address: String

    @Option(help: "What it is about.")
    var category: String?

    @Flag(help: "Only add the feed. The next update fetches it.")
    var noUpdate = false

    @OptionGroup(title: "Fetching")
    var fetching: FetchOptions<Celestra>

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Celestra>

    func run() async throws {
        try await Celestra.explainingFailures {
            let database = try service.database()
            let line = try await withWebFetcher(fetching.configuration) { fetcher in
                try await add(to: database, updatingWith: UpdateRun(database: database, fetcher: fetcher))
            }
            print(line)
        }
    }

    /// Adds the feed unless it exists. Returns the line to print.
    func add(to database: CloudKitDatabase, updatingWith run: UpdateRun) async throws -> String {
        guard let address = WebAddress(address) else {
            throw CommandFailure(
                .usage,
                "\"\(address)\" is not the address of a feed. It has to begin with http:// or https://."
            )
        }
        // A redirect may have given this address to a feed that was added with another one.
        let sameAddress = Query<FeedRecord>(limit: 1) { Filter(\.feedURL == address.text) }
        if let feed = try await database.records(matching: sameAddress).first() {
            return "\(address) is there already, as \(feed.recordName)."
        }
        let date = run.now()
        var result: FetchResult?
        if !noUpdate {
            let fetched = try await run.fetcher.fetch(address.text)
            if let reason = fetched.reasonWithoutFeed {
                throw CommandFailure(
                    .data,
                    "\(address) has no feed, and was not added. \(reason)\nGive the address of the feed itself: pages often link "
                        + "to it with the word RSS or Atom."
                )
            }
            result = fetched
        }
        let feed: StoredRecord<FeedRecord>
        do {
            feed = try await database.save(
                FeedRecord(feedURL: address.text, title: address.withoutScheme, category: category, addedAt: date),
                named: FeedRecord.recordName(for: address.text)
            )
        } catch let error as CloudKitError where error.code == .exists || error.code == .conflict {
            return "\(address) is there already, as \(FeedRecord.recordName(for: address.text))."
        }
        guard let result else { return "Added \(address) as \(feed.recordName)." }
        let report = try await run.update(feed, with: result, fetchedAt: date)
        switch report.outcome {
        case .updated, .notModified:
            let count = report.newArticles == 1 ? "1 article" : "\(report.newArticles) articles"
            return "Added \(report.title) as \(feed.recordName), with \(count)."
        case .failed, .postponed, .notSaved, .outOfTime:
            return "Added \(address) as \(feed.recordName). The first update failed: \(report.reason ?? "") "
                + "The next one tries again."
        }
    }
}
