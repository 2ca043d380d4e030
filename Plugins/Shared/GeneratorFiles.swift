import Foundation

/// The files of one target that a plugin hands to `openapi-swift`, and the names of the generated files.
///
/// Plugins cannot import libraries, so each plugin compiles this file, and so do its tests.
struct GeneratorFiles {
    /// How to generate: `openapi-generator-config.yaml`.
    var configuration: URL
    /// What to generate from: `openapi.yaml` or `openapi.json`.
    var document: URL
    /// All other YAML and JSON of the target, since the document may refer to it.
    var others: [URL]

    static let configurationNames = ["openapi-generator-config.yaml", "openapi-generator-config.yml"]
    static let documentNames = ["openapi.yaml", "openapi.yml", "openapi.json"]

    /// The folder of the generated files, inside the target's folder or a folder of the plugin's own.
    static let outputFolder = "GeneratedSources"

    /// The name of every file that `openapi-swift` may write. A build has to know them before it runs the tool.
    static let outputNames = [
        "Types.swift", "Types+Schemas.swift", "Types+Schemas-2.swift", "Types+Schemas-3.swift", "Types+Schemas-4.swift",
        "Types+Parameters.swift", "Types+RequestBodies.swift", "Types+Responses.swift", "Types+Headers.swift",
        "Types+Operations.swift", "Types+Operations-2.swift", "Types+Operations-3.swift", "Types+Operations-4.swift",
        "Client.swift", "Server.swift",
    ]

    /// Finds the files among those of a target.
    /// - Throws: An error that names every file that is missing or that exists more than once.
    init(of target: String, among files: [URL]) throws(PluginError) {
        let configurations = files.filter { Self.configurationNames.contains($0.lastPathComponent) }
        let documents = files.filter { Self.documentNames.contains($0.lastPathComponent) }
        let problems = [
            Self.problem(with: configurations, what: "configuration file", names: Self.configurationNames),
            Self.problem(with: documents, what: "OpenAPI document", names: Self.documentNames),
        ].compactMap { $0 }
        guard problems.isEmpty else { throw PluginError(target: target, problems: problems) }
        configuration = configurations[0]
        document = documents[0]
        others = files.filter { file in
            ["yaml", "yml", "json"].contains(file.pathExtension) && !(configurations + documents).contains(file)
        }
    }

    /// Whether a target has any of the files, so that a missing one is an error.
    static func areExpected(among files: [URL]) -> Bool {
        files.contains { (configurationNames + documentNames).contains($0.lastPathComponent) }
    }

    /// The arguments of the call of `openapi-swift`.
    /// - Parameters:
    ///   - directory: The folder of the generated files.
    ///   - plugin: The plugin that calls.
    ///   - package: The folder of the package, which references in the document must not leave.
    /// - Returns: The arguments.
    func arguments(writingTo directory: URL, plugin: String, package: URL) -> [String] {
        [
            "generate", document.path, "--config", configuration.path, "--output-directory", directory.path,
            "--plugin-source", plugin, "--package-directory", package.path,
        ]
    }

    private static func problem(with found: [URL], what: String, names: [String]) -> String? {
        switch found.count {
        case 0: "it has no \(what), add \(names.joined(separator: " or "))"
        case 1: nil
        default: "it has more than one \(what), keep one of \(found.map(\.path).joined(separator: ", "))"
        }
    }
}

/// The reason why a plugin cannot continue, with all problems of a target at once.
struct PluginError: Error, Hashable, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }

    init(target: String, problems: [String]) {
        description = "No code can be generated for the target '\(target)': \(problems.joined(separator: "; "))."
    }

    /// The error of a target written in another language.
    static func noSwift(in target: String) -> PluginError {
        PluginError(target: target, problems: ["it is not written in Swift"])
    }
}
