import WebText

/// The media type of a response, as its header field Content-Type gives it.
struct MediaType: Sendable, Hashable {
    /// The type and the subtype in lower case, for instance `text/xml`, or an empty string.
    var essence = ""
    /// The parameter `charset` in lower case.
    var charset: String?

    /// Reads a Content-Type. Single quotes and spaces around `=` are accepted, parameters without `=` are ignored.
    init(_ field: String?) {
        guard let field else { return }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        essence = parts.first.map { String($0).trimmed.lowercased() } ?? ""
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, String(pair[0]).trimmed.lowercased() == "charset" else { continue }
            let value = String(pair[1]).trimming { $0.isWhitespace || $0 == "\"" || $0 == "'" }
            if !value.isEmpty { charset = value.lowercased() }
        }
    }

    /// Whether, by RFC 3023, the type is in US-ASCII where it has no parameter `charset`.
    var defaultsToASCII: Bool {
        essence == "text/xml" || essence == "text/xml-external-parsed-entity"
            || (essence.hasPrefix("text/") && essence.hasSuffix("+xml"))
    }
}
