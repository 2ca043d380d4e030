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

            Standard output says what is written, standard error what there is to say about the document. The exit status is 0, \
            1 when the document has errors (nothing is written then), or 64 when the command line, the configuration or a file \
            named here cannot be used.
            """
    )

    @OptionGroup
    var options: GenerationOptions

    @Option(help: ArgumentHelp("Where to write the files.", valueName: "path"))
    var outputDirectory: String = "."

    @Option(
        help: ArgumentHelp(
            "Which plugin runs this; 'build' writes empty files for modes that are not generated.",
            valueName: "plugin"
        )
    )
    var pluginSource: PluginSource?

    @Flag(
        help: """
            Give the operations of each tag, and the schemas that only they use, a file of their own. Such files of an earlier \
            run that are no longer needed are removed.
            """
    )
    var split = false

    @Flag(help: "Do everything but write.")
    var dryRun = false

    func validate() throws {
        guard !split || pluginSource != .build else {
            throw ValidationError("The build plugin needs names known beforehand, so --split goes without it.")
        }
    }

    func run() throws {
        var settings = try options.configuration()
        settings.configuration.splitsByTag = split
        if options.diagnosticsFormat == .text {
            var banner = settings.configuration.summary.map { "- \($0)" }
            banner.append("- output directory: \(outputDirectory)")
            if split { banner.append("- split: by tag") }
            if dryRun { banner.append("- dry run: nothing is written") }
            printToStandardError("\(FileAccess.name(ofDocument: options.docPath)):\n\(banner.joined(separator: "\n"))")
        }
        let result = try options.generate(with: settings)
        let report = DiagnosticsReport(diagnostics: result.diagnostics)
        for line in report.lines(as: options.diagnosticsFormat) { printToStandardError(line) }
        if report.hasErrors { throw ExitCode.failure }
        try options.reporting { () throws(Diagnostic) in try write(result.files, with: settings.configuration) }
    }

    // MARK: Files

    private func write(_ files: [GeneratedFile], with configuration: GeneratorConfiguration) throws(Diagnostic) {
        var files = files
        if pluginSource == .build {
            let names = GeneratorConfiguration.Mode.allCases.flatMap(Generator.fileNames)
            for name in names where !files.contains(where: { $0.name == name }) {
                files.append(GeneratedFile(name: name, contents: ""))
            }
        }
        let directory = URL(fileURLWithPath: outputDirectory, isDirectory: true)
        if !dryRun, !files.isEmpty {
            try FileAccess.writing(outputDirectory) {
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            }
        }
        if configuration.modes.contains(.types), pluginSource != .build {
            try removeStaleFiles(from: directory, keeping: Set(files.map(\.name)))
        }
        for file in files {
            let url = directory.appendingPathComponent(file.name)
            let data = Data(file.contents.utf8)
            if let present = try? Data(contentsOf: url), present == data {
                print("File \(file.name) is already up to date.")
                continue
            }
            print("Writing \(file.name)\(dryRun ? " (dry run)" : "") to \(url.path)")
            if !dryRun { try FileAccess.writing(url.path) { try data.write(to: url) } }
        }
    }

    /// Removes the files of tags that the document does not have any more. It only removes files that begin with the
    /// generator's first line.
    private func removeStaleFiles(from directory: URL, keeping names: Set<String>) throws(Diagnostic) {
        let present: [String] = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        for name in present.sorted() {
            guard name.hasPrefix(Generator.splitFileNamePrefix), name.hasSuffix(".swift"), !names.contains(name) else {
                continue
            }
            let url = directory.appendingPathComponent(name)
            guard let data = try? Data(contentsOf: url), data.starts(with: Data(Generator.marker.utf8)) else {
                continue
            }
            print("Removing \(name)\(dryRun ? " (dry run)" : ""), which no tag needs any more")
            if !dryRun { try FileAccess.writing(url.path) { try FileManager.default.removeItem(at: url) } }
        }
    }
}
