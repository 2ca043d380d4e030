import Foundation
import MistKit
import StreamingJSON

/// Where the records of an import come from.
protocol TransferSource {
    /// The next record; `nil` at the end.
    mutating func next() throws -> ImportReader.Item?
}

/// The records of a file, one after the other, whatever its size.
struct ImportReader: TransferSource {
    /// A record of the file, or the error in its line.
    struct Item {
        /// The line; the first is 1. A row of CSV may have several.
        let line: Int
        /// The name of the item in messages, such as `line 3`.
        let label: String
        /// The item as a line of a file.
        let bytes: [UInt8]
        let record: Result<Record, CommandError>
        /// The bytes of the items up to the end of this one.
        let end: Int64
        /// Where the next item begins, in sources whose items are not found by their bytes.
        var position: String?
    }

    private var lines: LineReader
    private var line: Int
    private let columns: RecordColumns?
    private let separator: Unicode.Scalar
    private let isPlain: Bool
    /// The header of a CSV file with its line end; empty for NDJSON.
    private(set) var header: [UInt8] = []

    /// - Parameters:
    ///   - handle: The file.
    ///   - isCSV: Whether it is CSV; NDJSON otherwise.
    ///   - isPlain: Whether lines of NDJSON are plain objects.
    ///   - separator: What is between the cells of CSV; with `nil`, the header shows it.
    ///   - offset: The bytes that an earlier run has done.
    ///   - line: The lines that an earlier run has done.
    /// - Throws: ``CommandError`` for a file without a header, or with a wrong one.
    init(
        _ handle: FileHandle,
        isCSV: Bool,
        isPlain: Bool = false,
        separator: CellSeparator? = nil,
        from offset: Int64,
        line: Int
    ) throws {
        self.isPlain = isPlain
        if isCSV {
            var first = try LineReader(handle)
            guard let bytes = try first.next() else {
                throw CommandError(
                    code: .data,
                    message: "The file is empty.",
                    remedy: "Begin it with a header, such as recordName,title:STRING."
                )
            }
            header = bytes + [UInt8(ascii: "\n")]
            let text = Self.withoutByteOrderMark(bytes)
            self.separator = (separator ?? CellSeparator(ofHeader: text)).scalar
            columns = try RecordColumns(header: CSVRow(text, separator: self.separator).cells)
            lines = offset > first.offset ? try LineReader(handle, from: offset) : first
            self.line = max(line, 1)
        } else {
            columns = nil
            self.separator = ","
            lines = try LineReader(handle, from: offset)
            self.line = line
        }
    }

    /// The next record; `nil` at the end of the file. Empty lines are skipped.
    mutating func next() throws -> Item? {
        while var bytes = try lines.next() {
            line += 1
            guard bytes.contains(where: { !" \t\r".utf8.contains($0) }) else { continue }
            let first = line
            guard let columns else {
                return Item(
                    line: first,
                    label: "line \(first)",
                    bytes: bytes,
                    record: Self.record(inJSON: bytes, isPlain: isPlain),
                    end: lines.offset
                )
            }
            var row = CSVRow(String(decoding: bytes, as: UTF8.self), separator: separator)
            while row.isOpen, bytes.count < LineReader.longestLine, let more = try lines.next() {
                line += 1
                bytes += [UInt8(ascii: "\n")] + more
                row.append("\n" + String(decoding: more, as: UTF8.self))
            }
            let record = Self.result {
                guard !row.isOpen else {
                    throw CommandError(
                        code: .data,
                        message: "The quoted cell has no end.",
                        remedy: "Write a quote within a cell twice."
                    )
                }
                return try columns.record(of: row.cells)
            }
            return Item(line: first, label: "line \(first)", bytes: bytes, record: record, end: lines.offset)
        }
        return nil
    }

    private static func withoutByteOrderMark(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...], as: UTF8.self)
    }

    /// The record of an object.
    ///
    /// - Parameters:
    ///   - bytes: The object.
    ///   - isPlain: Whether its members are fields; otherwise it is a record dictionary of CloudKit Web Services.
    /// - Returns: The record, or what is wrong with the object.
    static func record(inJSON bytes: [UInt8], isPlain: Bool = false) -> Result<Record, CommandError> {
        result {
            guard !isPlain else { return try PlainRecord.record(inJSON: bytes) }
            do {
                let record = try JSONReader.read(Record.self, from: bytes)
                if record.fields.isEmpty { try refusePlainObject(record, bytes) }
                return record
            } catch let error as CommandError {
                throw error
            } catch {
                throw CommandError(
                    code: .data,
                    message: "\(error)",
                    remedy:
                        #"Give one record on each line: {"recordType":"Note","fields":{"title":{"value":"Hello"}}}."#
                )
            }
        }
    }

    /// Refuses an object whose members would be lost, since they are not a part of a record dictionary.
    private static func refusePlainObject(_ record: Record, _ bytes: [UInt8]) throws {
        guard let lost = record.otherKeys.elements.map(\.name).min(),
            try JSONReader.read([String: JSONRawValue].self, from: bytes)["fields"] == nil
        else { return }
        throw CommandError(
            code: .data,
            message: "The record has no fields, and a member \(lost) that is not a part of a record.",
            remedy: "Give --plain if the members are the fields, or write them into \"fields\"."
        )
    }

    private static func result(_ body: () throws -> Record) -> Result<Record, CommandError> {
        do {
            return .success(try body())
        } catch let error as CommandError {
            return .failure(error)
        } catch {
            return .failure(CommandError(unexpected: error))
        }
    }
}
