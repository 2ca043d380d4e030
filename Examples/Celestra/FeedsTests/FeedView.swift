import CelestraFeeds
import Foundation
import WebText

/// A date of a feed, which the suite writes as text or as the tuple of Python's `time.struct_time`.
struct FeedInstant: Equatable {
    let date: Date

    init(_ date: Date) {
        self.date = date
    }

    init?(_ text: String) {
        guard let date = WebDate.parse(text) else { return nil }
        self.date = date
    }

    /// Year, month, day, hour, minute, second, weekday from Monday, day of the year, and 0 because it is not summer
    /// time.
    var tuple: Expression.Value {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
        let dayOfYear = calendar.ordinality(of: .day, in: .year, for: date)
        let weekday = parts.weekday.map { ($0 + 5) % 7 }
        return .list(
            [parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second, weekday, dayOfYear, 0]
                .map { .number(Double($0 ?? -1)) }
        )
    }
}

/// A feed under the names that the suite has for its fields.
enum FeedView {
    typealias Value = Expression.Value

    static func names(of parsed: ParsedFeed?) -> [String: Value] {
        guard let parsed else { return ["bozo": .unjudged] }
        return [
            "bozo": .unjudged,
            "encoding": .string(parsed.encoding),
            "version": .string(version(of: parsed.feed)),
            "feed": .dictionary(fields(of: parsed.feed)),
            "entries": .list(parsed.feed.items.map { .dictionary(fields(of: $0)) }),
        ]
    }

    private static func version(of feed: Feed) -> String {
        let digits = (feed.version ?? "").filter { $0 != "." }
        switch feed.format {
        // All versions from 2.0 on have the same name.
        case .rss: return "rss" + (digits.hasPrefix("2") ? "20" : digits)
        case .rdf: return "rss" + digits
        case .atom: return "atom" + digits
        case .json: return "json" + digits
        }
    }

    private static func fields(of feed: Feed) -> [String: Value] {
        var fields: [String: Value] = [:]
        fields["id"] = feed.identifier.map { .string($0) }
        fields["guid"] = fields["id"]
        add(feed.richTitle, as: ["title"], to: &fields)
        add(feed.richDescription, as: ["description", "subtitle", "tagline", "info"], to: &fields)
        add(feed.published, as: "published", to: &fields)
        add(feed.updated, as: "updated", to: &fields)
        add(feed.authors, to: &fields)
        add(feed.categories, to: &fields)
        fields["link"] = feed.siteURL.map { .string($0) }
        fields["links"] = .list(feed.links.map(link))
        fields["image"] = feed.imageURL.map { .dictionary(["href": .string($0)]) }
        fields["language"] = feed.language.map { .string($0) }
        fields["ttl"] = feed.minimumUpdateInterval.map { .string(String($0 / 60)) }
        return fields
    }

    private static func fields(of item: FeedItem) -> [String: Value] {
        var fields: [String: Value] = [:]
        fields["id"] = item.guid.map { .string($0) }
        fields["guid"] = fields["id"]
        // The suite's flag says that the link was derived from the identifier.
        let hasOwnLink = item.links.contains { $0.relation == "alternate" }
        fields["guidislink"] = .bool(item.guidIsPermalink && !hasOwnLink)
        add(item.richTitle, as: ["title"], to: &fields)
        add(item.richSummary ?? item.richContent, as: ["summary", "description"], to: &fields)
        fields["content"] = item.richContent.map { .list([.dictionary(detail(of: $0))]) }
        add(item.published, as: "published", to: &fields)
        add(item.updated, as: "updated", to: &fields)
        add(item.authors, to: &fields)
        add(item.categories, to: &fields)
        fields["link"] = item.url.map { .string($0) }
        fields["links"] = .list(item.links.map(link))
        fields["image"] = item.imageURL.map { .dictionary(["href": .string($0)]) }
        fields["enclosures"] = .list(
            item.enclosures.map { enclosure in
                dictionary([
                    "href": enclosure.url, "type": enclosure.mediaType, "length": enclosure.length.map { String($0) },
                ])
            }
        )
        return fields
    }

    private static func add(_ text: RichText?, as names: [String], to fields: inout [String: Value]) {
        guard let text else { return }
        for name in names {
            fields[name] = .string(text.source)
            fields[name + "_detail"] = .dictionary(detail(of: text))
        }
    }

    /// A text with its type, and the base against which its first link was resolved. The links of the suite all have
    /// the same file name.
    private static func detail(of text: RichText) -> [String: Value] {
        var fields: [String: Value] = ["value": .string(text.source), "type": .string(text.format.rawValue)]
        if let href = text.source.firstRange(of: "href=\"") {
            let address = text.source[href.upperBound...].prefix { $0 != "\"" }
            if let slash = address.lastIndex(of: "/") { fields["base"] = .string(String(address[...slash])) }
        }
        return fields
    }

    private static func add(_ date: Date?, as name: String, to fields: inout [String: Value]) {
        guard let date else { return }
        fields[name] = .date(FeedInstant(date))
        fields[name + "_parsed"] = FeedInstant(date).tuple
    }

    private static func add(_ authors: [FeedAuthor], to fields: inout [String: Value]) {
        guard let first = authors.first else { return }
        let values = authors.map { dictionary(["name": $0.name, "email": $0.email, "href": $0.url]) }
        fields["author"] = .string(first.description)
        fields["author_detail"] = values[0]
        fields["authors"] = .list(values)
    }

    private static func add(_ categories: [FeedCategory], to fields: inout [String: Value]) {
        fields["category"] = categories.first.map { .string($0.term) }
        fields["tags"] = .list(
            categories.map { dictionary(["term": $0.term, "scheme": $0.scheme, "label": $0.label]) }
        )
    }

    private static func link(_ link: FeedLink) -> Value {
        dictionary([
            "rel": link.relation, "href": link.url, "type": link.mediaType, "title": link.title,
            "hreflang": link.language,
            "length": link.length.map { String($0) },
        ])
    }

    private static func dictionary(_ fields: [String: String?]) -> Value {
        .dictionary(fields.compactMapValues { $0.map { .string($0) } })
    }
}
