import Foundation

// swift run -c release --package-path Benchmarks GeneratorBenchmarks [generation] [compilation] [--runs n]
//
// Measures how long openapi-swift takes for large documents, and how long the compiler takes for its output. Both are
// separate processes and are measured from outside; figures are medians. The other figures of a line are stated, not
// measured here: what Apple's generator took on a machine of this kind (two cores), and the budget of this project.

@main
struct GeneratorBenchmarks {
    static func main() throws {
        var asked = Set(CommandLine.arguments.dropFirst())
        var rounds: Int?
        if let place = CommandLine.arguments.firstIndex(of: "--runs") {
            guard place + 1 < CommandLine.arguments.count, let count = Int(CommandLine.arguments[place + 1]), count > 0
            else {
                throw UsageError(text: "--runs takes a number")
            }
            rounds = count
            asked.subtract(["--runs", CommandLine.arguments[place + 1]])
        }
        guard asked.isSubset(of: ["generation", "compilation"]) else {
            throw UsageError(text: "GeneratorBenchmarks [generation] [compilation] [--runs n]")
        }
        if asked.isEmpty || asked.contains("generation") { try Generation().report(rounds: rounds ?? 9) }
        if asked.isEmpty || asked.contains("compilation") { try Compilation().report(rounds: rounds ?? 3) }
    }

    private struct UsageError: Error {
        var text: String
    }

    /// Prints a line of the report at once, also into a file or a pipe.
    static func tell(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    /// Prints what is measured now, to standard error.
    static func progress(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
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

    /// A large document; `nil` if the file does not exist.
    static func document(_ name: String) -> URL? {
        let document = documents.appendingPathComponent(name)
        if FileManager.default.fileExists(atPath: document.path) { return document }
        progress("\(name) is not here (\(document.path)); set MISTKIT_SHARED to the folder that has it.")
        return nil
    }

    /// Text in a column.
    static func column(_ text: String, _ width: Int) -> String {
        text.padding(toLength: max(width, text.count + 1), withPad: " ", startingAt: 0)
    }
}
