import WebText

import struct Foundation.Data

/// Reads the elements of a feed that can contain markup.
enum TextConstruct {
    /// Reads an element of Atom, or of another format with the attributes of Atom.
    ///
    /// Atom 1.0 has the types `text`, `html` and `xhtml`; Atom 0.3 has media types and modes. Content of another type
    /// is in Base64.
    static func atom(_ element: FeedElement) -> RichText? {
        let type = element.attribute("type")?.lowercased() ?? "text"
        let isHTML = type == "html" || type == "text/html"
        if element.attribute("mode")?.lowercased() == "base64" || isBase64(type, in: element) {
            let digits = element.text.filter { !$0.isWhitespace }
            guard let data = Data(base64Encoded: digits) else { return nil }
            return html(String(decoding: data, as: UTF8.self).trimmed, base: element.base)
        }
        if isHTML {
            // Some feeds put escaped markup into an element of XHTML.
            return html(element.deepText, base: element.base)
        }
        if type == "xhtml", let division = element.elements.first, element.elements.count == 1, element.text.isEmpty {
            return RichText(XHTMLWriter.inner(of: division).trimmed, format: .xhtml)
        }
        if !element.elements.isEmpty || type == "xhtml" || type.hasSuffix("xml") {
            return RichText(XHTMLWriter.inner(of: element).trimmed, format: .xhtml)
        }
        if element.attribute("mode")?.lowercased() == "escaped", HTMLText.isLikelyHTML(element.text) {
            return html(element.text, base: element.base)
        }
        return RichText(element.text, format: .plain)
    }

    /// Reads an element of RSS, which does not say whether its text is HTML.
    static func rss(_ element: FeedElement) -> RichText {
        if !element.elements.isEmpty { return RichText(XHTMLWriter.inner(of: element).trimmed, format: .xhtml) }
        let text = element.text
        return HTMLText.isLikelyHTML(text) ? html(text, base: element.base) : RichText(text, format: .plain)
    }

    /// HTML with its links resolved.
    static func html(_ text: String, base: String?) -> RichText {
        RichText(HTMLLinks.resolved(in: text, against: base), format: .html)
    }

    private static func isBase64(_ type: String, in element: FeedElement) -> Bool {
        type.contains("/") && !type.hasPrefix("text/") && !type.hasSuffix("xml") && element.elements.isEmpty
    }
}

/// Writes a part of the tree as a fragment of XHTML.
enum XHTMLWriter {
    /// The content of the element, without its own tags.
    static func inner(of element: FeedElement) -> String {
        var text = ""
        for part in element.content { append(part, parent: .xhtml, to: &text) }
        return text
    }

    private static func append(_ part: FeedElement.Content, parent: Vocabulary, to text: inout String) {
        switch part {
        case .text(let addition): text += HTMLText.escaped(addition)
        case .element(let element): append(element, parent: parent, to: &text)
        }
    }

    private static func append(_ element: FeedElement, parent: Vocabulary, to text: inout String) {
        // Elements without a namespace are HTML in a feed that does not care.
        let vocabulary = element.name.vocabulary == .core ? .xhtml : element.name.vocabulary
        var attributes: [(name: String, value: String)] = []
        for attribute in element.attributes {
            switch attribute.name.vocabulary {
            case .core:
                let isAddress = vocabulary == .xhtml && HTMLLinks.isAddress(attribute.name.name)
                let value = isAddress ? element.resolve(attribute.value) ?? attribute.value : attribute.value
                attributes.append((attribute.localName, value))
            case .xml:
                // Links are absolute, so that the base has no use.
                if attribute.name.name != "base" { attributes.append(("xml:" + attribute.localName, attribute.value)) }
            case .other(let namespace):
                attributes.append(("\(attribute.prefix):\(attribute.localName)", attribute.value))
                if !attributes.contains(where: { $0.name == "xmlns:\(attribute.prefix)" }) {
                    attributes.append(("xmlns:\(attribute.prefix)", namespace))
                }
            default:
                break
            }
        }
        if case .other(let namespace) = vocabulary, vocabulary != parent { attributes.append(("xmlns", namespace)) }
        text += "<" + element.localName
        for attribute in attributes.sorted(by: { $0.name < $1.name }) {
            text += " \(attribute.name)=\"\(HTMLText.escaped(attribute.value, inAttribute: true))\""
        }
        if element.content.isEmpty, voidElements.contains(element.localName.lowercased()) {
            text += " />"
            return
        }
        text += ">"
        for part in element.content { append(part, parent: vocabulary, to: &text) }
        text += "</\(element.localName)>"
    }

    private static let voidElements: Set<String> = [
        "area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "wbr",
    ]
}
