public import ArgumentParser
import Foundation
public import OpenAPISwiftGenerator

/// The root of the command line.
struct OpenAPISwiftCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "openapi-swift",
        abstract: "Turns OpenAPI documents into Swift clients and servers.",
        discussion: """
            Documents are of OpenAPI 3.0, 3.1 or 3.2, in YAML or JSON, in one file or several.
            """,
        subcommands: [GenerateCommand.self, LintCommand.self, FilterCommand.self]
    )
}

extension GeneratorConfiguration.Mode: ExpressibleByArgument {}
extension AccessModifier: ExpressibleByArgument {}
extension NamingStrategy: ExpressibleByArgument {}
extension DocumentFilter.OutputFormat: ExpressibleByArgument {}

/// The only value of `--feature-flag`. The tool has no features to switch on.
enum FeatureFlag: String, ExpressibleByArgument, CaseIterable {
    case empty
}

/// The plugin that runs the tool.
enum PluginSource: String, ExpressibleByArgument, CaseIterable {
    /// A build-tool plugin, which needs every file that it has announced.
    case build
    /// A command plugin.
    case command
}

/// Prints text for people, separate from the output for programs.
func printToStandardError(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}

extension ConfigurationFile {
    /// Reads the file at a path.
    init(path: String, isStrict: Bool = true) throws(Diagnostic) {
        let bytes = try FileAccess.contents(of: path, what: "configuration")
        try self.init(parsing: bytes, named: path, isStrict: isStrict)
    }
}
