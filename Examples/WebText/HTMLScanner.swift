/// Splits HTML into tags, comments, and the text between them. It accepts what browsers accept, never fails, and looks
/// at each byte a bounded number of times.
package struct HTMLScanner: Sequence, IteratorProtocol {
    /// A part of the text. Ranges are offsets of bytes of the source.
    package enum Part {
        /// Text, with its references.
        case text(Range<Int>)
        /// A tag with the name in lower case.
        case tag(Tag)
        /// A comment, a declaration or a processing instruction.
        case comment(Range<Int>)
    }

    package struct Tag {
        /// The name in lower case.
        package var name: String
        package var isEnd: Bool
        /// The whole tag, with its angle brackets.
        package var range: Range<Int>
        package var attributes: [Attribute] = []
    }

    package struct Attribute {
        /// The name in lower case.
        package var name: String
        /// The value without its quotes; an empty range for an attribute without a value.
        package var value: Range<Int>
    }

    private let bytes: [UInt8]
    private var position = 0
    /// Whether there is no further end of a comment. Then it is not searched for again.
    private var hasNoMoreCommentEnds = false
    /// The number of bytes of attributes that may still be read. Without this limit, a text of unclosed tags and quotes
    /// would be read again and again.
    private var attributeBudget: Int

    package init(_ source: String) {
        bytes = Array(source.utf8)
        attributeBudget = 4 * bytes.count + 1024
    }

    /// The source between two offsets.
    package func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    package mutating func next() -> Part? {
        guard position < bytes.count else { return nil }
        let start = position
        if bytes[start] == UInt8(ascii: "<"), attributeBudget >= 0, let part = markup() { return part }
        // Text ends before the next `<`, which may begin markup.
        position = start + 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") { position += 1 }
        return .text(start..<position)
    }

    /// Skips the content of an element that has no markup, such as a script, up to its end tag.
    package mutating func skipRawText(of name: String) {
        let name = Array(name.utf8)
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "<"), byte(at: position + 1) == UInt8(ascii: "/"),
                bytes[(position + 2)...].prefix(name.count).elementsEqual(name, by: { $0 | 0x20 == $1 })
            {
                return
            }
            position += 1
        }
    }

    private func byte(at index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func markup() -> Part? {
        let start = position
        guard let second = byte(at: start + 1) else { return nil }
        if second == UInt8(ascii: "!") || second == UInt8(ascii: "?") {
            if bytes[start...].starts(with: Array("<!--".utf8)) {
                guard !hasNoMoreCommentEnds else { return nil }
                var end = start + 4
                while end + 2 < bytes.count {
                    if bytes[end] == UInt8(ascii: "-"), bytes[end + 1] == UInt8(ascii: "-"),
                        bytes[end + 2] == UInt8(ascii: ">")
                    {
                        position = end + 3
                        return .comment(start..<position)
                    }
                    end += 1
                }
                hasNoMoreCommentEnds = true
                return nil
            }
            guard let third = byte(at: start + 2), third.isASCIILetter || third == UInt8(ascii: "[") else { return nil }
            var end = start + 2
            while let byte = byte(at: end), byte != UInt8(ascii: ">"), byte != UInt8(ascii: "<") { end += 1 }
            guard byte(at: end) == UInt8(ascii: ">") else { return nil }
            position = end + 1
            return .comment(start..<position)
        }
        let isEnd = second == UInt8(ascii: "/")
        var index = isEnd ? start + 2 : start + 1
        guard let first = byte(at: index), first.isASCIILetter else { return nil }
        let nameStart = index
        while let byte = byte(at: index), !byte.isXMLSpace, byte != UInt8(ascii: ">"), byte != UInt8(ascii: "/"),
            byte != UInt8(ascii: "<")
        {
            index += 1
        }
        var tag = Tag(name: text(nameStart..<index).lowercased(), isEnd: isEnd, range: start..<index)
        while let byte = byte(at: index) {
            if byte == UInt8(ascii: ">") {
                position = index + 1
                tag.range = start..<position
                return .tag(tag)
            }
            if byte == UInt8(ascii: "<") { break }
            if byte.isXMLSpace || byte == UInt8(ascii: "/") {
                index += 1
                continue
            }
            let attributeStart = index
            tag.attributes.append(attribute(at: &index))
            attributeBudget -= index - attributeStart
        }
        return nil
    }

    private func attribute(at index: inout Int) -> Attribute {
        let nameStart = index
        // The first byte always belongs to the name, so that the scanner makes progress.
        index += 1
        while let byte = byte(at: index), !byte.isXMLSpace, byte != UInt8(ascii: "="), byte != UInt8(ascii: ">"),
            byte != UInt8(ascii: "/"), byte != UInt8(ascii: "<")
        {
            index += 1
        }
        let name = text(nameStart..<index).lowercased()
        var next = index
        while let byte = byte(at: next), byte.isXMLSpace { next += 1 }
        guard byte(at: next) == UInt8(ascii: "=") else { return Attribute(name: name, value: index..<index) }
        next += 1
        while let byte = byte(at: next), byte.isXMLSpace { next += 1 }
        if let quote = byte(at: next), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            let valueStart = next + 1
            var end = valueStart
            while let byte = byte(at: end), byte != quote { end += 1 }
            index = Swift.min(end + 1, bytes.count)
            return Attribute(name: name, value: valueStart..<end)
        }
        let valueStart = next
        while let byte = byte(at: next), !byte.isXMLSpace, byte != UInt8(ascii: ">") { next += 1 }
        index = next
        return Attribute(name: name, value: valueStart..<next)
    }
}
