import WebText

import struct Foundation.Date

/// Reads a feed out of a document in XML.
///
/// One reader serves RSS and Atom, as feeds mix them: Atom's links in RSS, Dublin Core in both. Where several elements
/// mean the same field, the lists below are in the order of preference.
struct FeedReader {
    private let document: FeedDocument
    private let format: FeedFormat
    private(set) var problems: ProblemLog

    /// Reads a feed. Throws ``FeedError/Code/notAFeed`` if the root element is not the root of a feed.
    static func feed(of document: FeedDocument, problems: inout ProblemLog) throws(FeedError) -> Feed {
        guard let (format, version) = kind(of: document) else {
            let root = document.root
            guard root.localName.lowercased() == "html" else {
                throw FeedError(
                    .notAFeed,
                    "XML with the root element <\(root.localName)> is not a feed.",
                    line: root.line
                )
            }
            let feeds = feeds(ofPage: root)
            let named = feeds.isEmpty ? "" : " The page names its feeds: \(feeds.joined(separator: " "))"
            throw FeedError(.notAFeed, "An HTML page is not a feed." + named, line: root.line)
        }
        var reader = FeedReader(document: document, format: format, problems: problems)
        let feed = reader.feed(version: version)
        problems = reader.problems
        return feed
    }

    /// The format that the root element shows, and the version.
    private static func kind(of document: FeedDocument) -> (FeedFormat, String?)? {
        let root = document.root
        let namespaceVersion = Vocabulary.versions.first { document.namespaces.contains($0.key) }?.value
        switch root.name {
        case .core("rss"): return (.rss, root.attribute("version"))
        case .core("channel"), .core("item"): return (.rss, nil)
        case .rdf("rdf"), .core("rdf"): return (.rdf, namespaceVersion)
        case .core("feed"), .core("entry"): return (.atom, root.attribute("version") ?? namespaceVersion)
        default: return nil
        }
    }

    /// The addresses of the feeds that an HTML page names in its elements `link`, at most three.
    private static func feeds(ofPage root: FeedElement) -> [String] {
        var found: [String] = []
        // Tags without an end are common in HTML, so the elements may be at any depth.
        var waiting = [root]
        while let element = waiting.popLast(), found.count < 3 {
            waiting.append(contentsOf: element.elements.reversed())
            guard element.localName.lowercased() == "link",
                ["application/rss+xml", "application/atom+xml", "application/feed+json"]
                    .contains(element.attribute("type")?.lowercased()),
                let address = element.attribute("href").flatMap({ element.resolve($0) }), !found.contains(address)
            else { continue }
            found.append(address)
        }
        return found
    }

    // MARK: - Feed

    private mutating func feed(version: String?) -> Feed {
        let root = document.root
        let channel = format == .atom ? root : root.first(.core("channel")) ?? root
        var feed = Feed(format: format, version: version)
        feed.identifier = channel.first(.core("id")).map { identifier($0) }?.nonEmpty
        feed.richTitle = channel.first(.core("title"), .dublinCore("title"), .itunes("title")).flatMap(richText)
        feed.richDescription = channel.first(
            .core("description"),
            .core("subtitle"),
            .core("tagline"),
            .dublinCore("description"),
            .itunes("summary"),
            .itunes("subtitle"),
            .core("info")
        ).flatMap(richText)
        feed.links = links(of: channel)
        feed.siteURL = feed.links.first { $0.relation == "alternate" && $0.isPage }?.url
        feed.feedURL = feed.links.first { $0.relation == "self" }?.url
        feed.imageURL = feedImage(of: channel, root: root)
        feed.language = channel.first(.core("language"), .dublinCore("language"))?.text.nonEmpty ?? channel.language
        feed.categories = categories(of: channel)
        feed.authors = authors(of: channel)
        feed.published = date(of: channel, .core("published"), .core("pubdate"), .core("issued"), .terms("issued"))
        feed.updated = date(
            of: channel,
            .core("updated"),
            .core("modified"),
            .core("lastbuilddate"),
            .terms("modified"),
            .dublinCore("date")
        )
        feed.minimumUpdateInterval = UpdateInterval.seconds(of: channel)
        let containers = channel.name == root.name ? [root] : [channel, root]
        feed.items = containers.flatMap { $0.elements(.core("item"), .core("entry")) }.map { item($0) }
        if root.name == .core("item") || root.name == .core("entry") { feed.items = [item(root)] }
        return feed
    }

    private func feedImage(of channel: FeedElement, root: FeedElement) -> String? {
        // In RDF, the image is beside the channel.
        let images = (channel.elements + root.elements).filter { $0.name == .core("image") }
        for image in images {
            if let url = image.first(.core("url")), let address = url.resolve(url.text) { return address }
        }
        return linkedImage(of: channel)
            ?? channel.first(.core("logo"), .core("icon")).flatMap { $0.resolve($0.text) }
    }

    // MARK: - Items

    private mutating func item(_ element: FeedElement) -> FeedItem {
        var item = FeedItem()
        item.links = links(of: element)
        item.richTitle = element.first(.core("title"), .dublinCore("title"), .media("title"), .itunes("title"))
            .flatMap(richText)
        (item.richSummary, item.richContent) = texts(of: element)
        item.authors = authors(of: element)
        item.categories = categories(of: element)
        item.published = date(of: element, .core("published"), .core("pubdate"), .core("issued"), .terms("issued"))
        item.updated = date(of: element, .core("updated"), .core("modified"), .terms("modified"), .dublinCore("date"))
        item.published = item.published ?? date(of: element, .dublinCore("date"), .terms("created"), .core("created"))
        item.language =
            element.first(.dublinCore("language"), .core("language"))?.text.nonEmpty
            ?? element.attribute(ElementName(.xml, "lang"))
        let alternates = item.links.filter { $0.relation == "alternate" }
        item.url = (alternates.first(where: \.isPage) ?? alternates.first)?.url
        setIdentifier(of: &item, from: element)
        item.enclosures = enclosures(of: element, links: item.links)
        item.imageURL = itemImage(of: element, enclosures: item.enclosures)
        return item
    }

    private func setIdentifier(of item: inout FeedItem, from element: FeedElement) {
        guard let guid = element.first(.core("guid"), .core("id")) else {
            item.guid = element.attribute(.rdf("about")) ?? element.first(.dublinCore("identifier"))?.text.nonEmpty
            return
        }
        let isPermalink = guid.name == .core("guid") && guid.attribute("isPermaLink")?.lowercased() != "false"
        let text = isPermalink ? guid.resolve(guid.text) ?? "" : identifier(guid)
        item.guid = text.nonEmpty
        item.guidIsPermalink = isPermalink && URLReference.isWebAddress(text)
        if item.guidIsPermalink, item.url == nil { item.url = item.guid }
    }

    /// The identifier of an `id` element. It is not an address, so it is not resolved, unless it begins with a slash:
    /// then it is unique only within its site.
    private func identifier(_ element: FeedElement) -> String {
        let text = element.text
        return element.name == .core("id") && text.hasPrefix("/") ? element.resolve(text) ?? text : text
    }

    /// The summary and the content. Where an item of RSS has `description` and `summary`, the first in the document is
    /// the summary. The second is the content if no other element has the content.
    private func texts(of element: FeedElement) -> (summary: RichText?, content: RichText?) {
        var summaries = element.elements(.core("description"), .core("summary")).compactMap(richText)
        let content =
            element.first(.content("encoded")).map { TextConstruct.html($0.text, base: $0.base) }
            ?? element.first(.core("fullitem")).map { TextConstruct.html($0.text, base: $0.base) }
            ?? element.first(.xhtml("body"), .core("body")).map {
                RichText(XHTMLWriter.inner(of: $0).trimmed, format: .xhtml)
            }
            ?? element.elements(.core("content")).filter { $0.attribute("src") == nil }.lazy.compactMap(richText).first
        if summaries.isEmpty {
            let containers = [element] + element.elements(.media("group"))
            summaries = ElementName.otherSummaries.flatMap { name in containers.compactMap { $0.first(name) } }
                .compactMap(richText)
        }
        let second = summaries.count > 1 && element.first(.core("summary")) != nil ? summaries[1] : nil
        return (summaries.first, content ?? second)
    }

    private func itemImage(of element: FeedElement, enclosures: [FeedEnclosure]) -> String? {
        if let image = linkedImage(of: element) { return image }
        for image in element.elements(.core("image")) {
            let url = image.first(.core("url")) ?? image
            if let address = url.resolve(url.attribute("href") ?? url.text) { return address }
        }
        return enclosures.first { $0.mediaType?.lowercased().hasPrefix("image/") == true }?.url
    }

    // MARK: - Parts of feeds and items

    private func richText(_ element: FeedElement) -> RichText? {
        let isAtom = format == .atom || element.attribute("type") != nil || element.attribute("mode") != nil
        return isAtom ? TextConstruct.atom(element) : TextConstruct.rss(element)
    }

    private func links(of element: FeedElement) -> [FeedLink] {
        element.elements(.core("link"), .core("enclosure"))
            .compactMap { link in
                let isEnclosure = link.name == .core("enclosure")
                let reference = link.attribute("href") ?? (isEnclosure ? link.attribute("url") : nil) ?? link.text
                // An empty reference is the document itself.
                let isItself = reference.isEmpty && link.attributes.contains { $0.name == .core("href") }
                guard let address = isItself ? link.base : link.resolve(reference) else { return nil }
                return FeedLink(
                    relation: link.attribute("rel") ?? (isEnclosure ? "enclosure" : "alternate"),
                    url: address,
                    mediaType: link.attribute("type"),
                    title: link.attribute("title"),
                    language: link.attribute("hreflang"),
                    length: link.attribute("length").flatMap { Int($0) }
                )
            }
    }

    /// An image that iTunes or Media RSS names.
    private func linkedImage(of element: FeedElement) -> String? {
        if let image = element.first(.itunes("image")),
            let address = image.resolve(image.attribute("href") ?? image.attribute("url") ?? image.text)
        {
            return address
        }
        if let link = element.elements(.itunes("link")).first(where: { $0.attribute("rel") == "image" }) {
            return link.attribute("href").flatMap { link.resolve($0) }
        }
        let media = [element] + element.elements(.media("group")) + element.elements(.media("content"))
        for container in media {
            if let thumbnail = container.first(.media("thumbnail")),
                let address = thumbnail.resolve(thumbnail.attribute("url") ?? thumbnail.text)
            {
                return address
            }
        }
        return media.flatMap { $0.elements(.media("content")) }
            .first { $0.attribute("medium") == "image" || $0.attribute("type")?.hasPrefix("image/") == true }
            .flatMap { $0.resolve($0.attribute("url") ?? "") }
    }

    private func enclosures(of element: FeedElement, links: [FeedLink]) -> [FeedEnclosure] {
        let duration = element.first(.itunes("duration")).flatMap { PlayingTime.seconds($0.text) }
        var enclosures = links.filter { $0.relation == "enclosure" }
            .map { FeedEnclosure(url: $0.url, mediaType: $0.mediaType, length: $0.length, duration: duration) }
        var seen = Set(enclosures.map(\.url))
        let containers = [element] + element.elements(.media("group"))
        for media in containers.flatMap({ $0.elements(.media("content")) }) where media.attribute("medium") != "image" {
            guard let address = media.attribute("url").flatMap({ media.resolve($0) }),
                media.attribute("type")?.hasPrefix("image/") != true,
                seen.insert(address).inserted
            else { continue }
            enclosures.append(
                FeedEnclosure(
                    url: address,
                    mediaType: media.attribute("type"),
                    length: media.attribute("fileSize").flatMap { Int($0) },
                    duration: media.attribute("duration").flatMap { PlayingTime.seconds($0) } ?? duration
                )
            )
        }
        return enclosures
    }

    private func authors(of element: FeedElement) -> [FeedAuthor] {
        let named = element.elements(.core("author"), .dublinCore("creator"), .dublinCore("author"))
        let authors = named.compactMap { author($0) }
        if !authors.isEmpty { return authors }
        return element.first(.core("managingeditor"), .itunes("author")).flatMap { author($0) }.map { [$0] } ?? []
    }

    private func author(_ element: FeedElement) -> FeedAuthor? {
        guard !element.elements.isEmpty else { return FeedAuthor(text: element.text) }
        let url = element.first(.core("uri"), .core("url"), .core("homepage"))
        let author = FeedAuthor(
            name: element.first(.core("name"), .itunes("name")).map { HTMLText.collapsed($0.deepText) }?.nonEmpty,
            email: element.first(.core("email"), .itunes("email"))?.text.nonEmpty,
            url: url.flatMap { $0.resolve($0.text) }
        )
        return author == FeedAuthor() ? FeedAuthor(text: element.deepText) : author
    }

    private func categories(of element: FeedElement) -> [FeedCategory] {
        var categories: [FeedCategory] = []
        var seen: Set<FeedCategory> = []
        func add(_ term: String?, scheme: String? = nil, label: String? = nil) {
            guard let term = term.map(HTMLText.collapsed)?.nonEmpty else { return }
            let category = FeedCategory(term: term, scheme: scheme, label: label)
            if seen.insert(category).inserted { categories.append(category) }
        }
        for child in element.elements {
            switch child.name {
            case .core("category"):
                let scheme = child.attribute("scheme") ?? child.attribute("domain")
                add(child.attribute("term") ?? child.text, scheme: scheme, label: child.attribute("label"))
            case .dublinCore("subject"):
                add(child.text)
            case .core("tags"):
                for tag in child.text.split(separator: ",") { add(String(tag)) }
            case .media("category"):
                add(child.text, scheme: child.attribute("scheme"), label: child.attribute("label"))
            case .itunes("category"):
                let scheme = "http://www.itunes.com/"
                add(child.attribute("text"), scheme: scheme)
                for inner in child.elements(.itunes("category")) { add(inner.attribute("text"), scheme: scheme) }
            case .itunes("keywords"):
                // Keywords are separated by commas, or by spaces.
                let separator: Character = child.text.contains(",") ? "," : " "
                for keyword in child.text.split(separator: separator) {
                    add(String(keyword), scheme: "http://www.itunes.com/")
                }
            default:
                break
            }
        }
        return categories
    }

    /// The first readable date, in the order of `names`. Of several elements with the same name, the last counts.
    private mutating func date(of element: FeedElement, _ names: ElementName...) -> Date? {
        for name in names {
            for candidate in element.elements(name).reversed() where !candidate.text.isEmpty {
                if let date = WebDate.parse(candidate.text) { return date }
                problems.add(.unreadableDate, line: candidate.line, "\"\(candidate.text.prefix(40))\" is not a date")
            }
        }
        return nil
    }
}

extension ElementName {
    /// The elements that can be a summary where there is neither `description` nor `summary`.
    fileprivate static let otherSummaries = [
        ElementName.dublinCore("description"), .terms("abstract"), .itunes("summary"), .media("description"),
        .itunes("subtitle"),
    ]
}

extension FeedLink {
    /// Whether the target is a page for people, as far as the link says.
    fileprivate var isPage: Bool {
        guard let mediaType else { return true }
        return mediaType.lowercased().contains("html") || mediaType.lowercased().hasPrefix("text/")
    }
}
