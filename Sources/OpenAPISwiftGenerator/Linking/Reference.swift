/// The text of a `$ref` and its position.
struct Reference: Hashable, Sendable {
    var text: String
    var position: SourcePosition

    /// The key of the component, if the text has the form `#/components/<kind>/<key>`.
    func componentName(in kind: ComponentKind) -> String? {
        let prefix = "#/components/\(kind.rawValue)/"
        guard text.utf8.starts(with: prefix.utf8) else { return nil }
        let rest = text.utf8.dropFirst(prefix.utf8.count)
        guard !rest.contains(UInt8(ascii: "/")) else { return nil }
        return Reference.unescape(Substring(rest))
    }

    /// The text of a token of a JSON pointer, without its escapes.
    static func unescape(_ token: Substring) -> String {
        guard token.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "%") }) else {
            return String(token)
        }
        var bytes: [UInt8] = []
        var iterator = token.utf8.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits: [UInt8] = [iterator.next(), iterator.next()].compactMap { $0 }
            if let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16), digits.count == 2 {
                bytes.append(value)
            } else {
                bytes.append(byte)
                bytes += digits
            }
        }
        var result: [UInt8] = []
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                switch byte {
                case UInt8(ascii: "1"): result.append(UInt8(ascii: "/"))
                case UInt8(ascii: "0"): result.append(UInt8(ascii: "~"))
                default: result.append(byte)
                }
                isEscaped = false
            } else if byte == UInt8(ascii: "~") {
                isEscaped = true
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

/// The kinds of components that references lead to, by their keys in the document. A reference replaces an object of the
/// kind that it leads to.
enum ComponentKind: String, Sendable, CaseIterable {
    case schemas
    case parameters
    case requestBodies
    case responses
    case headers
    case pathItems
}
