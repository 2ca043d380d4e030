import ArgumentParser
import BushelHistory
import CloudKitSchema
import ProgramSupport
import WebFetching

/// `bushel`
@main
struct Bushel: AsyncParsableCommand, DatabaseProgram {
    static let programName = "bushel"
    static let fetching = FetchConfiguration.bushel
    static func schema() throws -> ContainerSchema { try BushelSchema.container() }

    static let configuration = CommandConfiguration(
        commandName: "bushel",
        abstract: "Keep a history of macOS restore images, Xcode and Swift in a public CloudKit database.",
        discussion: """
            Without credentials the data are in an emulator of CloudKit inside this program, in the folder .bushel. With \
            MISTKIT_CONTAINER, MISTKIT_KEY_ID and MISTKIT_PRIVATE_KEY_FILE, they are in the public database of that container; \
            MISTKIT_SERVER_URL is the address of another service, such as `mistkit emulator`.
            """,
        subcommands: [
            UpdateCommand.self, ListCommand.self, ExportCommand.self, StatusCommand.self, SchemaCommand.self,
        ]
    )
}

/// `bushel schema`
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the schema file that a container needs.",
        discussion:
            "`xcrun cktool import-schema` imports it into a container, and `mistkit emulator --schema` into an emulator."
    )

    func run() throws {
        print(try BushelSchema.container().description)
    }
}
