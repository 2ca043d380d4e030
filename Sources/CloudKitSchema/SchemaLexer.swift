/// A word, a quoted name or a sign of a schema file, with the comments in front of it.
struct SchemaToken {
    enum Kind: Equatable {
        /// A keyword or a name without quotes. The parser decides which of the two it is.
        case word(String)
        /// A name in double quotes, without them.
        case quoted(String)
        /// One of `( ) , ; < >`.
        case sign(UInt8)
        case end
    }

    var kind: Kind
    /// The bytes of the token in the text.
    var range: Range<Int>
    /// The comments between the previous token and this one.
    var comments: [SchemaComment]
    /// Whether the token begins a line and there is an empty line above it.
    var followsEmptyLine: Bool
}

/// A comment with its marks, `// …`, `-- …` or `/* … */`.
struct SchemaComment: Hashable {
    var text: String
    /// Whether there is a token before the comment on the same line.
    var endsLine: Bool
    var followsEmptyLine: Bool

    /// Whether everything up to the end of the line belongs to the comment.
    var takesLine: Bool { !text.hasPrefix("/*") }
}

/// Splits the text of a schema file into tokens.
struct SchemaLexer {
    private let bytes: [UInt8]
    private var offset = 0

    /// - Throws: A ``SchemaSyntaxError`` for a text that is not UTF-8.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // A byte order mark.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    }

    /// The next token.
    mutating func next() throws(SchemaSyntaxError) -> SchemaToken {
        var comments: [SchemaComment] = []
        // The number of line ends since the last token or comment.
        var lineEnds = 0
        var isOnLineOfToken = offset > 0
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "\n"):
                lineEnds += 1
                isOnLineOfToken = false
                offset += 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), 0x0B, 0x0C:
                offset += 1
            default:
                guard let end = try endOfComment() else {
                    return try token(after: comments, followsEmptyLine: lineEnds > 1)
                }
                comments.append(
                    SchemaComment(
                        text: Self.trimmed(bytes[offset..<end]),
                        endsLine: isOnLineOfToken,
                        followsEmptyLine: lineEnds > 1
                    )
                )
                offset = end
                lineEnds = 0
            }
        }
        return SchemaToken(
            kind: .end,
            range: offset..<offset,
            comments: comments,
            followsEmptyLine: lineEnds > 1
        )
    }

    /// The end of the comment that begins at the offset; `nil` where no comment begins.
    private func endOfComment() throws(SchemaSyntaxError) -> Int? {
        guard offset + 1 < bytes.count else { return nil }
        switch (bytes[offset], bytes[offset + 1]) {
        case (UInt8(ascii: "/"), UInt8(ascii: "/")), (UInt8(ascii: "-"), UInt8(ascii: "-")):
            return bytes[offset...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        case (UInt8(ascii: "/"), UInt8(ascii: "*")):
            var end = offset + 2
            while end + 1 < bytes.count {
                if bytes[end] == UInt8(ascii: "*"), bytes[end + 1] == UInt8(ascii: "/") { return end + 2 }
                end += 1
            }
            throw SchemaSyntaxError(
                "This comment is not closed; write */ at its end",
                at: offset..<offset + 2,
                in: bytes
            )
        default:
            return nil
        }
    }

    private mutating func token(
        after comments: [SchemaComment],
        followsEmptyLine: Bool
    ) throws(SchemaSyntaxError) -> SchemaToken {
        let start = offset
        let kind: SchemaToken.Kind
        switch bytes[start] {
        case UInt8(ascii: "\""):
            let end = bytes[(start + 1)...].firstIndex { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\n") }
            guard let end, bytes[end] == UInt8(ascii: "\"") else {
                throw SchemaSyntaxError("This name has no closing quote", at: start..<start + 1, in: bytes)
            }
            offset = end + 1
            guard end > start + 1 else {
                throw SchemaSyntaxError("Expected a name between the quotes", at: start..<offset, in: bytes)
            }
            kind = .quoted(String(decoding: bytes[(start + 1)..<end], as: UTF8.self))
        case let byte where "(),;<>".utf8.contains(byte):
            offset += 1
            kind = .sign(byte)
        case let byte where Self.isOfWord(byte):
            offset = bytes[start...].firstIndex { !Self.isOfWord($0) } ?? bytes.count
            kind = .word(String(decoding: bytes[start..<offset], as: UTF8.self))
        default:
            // The whole character, which may have several bytes.
            var end = start + 1
            while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
            let character = String(decoding: bytes[start..<end], as: UTF8.self)
            throw SchemaSyntaxError(
                "The schema language does not use \"\(character)\"; names with other characters than letters, digits and _ "
                    + "stand in double quotes",
                at: start..<end,
                in: bytes
            )
        }
        return SchemaToken(kind: kind, range: start..<offset, comments: comments, followsEmptyLine: followsEmptyLine)
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The text without white space at its end.
    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
        let end = bytes.lastIndex { ![0x20, 0x09, 0x0D].contains($0) }
        return String(decoding: bytes[..<(end.map { $0 + 1 } ?? bytes.startIndex)], as: UTF8.self)
    }
}
