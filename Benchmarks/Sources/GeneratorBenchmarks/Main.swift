import Foundation

// swift run -c release --package-path Benchmarks GeneratorBenchmarks [generation] [compilation]
//
// How long openapi-swift takes for large documents, and the compiler for its output. Both are processes of their own and are
// measured from outside; figures are medians. The other figures of a line are stated, not measured here: what Apple's generator
// took on a machine of this kind (two cores), and the budget of this project.

@main
struct GeneratorBenchmarks {
    static func main() throws {
        let asked = Set(CommandLine.arguments.dropFirst())
        if asked.isEmpty || asked.contains("generation") { try Generation().report(rounds: 9) }
        if asked.isEmpty || asked.contains("compilation") { try Compilation().report(rounds: 3) }
    }

    /// The folder of this package.
    static var package: URL {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        return folder
    }

    /// The large documents: beside the project, or where MISTKIT_SHARED says.
    static var documents: URL {
        let shared =
            ProcessInfo.processInfo.environment["MISTKIT_SHARED"].map { URL(fileURLWithPath: $0) }
            ?? package.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared")
        return shared.appendingPathComponent("openapi-documents")
    }

    /// Text in a column.
    static func column(_ text: String, _ width: Int) -> String {
        text.padding(toLength: max(width, text.count), withPad: " ", startingAt: 0)
    }
}
