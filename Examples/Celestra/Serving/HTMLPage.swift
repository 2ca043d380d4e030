import Foundation
import HTTPTypes

/// A page for people: a title and the HTML of its main part.
struct HTMLPage: Sendable, Hashable {
    var title: String
    /// HTML, with everything that came from a feed escaped.
    var main: String

    /// The page of the feeds.
    static func feeds(_ page: EntryPage<FeedEntry>) -> HTMLPage {
        let items = page.entries.map { feed in
            let details = [
                feed.entry.category.map(escaped), feed.entry.language.map(escaped),
                feed.entry.lastVerified.map { "seen \(time($0))" },
            ]
            return """
                <li><h2><a href="/feeds/\(escapedPathComponent(feed.name))">\(escaped(feed.entry.title))</a></h2>
                \(paragraph(feed.entry.description))\(paragraph(details))</li>
                """
        }
        let list = items.isEmpty ? "<p>There are no feeds yet.</p>" : "<ol>\n\(items.joined(separator: "\n"))\n</ol>"
        return HTMLPage(title: "Feeds", main: "<h1>Feeds</h1>\n\(list)\n\(nextLink(page.next, below: "/"))")
    }

    /// The page of a feed's articles.
    static func articles(_ page: EntryPage<ArticleEntry>, of feed: FeedEntry, path: String) -> HTMLPage {
        let items = page.entries.map { article in
            let minutes = article.entry.estimatedReadingTime.map { $0 == 1 ? "1 minute" : "\($0) minutes" }
            let details = [article.entry.publishedDate.map(time), article.entry.author.map(escaped), minutes]
            return """
                <li><h2>\(link(article.entry.title, to: article.entry.url))</h2>
                \(paragraph(article.entry.excerpt))\(paragraph(details))</li>
                """
        }
        let list = items.isEmpty ? "<p>There are no articles.</p>" : "<ol>\n\(items.joined(separator: "\n"))\n</ol>"
        return HTMLPage(
            title: feed.title,
            main: """
                <p><a href="/">All feeds</a></p>
                <h1>\(feed.siteURL.map { link(feed.title, to: $0) } ?? escaped(feed.title))</h1>
                \(paragraph(feed.description))\(list)
                \(nextLink(page.next, below: path))
                """
        )
    }

    /// The page that explains a failure.
    static func problem(_ failure: ServingFailure) -> Representation {
        let title = "\(failure.status.code) \(failure.status.reasonPhrase)"
        let main = "<h1>\(escaped(title))</h1>\n<p>\(escaped(failure.message))</p>\n<p><a href=\"/\">All feeds</a></p>"
        return HTMLPage(title: title, main: main).representation(asOf: nil)
    }

    /// The whole document. Its tag is weak: the time of the copy is not part of it.
    func representation(asOf date: Date?) -> Representation {
        let footer = date.map { "<footer>As of \(HTMLPage.time($0)).</footer>\n" } ?? ""
        let text = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>\(HTMLPage.escaped(title))</title>
            <link rel="stylesheet" href="/style.css">
            </head>
            <body>
            \(main)
            \(footer)</body>
            </html>

            """
        return Representation(
            Array(text.utf8),
            contentType: "text/html; charset=utf-8",
            tag: EntityTag(of: Array((title + "\n" + main).utf8), isWeak: true)
        )
    }

    /// The style of all pages.
    static let style = Representation(
        Array(
            """
            :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
            body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
            ol { list-style: none; padding: 0; }
            li { padding: .75rem 0; border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
            h1 { font-size: 1.7rem; line-height: 1.2; }
            h2 { font-size: 1.1rem; margin: 0; }
            p { margin: .25rem 0; }
            a { color: light-dark(#0645ad, #8ab4f8); text-decoration: none; }
            a:hover { text-decoration: underline; }
            .details, footer { color: #777; font-size: .875rem; }
            .next, footer { margin-top: 1.5rem; }

            """.utf8
        ),
        contentType: "text/css; charset=utf-8"
    )

    // MARK: - Parts

    /// A link to an address of a feed. Only addresses of the web become links; others, such as `javascript:`, must not
    /// be clicked.
    static func link(_ text: String, to address: String) -> String {
        let scheme = address.prefix { $0 != ":" }.lowercased()
        guard scheme == "http" || scheme == "https" else { return escaped(text) }
        return "<a href=\"\(escaped(address))\" rel=\"noopener nofollow\">\(escaped(text))</a>"
    }

    /// Escapes text for HTML, also for attribute values in quotes.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    private static func paragraph(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "" }
        return "<p>\(escaped(text))</p>\n"
    }

    private static func paragraph(_ details: [String?]) -> String {
        let parts = details.compactMap(\.self).filter { !$0.isEmpty }
        return parts.isEmpty ? "" : "<p class=\"details\">\(parts.joined(separator: " · "))</p>"
    }

    private static func nextLink(_ next: Cursor?, below path: String) -> String {
        next.map { "<p class=\"next\"><a href=\"\($0.path(below: path))\" rel=\"next\">Next page</a></p>" } ?? ""
    }

    private static func time(_ date: Date) -> String {
        let text = date.ISO8601Format()
        return "<time datetime=\"\(text)\">\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC</time>"
    }
}
