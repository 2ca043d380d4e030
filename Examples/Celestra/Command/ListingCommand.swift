import ArgumentParser
import MistModels
import ProgramSupport

/// A command that prints what the database has, as a table or as JSON.
protocol ListingCommand: AsyncParsableCommand {
    var listing: ListingOptions { get }

    /// The text to print.
    func text(of database: CloudKitDatabase) async throws -> String
}

/// The options of commands that print what the database has.
struct ListingOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Celestra>
}

extension ListingCommand {
    func run() async throws {
        try await Celestra.explainingFailures { print(try await text(of: try listing.service.database())) }
    }
}
