import Foundation

/// The objects of a JSON array, or objects one after the other, read piece by piece.
struct JSONElementReader {
    private let handle: FileHandle
    private var buffer: [UInt8] = []
    private var next = 0
    /// The offset in the file behind the last byte that was read.
    private(set) var offset: Int64
    /// The line of that byte; the first is 1.
    private(set) var line: Int

    /// - Parameters:
    ///   - handle: The file.
    ///   - offset: Where to begin: at the start, or behind an object.
    ///   - line: The line in which the offset is.
    /// - Throws: An error of the operating system where the file cannot be positioned.
    init(_ handle: FileHandle, from offset: Int64 = 0, line: Int = 1) throws {
        self.handle = handle
        self.offset = offset
        self.line = line
        try handle.seek(toOffset: UInt64(offset))
    }

    /// The next object on one line, with the line in which it begins; `nil` at the end of the file.
    ///
    /// - Throws: A ``CommandError`` for anything else than an object, and for an object of more than 16 MB or without
    ///   an end.
    mutating func nextObject() throws -> (line: Int, bytes: [UInt8])? {
        var byte = try nextByte()
        // The text between the objects of an array, and a byte order mark at the beginning of the file.
        while let known = byte, " \t\r\n,[]".utf8.contains(known) || known == 0xEF && offset == 1 {
            if known == 0xEF {
                _ = try nextByte()
                _ = try nextByte()
            }
            byte = try nextByte()
        }
        guard let first = byte else { return nil }
        let start = line
        guard first == UInt8(ascii: "{") else {
            throw problem("Line \(line) has no record at byte \(offset - 1): a record is an object in braces.")
        }
        var bytes = [first]
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
        CommandError(code: .data, message: message, remedy: "Give an array of records, as `records export` writes it.")
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

    /// - Parameters:
    ///   - handle: The file.
    ///   - offset: The bytes that an earlier run has done.
    ///   - line: The line in which these end; 0 at the beginning.
    /// - Throws: An error of the operating system where the file cannot be positioned.
    init(_ handle: FileHandle, from offset: Int64, line: Int) throws {
        objects = try JSONElementReader(handle, from: offset, line: max(line, 1))
    }

    mutating func next() throws -> ImportReader.Item? {
        guard let (line, bytes) = try objects.nextObject() else { return nil }
        return ImportReader.Item(
            line: objects.line,
            label: "line \(line)",
            bytes: bytes,
            record: ImportReader.record(inJSON: bytes),
            end: objects.offset
        )
    }
}
