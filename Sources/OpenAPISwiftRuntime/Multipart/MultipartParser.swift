import HTTPTypes

/// Parses a multipart body: its input is chunks of bytes, its output events. It does not read from a source itself.
///
/// Bytes of parts are passed on as slices of their chunks, as soon as they cannot belong to a boundary. The parser
/// keeps at most the beginning of a boundary or the header of one part.
struct MultipartParser: Sendable {
    /// A result of parsing.
    enum Event: Sendable {
        /// The parser needs the next chunk.
        case needsBytes

        /// The header of a part.
        case part(HTTPFields)

        /// Some bytes of the part, at least one.
        case bytes(ArraySlice<UInt8>)

        /// The part is over.
        case endOfPart

        /// The body is over.
        case end
    }

    private enum State {
        /// Before the first boundary.
        case preamble

        /// Behind a boundary, on its line.
        case delimiterLine(afterSpaces: Bool)

        /// In the header of a part.
        case header

        /// At the blank line after a header. Its line break can be the one that begins a boundary.
        case blankLine

        /// In the bytes of a part.
        case body

        /// Behind the last boundary.
        case epilogue
    }

    static let maximumHeaderBytes = 32 * 1024
    static let maximumHeaderFields = 128

    private let search: DelimiterSearch
    private var state = State.preamble
    private var isAtEnd = false

    /// The bytes that are not in an event yet.
    private var rest: ArraySlice<UInt8>

    /// The offset of `rest` in the body.
    private(set) var offset: Int

    /// The number of bytes of `rest` that were searched for a line break already.
    private var searched = 0

    private var partNumber = 0
    private var fields: HTTPFields = [:]
    private var headerBytes = 0

    /// The last line of the header, which the next line may continue.
    private var line: [UInt8] = []
    private var lineOffset = 0

    init(boundary: MultipartBoundary) {
        search = DelimiterSearch(for: boundary.delimiter)
        // With a line break before the body, a boundary in the first line is found like any other.
        rest = [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
        offset = -2
    }

    /// Adds a chunk, when the last event was `needsBytes`.
    mutating func add(_ chunk: ArraySlice<UInt8>) {
        if rest.isEmpty {
            rest = chunk
        } else {
            rest += chunk
        }
    }

    /// Marks the end of the input: there are no more chunks.
    mutating func finish() {
        isAtEnd = true
    }

    /// Returns the next event. After `end` it returns `end` again.
    mutating func next() throws(MultipartError) -> Event {
        while true {
            let event: Event? =
                switch state {
                case .preamble: try skipPreamble()
                case .delimiterLine(let afterSpaces): try readDelimiterLine(afterSpaces: afterSpaces)
                case .header: try readHeader()
                case .blankLine: readBlankLine()
                case .body: try readBody()
                case .epilogue: skipEpilogue()
                }
            if let event { return event }
        }
    }

    // MARK: States. Each function returns nil to continue with the state that it has set.

    private mutating func skipPreamble() throws(MultipartError) -> Event? {
        let found = search.first(in: rest)
        consume(upTo: found.index)
        guard found.isWhole else {
            return try needsBytes("no line with the boundary was found; check the boundary of the content type")
        }
        consume(search.delimiter.count)
        state = .delimiterLine(afterSpaces: false)
        return nil
    }

    private mutating func readDelimiterLine(afterSpaces: Bool) throws(MultipartError) -> Event? {
        guard let first = rest.first else { return try needsBytes("a line with the boundary is cut off") }
        switch first {
        case UInt8(ascii: " "), UInt8(ascii: "\t"):
            consume(1)
            state = .delimiterLine(afterSpaces: true)
            return nil
        case UInt8(ascii: "\r"), UInt8(ascii: "-"):
            guard rest.count > 1 else { return try needsBytes("a line with the boundary is cut off") }
            let second = rest[rest.startIndex + 1]
            if first == UInt8(ascii: "\r"), second == UInt8(ascii: "\n") {
                consume(2)
                state = .header
                partNumber += 1
                return nil
            }
            if first == UInt8(ascii: "-"), second == first, !afterSpaces {
                consume(2)
                state = .epilogue
                return nil
            }
        default: break
        }
        throw MultipartError(
            code: .malformedDelimiter,
            message: "A boundary is followed by the byte \(first), not by CR LF or two hyphens.",
            offset: offset
        )
    }

    private mutating func readHeader() throws(MultipartError) -> Event? {
        guard let end = lineEnd() else {
            searched = max(0, rest.count - 1)
            try checkHeader(rest.count)
            return try needsBytes("the header of part \(partNumber) is cut off")
        }
        let text = rest[..<end]
        try checkHeader(text.count)
        if text.first == UInt8(ascii: " ") || text.first == UInt8(ascii: "\t"), !line.isEmpty {
            // A line that begins with white space continues the one before.
            line += text
        } else {
            try endField()
            line = Array(text)
            lineOffset = offset
        }
        guard text.isEmpty else {
            headerBytes += text.count + 2
            consume(text.count + 2)
            return nil
        }
        // The line break is not consumed: it can be the beginning of a boundary.
        state = .blankLine
        let fields = fields
        self.fields = [:]
        headerBytes = 0
        searched = 0
        return .part(fields)
    }

    private mutating func readBlankLine() -> Event? {
        let isDelimiter = zip(rest, search.delimiter).allSatisfy { $0 == $1 }
        if isDelimiter, rest.count < search.delimiter.count, !isAtEnd { return .needsBytes }
        if isDelimiter, rest.count >= search.delimiter.count {
            state = .body
            return nil
        }
        consume(2)
        state = .body
        return nil
    }

    private mutating func readBody() throws(MultipartError) -> Event? {
        let found = search.first(in: rest)
        if found.index > rest.startIndex {
            let bytes = rest[..<found.index]
            consume(upTo: found.index)
            return .bytes(bytes)
        }
        guard found.isWhole else { return try needsBytes("part \(partNumber) is not ended by a boundary") }
        consume(search.delimiter.count)
        state = .delimiterLine(afterSpaces: false)
        return .endOfPart
    }

    private mutating func skipEpilogue() -> Event {
        consume(rest.count)
        return isAtEnd ? .end : .needsBytes
    }

    // MARK: Header fields

    /// The index of the CR of the next CR LF.
    private func lineEnd() -> Int? {
        var index = rest.startIndex + searched
        while let end = rest[index...].firstIndex(of: UInt8(ascii: "\r")), end + 1 < rest.endIndex {
            if rest[end + 1] == UInt8(ascii: "\n") { return end }
            index = end + 1
        }
        return nil
    }

    private func checkHeader(_ count: Int) throws(MultipartError) {
        guard headerBytes + count <= Self.maximumHeaderBytes, fields.count <= Self.maximumHeaderFields else {
            throw MultipartError(
                code: .headerTooLarge,
                message: "The header of part \(partNumber) is longer than \(Self.maximumHeaderBytes) bytes or "
                    + "\(Self.maximumHeaderFields) fields.",
                offset: offset
            )
        }
    }

    /// Adds the field of the last line, if there is one.
    private mutating func endField() throws(MultipartError) {
        guard !line.isEmpty else { return }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        else {
            throw malformedHeader("is not a name and a colon")
        }
        var value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        while let last = value.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { value.removeLast() }
        guard HTTPField.isValidValue(value) else { throw malformedHeader("holds a control character") }
        fields.append(HTTPField(name: name, value: value))
        line = []
    }

    private func malformedHeader(_ fault: String) -> MultipartError {
        let text = String(decoding: line.prefix(60), as: UTF8.self).debugDescription
        return MultipartError(
            code: .malformedHeader,
            message: "A line of the header of part \(partNumber) \(fault): \(text)",
            offset: lineOffset
        )
    }

    // MARK: Bytes

    private mutating func consume(_ count: Int) {
        consume(upTo: rest.startIndex + count)
    }

    private mutating func consume(upTo index: Int) {
        offset += index - rest.startIndex
        rest = rest[index...]
        searched = 0
    }

    private func needsBytes(_ fault: String) throws(MultipartError) -> Event {
        guard isAtEnd else { return .needsBytes }
        throw MultipartError(
            code: .unexpectedEnd,
            message: "The body ends too early: \(fault).",
            offset: offset + rest.count
        )
    }
}

/// Finds a delimiter in bytes with Horspool's algorithm, which skips most of the bytes.
private struct DelimiterSearch: Sendable {
    let delimiter: [UInt8]

    /// How far the window can move, by the last byte of the window.
    private let shifts: [UInt8]

    init(for delimiter: [UInt8]) {
        self.delimiter = delimiter
        var shifts = [UInt8](repeating: UInt8(delimiter.count), count: 256)
        for (index, byte) in delimiter.dropLast().enumerated() {
            shifts[Int(byte)] = UInt8(delimiter.count - 1 - index)
        }
        self.shifts = shifts
    }

    /// The index of the first delimiter. If there is none, the index of an incomplete delimiter at the end of the
    /// bytes, or else the end index.
    func first(in bytes: ArraySlice<UInt8>) -> (index: Int, isWhole: Bool) {
        let (distance, isWhole) = bytes.withUnsafeBufferPointer { bytes in
            delimiter.withUnsafeBufferPointer { delimiter in
                shifts.withUnsafeBufferPointer { shifts in
                    Self.first(delimiter, shifts: shifts, in: bytes)
                }
            }
        }
        return (bytes.startIndex + distance, isWhole)
    }

    private static func first(
        _ delimiter: UnsafeBufferPointer<UInt8>,
        shifts: UnsafeBufferPointer<UInt8>,
        in bytes: UnsafeBufferPointer<UInt8>
    ) -> (Int, isWhole: Bool) {
        let last = delimiter.count - 1
        var start = 0
        while start + last < bytes.count {
            let byte = bytes[start + last]
            if byte == delimiter[last] {
                var index = 0
                while index < last, bytes[start + index] == delimiter[index] { index += 1 }
                if index == last { return (start, true) }
            }
            start += Int(shifts[Int(byte)])
        }
        // No delimiter begins before `start`, and the rest is shorter than a delimiter.
        while start < bytes.count {
            var length = 0
            while start + length < bytes.count, bytes[start + length] == delimiter[length] { length += 1 }
            if start + length == bytes.count { return (start, false) }
            start += 1
        }
        return (bytes.count, false)
    }
}
