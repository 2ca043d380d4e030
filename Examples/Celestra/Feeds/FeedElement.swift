import WebText

/// An element of a feed in XML, with the base address and the language that it inherits.
struct FeedElement: Sendable, Hashable {
    /// A child of an element: text or another element.
    indirect enum Content: Sendable, Hashable {
        case text(String)
        case element(FeedElement)
    }

    struct Attribute: Sendable, Hashable {
        var name: ElementName
        /// The name as it is written, without its prefix.
        var localName: String
        var prefix: String
        var value: String
    }

    var name: ElementName
    /// The name as it is written, without its prefix.
    var localName: String
    var attributes: [Attribute] = []
    var content: [Content] = []
    /// The address that relative links are resolved against: `xml:base`, or the address of the document.
    var base: String?
    /// The language of `xml:lang`, inherited.
    var language: String?
    /// The line of the start tag, counted from 1.
    var line: Int

    /// The child elements.
    var elements: [FeedElement] {
        content.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// The text directly within the element, without white space at its ends.
    var text: String {
        content.reduce(into: "") { if case .text(let text) = $1 { $0 += text } }.trimmed
    }

    /// The text of the element and of all elements below it, without white space at its ends.
    var deepText: String {
        func append(_ element: FeedElement, to text: inout String) {
            for part in element.content {
                switch part {
                case .text(let addition): text += addition
                case .element(let child): append(child, to: &text)
                }
            }
        }
        var text = ""
        append(self, to: &text)
        return text.trimmed
    }

    /// The child elements with one of the names, in the order of the document.
    func elements(_ names: ElementName...) -> [FeedElement] {
        elements.filter { names.contains($0.name) }
    }

    /// The first child element with the first of the names that occurs: `names` are in the order of preference.
    func first(_ names: ElementName...) -> FeedElement? {
        let elements = elements
        for name in names {
            if let element = elements.first(where: { $0.name == name }) { return element }
        }
        return nil
    }

    /// The value of an attribute without a namespace, trimmed, or `nil` if it is missing or empty.
    func attribute(_ name: String) -> String? {
        attribute(ElementName(.core, name))
    }

    /// The value of an attribute, trimmed, or `nil` if it is missing or empty.
    func attribute(_ name: ElementName) -> String? {
        attributes.first { $0.name == name }?.value.trimmed.nonEmpty
    }

    /// Resolves an address against the base of the element. Returns `nil` for an empty address.
    func resolve(_ reference: String) -> String? {
        guard !reference.isEmpty else { return nil }
        return URLReference.resolve(reference, against: base).nonEmpty
    }
}

/// The name of an element or an attribute: a vocabulary, and a name in lower case.
struct ElementName: Sendable, Hashable {
    let vocabulary: Vocabulary
    let name: String

    init(_ vocabulary: Vocabulary, _ name: String) {
        self.vocabulary = vocabulary
        self.name = name.lowercased()
    }

    static func core(_ name: String) -> Self { Self(.core, name) }
    static func dublinCore(_ name: String) -> Self { Self(.dublinCore, name) }
    static func terms(_ name: String) -> Self { Self(.dublinCoreTerms, name) }
    static func content(_ name: String) -> Self { Self(.content, name) }
    static func itunes(_ name: String) -> Self { Self(.itunes, name) }
    static func media(_ name: String) -> Self { Self(.media, name) }
    static func syndication(_ name: String) -> Self { Self(.syndication, name) }
    static func rdf(_ name: String) -> Self { Self(.rdf, name) }
    static func xhtml(_ name: String) -> Self { Self(.xhtml, name) }
}

/// The vocabularies of feeds. All versions of a namespace are one vocabulary.
enum Vocabulary: Sendable, Hashable {
    /// RSS and Atom of all versions, and names without a namespace.
    case core
    case dublinCore
    case dublinCoreTerms
    case content
    case itunes
    case media
    case syndication
    case rdf
    case xhtml
    case xml
    /// Another namespace.
    case other(String)

    /// The vocabulary of a namespace.
    init(namespace: String) {
        self = Vocabulary.namespaces[namespace.trimmed.lowercased()] ?? .other(namespace)
    }

    /// The vocabulary that a prefix usually has, for documents that do not declare it.
    init(undeclaredPrefix prefix: String) {
        switch prefix.lowercased() {
        case "dc": self = .dublinCore
        case "dcterms": self = .dublinCoreTerms
        case "content": self = .content
        case "itunes": self = .itunes
        case "media": self = .media
        case "sy": self = .syndication
        case "rdf": self = .rdf
        case "atom", "atom10", "a10", "rss": self = .core
        case "xhtml": self = .xhtml
        default: self = .other(prefix)
        }
    }

    private static let namespaces: [String: Vocabulary] = [
        "": .core,
        "http://backend.userland.com/rss": .core,
        "http://backend.userland.com/rss2": .core,
        "http://backend.userland.com/rss2.1": .core,
        "http://blogs.law.harvard.edu/tech/rss": .core,
        "http://purl.org/rss/1.0/": .core,
        "http://my.netscape.com/rdf/simple/0.9/": .core,
        "http://channel.netscape.com/rdf/simple/0.9/": .core,
        "http://my.netscape.com/publish/formats/rss-0.91.dtd": .core,
        "http://www.w3.org/2005/atom": .core,
        "https://www.w3.org/2005/atom": .core,
        "http://purl.org/atom/ns#": .core,
        // The names that Atom had while it was designed.
        "http://example.com/newformat#": .core,
        "http://example.com/necho": .core,
        "http://purl.org/echo/": .core,
        "http://purl.org/pie/": .core,
        "uri/of/echo/namespace#": .core,
        "http://purl.org/dc/elements/1.0/": .dublinCore,
        "http://purl.org/dc/elements/1.1/": .dublinCore,
        "http://purl.org/dc/terms/": .dublinCoreTerms,
        "http://purl.org/rss/1.0/modules/content/": .content,
        "http://www.itunes.com/dtds/podcast-1.0.dtd": .itunes,
        "http://example.com/dtds/podcast-1.0.dtd": .itunes,
        "http://search.yahoo.com/mrss": .media,
        "http://search.yahoo.com/mrss/": .media,
        "http://purl.org/rss/1.0/modules/syndication/": .syndication,
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#": .rdf,
        "http://www.w3.org/1999/xhtml": .xhtml,
        "http://www.w3.org/xml/1998/namespace": .xml,
    ]

    /// The versions of formats, by namespace in lower case.
    static let versions: [String: String] = [
        "http://www.w3.org/2005/atom": "1.0",
        "https://www.w3.org/2005/atom": "1.0",
        "http://purl.org/atom/ns#": "0.3",
        "http://purl.org/rss/1.0/": "1.0",
        "http://my.netscape.com/rdf/simple/0.9/": "0.90",
        "http://channel.netscape.com/rdf/simple/0.9/": "0.90",
    ]
}
