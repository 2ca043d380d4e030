import ArgumentParser
import BushelHistory
import BushelSources
import Foundation
import MistModels
import ProgramSupport
import WebFetching

/// `bushel update`
struct UpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Fetch the sources, and save what changed in the history.",
        discussion: """
            Two updates may run at a time. What a source said before stays where it fails; nothing is deleted.

            The exit code is 0 where every source was read and everything is saved, 69 where a source failed (the others are saved), \
            75 where CloudKit did not take everything and the next run should try again.
            """
    )

    @OptionGroup(title: "Sources")
    var selection: SourceOptions

    @Flag(help: "Fetch documents that have not changed since the last run, too.")
    var complete = false

    @OptionGroup(title: "Fetching")
    var fetching: FetchOptions<Bushel>

    @Flag(help: "Print the whole report as JSON.")
    var json = false

    @Flag(help: "List every entry that was left out and every reference that is missing.")
    var all = false

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Bushel>

    func run() async throws {
        try await Bushel.explainingFailures {
            let sources = try selection.sources()
            let database = try service.database()
            let report = try await withWebFetcher(fetching.configuration) { fetcher in
                var run = UpdateRun(database: database, fetcher: fetcher)
                run.sources = sources
                run.isComplete = complete
                return try await run.update()
            }
            print(try text(of: report))
            if let failure = UpdateCommand.failure(of: report) { throw failure }
        }
    }

    /// The report as the user asked for it.
    func text(of report: UpdateReport) throws -> String {
        if json { return try jsonText(report) }
        var sources = TextTable(["source", "outcome", "releases", "left out", "reason"], numbers: [2, 3], widest: 120)
        for source in report.sources {
            sources.append([
                source.source.rawValue, source.outcome.name, "\(source.releases)", "\(source.problems.count)",
                source.reason ?? "",
            ])
        }
        var kinds = TextTable(
            ["kind", "created", "updated", "unchanged", "not saved", "reason"],
            numbers: [1, 2, 3, 4]
        )
        for kind in report.kinds {
            kinds.append([
                kind.kind.title, "\(kind.created)", "\(kind.updated)", "\(kind.unchanged)", "\(kind.notSaved)",
                kind.reason ?? "",
            ])
        }
        return (sources.lines + [""] + kinds.lines + details(of: report)).joined(separator: "\n")
    }

    /// The entries that were left out, and the references that are missing: their numbers, or with `--all` a line for
    /// each.
    private func details(of report: UpdateReport) -> [String] {
        var lines: [String] = []
        if all {
            for source in report.sources {
                lines += source.problems.map { "left out: \(source.source): \($0)" }
            }
            lines += report.missing.map { "missing: \($0)" }
        } else if !report.missing.isEmpty {
            lines.append("\(report.missing.count) references of Xcode releases are missing; --all lists them")
        }
        return lines.isEmpty ? [] : [""] + lines
    }

    /// Why the command ends with a failure, or `nil`.
    static func failure(of report: UpdateReport) -> CommandFailure? {
        if !report.isSaved {
            let reason = report.kinds.lazy.compactMap(\.reason).first ?? report.stateFailure ?? ""
            return CommandFailure(.tryAgain, "Not everything was saved. \(reason)")
        }
        guard let first = report.failures.first else { return nil }
        let count = report.failures.count
        let subject =
            count == report.sources.count
            ? "Every source failed; the network may be missing."
            : "\(count) of \(report.sources.count) sources failed; what they said before stays."
        return CommandFailure(
            .unavailable,
            "\(subject) \(count == 1 ? "The reason" : "The first reason"): \(first.reason ?? "")"
        )
    }
}

/// The sources of a run, with their addresses.
struct SourceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only this source; may be repeated. Sources: \(Source.all.map(\.id.rawValue).joined(separator: ", ")).",
            valueName: "name"
        )
    )
    var source: [String] = []

    @Option(help: ArgumentHelp("Another address of a source, such as that of a mirror.", valueName: "name=url"))
    var address: [String] = []

    @Option(
        help: ArgumentHelp(
            "Read documents from this folder, and send no requests: for each source a file with its name, such as ipsw.me.json. "
                + "A source without a file is left out.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var documents: String?

    /// The chosen sources with their addresses.
    ///
    /// - Throws: ``CommandFailure`` for a name that no source has, for a text that is not an address, and for a folder
    ///   without a document.
    func sources() throws -> [Source] {
        guard let documents else { return try sourcesOfTheWeb() }
        let folder = URL(filePath: documents, directoryHint: .isDirectory)
        let files = (try? FileManager.default.contentsOfDirectory(atPath: documents)) ?? []
        let sources = try sourcesOfTheWeb().compactMap { source in
            let name = source.id.rawValue
            return files.filter { $0 == name || $0.hasPrefix(name + ".") }.min().map { file in
                var source = source
                source.address = folder.appending(path: file).absoluteString
                return source
            }
        }
        guard !sources.isEmpty else {
            throw CommandFailure(
                .usage,
                "The folder \(documents) has no document of a source. Name each file as its source, such as ipsw.me.json."
            )
        }
        return sources
    }

    private func sourcesOfTheWeb() throws -> [Source] {
        var sources = Source.all
        for text in address {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let url = WebAddress(parts[1]) else {
                throw CommandFailure(
                    .usage,
                    "\"\(text)\" is not the address of a source. Write it as ipsw.me=https://mirror.example/firmwares.json."
                )
            }
            sources[try index(of: parts[0])].address = url.text
        }
        guard !source.isEmpty else { return sources }
        let chosen = Set(try source.map(index))
        return sources.indices.filter(chosen.contains).map { sources[$0] }
    }

    private func index(of name: String) throws -> Int {
        guard let index = Source.all.firstIndex(where: { $0.id.rawValue == name }) else {
            let names = Source.all.map(\.id.rawValue).joined(separator: ", ")
            throw CommandFailure(.usage, "There is no source \"\(name)\". The sources are \(names).")
        }
        return index
    }
}

extension SourceReport.Outcome {
    /// The outcome for people.
    var name: String {
        switch self {
        case .fetched: "fetched"
        case .notModified: "not modified"
        case .failed: "failed"
        }
    }
}
