/// Where a value stands: a line and column (YAML), or a byte offset that becomes one when somebody asks (JSON).
struct SourcePosition: Hashable, Sendable {
    fileprivate var line: Int32
    fileprivate var column: Int32

    /// A place known by line and column, both counted from one.
    init(line: Int, column: Int) {
        self.line = Int32(clamping: line)
        self.column = Int32(clamping: column)
    }

    /// A place known by its byte offset.
    init(offset: Int) {
        self.line = 0
        self.column = Int32(clamping: offset)
    }
}

/// The bytes of a document and the name it goes by.
struct SourceText: Sendable {
    /// The name used in diagnostics, usually the path the user typed.
    let name: String
    let bytes: [UInt8]

    /// Line and column of a position.
    func location(of position: SourcePosition) -> SourceLocation {
        guard position.line == 0 else {
            return SourceLocation(file: name, line: Int(position.line), column: Int(position.column))
        }
        var line = 1
        var column = 1
        for byte in bytes.prefix(Int(position.column)) {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return SourceLocation(file: name, line: line, column: column)
    }
}
