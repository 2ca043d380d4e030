import ArgumentParser
import Foundation
import MistKit
import StreamingJSON

/// The form of a file of records.
enum TransferFormat: String, CaseIterable, ExpressibleByArgument {
    /// A record dictionary of CloudKit Web Services on each line.
    case ndjson
    /// An array of record dictionaries, or record dictionaries one after the other.
    case json
    /// RFC 4180 with a header, whose cells are names and types of fields: `title:STRING`.
    case csv

    /// The format of a file by its name; NDJSON for other names.
    ///
    /// A file of failed lines has the format of the imported file, whose name is a part of its name.
    init(path: String) {
        let path = path.lowercased()
        let name = path.hasSuffix(".failed") ? String(path.dropLast(".failed".count)) : path
        self = name.hasSuffix(".csv") ? .csv : name.hasSuffix(".json") ? .json : .ndjson
    }
}

/// The columns of a CSV file of records.
struct RecordColumns: Hashable {
    /// A column.
    enum Column: Hashable {
        case recordName
        case recordType
        case zone
        case field(name: String, type: String)

        /// The cell of the header.
        var title: String {
            switch self {
            case .recordName: "recordName"
            case .recordType: "recordType"
            case .zone: "zone"
            case .field(let name, let type): "\(name):\(type)"
            }
        }
    }

    var columns: [Column]

    /// The columns of some records: name, type, zone, and the fields in the order in which they first appear.
    init() {
        columns = [.recordName, .recordType, .zone]
    }

    /// Reads a header.
    ///
    /// - Throws: ``CommandError`` for a cell that is not a column, and for a repeated column.
    init(header: [CSVCell]) throws(CommandError) {
        columns = []
        for cell in header {
            let title = cell.text.trimmingCharacters(in: .whitespaces)
            let column: Column
            switch title {
            case "recordName": column = .recordName
            case "recordType": column = .recordType
            case "zone": column = .zone
            default:
                let (name, type) = FieldText.typedName(title[...])
                guard !name.isEmpty else {
                    throw CommandError(
                        code: .data,
                        message: "A cell of the header is empty.",
                        remedy:
                            "Give each column recordName, recordType, zone or the name of a field, such as title:STRING."
                    )
                }
                if let type {
                    do throws(CommandError) {
                        try FieldText.checkType(type, of: name)
                    } catch {
                        var problem = error
                        problem.code = .data
                        throw problem
                    }
                }
                column = .field(name: name, type: type ?? "")
            }
            guard !columns.contains(column) else {
                throw CommandError(
                    code: .data,
                    message: "The header has the column \(title) twice.",
                    remedy: "Remove one of them."
                )
            }
            columns.append(column)
        }
    }

    /// Adds columns for the fields of a record that have none.
    mutating func add(fieldsOf record: Record, known: inout Set<Column>) {
        for (name, value) in record.fields {
            guard let type = Self.type(of: value) else { continue }
            let column = Column.field(name: name, type: type)
            if known.insert(column).inserted { columns.append(column) }
        }
    }

    /// The type of a value as a header has it; `nil` for null.
    private static func type(of value: FieldValue) -> String? {
        guard !value.isNull, let type = value.plain.type else { return nil }
        return type.rawValue + (value.isEncrypted ? "!" : "")
    }

    /// The row of a record. A field whose value has another type than a column has an empty cell there.
    func line(of record: Record) -> String {
        CommaSeparatedValues.line(
            columns.map { column in
                switch column {
                case .recordName: .plain(record.recordName ?? "")
                case .recordType: .plain(record.recordType ?? "")
                case .zone: .plain(record.zoneID?.zoneName ?? "")
                case .field(let name, let type):
                    if let value = record[name], Self.type(of: value) == type {
                        .value(Self.text(of: value))
                    } else {
                        .plain("")
                    }
                }
            }
        )
    }

    /// A cell: texts and numbers as they are, points in time in ISO 8601, everything with parts as its JSON.
    private static func text(of value: FieldValue) -> String {
        switch value.plain {
        case .string, .int64, .double, .timestamp, .bytes: return FieldText.plainText(value)
        case .reference(let reference) where reference.action == Reference.Action.none && reference.zoneID == nil:
            return reference.recordName
        default:
            let members = try? JSONRawValue(value.plain).read([String: JSONRawValue].self)
            return members?["value"]?.description ?? ""
        }
    }

    /// The record of a row.
    ///
    /// - Throws: ``CommandError`` that names the field.
    func record(of cells: [CSVCell]) throws -> Record {
        guard cells.count == columns.count else {
            throw CommandError(
                code: .data,
                message: "The row has \(cells.count) cells, and the header \(columns.count).",
                remedy: "Put cells that hold a comma, a quote or a line end between double quotes."
            )
        }
        var record = Record(recordName: nil)
        for (column, cell) in zip(columns, cells) where cell.isQuoted || !cell.text.isEmpty {
            switch column {
            case .recordName: record.recordName = cell.text
            case .recordType: record.recordType = cell.text
            case .zone: record.zoneID = ZoneID(zoneName: cell.text)
            case .field(let name, let type): record[name] = try Self.value(cell.text, type: type, of: name)
            }
        }
        return record
    }

    private static func value(_ text: String, type: String, of name: String) throws -> FieldValue {
        let isEncrypted = type.hasSuffix("!")
        let plainType = isEncrypted ? String(type.dropLast()) : type
        if plainType == "ASSETID", !text.hasPrefix("{") { return .asset(try RecordFiles.asset(at: text)) }
        guard !plainType.isEmpty, plainType != "STRING", text.hasPrefix("[") || text.hasPrefix("{") else {
            return try FieldText.value(text, type: type.isEmpty ? nil : type, of: name)
        }
        do {
            let json = try JSONRawValue(["value": JSONRawValue(parsing: text), "type": JSONRawValue(plainType)])
            let value = try json.read(FieldValue.self)
            return isEncrypted ? .encrypted(value) : value
        } catch {
            throw CommandError(
                code: .data,
                message: "The field \(name) is not valid JSON of a \(plainType).",
                remedy: "Write the value as CloudKit Web Services write it, such as [\"a\",\"b\"]."
            )
        }
    }
}
