import CloudKitEmulatorAdministration
import CloudKitSchema
import Foundation
import MistKit
import OpenAPISwiftRuntime

/// The schema of the container that a command works on: that of an emulator on this machine.
struct SchemaService {
    /// What a command does with the schema, as cktool calls it.
    enum Action {
        case importing(SchemaFile)
        case export
        case deployment
        case reset
    }

    let administration: EmulatorAdministration
    let container: String
    let environment: ContainerEnvironment

    /// Finds the emulator: the one that runs with its data in the data folder, or else the embedded one.
    ///
    /// - Throws: ``CommandError`` for another service. It names Apple's command that does the same there.
    static func open(_ options: ConnectionOptions, for action: Action) async throws -> SchemaService {
        let settings = try Settings.read(flags: options)
        let environment = try settings.containerEnvironment()
        let container = settings.container ?? EmbeddedEmulator.defaultContainer
        if settings.namesService, (try? settings.localAddress()) == nil {
            let address = try settings.address().absoluteString
            throw CommandError(
                code: .usage,
                message: "The web services at \(address) have no access to schemas.",
                remedy: remedy(for: action, container: container, environment: environment)
            )
        }
        return SchemaService(
            administration: try await EmulatorAdministration.of(settings),
            container: container,
            environment: environment
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

    // MARK: Operations

    /// The schema of the environment.
    func schema() async throws -> ContainerSchema {
        let path = Operations.ExportSchema.Input.Path(container: container, environment: pathEnvironment)
        let text = try await perform("read") { client in
            try await String(collecting: client.exportSchema(path: path).ok.body.plainText, upTo: .max)
        }
        return try ContainerSchema(parsing: text)
    }

    /// Makes a schema that of development.
    ///
    /// - Returns: The changes, one on each line; empty where the schema was the same.
    func importSchema(_ schema: ContainerSchema) async throws -> String {
        let path = Operations.ImportSchema.Input.Path(container: container, environment: .development)
        return try await perform("imported") { client in
            try await client.importSchema(path: path, body: .plainText(HTTPBody(schema.description))).ok.body.json.text
        }
    }

    /// What an import would do.
    ///
    /// - Returns: The changes, one on each line; empty where the schema is the same.
    /// - Throws: ``CommandError`` where the import would be refused, after the changes were shown.
    func validate(_ schema: ContainerSchema) async throws -> String {
        let path = Operations.ValidateSchema.Input.Path(container: container, environment: .development)
        let validation = try await perform("compared") { client in
            try await client.validateSchema(path: path, body: .plainText(HTTPBody(schema.description))).ok.body.json
        }
        let text = validation.changes.map(\.text).joined(separator: "\n")
        guard let obstacle = validation.obstacle else { return text }
        if !text.isEmpty { Terminal.writeLine(text) }
        throw failure("imported", AdministrationProblem(code: .refused, reason: obstacle))
    }

    /// Copies the schema of development to production.
    ///
    /// - Returns: The changes, one on each line; empty where the schema was the same.
    func deploySchema() async throws -> String {
        try await perform("deployed") { client in
            try await client.deploySchema(path: .init(container: container)).ok.body.json.text
        }
    }

    /// Replaces the schema of development by that of production, and deletes the records of development.
    ///
    /// - Returns: The changes, one on each line; empty where the schema was the same.
    func resetSchema() async throws -> String {
        try await perform("reset") { client in
            let body = Components.Schemas.Confirmation(confirmation: "delete development of \(container)")
            return try await client.resetSchema(path: .init(container: container), body: .json(body)).ok.body.json.text
        }
    }

    private var pathEnvironment: Components.Schemas.Environment {
        switch environment {
        case .development: .development
        case .production: .production
        }
    }

    /// Runs an operation on the schema.
    ///
    /// - Throws: ``CommandError`` with the emulator's message.
    private func perform<Result>(_ verb: String, _ body: (Client) async throws -> Result) async throws -> Result {
        do {
            return try await administration.call(body)
        } catch let problem as AdministrationProblem {
            throw failure(verb, problem)
        }
    }

    private func failure(_ verb: String, _ problem: AdministrationProblem) -> CommandError {
        guard [.refused, .notFound, .internalError].contains(problem.code) else { return CommandError(problem) }
        return CommandError(
            code: .failure,
            message: "The schema of \(container) cannot be \(verb): \(problem.reason).",
            remedy: problem.code == .refused
                ? """
                Change the schema file; or, in development, delete the records with `mistkit records delete`, or everything with \
                `mistkit schema reset`.
                """ : "Run the command again; --data-folder names the folder of the emulator."
        )
    }
}

extension Components.Schemas.SchemaChanges {
    /// The changes, one on each line.
    fileprivate var text: String { changes.map(\.text).joined(separator: "\n") }
}
