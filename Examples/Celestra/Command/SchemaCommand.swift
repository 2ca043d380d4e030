import ArgumentParser
import CelestraUpdates
import CloudKitSchema

/// `celestra schema`
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the schema file that a container needs.",
        discussion:
            "`xcrun cktool import-schema` imports it into a container, and `mistkit emulator --schema` into an emulator."
    )

    func run() throws {
        print(try CelestraSchema.container().description)
    }
}
