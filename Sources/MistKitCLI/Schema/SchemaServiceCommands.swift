import ArgumentParser
import CloudKitSchema
import Foundation
import Spelling

/// `mistkit schema import`
struct ImportSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Make a schema file the development schema of the embedded emulator.",
        discussion: """
            From then on, the emulator enforces the indexes and grants of the schema, and development takes no other record types and fields. \
            What the file lacks is dropped, unless there are records of it or production has it.

            Examples:
              mistkit schema import schema.ckdb
              mistkit schema import schema.ckdb --dry-run
            """
    )

    @Argument(help: "The schema file; - is standard input.")
    var file: SchemaFile

    @Flag(help: "Print the changes, and why they would be refused, and make none.")
    var dryRun = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let schema = try file.validDocument().schema
        let service = try await SchemaService.open(connection, for: .importing(file))
        let changes = try await dryRun ? service.validate(schema) : service.importSchema(schema)
        Terminal.writeLine(changes.isEmpty ? "Development has this schema already." : changes)
    }
}

/// `mistkit schema show`
struct ShowRecordTypeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print a record type of the embedded emulator, or of a schema file.",
        discussion: """
            `mistkit records types` lists the types.

            Examples:
              mistkit schema show Note
              mistkit schema show Feed --from schema.ckdb
            """
    )

    @Argument(help: "The record type.", completion: .recordType)
    var type: String

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("A schema file; without it, the schema of the embedded emulator.", valueName: "file")
    )
    var source: SchemaFile?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let schema =
            if let source {
                try source.validDocument().schema
            } else {
                try await SchemaService.open(connection, for: .export).schema()
            }
        guard let found = schema[recordType: type] else {
            let names = schema.recordTypes.map(\.name)
            throw CommandError(
                code: .usage,
                message: "The schema has no record type \(type).",
                remedy: NearestName.hint(for: type, among: names)
                    + (names.isEmpty
                        ? "In development, the first record that is saved creates its type."
                        : "Its record types are \(names.joined(separator: ", ")).")
            )
        }
        Terminal.write(ContainerSchema(recordTypes: [found]).description)
    }
}

/// `mistkit schema export`
struct ExportSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print the schema of the embedded emulator as a schema file.",
        discussion: """
            It includes the record types and fields that were created by saving records, with every index that they can have. A file that \
            exists is replaced only with --force.

            Examples:
              mistkit schema export
              mistkit schema export --environment production --output production.ckdb
            """
    )

    @Option(help: ArgumentHelp("A file to write to.", valueName: "file"), completion: .schemaFile)
    var output: String?

    @OptionGroup var replacement: ReplacementOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        if let output { try replacement.check(output) }
        let text = try await SchemaService.open(connection, for: .export).schema().description
        guard let output else { return Terminal.write(text) }
        do {
            try text.write(toFile: output, atomically: true, encoding: .utf8)
        } catch {
            throw CommandError.unwritable(output, error)
        }
    }
}

/// `mistkit schema deploy`
struct DeploySchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deploy",
        abstract: "Copy the development schema of the embedded emulator to production.",
        discussion: """
            Records are not copied. Production refuses to drop types and fields, and to change the type of a field; then nothing is deployed.

            Examples:
              mistkit schema deploy
              mistkit schema deploy --container iCloud.com.example.app
            """
    )

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let changes = try await SchemaService.open(connection, for: .deployment).deploySchema()
        Terminal.writeLine(changes.isEmpty ? "Production has the schema of development already." : changes)
    }
}

/// `mistkit schema reset`
struct ResetSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Reset the development schema to that of production, and delete the records of development.",
        discussion: """
            All zones, records, shares and files of the development environment are deleted, of all users.

            Examples:
              mistkit schema reset --yes
              mistkit schema reset --yes --container iCloud.com.example.app
            """
    )

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let service = try await SchemaService.open(connection, for: .reset)
        guard try confirmation.confirms("Delete all development records of \(service.container)?") else { return }
        let changes = try await service.resetSchema()
        Terminal.writeLine(
            "The records are deleted. "
                + (changes.isEmpty ? "The schema was that of production already." : "The schema changed:")
        )
        if !changes.isEmpty { Terminal.writeLine(changes) }
    }
}
