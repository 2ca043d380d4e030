import ArgumentParser
import BushelHistory
import BushelSources
import Foundation
import MistModels
import ProgramSupport

/// `bushel export`
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the whole history as JSON or CSV."
    )

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case json
        case csv
    }

    @Option(help: "json has the states of the sources, too.")
    var format = Format.json

    @Option(name: .shortAndLong, help: ArgumentHelp("The file; standard output without it.", valueName: "file"))
    var output: String?

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Bushel>

    func run() async throws {
        try await Bushel.explainingFailures {
            try printOrWrite(try await text(of: try service.database()), to: output)
        }
    }

    /// The document.
    func text(of database: CloudKitDatabase) async throws -> String {
        let history = try await History(database)
        let rows = ReleaseRow.rows(of: history)
        guard format == .json else { return CSV.text(of: rows) }
        let states = history.states.values.map { SourceStatus($0.model) }.sorted { $0.source < $1.source }
        return try jsonText(Export(releases: rows, sources: states))
    }

    private struct Export: Codable {
        var releases: [ReleaseRow]
        var sources: [SourceStatus]
    }
}
