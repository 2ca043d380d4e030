import ArgumentParser
import OpenAPISwiftGenerator

/// `openapi-swift filter`.
struct FilterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "filter",
        abstract: "Prints the part of a document that a configuration selects.",
        discussion: """
            The key 'filter' of the configuration has up to four lists: operations, tags, paths and schemas. Their union is \
            kept, and all that it refers to.
            """
    )

    @Option(help: "The configuration file, YAML.")
    var config: String

    @Option(help: "The format to print.")
    var outputFormat: DocumentFilter.OutputFormat = .yaml

    @Argument(help: "The OpenAPI document, YAML or JSON.")
    var docPath: String

    func run() throws {
        let configuration = try ConfigurationFile(path: config, isStrict: false)
        if configuration.filter == nil {
            printToStandardError("warning: the configuration has no 'filter', the whole document follows")
        }
        let document: [UInt8] = try contents(of: docPath, what: "OpenAPI document")
        do {
            let text: String = try DocumentFilter.filter(
                document,
                named: docPath,
                by: configuration.filter,
                as: outputFormat
            )
            print(text)
        } catch {
            printToStandardError(error.description)
            throw ExitCode.failure
        }
    }
}
