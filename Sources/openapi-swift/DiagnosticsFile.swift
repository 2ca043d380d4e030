import Foundation
import OpenAPISwiftGenerator

/// The YAML form of diagnostics, for tools that show them.
enum DiagnosticsFile {
    static func write(_ diagnostics: [Diagnostic], to path: String) throws {
        var lines: [String] = ["diagnostics:"]
        if diagnostics.isEmpty { lines = ["diagnostics: []"] }
        for diagnostic in diagnostics.sorted(by: { $0.description < $1.description }) {
            lines.append("- context:\(diagnostic.context.isEmpty ? " {}" : "")")
            for key in diagnostic.context.keys.sorted() {
                lines.append("    \(quoted(key)): \(quoted(diagnostic.context[key] ?? ""))")
            }
            if let location = diagnostic.location {
                lines.append("  location:")
                lines.append("    columnNumber: \(location.column)")
                lines.append("    filePath: \(quoted(location.file))")
                lines.append("    lineNumber: \(location.line)")
            }
            lines.append("  message: \(quoted(diagnostic.message))")
            if let remedy = diagnostic.remedy { lines.append("  remedy: \(quoted(remedy))") }
            lines.append("  severity: \(diagnostic.severity.rawValue)")
        }
        let messages: [String] = Set(diagnostics.map(\.message)).sorted()
        lines.append(messages.isEmpty ? "uniqueMessages: []" : "uniqueMessages:")
        lines += messages.map { "- \(quoted($0))" }
        let url = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: url)
    }

    /// A double-quoted YAML scalar.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for character in text {
            switch character {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            default: result.append(character)
            }
        }
        return result + "\""
    }
}
