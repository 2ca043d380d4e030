import Foundation

/// The objects of a JSON array, or objects one after the other, read piece by piece.
///
/// An array that begins has to end: a file that was cut off between two objects is an error, as is text behind the array.
struct JSONElementReader {
    /// What may come next in the file.
    private enum Expectation {
        /// The array, or the first of several objects.
        case beginning
        /// An object, or the end of the file: the file has no array.
        case object
        /// An object, or the end of the array.
        case firstElement
        /// A comma, or the end of the array.
        case separator
        /// An object: a comma is before it.
        case element
        /// The end of the file.
        case end
    }

    private let handle: FileHandle
    private var buffer: [UInt8] = []
    private var next = 0
    private var expectation = Expectation.beginning
    /// The offset in the file behind the last byte that was read.
    private(set) var offset: Int64 = 0
    /// The line of that byte; the first is 1.
    private(set) var line = 1

    /// - Parameters:
    ///   - handle: The file.
    ///   - offset: Where to begin: at the start, or behind an object.
    ///   - line: The line in which the offset is.
    /// - Throws: An error of the operating system where the file cannot be read.
    init(_ handle: FileHandle, from offset: Int64 = 0, line: Int = 1) throws {
        self.handle = handle
        guard offset > 0 else { return }
        // Whether the objects are those of an array is seen at the beginning of the file alone.
        try handle.seek(toOffset: 0)
        expectation = try nextToken() == UInt8(ascii: "[") ? .separator : .object
        buffer = []
        next = 0
        self.offset = offset
        self.line = line
        try handle.seek(toOffset: UInt64(offset))
    }

    /// The next object on one line, with the line in which it begins; `nil` at the end of the file.
    ///
    /// - Throws: A ``CommandError`` for an array without an end, for anything else than an object where an object has to
    ///   be, and for an object of more than 16 MB or without an end.
    mutating func nextObject() throws -> (line: Int, bytes: [UInt8])? {
        while let byte = try nextToken() {
            switch (byte, expectation) {
            case (UInt8(ascii: "["), .beginning): expectation = .firstElement
            case (UInt8(ascii: "]"), .firstElement), (UInt8(ascii: "]"), .separator): expectation = .end
            case (UInt8(ascii: ","), .separator): expectation = .element
            case (UInt8(ascii: "{"), .beginning), (UInt8(ascii: "{"), .object):
                expectation = .object
                return try restOfObject()
            case (UInt8(ascii: "{"), .firstElement), (UInt8(ascii: "{"), .element):
                expectation = .separator
                return try restOfObject()
            case (_, .end):
                throw problem("Line \(line) has text behind the array, at byte \(offset - 1).")
            case (UInt8(ascii: "{"), .separator):
                throw problem("Line \(line) has no comma before the record at byte \(offset - 1).")
            default:
                throw problem("Line \(line) has no record at byte \(offset - 1): a record is an object in braces.")
            }
        }
        switch expectation {
        case .beginning, .object, .end: return nil
        case .firstElement, .separator, .element:
            throw problem(
                "The file ends at byte \(offset), in line \(line), and the array of records has no end there."
            )
        }
    }

    /// The object whose brace was just read.
    private mutating func restOfObject() throws -> (line: Int, bytes: [UInt8]) {
        let start = line
        var bytes = [UInt8(ascii: "{")]
        var depth = 1
        var isString = false
        while depth > 0 {
            guard bytes.count <= LineReader.longestLine else {
                throw problem("The record that begins in line \(start) has more than 16 MB.")
            }
            guard let byte = try nextByte() else {
                throw problem("The record that begins in line \(start) has no end.")
            }
            // Line ends between the parts of an object mean nothing; within a string they are not JSON.
            bytes.append(byte == UInt8(ascii: "\n") && !isString ? UInt8(ascii: " ") : byte)
            switch byte {
            case UInt8(ascii: "\\") where isString:
                if let escaped = try nextByte() { bytes.append(escaped) }
            case UInt8(ascii: "\""): isString.toggle()
            case UInt8(ascii: "{") where !isString, UInt8(ascii: "[") where !isString: depth += 1
            case UInt8(ascii: "}") where !isString, UInt8(ascii: "]") where !isString: depth -= 1
            default: break
            }
        }
        return (start, bytes)
    }

    private func problem(_ message: String) -> CommandError {
        CommandError(
            code: .data,
            message: message,
            remedy: "Give a whole array of records, as `records export` writes it, or records one after the other."
        )
    }

    /// The next byte that is not white space; `nil` at the end of the file. A byte order mark is skipped.
    private mutating func nextToken() throws -> UInt8? {
        while let byte = try nextByte() {
            if byte == 0xEF, offset == 1 {
                _ = try nextByte()
                _ = try nextByte()
            } else if !" \t\r\n".utf8.contains(byte) {
                return byte
            }
        }
        return nil
    }

    private mutating func nextByte() throws -> UInt8? {
        if next == buffer.count {
            guard let data = try handle.read(upToCount: 1 << 18), !data.isEmpty else { return nil }
            buffer = [UInt8](data)
            next = 0
        }
        let byte = buffer[next]
        next += 1
        offset += 1
        if byte == UInt8(ascii: "\n") { line += 1 }
        return byte
    }
}

/// The records of a JSON file, one after the other, whatever its size.
struct JSONImportReader: TransferSource {
    private var objects: JSONElementReader
    private let isPlain: Bool

    /// - Parameters:
    ///   - handle: The file.
    ///   - isPlain: Whether the objects are plain, as ``PlainRecord`` reads them.
    ///   - offset: The bytes that an earlier run has done.
    ///   - line: The line in which these end; 0 at the beginning.
    /// - Throws: An error of the operating system where the file cannot be positioned.
    init(_ handle: FileHandle, isPlain: Bool = false, from offset: Int64, line: Int) throws {
        self.isPlain = isPlain
        objects = try JSONElementReader(handle, from: offset, line: max(line, 1))
    }

    mutating func next() throws -> ImportReader.Item? {
        guard let (line, bytes) = try objects.nextObject() else { return nil }
        return ImportReader.Item(
            line: objects.line,
            label: "line \(line)",
            bytes: bytes,
            record: ImportReader.record(inJSON: bytes, isPlain: isPlain),
            end: objects.offset
        )
    }
}
