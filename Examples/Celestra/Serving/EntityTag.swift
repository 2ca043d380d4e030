import Crypto
import Foundation

/// The version of a response, as in the header field ETag (RFC 9110, section 8.8.3).
struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// The text between the quotes.
    var value: String
    /// Whether equal tags mean equal content, but not necessarily equal bytes.
    var isWeak = false

    /// Creates a tag.
    init(_ value: String, isWeak: Bool = false) {
        self.value = value
        self.isWeak = isWeak
    }

    /// Creates a tag from the SHA-256 of bytes.
    init(of bytes: some Sequence<UInt8>, isWeak: Bool = false) {
        let digits = Array("0123456789abcdef")
        let digest = SHA256.hash(data: Array(bytes)).prefix(12)
        self.init(String(digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }), isWeak: isWeak)
    }

    /// The header field's value.
    var description: String { (isWeak ? "W/" : "") + "\"\(value)\"" }

    /// Whether a header field If-None-Match has this tag, so that the client has this version.
    ///
    /// Weak and strong tags with the same text match, as RFC 9110, section 13.1.2, says for this field. A field that is
    /// not valid matches nothing, so that the client gets the whole response.
    func isListed(in ifNoneMatch: String) -> Bool {
        var rest = ifNoneMatch[...]
        rest.trimSpaces()
        if rest == "*" { return true }
        while !rest.isEmpty {
            if rest.hasPrefix("W/") { rest.removeFirst(2) }
            guard rest.first == "\"" else { return false }
            rest.removeFirst()
            guard let end = rest.firstIndex(of: "\"") else { return false }
            if rest[..<end] == value { return true }
            rest = rest[rest.index(after: end)...]
            rest.trimSpaces()
            guard rest.isEmpty || rest.first == "," else { return false }
            rest = rest.dropFirst()
            rest.trimSpaces()
        }
        return false
    }
}

extension Substring {
    fileprivate mutating func trimSpaces() {
        while let first, first == " " || first == "\t" { removeFirst() }
        while let last, last == " " || last == "\t" { removeLast() }
    }
}
