import Foundation
import WebText

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// The tree of elements that Foundation's parser reads from an XML document.
struct FeedDocument {
    /// The root element.
    let root: FeedElement
    /// The namespaces that the document declares anywhere, in lower case.
    let namespaces: Set<String>

    /// The parser's error about text that is not well-formed.
    struct Failure: Error {
        var message: String
        var line: Int
        var column: Int?
    }

    /// The maximum depth to which elements are nested.
    static let maximumDepth = 200

    /// Parses well-formed XML without declarations and processing instructions.
    ///
    /// The base is the address of the document. Relative links are resolved against it.
    init(parsing text: String, base: String?, problems: inout ProblemLog) throws(Failure) {
        let parser = XMLParser(data: Data(text.utf8))
        parser.shouldProcessNamespaces = false
        parser.shouldResolveExternalEntities = false
        let builder = TreeBuilder(base: base)
        parser.delegate = builder
        _ = parser.parse()
        parser.delegate = nil
        if let failure = builder.failure { throw failure }
        guard let root = builder.root else {
            throw Failure(message: "there is no root element", line: parser.lineNumber, column: parser.columnNumber)
        }
        self.root = root
        namespaces = builder.namespaces
        for (prefix, line) in builder.undeclaredPrefixes.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
            problems.add(.undeclaredPrefix, line: line, "the prefix \"\(prefix)\" has no namespace")
        }
    }
}

/// Builds the tree from the parser's events. It resolves namespaces itself, so that an element with an undeclared
/// prefix is not lost.
private final class TreeBuilder: NSObject, XMLParserDelegate {
    private(set) var root: FeedElement?
    private(set) var failure: FeedDocument.Failure?
    /// The prefixes without a namespace, with the line of the first use.
    private(set) var undeclaredPrefixes: [String: Int] = [:]
    private(set) var namespaces: Set<String> = []
    private let base: String?
    private var open: [FeedElement] = []
    /// For each open element, the namespace of each prefix.
    private var scopes: [[String: String]] = [["xml": "http://www.w3.org/XML/1998/namespace"]]
    private var text = ""

    init(base: String?) {
        self.base = base
    }

    func parser(
        _ parser: XMLParser,
        didStartElement elementName: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        flushText()
        guard open.count < FeedDocument.maximumDepth else {
            fail("elements are nested more than \(FeedDocument.maximumDepth) times", parser)
            parser.abortParsing()
            return
        }
        var scope = scopes.last ?? [:]
        for (name, value) in attributes {
            if name == "xmlns" {
                scope[""] = value
            } else if name.hasPrefix("xmlns:") {
                scope[String(name.dropFirst(6))] = value
            } else {
                continue
            }
            namespaces.insert(value.trimmed.lowercased())
        }
        scopes.append(scope)
        let (prefix, localName) = split(elementName)
        var element = FeedElement(
            name: name(prefix, localName, in: scope, line: parser.lineNumber),
            localName: localName,
            base: open.last?.base ?? base,
            language: open.last?.language,
            line: parser.lineNumber
        )
        // The parser gives attributes in no particular order.
        for (key, value) in attributes.sorted(by: { $0.key < $1.key }) where key != "xmlns" && !key.hasPrefix("xmlns:")
        {
            let (prefix, localName) = split(key)
            let attributeName =
                prefix.isEmpty
                ? ElementName(.core, localName) : name(prefix, localName, in: scope, line: parser.lineNumber)
            let value = Windows1252.replacingControls(in: value)
            element.attributes.append(.init(name: attributeName, localName: localName, prefix: prefix, value: value))
            switch attributeName {
            case ElementName(.xml, "base"): element.base = URLReference.base(value, within: element.base)
            case ElementName(.xml, "lang"): element.language = value.trimmed.nonEmpty
            default: break
            }
        }
        open.append(element)
    }

    func parser(_ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?) {
        flushText()
        guard let element = open.popLast() else { return }
        scopes.removeLast()
        if open.isEmpty {
            root = root ?? element
        } else {
            open[open.count - 1].content.append(.element(element))
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        text += string
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        text += String(decoding: block, as: UTF8.self)
    }

    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        // A document with an error about namespaces is still well-formed: a relative URI (99, 100), an undeclared
        // prefix (201), and similar ones.
        let code = (error as NSError).code
        guard !(99...100).contains(code), !(200...205).contains(code) else { return }
        fail("not well-formed XML (error \(code) of libxml2)", parser)
        parser.abortParsing()
    }

    private func fail(_ message: String, _ parser: XMLParser) {
        // The first error counts; those after it follow from it.
        failure = failure ?? .init(message: message, line: parser.lineNumber, column: parser.columnNumber)
    }

    private func flushText() {
        guard !text.isEmpty else { return }
        if !open.isEmpty { open[open.count - 1].content.append(.text(Windows1252.replacingControls(in: text))) }
        text = ""
    }

    private func split(_ name: String) -> (prefix: String, localName: String) {
        guard let colon = name.firstIndex(of: ":") else { return ("", name) }
        return (String(name[..<colon]), String(name[name.index(after: colon)...]))
    }

    private func name(_ prefix: String, _ localName: String, in scope: [String: String], line: Int) -> ElementName {
        if let namespace = scope[prefix] { return ElementName(Vocabulary(namespace: namespace), localName) }
        if prefix.isEmpty { return ElementName(.core, localName) }
        undeclaredPrefixes[prefix] = undeclaredPrefixes[prefix] ?? line
        return ElementName(Vocabulary(undeclaredPrefix: prefix), localName)
    }
}
