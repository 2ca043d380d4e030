import ArgumentParser
import Foundation
import OpenAPISwiftGenerator

/// `openapi-swift generate`.
struct GenerateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generates Swift from an OpenAPI document.",
        discussion: """
            Settings come from the configuration file; an option given here replaces the file's value. A file whose text would \
            not change is not written.

              openapi-swift generate openapi.yaml --config openapi-generator-config.yaml --output-directory Sources/API
            """
    )

    @Argument(help: "The OpenAPI document, YAML or JSON.")
    var docPath: String

    @Option(help: "The configuration file, YAML.")
    var config: String?

    @Option(name: .customLong("mode"), help: "What to generate, once for each: types, client, server.")
    var modes: [GeneratorConfiguration.Mode] = []

    @Option(help: "The access level of the declarations.")
    var accessModifier: AccessModifier?

    @Option(help: "How names are made.")
    var namingStrategy: NamingStrategy?

    @Option(name: .customLong("additional-import"), help: "A module that the output imports, once for each.")
    var additionalImports: [String] = []

    @Option(name: .customLong("additional-file-comment"), help: "A comment at the head of each file, once for each.")
    var additionalFileComments: [String] = []

    @Option(name: .customLong("feature-flag"), help: "Accepted for compatibility; there are none.")
    var featureFlags: [FeatureFlag] = []

    @Option(help: "Where to write the diagnostics as YAML, besides standard error.")
    var diagnosticsOutputPath: String?

    @Option(help: "Where to write the files.")
    var outputDirectory: String = "."

    @Option(help: "Which plugin runs this; 'build' writes empty files for modes that are not generated.")
    var pluginSource: PluginSource?

    @Flag(help: "Do everything but write.")
    var dryRun = false

    func run() throws {
        var configuration = ConfigurationFile()
        if let config { configuration = try ConfigurationFile(path: config) }
        let modes: [GeneratorConfiguration.Mode] = self.modes.isEmpty ? configuration.generate ?? [] : self.modes
        guard !modes.isEmpty || configuration.generate != nil else {
            throw ValidationError("Nothing to generate: give --mode, or a --config file with the key 'generate'.")
        }
        let document: [UInt8] = try contents(of: docPath, what: "OpenAPI document")
        let generator = Generator(
            configuration: GeneratorConfiguration(
                modes: Set(modes),
                accessModifier: accessModifier ?? configuration.accessModifier,
                additionalImports: additionalImports.isEmpty ? configuration.additionalImports : additionalImports,
                additionalFileComments: additionalFileComments.isEmpty
                    ? configuration.additionalFileComments : additionalFileComments,
                namingStrategy: namingStrategy ?? configuration.namingStrategy,
                nameOverrides: configuration.nameOverrides,
                typeOverrides: configuration.typeOverrides,
                filter: configuration.filter
            )
        )
        let result: GeneratorResult = generator.generate(from: document, named: docPath)
        for diagnostic in result.diagnostics {
            printToStandardError(diagnostic.description)
        }
        if let diagnosticsOutputPath {
            try DiagnosticsFile.write(result.diagnostics, to: diagnosticsOutputPath)
        }
        if result.diagnostics.contains(where: { $0.severity == .error }) { throw ExitCode.failure }
        try write(result.files)
    }

    // MARK: Files

    private func write(_ files: [GeneratedFile]) throws {
        var files: [GeneratedFile] = files
        if pluginSource == .build {
            let names: [String] = GeneratorConfiguration.Mode.allCases.flatMap(Generator.fileNames)
            for name in names where !files.contains(where: { $0.name == name }) {
                files.append(GeneratedFile(name: name, contents: ""))
            }
        }
        let directory = URL(fileURLWithPath: outputDirectory, isDirectory: true)
        if !dryRun, !files.isEmpty {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        }
        for file in files {
            let url: URL = directory.appendingPathComponent(file.name)
            let data = Data(file.contents.utf8)
            if let present = try? Data(contentsOf: url), present == data {
                print("File \(file.name) is already up to date.")
                continue
            }
            print("Writing \(file.name)\(dryRun ? " (dry run)" : "") to \(url.path)")
            if !dryRun { try data.write(to: url) }
        }
    }
}
