/// The parts of a URL reference, split as in RFC 3986, appendix B. Nothing is decoded or normalised: the parts put
/// together again give the same text.
package struct URLReference: Sendable, Hashable {
    package var scheme: String?
    package var authority: String?
    package var path: String
    package var query: String?
    package var fragment: String?

    package init(_ text: String) {
        var rest = text[...]
        if let hash = rest.firstIndex(of: "#") {
            fragment = String(rest[rest.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(of: ":"), URLReference.isScheme(rest[..<colon]) {
            scheme = String(rest[..<colon])
            rest = rest[rest.index(after: colon)...]
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        path = String(rest)
    }

    package var text: String {
        var text = ""
        if let scheme { text += scheme + ":" }
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }

    /// Resolves a reference in a document with this base to an absolute address (RFC 3986, section 5.2).
    ///
    /// Without a base, or with a base that has no scheme, the reference is not resolved. White space around it and line
    /// breaks in it are always removed.
    package static func resolve(_ reference: String, against base: String?) -> String {
        var reference = reference.trimmed
        if reference.contains(where: \.isNewline) {
            reference = String(reference.filter { !$0.isNewline && $0 != "\t" })
        }
        guard let base else { return reference }
        let baseParts = URLReference(base)
        var parts = URLReference(reference)
        guard baseParts.scheme != nil, parts.scheme == nil else { return reference }
        if parts.authority != nil {
            parts.path = removingDotSegments(parts.path)
        } else {
            if parts.path.isEmpty {
                parts.path = baseParts.path
                parts.query = parts.query ?? baseParts.query
            } else if parts.path.hasPrefix("/") {
                parts.path = removingDotSegments(parts.path)
            } else {
                parts.path = removingDotSegments(baseParts.merged(with: parts.path))
            }
            parts.authority = baseParts.authority
        }
        parts.scheme = baseParts.scheme
        return parts.text
    }

    /// The base that an attribute `xml:base` sets. An attribute with a scheme other than `http` and `https` has no
    /// effect.
    package static func base(_ attribute: String, within base: String?) -> String? {
        var text = attribute.trimmed
        // An extra slash is a common mistake: http:///example.com/.
        for prefix in ["http:///", "https:///"] where text.lowercased().hasPrefix(prefix) {
            text = prefix.dropLast() + String(text.dropFirst(prefix.count).drop { $0 == "/" })
        }
        let resolved = resolve(text, against: base)
        guard let scheme = URLReference(resolved).scheme else { return base }
        return ["http", "https"].contains(scheme.lowercased()) ? resolved : base
    }

    /// Whether the text is an absolute web address.
    package static func isWebAddress(_ text: String) -> Bool {
        let parts = URLReference(text)
        guard let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https" else { return false }
        return parts.authority?.isEmpty == false && !text.contains(where: \.isWhitespace)
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, first.isASCIILetter else { return false }
        return text.utf8.allSatisfy {
            $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-")
                || $0 == UInt8(ascii: ".")
        }
    }

    private func merged(with relativePath: String) -> String {
        if authority != nil && path.isEmpty { return "/" + relativePath }
        guard let slash = path.lastIndex(of: "/") else { return relativePath }
        return path[...slash] + relativePath
    }

    private static func removingDotSegments(_ path: String) -> String {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        var result: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".":
                if isLast { result.append("") }
            case "..":
                // The first, empty segment is the slash that begins the path.
                if result.count > 1 || result.first?.isEmpty == false { result.removeLast() }
                if isLast { result.append("") }
            default:
                result.append(segment)
            }
        }
        if path.hasPrefix("/"), result.first?.isEmpty != true { result.insert("", at: 0) }
        return result.joined(separator: "/")
    }
}
