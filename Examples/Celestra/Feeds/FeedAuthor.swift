import WebText

/// An author of a feed or an item.
public struct FeedAuthor: Sendable, Hashable, CustomStringConvertible {
    /// The author's name.
    public var name: String?
    /// The author's e-mail address.
    public var email: String?
    /// The address of the author's page.
    public var url: String?

    /// Creates an author.
    public init(name: String? = nil, email: String? = nil, url: String? = nil) {
        self.name = name
        self.email = email
        self.url = url
    }

    /// Reads the forms that RSS and Dublin Core have for authors: `Ann (ann@example.com)`, `ann@example.com (Ann)`,
    /// `Ann <ann@example.com>`, `ann@example.com` and `Ann`. Returns `nil` for an empty text.
    public init?(text: String) {
        let text = HTMLText.collapsed(text)
        guard !text.isEmpty else { return nil }
        for (opening, closing) in [("(", ")"), ("<", ">")] as [(Character, Character)] {
            guard let start = text.firstIndex(of: opening), let end = text.lastIndex(of: closing), start < end else {
                continue
            }
            let inner = FeedAuthor.trimmed(text[text.index(after: start)..<end])
            let outer = FeedAuthor.trimmed(text[..<start] + text[text.index(after: end)...])
            if FeedAuthor.isEmail(inner) {
                self.init(name: outer.nonEmpty, email: inner)
                return
            }
            if FeedAuthor.isEmail(outer) {
                self.init(name: inner.nonEmpty, email: outer)
                return
            }
        }
        if FeedAuthor.isEmail(text) {
            self.init(email: text)
        } else {
            self.init(name: text)
        }
    }

    /// The name with the e-mail address in parentheses, or the one of the two that is known, or the address of the
    /// page.
    public var description: String {
        switch (name, email) {
        case (let name?, let email?): "\(name) (\(email))"
        default: name ?? email ?? url ?? ""
        }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        HTMLText.collapsed(String(text)).trimming { "\"':;,".contains($0) || $0 == " " }
    }

    private static func isEmail(_ text: String) -> Bool {
        let address = text.hasPrefix("mailto:") ? text.dropFirst(7) : text[...]
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty && !address.contains(" ")
    }
}
