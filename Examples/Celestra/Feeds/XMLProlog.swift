import WebText

/// The part of a document in XML before its root element: the declaration and the document type declaration.
///
/// Both are removed before the document is parsed. The text is UTF-8 by now, regardless of the encoding that the
/// declaration names. A document type can refer to files, and its entities can grow without bounds; only the entities
/// of its internal subset that have a literal value are kept. Processing instructions are removed as well: on Linux,
/// Foundation's parser crashes on one without data, `<?a?>`, and on an attribute-list declaration.
struct XMLProlog {
    /// The document without the declarations. Line breaks stay, so that lines keep their numbers.
    let body: String
    /// The line of the first declaration that could not be removed, counted from 1. The parser must not see a document
    /// with such a declaration.
    let declarationLine: Int?

    init(_ text: String) {
        var bytes = Array(text.utf8)
        var entities: [String: String] = [:]
        if bytes.starts(with: Array("<?xml".utf8)), bytes.count > 5, bytes[5].isXMLSpace,
            let end = XMLProlog.end(of: "?>", in: bytes, from: 5)
        {
            XMLProlog.blank(0..<end, in: &bytes)
        }
        if let range = XMLProlog.documentType(in: bytes) {
            entities = XMLProlog.entities(in: bytes[range])
            XMLProlog.blank(range, in: &bytes)
        }
        let declaration = XMLProlog.blankInstructions(in: &bytes)
        declarationLine = declaration.map { offset in bytes[..<offset].count { $0 == 0x0A } + 1 }
        body = XMLProlog.replacing(entities, in: String(decoding: bytes, as: UTF8.self))
    }

    /// The range of the document type declaration. It ends with the `>` that is outside of quotes, brackets and
    /// comments.
    private static func documentType(in bytes: [UInt8]) -> Range<Int>? {
        var index = 0
        while index < bytes.count {
            if bytes[index].isXMLSpace {
                index += 1
            } else if bytes[index...].starts(with: Array("<!--".utf8)) {
                guard let end = end(of: "-->", in: bytes, from: index + 4) else { return nil }
                index = end
            } else if bytes[index...].starts(with: Array("<?".utf8)) {
                guard let end = end(of: "?>", in: bytes, from: index) else { return nil }
                index = end
            } else {
                break
            }
        }
        guard String(decoding: bytes[index...].prefix(9), as: UTF8.self).uppercased() == "<!DOCTYPE" else { return nil }
        let start = index
        var isInBrackets = false
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "["): isInBrackets = true
            case UInt8(ascii: "]"): isInBrackets = false
            case UInt8(ascii: ">") where !isInBrackets: return start..<(index + 1)
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                let quote = bytes[index]
                guard let end = bytes[(index + 1)...].firstIndex(of: quote) else { return nil }
                index = end
            case UInt8(ascii: "<") where bytes[index...].starts(with: Array("<!--".utf8)):
                guard let end = end(of: "-->", in: bytes, from: index + 4) else { return nil }
                index = end - 1
            default: break
            }
            index += 1
        }
        return nil
    }

    /// The entities of an internal subset: `<!ENTITY name "value">`. Parameter entities and external ones are ignored.
    private static func entities(in declaration: ArraySlice<UInt8>) -> [String: String] {
        var entities: [String: String] = [:]
        let text = String(decoding: declaration, as: UTF8.self)
        var position = text.startIndex
        while let keyword = text.range(of: "<!ENTITY", from: position) {
            position = keyword.upperBound
            let words = text[position...].drop(while: \.isWhitespace)
            let name = words.prefix { !$0.isWhitespace && $0 != "%" && $0 != ">" }
            let rest = words[name.endIndex...].drop(while: \.isWhitespace)
            guard !name.isEmpty, let quote = rest.first, quote == "\"" || quote == "'" else { continue }
            let value = rest.dropFirst().prefix { $0 != quote }
            guard value.endIndex < rest.endIndex, value.utf8.count <= 4096 else { continue }
            entities[String(name)] = entities[String(name)] ?? HTMLText.replacingReferences(in: String(value))
            position = value.endIndex
        }
        return entities
    }

    /// Replaces references to the entities by their values, as text. References within a value are not replaced again.
    private static func replacing(_ entities: [String: String], in text: String) -> String {
        guard !entities.isEmpty else { return text }
        let limit = 4 * text.utf8.count + 65_536
        var result = ""
        var rest = text[...]
        while let ampersand = rest.utf8.firstIndex(of: UInt8(ascii: "&")), result.utf8.count < limit {
            result += rest[..<ampersand]
            rest = rest[ampersand...]
            let name = rest.dropFirst().prefix { $0 != ";" && $0 != "<" && $0 != "&" && !$0.isWhitespace }
            if let value = entities[String(name)], name.endIndex < rest.endIndex, rest[name.endIndex] == ";" {
                result += HTMLText.escaped(value, inAttribute: true)
                rest = rest[rest.index(after: name.endIndex)...]
            } else {
                result += "&"
                rest = rest.dropFirst()
            }
        }
        return result + rest
    }

    /// Removes the processing instructions, except for those that begin like an XML declaration: after the first line,
    /// they are errors. Returns the offset of the first other declaration that is left, or that is not closed.
    private static func blankInstructions(in bytes: inout [UInt8]) -> Int? {
        var index = 0
        while let start = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
            index = start + 1
            guard index < bytes.count else { break }
            if bytes[index] == UInt8(ascii: "?") {
                guard let end = end(of: "?>", in: bytes, from: index + 1) else { return start }
                let target = String(decoding: bytes[(index + 1)..<end].prefix(4), as: UTF8.self).lowercased()
                if !["xml ", "xml\n", "xml\r", "xml\t", "xml?"].contains(target) { blank(start..<end, in: &bytes) }
                index = end
            } else if bytes[index] == UInt8(ascii: "!") {
                let isComment = bytes[start...].starts(with: "<!--".utf8)
                guard isComment || bytes[start...].starts(with: "<![CDATA[".utf8),
                    let end = end(of: isComment ? "-->" : "]]>", in: bytes, from: start + (isComment ? 4 : 9))
                else { return start }
                index = end
            }
        }
        return nil
    }

    private static func end(of mark: String, in bytes: [UInt8], from start: Int) -> Int? {
        let mark = Array(mark.utf8)
        guard let first = mark.first, start < bytes.count else { return nil }
        var index = start
        while let candidate = bytes[index...].firstIndex(of: first) {
            if bytes[candidate...].starts(with: mark) { return candidate + mark.count }
            index = candidate + 1
        }
        return nil
    }

    private static func blank(_ range: Range<Int>, in bytes: inout [UInt8]) {
        for index in range where bytes[index] != 0x0A && bytes[index] != 0x0D { bytes[index] = 0x20 }
    }
}
