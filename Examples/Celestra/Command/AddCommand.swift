import ArgumentParser
import CelestraFetching
import CelestraUpdates
import Foundation
import MistModels

/// `celestra add`
struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a feed, and fetch it for the first time.",
        discussion: "A feed that is there already is not added again; the command says so and ends well."
    )

    @Argument(help: ArgumentHelp("The address of the feed.", valueName: "url"))
    var address: String

    @Option(help: "What it is about.")
    var category: String?

    @Flag(help: "Only add the feed. The next update fetches it.")
    var noUpdate = false

    @OptionGroup(title: "Fetching")
    var fetching: FetchOptions

    @OptionGroup(title: "Service")
    var service: ServiceOptions

    func run() async throws {
        try await explainingFailures {
            let database = try service.database()
            let line = try await withFeedFetcher(fetching.configuration) { fetcher in
                try await add(to: database, updatingWith: UpdateRun(database: database, fetcher: fetcher))
            }
            print(line)
        }
    }

    /// Adds the feed, or says that it is there.
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
        let feed: StoredRecord<FeedRecord>
        do {
            feed = try await database.save(
                FeedRecord(feedURL: address.text, title: address.authority, category: category, addedAt: run.now()),
                named: FeedRecord.recordName(for: address.text)
            )
        } catch let error as CloudKitError where error.code == .exists || error.code == .conflict {
            return "\(address) is there already, as \(FeedRecord.recordName(for: address.text))."
        }
        guard !noUpdate else { return "Added \(address) as \(feed.recordName)." }
        let report = try await run.update(feed)
        switch report.outcome {
        case .updated, .notModified:
            let count = report.newArticles == 1 ? "1 article" : "\(report.newArticles) articles"
            return "Added \(report.title) as \(feed.recordName), with \(count)."
        case .failed, .postponed, .notSaved:
            return "Added \(address) as \(feed.recordName). The first update failed: \(report.reason ?? "")"
        }
    }
}

/// How feeds are fetched.
struct FetchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The pause between two requests for feeds of one host.", valueName: "seconds"))
    var pause = 1.0

    @Option(help: ArgumentHelp("How long a request may take.", valueName: "seconds"))
    var timeLimit = 30.0

    @Option(help: ArgumentHelp("The largest document that is accepted.", valueName: "bytes"))
    var sizeLimit = 10 * 1024 * 1024

    @Option(help: ArgumentHelp("How the program introduces itself to hosts.", valueName: "text"))
    var userAgent = "celestra/1.0"

    func validate() throws {
        guard (0...86_400).contains(pause) else { throw ValidationError("--pause is from 0 to 86400 seconds.") }
        guard (0.1...3600).contains(timeLimit) else {
            throw ValidationError("--time-limit is from 0.1 to 3600 seconds.")
        }
        guard (1024...1_000_000_000).contains(sizeLimit) else {
            throw ValidationError("--size-limit is from 1024 to 1000000000 bytes.")
        }
        guard !userAgent.isEmpty, userAgent.unicodeScalars.allSatisfy({ (0x20...0x7E).contains($0.value) }) else {
            throw ValidationError("--user-agent is a line of ASCII characters.")
        }
    }

    var configuration: FetchConfiguration {
        var configuration = FetchConfiguration()
        configuration.pause = .seconds(pause)
        configuration.timeLimit = .seconds(timeLimit)
        configuration.sizeLimit = sizeLimit
        configuration.userAgent = userAgent
        return configuration
    }
}
