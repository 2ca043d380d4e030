import Foundation
import MistKit
import StreamingJSON

/// The records of a file, one after the other, whatever its size.
struct ImportReader {
    /// A record of the file, or why there is none.
    struct Item {
        /// The line; the first is 1. A row of CSV may have several.
        let line: Int
        let bytes: [UInt8]
        let record: Result<Record, CommandError>
        /// The bytes of the file up to the item's end.
        let end: Int64
    }

    private var lines: LineReader
    private var line: Int
    private let columns: RecordColumns?
    /// The header of a CSV file with its line end; empty for NDJSON.
    private(set) var header: [UInt8] = []

    /// - Parameters:
    ///   - handle: The file.
    ///   - format: Its format.
    ///   - offset: The bytes that an earlier run has done.
    ///   - line: The lines that an earlier run has done.
    /// - Throws: ``CommandError`` for a file without a header, or with a wrong one.
    init(_ handle: FileHandle, _ format: TransferFormat, from offset: Int64, line: Int) throws {
        switch format {
        case .ndjson:
            columns = nil
            lines = try LineReader(handle, from: offset)
            self.line = line
        case .csv:
            var first = try LineReader(handle)
            guard let bytes = try first.next() else {
                throw CommandError(
                    code: .data,
                    message: "The file is empty.",
                    remedy: "Begin it with a header, such as recordName,title:STRING."
                )
            }
            header = bytes + [UInt8(ascii: "\n")]
            columns = try RecordColumns(header: CSVCell.cells(of: Self.text(of: bytes, isFirst: true)) ?? [])
            lines = offset > first.offset ? try LineReader(handle, from: offset) : first
            self.line = max(line, 1)
        }
    }

    /// The next record; `nil` at the end of the file. Empty lines are skipped.
    mutating func next() throws -> Item? {
        while var bytes = try lines.next() {
            line += 1
            guard bytes.contains(where: { !" \t\r".utf8.contains($0) }) else { continue }
            let first = line
            guard let columns else {
                return Item(line: first, bytes: bytes, record: Self.record(inJSON: bytes), end: lines.offset)
            }
            var cells = CSVCell.cells(of: Self.text(of: bytes))
            while cells == nil, let more = try lines.next() {
                line += 1
                bytes += [UInt8(ascii: "\n")] + more
                cells = CSVCell.cells(of: Self.text(of: bytes))
            }
            let record = Self.result {
                guard let cells else {
                    throw CommandError(
                        code: .data,
                        message: "The quoted cell has no end.",
                        remedy: "Write a quote within a cell twice."
                    )
                }
                return try columns.record(of: cells)
            }
            return Item(line: first, bytes: bytes, record: record, end: lines.offset)
        }
        return nil
    }

    private static func text(of bytes: [UInt8], isFirst: Bool = false) -> String {
        var slice = bytes[...]
        if slice.last == UInt8(ascii: "\r") { slice.removeLast() }
        if isFirst, slice.starts(with: [0xEF, 0xBB, 0xBF]) { slice = slice.dropFirst(3) }
        return String(decoding: slice, as: UTF8.self)
    }

    private static func record(inJSON bytes: [UInt8]) -> Result<Record, CommandError> {
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
