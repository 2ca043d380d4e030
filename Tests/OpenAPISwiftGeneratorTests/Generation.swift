import OpenAPISwiftGenerator
import Testing

/// A run of the generator over a document in a test.
struct Generation {
    let files: [String: String]
    let diagnostics: [Diagnostic]

    /// Generates from a whole document.
    init(
        document: String,
        named name: String = "openapi.yaml",
        modes: Set<GeneratorConfiguration.Mode> = [.types],
        access: AccessModifier = .public,
        naming: NamingStrategy = .defensive,
        configure: (inout GeneratorConfiguration) -> Void = { _ in },
        load: DocumentLoader? = nil
    ) {
        var configuration = GeneratorConfiguration(modes: modes)
        configuration.accessModifier = access
        configuration.namingStrategy = naming
        configure(&configuration)
        let result: GeneratorResult = Generator(configuration: configuration)
            .generate(from: [UInt8](document.utf8), named: name, loadingReferencesWith: load)
        files = Dictionary(uniqueKeysWithValues: result.files.map { ($0.name, $0.contents) })
        diagnostics = result.diagnostics
    }

    /// Generates from component schemas, which are indented by four spaces.
    init(schemas: String, access: AccessModifier = .public, naming: NamingStrategy = .defensive) {
        self.init(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths: {}
                components:
                  schemas:
                \(schemas)
                """,
            access: access,
            naming: naming
        )
    }

    var errors: [String] { diagnostics.filter { $0.severity == .error }.map(\.description) }
    var warnings: [String] { diagnostics.filter { $0.severity == .warning }.map(\.description) }

    /// Whether a file contains lines, regardless of their indentation.
    func contains(_ lines: String, in file: String = "Types+Schemas.swift") -> Bool {
        Generation.normalized(files[file] ?? "").contains(Generation.normalized(lines))
    }

    private static func normalized(_ text: String) -> String {
        text.split(separator: "\n").map { line in
            String(line.drop { $0 == " " })
        }.joined(separator: "\n")
    }
}
