import ArgumentParser

/// `mistkit schema`
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Check, compare, format, import, export and deploy schemas, and generate Swift from them.",
        discussion: """
            A schema file (.ckdb) has the record types of a container in Apple's schema language. validate, format, diff and generate work on \
            files. import, show, export, deploy and reset work on the emulator that runs with the same data folder, and where none runs, on \
            the embedded one. Apple has tools for schemas, and documents no HTTP for them; for its service, these commands print what to do with its tools.
            """,
        subcommands: [
            ValidateSchemaCommand.self, FormatSchemaCommand.self, DiffSchemaCommand.self, GenerateModelsCommand.self,
            ImportSchemaCommand.self, ShowRecordTypeCommand.self, ExportSchemaCommand.self, DeploySchemaCommand.self,
            ResetSchemaCommand.self,
        ]
    )
}
