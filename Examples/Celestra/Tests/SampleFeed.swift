import ExampleTesting
import Foundation

/// A feed of the local server. Each has at least three articles, and one of ten styles. Most styles have mistakes that
/// occur on the web.
struct SampleFeed: Sendable {
    /// The number that identifies the feed.
    var number: Int
    /// The number of articles.
    var articleCount = 3
    /// The number of the article whose title was corrected after it was published.
    var corrected: Int?

    /// How the feed is written.
    enum Style: Int, CaseIterable, Sendable {
        case rss, latin1, mislabelled, relativeLinks, missingGuids, oddDates, gzip, json, rdf, broken
    }

    var style: Style { Style.allCases[number % Style.allCases.count] }

    /// The title that a reader has to read.
    var title: String { "Café \(number)" }

    /// The titles of the articles that a reader has to read, the newest first.
    var articleTitles: [String] { articles.map { title(of: $0) } }

    /// The dates of the articles, the newest first.
    var articleDates: [Date] { articles.map { date(of: $0) } }

    var headers: [(String, String)] {
        let type =
            switch style {
            case .json: "application/feed+json"
            case .latin1: "text/xml"
            case .mislabelled: "text/xml; charset=utf-8"
            case .rdf: "application/rdf+xml"
            case .broken: "text/html"
            default: "application/rss+xml; charset=utf-8"
            }
        return [("Content-Type", type)] + (style == .gzip ? [("Content-Encoding", "gzip")] : [])
    }

    /// The validator of this version of the feed.
    var etag: String { "\"\(number)-\(articleCount)-\(corrected ?? 0)\"" }

    var body: [UInt8] {
        switch style {
        case .latin1, .mislabelled:
            // The text of these feeds has only characters of ISO 8859-1.
            text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        case .gzip: ExampleTesting.gzip(Array(text.utf8))
        default: Array(text.utf8)
        }
    }

    private var articles: [Int] { (1...articleCount).reversed() }

    private func title(of article: Int) -> String {
        "Crème \(article) of \(number)" + (article == corrected ? ", corrected" : "")
    }

    /// Ten o'clock UTC on a day of January 2026.
    private func date(of article: Int) -> Date {
        Date(timeIntervalSince1970: 1_767_261_600 + 86_400 * Double((article - 1) % 28))
    }

    private func day(of article: Int) -> Int { (article - 1) % 28 + 1 }

    private var text: String {
        switch style {
        case .relativeLinks: atom
        case .json: json
        case .rdf: rdf
        case .broken: "\u{FEFF}<br />\n<b>Warning</b>: mysql_connect()\n" + rss.replacing("</channel></rss>", with: "")
        case .latin1: "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>" + rss
        default: "<?xml version=\"1.0\" encoding=\"utf-8\"?>" + rss
        }
    }

    private var rss: String {
        let items = articles.map { article in
            var item = "<item><title>\(marked(title(of: article)))</title>"
            item += "<link>http://example.com/\(number)/\(article)?a=1\(style == .broken ? "&" : "&amp;")b=2</link>"
            if style != .missingGuids { item += "<guid isPermaLink=\"false\">guid-\(article)</guid>" }
            item += "<pubDate>\(dateText(of: article))</pubDate>"
            return item + "<description>Text of \(article)</description></item>"
        }
        return "<rss version=\"2.0\"><channel><title>\(marked(title))</title><link>http://example.com/\(number)</link>"
            + items.joined() + "</channel></rss>"
    }

    /// The text as XML. Feeds without guids also use entities of HTML.
    private func marked(_ text: String) -> String {
        style == .missingGuids ? text.replacing("é", with: "&eacute;").replacing("è", with: "&egrave;") : text
    }

    private func dateText(of article: Int) -> String {
        let day = day(of: article)
        let twoDigits = day < 10 ? "0\(day)" : "\(day)"
        guard style == .oddDates else { return "\(twoDigits) Jan 2026 10:00:00 GMT" }
        let spellings = [
            "\(day) Jan 2026 10:00:00 +0000", "Sun, \(day) January 2026 05:00 EST", "\(day) Jan 26 10:00 UT",
            "2026-01-\(twoDigits)T10:00:00Z", "2026-01-\(twoDigits)T11:30:00.000+01:30", "202601\(twoDigits)T100000Z",
            "2026-01-\(twoDigits) 10:00:00", "Jan \(day), 2026 10:00:00 AM GMT", "\(day)-Jan-2026 02:00:00 PST",
            "\(day) janvier 2026 10:00:00 GMT", "\(day) Januar 2026 11:00 +0100", "Jan \(day) 10:00:00 2026",
        ]
        return spellings[(number / 10 + article) % spellings.count]
    }

    private var atom: String {
        let entries = articles.map { article in
            """
            <entry><title>\(title(of: article))</title><id>tag:example.com,2026:\(number)/\(article)</id>
            <link href="../\(number)/\(article)"/><updated>\(date(of: article).ISO8601Format())</updated>
            <content type="html">&lt;p&gt;Text &lt;a href="x"&gt;here&lt;/a&gt;</content></entry>
            """
        }
        return """
            <?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://example.com/a/">
            <title>\(title)</title>\(entries.joined())</feed>
            """
    }

    private var json: String {
        let items = articles.map { article in
            """
            {"id": "\(number)-\(article)", "title": "\(title(of: article))", "content_text": "Text",
            "url": "http://example.com/\(number)/\(article)", "date_published": "\(date(of: article).ISO8601Format())"}
            """
        }
        return """
            {"version": "https://jsonfeed.org/version/1.1", "title": "\(title)", "items": [\(items.joined(separator: ","))]}
            """
    }

    private var rdf: String {
        let items = articles.map { article in
            """
            <item rdf:about="http://example.com/\(number)/\(article)"><title>\(title(of: article))</title>
            <link>http://example.com/\(number)/\(article)</link><dc:date>\(date(of: article).ISO8601Format())</dc:date></item>
            """
        }
        return """
            <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
            xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="x"><title>\(title)</title></channel>
            \(items.joined())</rdf:RDF>
            """
    }
}
