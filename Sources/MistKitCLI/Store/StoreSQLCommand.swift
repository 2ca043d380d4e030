import ArgumentParser
import Foundation
import GRDB
import MistStore
import StreamingJSON

/// `mistkit store sql`
struct StoreSQLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sql",
        abstract: "Print what a statement of SQL reads from a store.",
        discussion: """
            Each record type is a table with a column for each field. The system fields are in columns that begin with an underscore, such as \
            _recordName. The tables of the store itself begin with mist_, and may change with any version.

            SQLite opens the file for reading, so a statement that writes is refused. The program may run meanwhile. To change records, \
            use sqlite3: the store sends such changes like any others.

            Examples:
              mistkit store sql notes "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'mist%'"
              mistkit store sql notes 'SELECT _recordName, title FROM DemoTodo WHERE isDone = 0 ORDER BY title' --format csv

            JSON has bytes as base64.
            """
    )

    @OptionGroup var folder: StoreFolderArgument
    @Argument(help: "One statement of SQL.")
    var statement: String
    @OptionGroup var database: StoreDatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let file = database.database == .public ? "public.sqlite" : try database.fileOfUser(in: folder.url).path
        let result: StatementResult
        do {
            result = try StatementResult(of: statement, inFile: file, ofStoreAt: folder.url)
        } catch let error as StoreError where error.code == .readOnly {
            throw CommandError(
                code: .usage,
                message: error.message,
                remedy:
                    "To change records, use sqlite3 on \(folder.folder)/\(file): the store sends such changes as well."
            )
        }
        let columns = Self.unique(result.columns)
        let rows = result.rows.map { StatementRow(columns: columns, values: $0) }
        let list = ValueList<StatementRow>(
            emptyNote: "No rows.",
            columns: columns.indices.map { index in
                ValueList.Column(result.columns[index]) { $0.text(at: index) }
            }
        )
        try list.write(rows, as: output)
    }

    /// Names of columns as keys of a JSON object: a name that is there already gets a number.
    static func unique(_ names: [String]) -> [String] {
        var used: Set<String> = []
        return names.map { name in
            var unique = name
            var number = 2
            while !used.insert(unique).inserted {
                unique = "\(name):\(number)"
                number += 1
            }
            return unique
        }
    }
}

/// A row of a result, with the names of its columns.
struct StatementRow: JSONWritable, Sendable {
    var columns: [String]
    var values: [DatabaseValue]

    /// The text of a value in a cell; `nil` for `NULL`.
    func text(at index: Int) -> String? {
        switch values[index].storage {
        case .null: nil
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let text): text
        case .blob(let data): "x'" + data.map { String(format: "%02x", $0) }.joined() + "'"
        }
    }

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        for (column, value) in zip(columns, values) {
            writer.key(column)
            switch value.storage {
            case .null: writer.writeNull()
            case .int64(let number): writer.write(number)
            // JSON has no infinite numbers.
            case .double(let number): number.isFinite ? writer.write(number) : writer.write("\(number)")
            case .string(let text): writer.write(text)
            case .blob(let data): writer.writeBase64(data)
            }
        }
        writer.endObject()
    }
}
