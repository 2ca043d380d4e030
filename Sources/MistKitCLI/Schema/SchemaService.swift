import CloudKitEmulator
import CloudKitSchema
import MistKit

/// The schema of the container that a command works on: that of the embedded emulator.
struct SchemaService {
    /// What a command does with the schema, as cktool calls it.
    enum Action {
        case importing(SchemaFile)
        case export
        case deployment
        case reset
    }

    let emulator: CloudKitEmulator
    let container: String
    let environment: ContainerEnvironment

    /// Opens the embedded emulator.
    ///
    /// - Throws: ``CommandError`` for another service. It names Apple's command that does the same there.
    static func open(_ options: ConnectionOptions, for action: Action) throws -> SchemaService {
        let settings = try Settings.read(flags: options)
        let connection = try Connection.open(settings, logger: Connection.logger(verbose: options.verbose))
        let service = connection.service
        if case .address = connection.destination, settings.apiToken != nil,
            let local = try? EmbeddedEmulator.ofThisMachine(settings)
        {
            // An emulator on this machine, with its data in the data folder.
            return SchemaService(
                emulator: local.emulator,
                container: local.container,
                environment: service.environment
            )
        }
        guard case .embedded(let embedded) = connection.destination else {
            throw CommandError(
                code: .usage,
                message: "The web services at \(connection.title) have no access to schemas.",
                remedy: remedy(for: action, container: service.containerIdentifier, environment: service.environment)
            )
        }
        return SchemaService(
            emulator: embedded.emulator,
            container: embedded.container,
            environment: service.environment
        )
    }

    private static func remedy(
        for action: Action,
        container: String,
        environment: ContainerEnvironment
    ) -> String {
        let command: String
        let scope = "--team-id TEAM --container-id \(container)"
        switch action {
        case .importing(let file):
            command = "xcrun cktool import-schema \(scope) --environment development --file \(file.path)"
        case .export:
            command =
                "xcrun cktool export-schema \(scope) --environment \(environment.rawValue) --output-file schema.ckdb"
        case .reset: command = "xcrun cktool reset-schema \(scope)"
        case .deployment:
            return """
                For Apple's service, use "Deploy Schema Changes" in the CloudKit console. For `mistkit emulator`, run the command without \
                credentials and with the same --data-folder.
                """
        }
        return """
            For Apple's service, run `\(command)`. For `mistkit emulator`, run the command without credentials and with the same --data-folder.
            """
    }

    /// The schema of the environment.
    func schema() throws -> ContainerSchema {
        try perform("read") { try emulator.schema(of: container, in: environment) }
    }

    /// Runs an operation on the schema.
    ///
    /// - Throws: ``CommandError`` with the emulator's message.
    func perform<Result>(_ verb: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as EmulatorError {
            throw CommandError(
                code: .failure,
                message: "The schema of \(container) cannot be \(verb): \(error.reason).",
                remedy: Self.remedy(for: error)
            )
        }
    }

    private static func remedy(for error: EmulatorError) -> String {
        guard error.serverErrorCode == .badRequest else {
            return "Run the command again; --data-folder names the folder of the emulator."
        }
        return """
            Change the schema file; or, in development, delete the records with `mistkit records delete`, or everything with \
            `mistkit schema reset`.
            """
    }
}
