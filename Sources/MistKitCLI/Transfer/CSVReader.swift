import ArgumentParser
import Foundation

/// A cell of a CSV file.
struct CSVCell: Hashable {
    var text: String
    /// Whether the cell is in quotes: a quoted empty cell is an empty text, and an unquoted empty cell has no value.
    var isQuoted = false
}

/// A row of a CSV file, split into cells as RFC 4180 defines them.
///
/// A row with line ends between quotes is read in several pieces.
struct CSVRow {
    /// What is between two cells.
    private let separator: Unicode.Scalar
    private var complete: [CSVCell] = []
    private var cell = CSVCell(text: "")
    /// Whether a quote is open, so that the row goes on in the next line.
    private(set) var isOpen = false

    /// All cells, once no quote is open.
    var cells: [CSVCell] { complete + [cell] }

    init(_ line: String, separator: Unicode.Scalar = ",") {
        self.separator = separator
        append(line)
    }

    /// Adds a line, or the next line of a quoted cell together with the line end before it.
    mutating func append(_ line: String) {
        var scalars = line.unicodeScalars.makeIterator()
        var next = scalars.next()
        while let scalar = next {
            next = scalars.next()
            switch scalar {
            case "\"" where isOpen && next == "\"":
                cell.text.unicodeScalars.append(scalar)
                next = scalars.next()
            case "\"" where isOpen: isOpen = false
            case "\"" where cell.text.isEmpty && !cell.isQuoted:
                isOpen = true
                cell.isQuoted = true
            case separator where !isOpen:
                complete.append(cell)
                cell = CSVCell(text: "")
            // The first half of the line end.
            case "\r" where !isOpen && next == nil: break
            default: cell.text.unicodeScalars.append(scalar)
            }
        }
    }
}

/// What is between the cells of a CSV file.
struct CellSeparator: Hashable, ExpressibleByArgument {
    let scalar: Unicode.Scalar

    /// The separators that are found in the header of a file.
    private static let usual: [Unicode.Scalar] = [",", ";", "\t"]

    /// Reads a separator of the command line: a character, or `tab`.
    init?(argument: String) {
        switch argument.lowercased() {
        case "tab", "\\t": scalar = "\t"
        default:
            guard argument.unicodeScalars.count == 1, let only = argument.unicodeScalars.first,
                !"\"\r\n".unicodeScalars.contains(only)
            else { return nil }
            scalar = only
        }
    }

    /// The separator of a header: a comma, or else a semicolon or a tab, as the first of these that the header has.
    init(ofHeader line: String) {
        scalar = Self.usual.first { CSVRow(line, separator: $0).cells.count > 1 } ?? ","
    }
}

/// The lines of a file, read piece by piece.
struct LineReader {
    private let handle: FileHandle
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    /// The offset in the file after the last line that was read.
    private(set) var offset: Int64
    /// The most bytes of a line. A record has at most 1 MB, and JSON may need several bytes for each of its characters.
    static let longestLine = 16 << 20

    /// - Parameters:
    ///   - handle: The file.
    ///   - offset: Where to begin.
    /// - Throws: An error of the operating system where the file cannot be positioned.
    init(_ handle: FileHandle, from offset: Int64 = 0) throws {
        self.handle = handle
        self.offset = offset
        if offset > 0 { try handle.seek(toOffset: UInt64(offset)) }
    }

    /// The next line without its end; `nil` at the end of the file.
    ///
    /// - Throws: ``CommandError`` for a line of more than 16 MB.
    mutating func next() throws -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                offset += Int64(end + 1 - start)
                return Array(buffer[start..<end])
            }
            searched = buffer.count
            if isAtEnd {
                guard start < buffer.count else { return nil }
                defer { start = buffer.count }
                offset += Int64(buffer.count - start)
                return Array(buffer[start...])
            }
            guard buffer.count - start <= Self.longestLine else {
                throw CommandError(
                    code: .data,
                    message: "The line at byte \(offset) has more than 16 MB.",
                    remedy: "Give one record on each line; a record has at most 1 MB."
                )
            }
            buffer.removeFirst(start)
            searched -= start
            start = 0
            if let data = try handle.read(upToCount: 1 << 18), !data.isEmpty {
                buffer.append(contentsOf: data)
            } else {
                isAtEnd = true
            }
        }
    }
}
