import ArgumentParser
import CelestraUpdates
import Foundation
import GRDB
import MistModels
import MistMutationQueue
import ProgramSupport
import WebFetching

/// `celestra update`
struct UpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Fetch feeds, save what changed in their articles, and delete expired articles.",
        discussion: """
            Two updates may run at a time. Feeds that fail are in the report, and do not fail the command.

            The exit code is 0 where everything that was fetched is saved, 69 where every feed failed (the network may be missing), 75 \
            where CloudKit did not take everything and the next run should try again.
            """
    )

    @OptionGroup(title: "Filter")
    var filter: FilterOptions

    @OptionGroup(title: "Fetching")
    var fetching: FetchOptions<Celestra>

    @Option(help: ArgumentHelp("The number of hosts that are asked at a time.", valueName: "count"))
    var concurrency = 8

    @Option(help: ArgumentHelp("How long an article is kept after its feed drops it.", valueName: "time"))
    var keep = TimeSpan(seconds: 30 * 86_400)

    @Option(
        help: ArgumentHelp(
            "Leave the feeds that are not fetched after this time to the next run, which begins with them.",
            valueName: "time"
        )
    )
    var stopAfter: TimeSpan?

    @Flag(help: "Print the whole report as JSON.")
    var json = false

    @Flag(help: "List feeds without news in the table, too.")
    var all = false

    @Option(help: ArgumentHelp("Post the report as JSON to this address, too.", valueName: "url"))
    var webhook: String?

    @Option(help: ArgumentHelp("The file that keeps reports until the address accepts them.", valueName: "file"))
    var outbox = "celestra-reports.sqlite"

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Celestra>

    func validate() throws {
        if let webhook {
            guard let url = URL(string: webhook), ["http", "https"].contains(url.scheme), url.host() != nil else {
                throw ValidationError("--webhook is an address, as in https://example.com/reports.")
            }
        }
        guard (1...256).contains(concurrency) else { throw ValidationError("--concurrency is from 1 to 256.") }
    }

    func run() async throws {
        try await Celestra.explainingFailures {
            let database = try service.database()
            let report = try await withWebFetcher(fetching.configuration) { fetcher in
                try await self.report(UpdateRun(database: database, fetcher: fetcher))
            }
            print(try text(of: report))
            for line in try await post(report) {
                FileHandle.standardError.write(Data("celestra: \(line)\n".utf8))
            }
            if let failure = UpdateCommand.failure(of: report) { throw failure }
        }
    }

    /// Updates the feeds of the selection.
    func report(_ run: UpdateRun) async throws -> UpdateReport {
        var run = run
        run.concurrency = concurrency
        run.articleLifetime = keep.seconds
        if let stopAfter {
            let start = run.now()
            run.timeLimit = RunTimeLimit(from: start, to: start.addingTimeInterval(stopAfter.seconds))
        }
        return try await run.update(filter.selection(at: run.now()))
    }

    /// Sends the report, after those that earlier runs could not send.
    ///
    /// - Returns: What is not sent, and why. It does not fail the command: the next run sends it.
    func post(_ report: UpdateReport) async throws -> [String] {
        guard let webhook else { return [] }
        let json = try jsonText(RunSummary(report))
        do {
            return try await ReportOutbox.with(file: outbox) { outbox in
                try await outbox.add(ReportOutbox.PendingReport(address: webhook, json: json))
                return try await outbox.send()
            }
        } catch let error as MutationQueueError {
            throw CommandFailure(.cannotWrite, "\(self.outbox) cannot be used. \(error.message)")
        } catch let error as DatabaseError {
            throw CommandFailure(.cannotWrite, "\(self.outbox) cannot be used: \(error.message ?? "")")
        }
    }

    /// The report as the user asked for it.
    func text(of report: UpdateReport) throws -> String {
        if json { return try jsonText(RunSummary(report)) }
        var table = TextTable(["feed", "outcome", "new", "changed", "reason"], numbers: [2, 3])
        for feed in report.feeds where all || feed.isNews {
            let moved = feed.newAddress.map { "moved to \($0)" }
            table.append([
                feed.title, feed.outcome.name, "\(feed.newArticles)", "\(feed.changedArticles)",
                feed.reason ?? moved ?? "",
            ])
        }
        let summary = RunSummary(report)
        return ((table.isEmpty ? [] : table.lines + [""]) + summary.lines).joined(separator: "\n")
    }

    /// Why the command ends with a failure, or `nil`.
    static func failure(of report: UpdateReport) -> CommandFailure? {
        if !report.isSaved {
            let reason = report.feeds.first { $0.outcome == .notSaved }?.reason ?? report.expiryFailure ?? ""
            return CommandFailure(.tryAgain, "Not everything was saved. \(reason)")
        }
        let failed = report.count(.failed)
        guard failed > 0, failed == report.feeds.count - report.count(.postponed) - report.count(.outOfTime) else {
            return nil
        }
        let reason = report.feeds.first { $0.outcome == .failed }?.reason ?? ""
        return CommandFailure(
            .unavailable,
            "Every feed failed. The first reason: \(reason)"
        )
    }
}

/// Which feeds are updated.
struct FilterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only feeds whose last attempt is at least this long ago, such as 2h.", valueName: "time")
    )
    var notAttemptedSince: TimeSpan?

    @Option(help: ArgumentHelp("Only feeds with at least this many subscribers.", valueName: "count"))
    var minSubscribers: Int?

    @Option(help: ArgumentHelp("Only feeds with at most this many failures in a row.", valueName: "count"))
    var maxFailures: Int?

    @Flag(help: "Fetch feeds before the interval that they ask for is over.")
    var ignoreIntervals = false

    func selection(at now: Date) -> FeedSelection {
        var selection = FeedSelection()
        selection.notAttemptedSince = notAttemptedSince.map { now.addingTimeInterval(-$0.seconds) }
        selection.minimumSubscribers = minSubscribers
        selection.maximumFailures = maxFailures
        selection.ignoresIntervals = ignoreIntervals
        return selection
    }
}

/// A run in numbers, and its feeds.
struct RunSummary: Codable {
    var startedAt: Date
    var endedAt: Date
    /// The numbers of feeds by outcome.
    var outcomes: [String: Int]
    /// The numbers of feeds by the kind of their failure.
    var failures: [String: Int]
    var newArticles: Int
    var changedArticles: Int
    var expiredArticles: Int
    var feeds: [FeedReport]

    init(_ report: UpdateReport) {
        startedAt = report.startedAt
        endedAt = report.endedAt
        outcomes = FeedReport.Outcome.allCases.reduce(into: [:]) { $0[$1.rawValue] = report.count($1) }
        failures = report.failures
        newArticles = report.newArticles
        changedArticles = report.changedArticles
        expiredArticles = report.expiredArticles
        feeds = report.feeds
    }

    /// The numbers, for people.
    var lines: [String] {
        let outcomes = FeedReport.Outcome.allCases.compactMap { outcome in
            self.outcomes[outcome.rawValue].flatMap { $0 > 0 ? "\($0) \(outcome.name)" : nil }
        }
        let seconds = endedAt.timeIntervalSince(startedAt)
        var lines = [
            "feeds     \(feeds.count)" + (outcomes.isEmpty ? "" : ": " + outcomes.joined(separator: ", ")),
            "articles  \(newArticles) new, \(changedArticles) changed, \(expiredArticles) expired",
        ]
        if !failures.isEmpty {
            let counts = failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) \($0.key)" }
            lines.append("failures  " + counts.joined(separator: ", "))
        }
        return lines + ["time      \(Double(Int(seconds * 10)) / 10) s"]
    }
}

extension FeedReport {
    /// Whether there is something to say about the feed.
    fileprivate var isNews: Bool {
        [.failed, .notSaved, .outOfTime].contains(outcome) || newArticles + changedArticles > 0 || newAddress != nil
    }
}

extension FeedReport.Outcome {
    /// The outcome for people.
    var name: String {
        switch self {
        case .updated: "updated"
        case .notModified: "not modified"
        case .failed: "failed"
        case .postponed: "postponed"
        case .notSaved: "not saved"
        case .outOfTime: "out of time"
        }
    }
}
