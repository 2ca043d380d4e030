import ArgumentParser
import Foundation
import OpenAPISwiftGenerator
import StreamingJSON

/// How diagnostics are printed.
enum DiagnosticsFormat: String, ExpressibleByArgument, CaseIterable {
    /// `file:line:column: severity: message`, as compilers do.
    case text
    /// One JSON object per line.
    case json
}

/// The diagnostics of a run, as text for people and as JSON or YAML for tools.
struct DiagnosticsReport {
    var diagnostics: [Diagnostic]

    var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }

    /// The report sorted by position: diagnostics without a position first, then file by file from top to bottom.
    var sorted: DiagnosticsReport {
        var files: [String: Int] = [:]
        for case let location? in diagnostics.map(\.location) where files[location.file] == nil {
            files[location.file] = files.count + 1
        }
        let keys = diagnostics.enumerated().map { index, diagnostic in
            guard let location = diagnostic.location else { return [0, 0, 0, index] }
            return [files[location.file] ?? 0, location.line, location.column, index]
        }
        let order = diagnostics.indices.sorted { keys[$0].lexicographicallyPrecedes(keys[$1]) }
        return DiagnosticsReport(diagnostics: order.map { diagnostics[$0] })
    }

    /// One line for each diagnostic.
    func lines(as format: DiagnosticsFormat) -> [String] {
        switch format {
        case .text: diagnostics.map(\.description)
        case .json: diagnostics.map { jsonText(of: DiagnosticObject($0)) }
        }
    }

    /// The number of diagnostics of each severity, in one line.
    func summary(of document: String, as format: DiagnosticsFormat) -> String {
        var counts: [Diagnostic.Severity: Int] = [:]
        for diagnostic in diagnostics { counts[diagnostic.severity, default: 0] += 1 }
        let errors = counts[.error] ?? 0
        let warnings = counts[.warning] ?? 0
        let notes = counts[.note] ?? 0
        switch format {
        case .text:
            return "\(document): \(count(errors, "error")), \(count(warnings, "warning")), \(count(notes, "note"))"
        case .json: return #"{"errors":\#(errors),"warnings":\#(warnings),"notes":\#(notes)}"#
        }
    }

    private func count(_ number: Int, _ word: String) -> String {
        number == 1 ? "1 \(word)" : "\(number) \(word)s"
    }

    // MARK: The YAML file

    /// Writes the file of `--diagnostics-output-path`.
    func write(to path: String) throws(Diagnostic) {
        let url = URL(fileURLWithPath: path)
        try FileAccess.writing(path) {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(yaml.utf8).write(to: url)
        }
    }

    private var yaml: String {
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
        let messages = Set(diagnostics.map(\.message)).sorted()
        lines.append(messages.isEmpty ? "uniqueMessages: []" : "uniqueMessages:")
        lines += messages.map { "- \(quoted($0))" }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A double-quoted YAML scalar; every JSON string is one.
    private func quoted(_ text: String) -> String {
        jsonText(of: text)
    }
}

/// A value as JSON; strings and objects of them can always be written.
private func jsonText<T: JSONWritable>(of value: T) -> String {
    (try? JSONWriter.bytes(of: value)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
}

/// A diagnostic as an object with `severity`, `message`, and the optional members `location` (with `file`, `line` and
/// `column`), `remedy`, and `context` (strings by name).
private struct DiagnosticObject: JSONWritable {
    let diagnostic: Diagnostic

    init(_ diagnostic: Diagnostic) {
        self.diagnostic = diagnostic
    }

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("severity")
        writer.write(diagnostic.severity.rawValue)
        writer.key("message")
        writer.write(diagnostic.message)
        if let location = diagnostic.location {
            writer.key("location")
            writer.beginObject()
            writer.key("file")
            writer.write(location.file)
            writer.key("line")
            writer.write(location.line)
            writer.key("column")
            writer.write(location.column)
            writer.endObject()
        }
        if let remedy = diagnostic.remedy {
            writer.key("remedy")
            writer.write(remedy)
        }
        if !diagnostic.context.isEmpty {
            writer.key("context")
            writer.beginObject()
            for key in diagnostic.context.keys.sorted() {
                writer.key(key)
                writer.write(diagnostic.context[key] ?? "")
            }
            writer.endObject()
        }
        writer.endObject()
    }
}
