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
    /// The header of a CSV file with its line end; empty for NDJSON.
    private(set) var header: [UInt8] = []

    /// - Parameters:
    ///   - handle: The file.
    ///   - isCSV: Whether it is CSV; NDJSON otherwise.
    ///   - offset: The bytes that an earlier run has done.
    ///   - line: The lines that an earlier run has done.
    /// - Throws: ``CommandError`` for a file without a header, or with a wrong one.
    init(_ handle: FileHandle, isCSV: Bool, from offset: Int64, line: Int) throws {
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
            columns = try RecordColumns(header: CSVRow(Self.withoutByteOrderMark(bytes)).cells)
            lines = offset > first.offset ? try LineReader(handle, from: offset) : first
            self.line = max(line, 1)
        } else {
            columns = nil
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
                    record: Self.record(inJSON: bytes),
                    end: lines.offset
                )
            }
            var row = CSVRow(String(decoding: bytes, as: UTF8.self))
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

    /// The record of a line of NDJSON.
    static func record(inJSON bytes: [UInt8]) -> Result<Record, CommandError> {
        result {
            do {
                return try JSONReader.read(Record.self, from: bytes)
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
