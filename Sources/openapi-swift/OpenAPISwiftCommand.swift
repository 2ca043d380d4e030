public import ArgumentParser
import Foundation
public import OpenAPISwiftGenerator

/// The root of the command line.
struct OpenAPISwiftCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "openapi-swift",
        abstract: "Turns OpenAPI documents into Swift clients and servers.",
        subcommands: [GenerateCommand.self, FilterCommand.self]
    )
}

extension GeneratorConfiguration.Mode: ExpressibleByArgument {}
extension AccessModifier: ExpressibleByArgument {}
extension NamingStrategy: ExpressibleByArgument {}
extension DocumentFilter.OutputFormat: ExpressibleByArgument {}

/// The value that `--feature-flag` takes; there are no features to switch on.
enum FeatureFlag: String, ExpressibleByArgument, CaseIterable {
    case empty
}

/// Who runs the tool.
enum PluginSource: String, ExpressibleByArgument, CaseIterable {
    /// A build-tool plugin, which needs every file it was promised.
    case build
    /// A command plugin.
    case command
}

/// Text for people, apart from what a program reads from standard output.
func printToStandardError(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}

/// The bytes of a file, or a usage error that names it.
func contents(of path: String, what: String) throws -> [UInt8] {
    do {
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
        throw ValidationError("Cannot read the \(what) at '\(path)': \(error.localizedDescription)")
    }
}

extension ConfigurationFile {
    /// Reads the file at a path; what is wrong with it is a usage error.
    init(path: String, isStrict: Bool = true) throws {
        let bytes: [UInt8] = try contents(of: path, what: "configuration")
        do {
            try self.init(parsing: bytes, named: path, isStrict: isStrict)
        } catch {
            throw ValidationError(error.description)
        }
    }
}
