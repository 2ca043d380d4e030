import ArgumentParser
import OpenAPISwiftGenerator

/// The arguments of both `generate` and `lint`: a document and the settings for it.
struct GenerationOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The OpenAPI document, YAML or JSON; '-' for standard input.",
            discussion: """
                Files that it refers to are read too: their paths are relative to the file that the reference stands in. \
                They have to be below the folder of the document. Nothing is fetched over the network.
                """
        )
    )
    var docPath: String

    @Option(help: ArgumentHelp("The configuration file, YAML.", valueName: "path"))
    var config: String?

    @Option(
        name: .customLong("mode"),
        help: ArgumentHelp("What to generate, once for each.", valueName: "mode")
    )
    var modes: [GeneratorConfiguration.Mode] = []

    @Option(
        help: ArgumentHelp(
            "The access level of the declarations. (default: internal)",
            valueName: "level"
        )
    )
    var accessModifier: AccessModifier?

    @Option(
        help: ArgumentHelp(
            "How names are made: with their spelling kept, or in camel case. (default: defensive)",
            valueName: "strategy"
        )
    )
    var namingStrategy: NamingStrategy?

    @Option(
        name: .customLong("additional-import"),
        help: ArgumentHelp("A module that the output imports, once for each.", valueName: "module")
    )
    var additionalImports: [String] = []

    @Option(
        name: .customLong("additional-file-comment"),
        help: ArgumentHelp("A comment at the head of each file, once for each.", valueName: "text")
    )
    var additionalFileComments: [String] = []

    @Option(
        name: .customLong("feature-flag"),
        help: ArgumentHelp("Accepted for compatibility and ignored.", valueName: "flag")
    )
    var featureFlags: [FeatureFlag] = []

    @Option(
        name: .customLong("diagnostics"),
        help: ArgumentHelp("How diagnostics are printed; json is one object a line.", valueName: "format")
    )
    var diagnosticsFormat: DiagnosticsFormat = .text

    @Option(
        help: ArgumentHelp("Where to write the diagnostics as YAML as well, also after a failure.", valueName: "path")
    )
    var diagnosticsOutputPath: String?

    @Option(help: .packageDirectory)
    var packageDirectory: String?

    /// The settings of a run, and what their file says without an effect.
    struct Settings {
        var configuration: GeneratorConfiguration
        var warnings: [Diagnostic]
    }

    /// The settings of the file, replaced by those of the command line.
    ///
    /// - Parameter defaultModes: The parts to generate if neither names any; `nil` to throw an error instead.
    /// - Returns: The settings.
    /// - Throws: An error about the command line or the file.
    func configuration(
        defaultModes: Set<GeneratorConfiguration.Mode>? = nil
    ) throws -> Settings {
        var file = ConfigurationFile()
        if let config { file = try reporting { () throws(Diagnostic) in try ConfigurationFile(path: config) } }
        let requested = modes.isEmpty ? file.generate : modes
        guard let modes = requested.map(Set.init) ?? defaultModes else {
            throw ValidationError("Nothing to generate: give --mode, or a --config file with the key 'generate'.")
        }
        var configuration = file.settings
        configuration.modes = modes
        if let accessModifier { configuration.accessModifier = accessModifier }
        if let namingStrategy { configuration.namingStrategy = namingStrategy }
        if !additionalImports.isEmpty { configuration.additionalImports = additionalImports }
        if !additionalFileComments.isEmpty { configuration.additionalFileComments = additionalFileComments }
        return Settings(configuration: configuration, warnings: file.warnings)
    }

    /// Runs the generator on the document, and writes the diagnostics file also after errors.
    ///
    /// - Parameters:
    ///   - settings: The settings. Their warnings are the first of the result's diagnostics.
    ///   - checksKeys: Whether keys of the document that are not known are among the diagnostics.
    /// - Returns: The files and the diagnostics.
    /// - Throws: The exit status after an error about a file.
    func generate(with settings: Settings, checksKeys: Bool = false) throws -> GeneratorResult {
        let document = try reporting { () throws(Diagnostic) in try FileAccess.document(at: docPath) }
        let files = ReferencedFiles(
            document: docPath,
            package: packageDirectory,
            others: settings.configuration.referenceFolders,
            configuration: config
        )
        var generator = Generator(configuration: settings.configuration)
        generator.checksKeys = checksKeys
        var result = generator.generate(
            from: document,
            named: FileAccess.name(ofDocument: docPath),
            loadingReferencesWith: files.contents
        )
        result.diagnostics = settings.warnings + result.diagnostics
        try writeDiagnosticsFile(result.diagnostics)
        return result
    }

    /// Runs a closure that reads a file named on the command line. An error is reported like any other diagnostic, and
    /// ends the program.
    func reporting<T>(_ body: () throws(Diagnostic) -> T) throws -> T {
        do throws(Diagnostic) {
            return try body()
        } catch {
            printReport(of: error)
            try writeDiagnosticsFile([error])
            throw ExitCode.validationFailure
        }
    }

    private func writeDiagnosticsFile(_ diagnostics: [Diagnostic]) throws {
        guard let diagnosticsOutputPath else { return }
        do throws(Diagnostic) {
            try DiagnosticsReport(diagnostics: diagnostics).write(to: diagnosticsOutputPath)
        } catch {
            printReport(of: error)
            throw ExitCode.validationFailure
        }
    }

    private func printReport(of error: Diagnostic) {
        for line in DiagnosticsReport(diagnostics: [error]).lines(as: diagnosticsFormat) { printToStandardError(line) }
    }
}

extension ArgumentHelp {
    /// The help of the option for the package's folder.
    static let packageDirectory = ArgumentHelp(
        "The folder that references to other files must not leave. (default: the folder of the document)",
        valueName: "path"
    )
}
