import Foundation

/// The files of one target that a plugin hands to `openapi-swift`, and the names of those that come back.
///
/// Plugins cannot import libraries, so this is what both plugins share: they compile it, and so do its tests.
struct GeneratorFiles {
    /// How to generate: `openapi-generator-config.yaml`.
    var configuration: URL
    /// What to generate from: `openapi.yaml` or `openapi.json`.
    var document: URL
    /// All other YAML and JSON of the target, since the document may refer to it.
    var others: [URL]

    static let configurationNames = ["openapi-generator-config.yaml", "openapi-generator-config.yml"]
    static let documentNames = ["openapi.yaml", "openapi.yml", "openapi.json"]

    /// The folder that is written, inside the target's or one of the plugin's own.
    static let outputFolder = "GeneratedSources"

    /// Every name that `openapi-swift` may write: a build has to know them before it runs.
    static let outputNames = [
        "Types.swift", "Types+Schemas.swift", "Types+Schemas-2.swift", "Types+Schemas-3.swift", "Types+Schemas-4.swift",
        "Types+Parameters.swift", "Types+RequestBodies.swift", "Types+Responses.swift", "Types+Headers.swift",
        "Types+Operations.swift", "Types+Operations-2.swift", "Types+Operations-3.swift", "Types+Operations-4.swift",
        "Client.swift", "Server.swift",
    ]

    /// Finds the files among those of a target.
    /// - Throws: An error that names everything that is missing and everything that is there twice.
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

    /// Whether a target has any of the files, so that the others are missed.
    static func areExpected(among files: [URL]) -> Bool {
        files.contains { (configurationNames + documentNames).contains($0.lastPathComponent) }
    }

    /// What `openapi-swift` is called with.
    func arguments(writingTo directory: URL, plugin: String) -> [String] {
        [
            "generate", document.path, "--config", configuration.path, "--output-directory", directory.path,
            "--plugin-source", plugin,
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

/// Why a plugin cannot go on: all there is to say about a target at once.
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
