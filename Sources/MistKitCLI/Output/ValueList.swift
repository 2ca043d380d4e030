import MistKit
import StreamingJSON

/// How values that are not records, such as zones, are shown: columns for people, the JSON of the service for programs.
struct ValueList<Value: JSONWritable>: Sendable {
    struct Column: Sendable {
        let title: String
        let text: @Sendable (Value) -> String?

        init(_ title: String, _ text: @escaping @Sendable (Value) -> String?) {
            self.title = title
            self.text = text
        }
    }

    /// What a table without rows says, such as "No zones."
    let emptyNote: String
    let columns: [Column]

    func write(_ values: [Value], as output: OutputOptions) throws {
        switch output.format {
        case .table:
            guard !values.isEmpty else { return Terminal.writeLine(emptyNote) }
            var table = TextTable(columns.map { TextTable.Column(title: $0.title) })
            for value in values { table.append(cells(of: value)) }
            Terminal.write(table, pager: output.pager)
        case .json:
            let json = try JSONWriter.bytes(of: values, options: [.prettyPrinted])
            Terminal.writeLine(String(decoding: json, as: UTF8.self))
        case .ndjson:
            for value in values { Terminal.writeLine(String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self)) }
        case .csv:
            Terminal.write(CommaSeparatedValues.line(columns.map(\.title)))
            for value in values { Terminal.write(CommaSeparatedValues.line(cells(of: value))) }
        }
    }

    /// Writes the values, and the failures to standard error.
    ///
    /// - Parameters:
    ///   - results: The results.
    ///   - output: The format, and whether a pager shows a long table.
    ///   - noun: What the values are, such as "users".
    /// - Throws: A ``CommandError`` with the number of failures.
    func write(_ results: [Result<Value, CloudKitError>], as output: OutputOptions, noun: String) throws {
        var values: [Value] = []
        var failures: [CloudKitError] = []
        for result in results {
            switch result {
            case .success(let value): values.append(value)
            case .failure(let error): failures.append(error)
            }
        }
        if !values.isEmpty || failures.isEmpty { try write(values, as: output) }
        try CommandError.check(failures, of: results.count, noun: noun)
    }

    private func cells(of value: Value) -> [String] { columns.map { $0.text(value) ?? "" } }
}

extension CommandError {
    /// Writes the failed items of a batch to standard error.
    ///
    /// - Throws: A ``CommandError`` with their number, where there are any.
    static func check(_ failures: [CloudKitError], of count: Int, noun: String) throws(CommandError) {
        guard let first = failures.first else { return }
        for failure in failures { Terminal.writeFailure(CommandError(failure)) }
        throw CommandError(
            code: .failure,
            message: "\(failures.count) of \(count) \(noun) failed.",
            remedy: remedy(for: first)
        )
    }
}
