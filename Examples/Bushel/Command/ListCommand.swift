import ArgumentParser
import BushelHistory
import BushelSources
import Foundation
import MistModels
import ProgramSupport

/// `bushel list`
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List releases, the newest version first."
    )

    @Argument(help: "images, xcode or swift; all of them without one.")
    var kinds: [ReleaseKind] = []

    @Option(
        name: .customLong("version"),
        help: ArgumentHelp("Only versions that begin with this one.", valueName: "prefix")
    )
    var versionPrefix: String?

    @Flag(inversion: .prefixedNo, help: "Only images that Apple signs, or no longer signs.")
    var signed: Bool?

    @Flag(inversion: .prefixedNo, help: "Only betas and release candidates, or only final releases.")
    var prerelease: Bool?

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Bushel>

    func validate() throws {
        guard versionPrefix.map({ VersionNumber($0) != nil }) ?? true else {
            throw ValidationError("--version is a version or its beginning, such as 15 or 15.1.")
        }
    }

    func run() async throws {
        try await Bushel.explainingFailures { print(try await text(of: try service.database())) }
    }

    /// The releases, as a table or as JSON.
    func text(of database: CloudKitDatabase) async throws -> String {
        let filter = ReleaseFilter(kinds: kinds, version: versionPrefix, isSigned: signed, isPrerelease: prerelease)
        let all = ReleaseRow.rows(of: try await History(database))
        let rows = all.filter(filter.includes)
        if json { return try jsonText(rows) }
        var table = TextTable(["kind", "version", "stage", "build", "released", "signed", "swift", "needs macOS"])
        for row in rows {
            table.append([
                row.kind.rawValue, row.version, row.stage ?? "", row.build ?? "", row.releaseDate?.day ?? "",
                row.isSigned.map { $0 ? "yes" : "no" } ?? "", row.swiftNumber ?? "", row.requiresMacOS ?? "",
            ])
        }
        guard table.isEmpty else { return table.lines.joined(separator: "\n") }
        return all.isEmpty
            ? "There are no releases. `bushel update` fetches them." : "None of \(all.count) releases fits the filters."
    }
}

extension ReleaseKind: ExpressibleByArgument {}

extension Date {
    /// The day in UTC.
    fileprivate var day: String { String(ISO8601Format().prefix(10)) }
}
