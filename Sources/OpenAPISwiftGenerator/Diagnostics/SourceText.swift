/// The position of a value: line and column (YAML), or a byte offset that becomes line and column on demand (JSON).
struct SourcePosition: Hashable, Sendable {
    fileprivate var line: Int32
    fileprivate var column: Int32
    /// The index of the document, see ``SourceText/index``.
    fileprivate var file: Int32

    /// Creates a position from a line and a column, both counted from one.
    init(line: Int, column: Int, in file: Int = 0) {
        self.line = Int32(clamping: line)
        self.column = Int32(clamping: column)
        self.file = Int32(clamping: file)
    }

    /// Creates a position from a byte offset.
    init(offset: Int, in file: Int = 0) {
        self.line = 0
        self.column = Int32(clamping: offset)
        self.file = Int32(clamping: file)
    }
}

/// The bytes of a document and its name.
struct SourceText: Sendable {
    /// The name used in diagnostics, usually the path the user typed.
    let name: String
    let bytes: [UInt8]
    /// The index among the documents of a run: zero for the document that the run began with. The others follow in the
    /// order in which references led to them.
    var index = 0

    /// Line and column of a position in this document.
    func location(of position: SourcePosition) -> SourceLocation {
        guard position.line == 0 else {
            return SourceLocation(file: name, line: Int(position.line), column: Int(position.column))
        }
        return location(of: position, lineStarts: lineStarts)
    }

    /// The offset of the first byte of each line.
    var lineStarts: [Int] {
        var starts: [Int] = [0]
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") {
            starts.append(index + 1)
        }
        return starts
    }

    fileprivate func location(of position: SourcePosition, lineStarts: [Int]) -> SourceLocation {
        let offset = min(Int(position.column), bytes.count)
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        var column = 1
        var start = lineStarts[low]
        // A byte-order mark does not count as a column.
        if start == 0, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { start = min(3, offset) }
        for byte in bytes[start..<offset] where byte & 0xC0 != 0x80 {
            column += 1
        }
        return SourceLocation(file: name, line: low + 1, column: column)
    }
}

/// The documents of a run: the document that the run began with, and those that references led to.
struct SourceTexts: Sendable {
    private(set) var all: [SourceText]
    /// The offsets of the lines of each document that had a diagnostic, by the document's index.
    private var lineStarts: [Int: [Int]] = [:]

    init(_ source: SourceText) {
        all = [source]
    }

    /// Adds a document and gives it its index.
    mutating func add(name: String, bytes: [UInt8]) -> SourceText {
        let source = SourceText(name: name, bytes: bytes, index: all.count)
        all.append(source)
        return source
    }

    /// File, line and column of a position.
    func location(of position: SourcePosition) -> SourceLocation {
        let index = Int(position.file)
        guard position.line == 0, let starts = lineStarts[index] else { return all[index].location(of: position) }
        return all[index].location(of: position, lineStarts: starts)
    }

    /// File, line and column of a position. Keeps the offsets of the document's lines for the next call.
    mutating func rememberedLocation(of position: SourcePosition) -> SourceLocation {
        let index = Int(position.file)
        if position.line == 0, lineStarts[index] == nil { lineStarts[index] = all[index].lineStarts }
        return location(of: position)
    }
}
