/// Converts HTML to plain text, and plain text to HTML.
package enum HTMLText {
    /// The plain text of a fragment of HTML. Blocks begin on a line of their own, scripts and styles are left out,
    /// white space is collapsed.
    package static func plainText(of html: String) -> String {
        var scanner = HTMLScanner(html)
        var writer = PlainTextWriter()
        while let part = scanner.next() {
            switch part {
            case .text(let range):
                writer.append(replacingReferences(in: scanner.text(range)))
            case .tag(let tag) where !tag.isEnd && invisibleElements.contains(tag.name):
                scanner.skipRawText(of: tag.name)
            case .tag(let tag) where tag.name == "li" && !tag.isEnd:
                writer.breakLine()
                writer.append("• ")
            case .tag(let tag) where blockElements.contains(tag.name):
                writer.breakLine()
            case .tag(let tag) where tag.name == "td" || tag.name == "th":
                writer.append(" ")
            case .tag, .comment:
                break
            }
        }
        return writer.text
    }

    /// Whether a text is probably HTML: it has an HTML tag, a comment or a character reference. RSS does not say
    /// whether its titles and descriptions are HTML.
    ///
    /// Code is plain text: `Array<Element>` has a tag, but `element` is not an element of HTML.
    package static func isLikelyHTML(_ text: String) -> Bool {
        if text.utf8.contains(UInt8(ascii: "<")) {
            for part in HTMLScanner(text) {
                switch part {
                case .tag(let tag) where elements.contains(tag.name): return true
                case .comment: return true
                case .tag, .text: continue
                }
            }
        }
        return text.utf8.contains(UInt8(ascii: "&")) && replacingReferences(in: text) != text
    }

    /// The text with each character reference replaced by its character. A reference that is not known stays as it
    /// is.
    package static func replacingReferences(in text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var result = ""
        var rest = text[...]
        while let ampersand = rest.firstIndex(of: "&") {
            result += rest[..<ampersand]
            rest = rest[ampersand...]
            let name = rest.dropFirst().prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "#") }
            let character: Unicode.Scalar? =
                if name.utf8.count > 32 {
                    nil
                } else if name.hasPrefix("#") {
                    HTMLEntities.character(numbered: name.dropFirst())
                } else {
                    HTMLEntities.character(named: String(name))
                }
            let end = name.endIndex
            if let character, end < rest.endIndex && rest[end] == ";" {
                result.unicodeScalars.append(character)
                rest = rest[rest.index(after: end)...]
            } else {
                result += "&"
                rest = rest.dropFirst()
            }
        }
        return result + rest
    }

    /// The text as HTML: angle brackets and ampersands become references.
    package static func escaped(_ text: String, inAttribute: Bool = false) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"" where inAttribute: result += "&quot;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The text with each run of white space replaced by one space, and none at its ends.
    package static func collapsed(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The HTML elements that occur in feeds.
    private static let elements: Set<String> = blockElements.union([
        "a", "abbr", "acronym", "audio", "b", "bdi", "bdo", "big", "body", "button", "caption", "cite", "code", "col",
        "data",
        "del", "details", "dfn", "dir", "em", "embed", "font", "head", "html", "i", "iframe", "img", "input", "ins",
        "kbd",
        "label", "link", "map", "mark", "math", "meta", "noscript", "object", "param", "picture", "q", "rp", "rt",
        "ruby", "s",
        "samp", "script", "select", "small", "source", "span", "strike", "strong", "style", "sub", "summary", "sup",
        "svg",
        "tbody", "td", "textarea", "tfoot", "th", "thead", "time", "title", "tt", "u", "var", "video", "wbr",
    ])

    private static let invisibleElements: Set<String> = [
        "script", "style", "head", "template", "noscript", "iframe", "object",
    ]

    private static let blockElements: Set<String> = [
        "address", "article", "aside", "blockquote", "br", "center", "dd", "div", "dl", "dt", "fieldset", "figcaption",
        "figure",
        "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
        "section",
        "table", "tr", "ul",
    ]
}

/// Writes plain text with single spaces and single line breaks.
private struct PlainTextWriter {
    private(set) var text = ""
    private var pending: Character?

    mutating func append(_ addition: String) {
        for character in addition {
            if character.isWhitespace {
                // White space includes the no-break space.
                if pending == nil { pending = " " }
                continue
            }
            if let separator = pending, !text.isEmpty { text.append(separator) }
            pending = nil
            text.append(character)
        }
    }

    mutating func breakLine() { pending = "\n" }
}
