import ArgumentParser
import CelestraUpdates
import CloudKitSchema
import ProgramSupport
import WebFetching

/// `celestra`
@main
struct Celestra: AsyncParsableCommand, DatabaseProgram {
    static let programName = "celestra"
    static let fetching = FetchConfiguration.celestra
    static func schema() throws -> ContainerSchema { try CelestraSchema.container() }

    static let configuration = CommandConfiguration(
        commandName: "celestra",
        abstract: "Collect the articles of feeds in a public CloudKit database.",
        discussion: """
            Without credentials the data are in an emulator of CloudKit inside this program, in the folder .celestra. With \
            MISTKIT_CONTAINER, MISTKIT_KEY_ID and MISTKIT_PRIVATE_KEY_FILE, they are in the public database of that container; \
            MISTKIT_SERVER_URL is the address of another service, such as `mistkit emulator`.
            """,
        subcommands: [
            AddCommand.self, RemoveCommand.self, UpdateCommand.self, ListCommand.self, ArticlesCommand.self,
            ReportCommand.self,
            ExportCommand.self, SchemaCommand.self, ServeCommand.self,
        ]
    )
}
