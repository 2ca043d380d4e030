import ArgumentParser
import CloudKitEmulator
import MistKit

/// `mistkit schema`
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Deploy record types and fields from development to production.",
        subcommands: [DeploySchemaCommand.self]
    )
}

/// `mistkit schema deploy`
struct DeploySchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deploy",
        abstract: "Copy the development schema of the embedded emulator to production.",
        discussion: """
            Record types and fields are added to production. Nothing is changed or removed, and records are not copied. The command can \
            run while `mistkit emulator` serves the same data folder.
            """
    )

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let connection = try Connection.open(connection)
        guard case .embedded(let embedded) = connection.destination else {
            throw CommandError(
                code: .usage,
                message:
                    "The schema of \(connection.title) cannot be deployed from here; this command works on the embedded emulator only.",
                remedy: """
                    For `mistkit emulator`, run the command without credentials and with the same --data-folder. For Apple's service, use \
                    "Deploy Schema Changes" in the CloudKit console.
                    """
            )
        }
        do {
            let deployment = try embedded.emulator.deploySchema(of: embedded.container)
            Terminal.writeLine(Self.text(of: deployment))
        } catch let error as EmulatorError {
            throw CommandError(
                code: .failure,
                message: "The schema of \(embedded.container) is not deployed: \(error.reason).",
                remedy: "Run the command again; --data-folder names the folder of the emulator."
            )
        }
    }

    /// One line for each record type, with the fields that were added to it.
    static func text(of deployment: SchemaDeployment) -> String {
        guard !deployment.isEmpty else { return "Production has the schema of development already." }
        let types = Set(deployment.recordTypes).union(deployment.fields.map(\.recordType))
        return types.sorted().map { type in
            let fields = deployment.fields.filter { $0.recordType == type }.map { "\($0.name) \($0.type)" }
            let title = deployment.recordTypes.contains(type) ? "new type   " : "new fields "
            return title + type + (fields.isEmpty ? "" : ": " + fields.joined(separator: ", "))
        }.joined(separator: "\n")
    }
}
