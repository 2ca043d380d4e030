import ArgumentParser
import BushelHistory
import BushelSources
import Foundation
import MistModels
import ProgramSupport

/// `bushel status`
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how the sources do, and what the history has.",
        discussion: """
            The states of the sources are in the database, so each machine shows the same.

            The exit code is 0. With --check it is 69 where a source failed last, is stale, or was never asked.
            """
    )

    @Option(help: ArgumentHelp("How long ago the last success of a source may be, such as 12h.", valueName: "time"))
    var staleAfter = TimeSpan(seconds: 2 * 86_400)

    @Flag(help: "End with an error where a source does not do well.")
    var check = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Bushel>

    func run() async throws {
        try await Bushel.explainingFailures {
            let report = try await report(of: try service.database(), at: Date())
            print(try text(of: report))
            if check, let failure = StatusCommand.failure(of: report) { throw failure }
        }
    }

    /// The state of everything at a time.
    func report(of database: CloudKitDatabase, at now: Date) async throws -> StatusReport {
        StatusReport(try await History(database), at: now, staleAfter: staleAfter.seconds)
    }

    /// The report as the user asked for it.
    func text(of report: StatusReport) throws -> String {
        if json { return try jsonText(report) }
        var sources = TextTable(
            ["source", "state", "last success", "last attempt", "releases", "left out", "reason"],
            numbers: [4, 5],
            widest: 120
        )
        for source in report.sources {
            sources.append([
                source.source.rawValue, source.state?.name ?? "", source.lastSuccess?.short ?? "never",
                source.lastAttempt?.short ?? "never", "\(source.releases)", "\(source.leftOut)",
                source.lastError.map { source.failures > 1 ? "\($0) (\(source.failures) failures)" : $0 } ?? "",
            ])
        }
        let kinds = report.kinds.map { kind in
            "\(kind.kind.title): \(kind.releases)"
                + (kind.unlisted > 0 ? ", of which \(kind.unlisted) are no longer listed by any source" : "")
        }
        return (sources.lines + [""] + kinds).joined(separator: "\n")
    }

    /// Why a check fails, or `nil`.
    static func failure(of report: StatusReport) -> CommandFailure? {
        let bad = report.sources.filter { $0.state != .good && $0.state != nil }
        guard !bad.isEmpty else { return nil }
        let list = bad.map { "\($0.source) (\($0.state?.name ?? ""))" }.joined(separator: ", ")
        return CommandFailure(.unavailable, "These sources have problems: \(list).")
    }
}

/// The state of a source, as the commands print it.
struct SourceStatus: Codable, Hashable {
    /// The health of a source.
    enum State: String, Codable {
        /// The last attempt succeeded, not too long ago.
        case good
        /// The last attempt failed.
        case failed
        /// The last attempt succeeded, but too long ago.
        case stale
        /// The source was never asked.
        case neverAsked

        /// The state for people.
        var name: String { self == .neverAsked ? "never asked" : rawValue }
    }

    var source: SourceID
    var address: String
    /// The health; `nil` for a source that this version of the program does not know.
    var state: State?
    var lastAttempt: Date?
    var lastSuccess: Date?
    var lastDocument: Date?
    var statedAt: Date?
    var etag: String?
    var lastError: String?
    var failures: Int
    var releases: Int
    var leftOut: Int

    init(_ record: DataSource) {
        source = record.source
        address = record.address
        lastAttempt = record.lastAttempt
        lastSuccess = record.lastSuccess
        lastDocument = record.lastDocument
        statedAt = record.statedAt
        etag = record.etag
        lastError = record.lastError
        failures = record.failureCount
        releases = record.releaseCount
        leftOut = record.problemCount
    }

    init(_ record: DataSource, at now: Date, staleAfter: Double) {
        self.init(record)
        state =
            if record.lastAttempt == nil {
                .neverAsked
            } else if record.lastError != nil {
                .failed
            } else if let success = record.lastSuccess, now.timeIntervalSince(success) <= staleAfter {
                .good
            } else {
                .stale
            }
    }
}

/// The states of the sources and the numbers of releases.
struct StatusReport: Codable {
    /// The numbers of releases of a kind.
    struct Kind: Codable {
        var kind: ReleaseKind
        var releases: Int
        /// The number of releases that no source lists any more.
        var unlisted: Int
    }

    var sources: [SourceStatus]
    var kinds: [Kind]

    init(_ history: History, at now: Date, staleAfter: Double) {
        sources = Source.all.map { source in
            let record = history.states[source.id]?.model ?? DataSource(source.id, address: source.address)
            return SourceStatus(record, at: now, staleAfter: staleAfter)
        }
        let others = Set(history.states.keys).subtracting(Source.all.map(\.id))
        sources += others.sorted().compactMap { history.states[$0].map { SourceStatus($0.model) } }
        kinds = ReleaseKind.allCases.map { kind in
            let counts = history.counts(of: kind)
            return Kind(kind: kind, releases: counts.releases, unlisted: counts.unlisted)
        }
    }
}
