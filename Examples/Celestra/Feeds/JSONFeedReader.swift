import Foundation
import WebText

/// Reads a JSON Feed (https://www.jsonfeed.org/version/1.1/). A member of a wrong type counts as missing, except that
/// an identifier may be a number.
enum JSONFeedReader {
    /// Reads a feed. Throws ``FeedError/Code/malformedJSON`` for text that is not JSON, and ``FeedError/Code/notAFeed``
    /// for other JSON.
    static func feed(of text: String, base: String?, problems: inout ProblemLog) throws(FeedError) -> Feed {
        let document = try value(of: text, problems: &problems)
        guard let object = document.object else {
            throw FeedError(.notAFeed, "JSON that is not an object is not a feed.")
        }
        let version = object["version"]?.string ?? ""
        guard
            version.lowercased().contains("jsonfeed.org/version/") || (version.isEmpty && object["items"]?.array != nil)
        else {
            throw FeedError(.notAFeed, "A JSON object without the version of JSON Feed is not a feed.")
        }
        func resolve(_ reference: JSONValue?) -> String? {
            reference?.string.map { URLReference.resolve($0, against: base) }?.nonEmpty
        }
        func authors(of object: [String: JSONValue]) -> [FeedAuthor] {
            let list = object["authors"]?.array ?? [object["author"]].compactMap { $0 }
            return list.compactMap(\.object)
                .map { FeedAuthor(name: $0["name"]?.string?.nonEmpty, url: resolve($0["url"])) }
                .filter { $0 != FeedAuthor() }
        }

        var feed = Feed(format: .json, version: version.split(separator: "/").last.map(String.init))
        feed.richTitle = object["title"]?.string.map { RichText($0, format: .plain) }
        feed.richDescription = object["description"]?.string.map { RichText($0, format: .plain) }
        feed.siteURL = resolve(object["home_page_url"])
        feed.feedURL = resolve(object["feed_url"])
        feed.imageURL = resolve(object["icon"]) ?? resolve(object["favicon"])
        feed.language = object["language"]?.string?.nonEmpty
        feed.authors = authors(of: object)
        feed.links =
            (feed.siteURL.map { [FeedLink(relation: "alternate", url: $0)] } ?? [])
            + (feed.feedURL.map { [FeedLink(relation: "self", url: $0)] } ?? [])
        for object in object["items"]?.array?.compactMap(\.object) ?? [] {
            var item = FeedItem()
            item.guid = object["id"]?.scalar?.nonEmpty
            item.url = resolve(object["url"])
            item.guidIsPermalink = item.guid.map { $0 == item.url || URLReference.isWebAddress($0) } ?? false
            if item.guidIsPermalink { item.url = item.url ?? item.guid }
            item.richTitle = object["title"]?.string.map { RichText($0, format: .plain) }
            item.richSummary = object["summary"]?.string.map { RichText($0, format: .plain) }
            item.richContent =
                object["content_html"]?.string.map { TextConstruct.html($0, base: item.url ?? base) }
                ?? object["content_text"]?.string.map { RichText($0, format: .plain) }
            item.authors = authors(of: object)
            item.imageURL = resolve(object["image"]) ?? resolve(object["banner_image"])
            item.published = date(object["date_published"], problems: &problems)
            item.updated = date(object["date_modified"], problems: &problems)
            item.language = object["language"]?.string?.nonEmpty
            item.categories =
                object["tags"]?.array?.compactMap { $0.string?.nonEmpty.map { FeedCategory(term: $0) } } ?? []
            item.enclosures =
                object["attachments"]?.array?.compactMap(\.object)
                .compactMap { attachment in
                    guard let url = resolve(attachment["url"]) else { return nil }
                    return FeedEnclosure(
                        url: url,
                        mediaType: attachment["mime_type"]?.string,
                        length: attachment["size_in_bytes"]?.integer,
                        duration: attachment["duration_in_seconds"]?.integer
                    )
                } ?? []
            item.links = (item.url.map { [FeedLink(relation: "alternate", url: $0)] } ?? [])
            if let related = resolve(object["external_url"]) {
                item.links.append(FeedLink(relation: "related", url: related))
            }
            feed.items.append(item)
        }
        return feed
    }

    private static func date(_ value: JSONValue?, problems: inout ProblemLog) -> Date? {
        guard let text = value?.string?.nonEmpty else { return nil }
        let date = WebDate.parse(text)
        if date == nil { problems.add(.unreadableDate, "\"\(text.prefix(40))\" is not a date") }
        return date
    }

    /// Parses JSON. Text that is not valid JSON is parsed as JSON5, and reported as a problem.
    private static func value(of text: String, problems: inout ProblemLog) throws(FeedError) -> JSONValue {
        let data = Data(text.utf8)
        let decoder = JSONDecoder()
        if let value = try? decoder.decode(JSONValue.self, from: data) { return value }
        let failure = JSONFailure(of: text)
        decoder.allowsJSON5 = true
        guard let value = try? decoder.decode(JSONValue.self, from: data) else {
            throw FeedError(
                .malformedJSON,
                "The response is not valid JSON: \(failure.reason).",
                line: failure.line,
                column: failure.column
            )
        }
        problems.add(.nonstandardJSON, line: failure.line, failure.reason)
        return value
    }
}

/// Why a text is not valid JSON, and where. `JSONDecoder` does not report this on every system, so the text is parsed
/// again with `JSONSerialization`.
private struct JSONFailure {
    var reason = "it cannot be decoded"
    var line: Int?
    var column: Int?

    init(of text: String) {
        let bytes = Array(text.utf8)
        do {
            _ = try JSONSerialization.jsonObject(with: Data(bytes))
        } catch {
            guard let description = (error as NSError).userInfo["NSDebugDescription"] as? String else { return }
            reason = description.trimming { $0 == "." || $0.isWhitespace }
            if let offset = JSONFailure.number(after: "character ", in: description), offset <= bytes.count {
                line = bytes[..<offset].count { $0 == 0x0A } + 1
                column = offset - (bytes[..<offset].lastIndex(of: 0x0A) ?? -1)
            } else {
                line = JSONFailure.number(after: "line ", in: description)
                column = JSONFailure.number(after: "column ", in: description)
            }
        }
    }

    private static func number(after word: String, in text: String) -> Int? {
        guard let range = text.range(of: word, from: text.startIndex) else { return nil }
        return Int(text[range.upperBound...].prefix(while: \.isASCIIDigit))
    }
}

/// A JSON value.
enum JSONValue: Sendable, Hashable, Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    var string: String? { if case .string(let value) = self { value } else { nil } }
    var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    /// A number from 0 to below 10^15, rounded down to an integer; otherwise `nil`.
    var integer: Int? {
        guard case .number(let value) = self, value >= 0, value < 1e15 else { return nil }
        return Int(value)
    }

    /// A string, or a number as a string.
    var scalar: String? {
        guard case .number(let value) = self else { return string }
        return Int64(exactly: value).map { String($0) } ?? String(value)
    }
}
