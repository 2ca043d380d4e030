import ArgumentParser
import Foundation
import MistKit
import StreamingJSON

/// How a command shows what it found.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    /// Columns for people.
    case table
    /// One JSON array of the dictionaries of the protocol.
    case json
    /// The same dictionaries, one a line, each as soon as it arrives.
    case ndjson
    /// RFC 4180, with a header.
    case csv
}

struct OutputOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: "The format of the output. JSON has the form of CloudKit Web Services."
    )
    var format = OutputFormat.table

    @Flag(name: .customLong("no-pager"), help: "Print a long table in one go.")
    var printsInOneGo = false

    /// The pager for a table that is too long for the terminal; `nil` to write the table in one go.
    var pager: Pager? {
        printsInOneGo ? nil : Pager(environment: ProcessInfo.processInfo.environment)
    }
}

/// Writes records in a format, each as soon as it arrives if the format allows it.
struct RecordPrinter {
    private let format: OutputFormat
    private let pager: Pager?
    private var records: [Record] = []
    private var count = 0

    init(_ options: OutputOptions) {
        format = options.format
        pager = options.pager
    }

    mutating func append(_ record: Record) throws {
        count += 1
        switch format {
        case .ndjson: Terminal.writeLine(String(decoding: try JSONWriter.bytes(of: record), as: UTF8.self))
        case .json:
            let text = String(decoding: try JSONWriter.bytes(of: record, options: [.prettyPrinted]), as: UTF8.self)
            let indented = text.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n")
            // Only complete lines are written, so that a failure on standard error has a line of its own.
            Terminal.writeLine((count == 1 ? "[\n" : "  ,\n") + indented)
        case .table, .csv: records.append(record)
        }
    }

    /// Ends the output. Tables and CSV are written here, when their columns are known.
    ///
    /// - Parameter emptyNote: What a table without rows says.
    mutating func finish(emptyNote: String?) {
        switch format {
        case .ndjson: break
        case .json: Terminal.writeLine(count == 0 ? "[]" : "]")
        case .table:
            guard !records.isEmpty else {
                if let emptyNote { Terminal.writeLine(emptyNote) }
                return
            }
            Terminal.write(Self.table(of: records), pager: pager)
        case .csv:
            let fields = Self.fieldNames(of: records)
            let system = ["recordName", "recordType", "recordChangeTag", "created", "modified"]
            Terminal.write(CommaSeparatedValues.line(system + fields))
            for record in records {
                let own = [
                    record.recordName ?? "", record.recordType ?? "", record.recordChangeTag ?? "",
                    record.created.map { FieldText.describe($0.timestamp) } ?? "",
                    record.modified.map { FieldText.describe($0.timestamp) } ?? "",
                ]
                Terminal.write(
                    CommaSeparatedValues.line(own + fields.map { record[$0].map(FieldText.plainText) ?? "" })
                )
            }
        }
    }

    /// A row for each record: its name, its fields in the order in which they first appear, its tag.
    static func table(of records: [Record]) -> TextTable {
        let fields = fieldNames(of: records)
        let numeric = fields.map { name in
            records.allSatisfy { record in
                guard let value = record[name] else { return true }
                return value.isNull || value.doubleValue != nil
            }
        }
        var columns = [TextTable.Column(title: "recordName")]
        for (name, isNumeric) in zip(fields, numeric) {
            columns.append(TextTable.Column(title: name, alignment: isNumeric ? .right : .left))
        }
        columns.append(TextTable.Column(title: "tag"))
        var table = TextTable(columns)
        for record in records {
            let tag = record.isDeleted ? "deleted" : record.recordChangeTag ?? ""
            table.append([record.recordName ?? ""] + cells(of: record, fields) + [tag])
        }
        return table
    }

    private static func cells(of record: Record, _ names: [String]) -> [String] {
        names.map { name in record[name].map { FieldText.describe($0) } ?? "" }
    }

    private static func fieldNames(of records: [Record]) -> [String] {
        var seen: Set<String> = []
        var names: [String] = []
        for record in records {
            for (name, _) in record.fields where seen.insert(name).inserted { names.append(name) }
        }
        return names
    }
}
