import ArgumentParser
import OpenAPISwiftGenerator

/// `openapi-swift filter`.
struct FilterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "filter",
        abstract: "Prints the part of a document that a configuration selects.",
        discussion: """
            The key 'filter' of the configuration has up to four lists: operations, tags, paths and schemas. Their union is \
            kept, and all that it refers to; what it refers to in other files becomes part of the result.
            """
    )

    @Option(help: ArgumentHelp("The configuration file, YAML.", valueName: "path"))
    var config: String

    @Option(help: ArgumentHelp("The format to print: yaml or json.", valueName: "format"))
    var outputFormat: DocumentFilter.OutputFormat = .yaml

    @Option(help: .packageDirectory)
    var packageDirectory: String?

    @Argument(help: "The OpenAPI document, YAML or JSON; '-' for standard input.")
    var docPath: String

    func run() throws {
        let configuration: ConfigurationFile
        let document: [UInt8]
        do throws(Diagnostic) {
            configuration = try ConfigurationFile(path: config, isStrict: false)
            document = try FileAccess.document(at: docPath)
        } catch {
            printToStandardError(error.description)
            throw ExitCode.validationFailure
        }
        for warning in configuration.warnings { printToStandardError(warning.description) }
        if configuration.settings.filter == nil {
            printToStandardError("warning: the configuration has no 'filter', the whole document follows")
        }
        let files = ReferencedFiles(
            document: docPath,
            package: packageDirectory,
            others: configuration.settings.referenceFolders,
            configuration: config
        )
        do throws(Diagnostic) {
            let text = try DocumentFilter.filter(
                document,
                named: FileAccess.name(ofDocument: docPath),
                by: configuration.settings.filter,
                as: outputFormat,
                loadingReferencesWith: files.contents
            )
            print(text, terminator: text.hasSuffix("\n") ? "" : "\n")
        } catch {
            printToStandardError(error.description)
            throw ExitCode.failure
        }
    }
}
