/// The first error of a schema file against the syntax of the schema language.
///
/// ```swift
/// do {
///     _ = try ContainerSchema(parsing: "DEFINE SCHEMA\nRECORD TYPE Note (title STRNG);")
/// } catch {
///     print(error)
/// }
/// // line 2, column 25: Expected a type such as STRING, not "STRNG".
/// //   RECORD TYPE Note (title STRNG);
/// //                           ^^^^^
/// ```
public struct SchemaSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The expected and the actual text, as a sentence without a full stop.
    public var message: String
    /// The location in the file.
    public var location: SchemaLocation

    /// The location, the message, and the line with a mark below the error.
    public var description: String { "\(location): \(message).\n\(location.excerpt)" }

    init(_ message: String, at range: Range<Int>, in bytes: [UInt8]) {
        self.message = message
        location = SchemaLocation(range, in: bytes)
    }
}

/// A location in a schema file.
public struct SchemaLocation: Hashable, Sendable, CustomStringConvertible {
    /// The byte of the file; the first is 0.
    public var offset: Int
    /// The line; the first is 1.
    public var line: Int
    /// The character of the line; the first is 1.
    public var column: Int
    /// The number of characters, at least 1.
    public var length: Int
    /// The whole line.
    public var sourceLine: String

    /// Finds the line of a range of bytes.
    init(_ range: Range<Int>, in bytes: [UInt8]) {
        let start = min(range.lowerBound, bytes.count)
        offset = start
        let newline = UInt8(ascii: "\n")
        let lineStart = bytes[..<start].lastIndex(of: newline).map { $0 + 1 } ?? 0
        let lineEnd = bytes[start...].firstIndex(of: newline) ?? bytes.count
        line = bytes[..<lineStart].count { $0 == newline } + 1
        column = String(decoding: bytes[lineStart..<start], as: UTF8.self).count + 1
        let marked = bytes[start..<min(max(range.upperBound, start), lineEnd)]
        length = max(String(decoding: marked, as: UTF8.self).count, 1)
        var text = bytes[lineStart..<lineEnd]
        if text.last == UInt8(ascii: "\r") { text.removeLast() }
        sourceLine = String(decoding: text, as: UTF8.self)
    }

    /// `line 2, column 25`
    public var description: String { "line \(line), column \(column)" }

    /// The line, and below it a mark of ``length`` characters at ``column``.
    public var excerpt: String {
        // A tab stays a tab, so that the mark is at the right column for every width of tabs.
        let indent = sourceLine.prefix(column - 1).map { $0 == "\t" ? "\t" : " " as Character }
        return "  \(sourceLine)\n  \(String(indent))\(String(repeating: "^", count: length))"
    }
}
