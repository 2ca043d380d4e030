import WebText

/// An absolute address with the scheme `http` or `https`, in a normal form.
///
/// ```swift
/// WebAddress("HTTP://Example.com:80/feed.xml#top")?.text   // "http://example.com/feed.xml"
/// WebAddress("ftp://example.com/feed.xml")                 // nil
/// ```
public struct WebAddress: Sendable, Hashable, CustomStringConvertible {
    /// The scheme, in lower case.
    public let scheme: String
    /// The host in lower case, with the port unless it is the default port of the scheme.
    public let authority: String
    /// The path, which begins with a slash, and the query.
    public let pathAndQuery: String

    /// The whole address, without a fragment.
    public var text: String { "\(scheme)://\(authority)\(pathAndQuery)" }

    /// The host, the path and the query, as people name a page: `example.com/feed.xml`.
    public var withoutScheme: String { authority + (pathAndQuery == "/" ? "" : pathAndQuery) }

    /// The whole address, without a fragment.
    public var description: String { text }

    /// Reads an address.
    ///
    /// White space around the address is ignored. Spaces, quotation marks and characters beyond ASCII in path and query
    /// are percent-encoded, as browsers do it. A user name in the address is not accepted.
    ///
    /// - Returns: `nil` if the text is not an absolute web address.
    public init?(_ text: String) {
        let parts = URLReference(text.trimmed)
        guard let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let authority = parts.authority.flatMap({ WebAddress.normalized($0, scheme: scheme) })
        else { return nil }
        self.scheme = scheme
        self.authority = authority
        let path = parts.path.hasPrefix("/") ? parts.path : "/" + parts.path
        pathAndQuery = WebAddress.encoded(path) + (parts.query.map { "?" + WebAddress.encoded($0) } ?? "")
    }

    private init(scheme: String, authority: String, pathAndQuery: String) {
        self.scheme = scheme
        self.authority = authority
        self.pathAndQuery = pathAndQuery
    }

    /// Resolves a reference on the page at this address. Returns `nil` if the result is not a web address.
    public func resolving(_ reference: String) -> WebAddress? {
        WebAddress(URLReference.resolve(reference, against: text))
    }

    /// The address of the host's `robots.txt`.
    public var robots: WebAddress {
        WebAddress(scheme: scheme, authority: authority, pathAndQuery: "/robots.txt")
    }

    private static func normalized(_ authority: String, scheme: String) -> String? {
        var host = authority.lowercased()
        var port: Substring?
        if let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") {
            port = host[host.index(after: colon)...]
            host = String(host[..<colon])
        }
        let invalid: Set<Character> = [" ", "@", "/", "\\", "<", ">", "\"", "%", "\t"]
        guard !host.isEmpty, !host.contains(where: { invalid.contains($0) || $0.isNewline }) else { return nil }
        guard let port, !port.isEmpty else { return host }
        guard let number = Int(port), (1...65_535).contains(number) else { return nil }
        return number == (scheme == "https" ? 443 : 80) ? host : "\(host):\(number)"
    }

    /// Percent-encodes the characters that an address may not contain. Percent-encoded bytes stay as they are.
    private static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case 0x21, 0x23...0x3B, 0x3D, 0x3F...0x5B, 0x5D, 0x5F, 0x61...0x7A, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return result
    }
}
