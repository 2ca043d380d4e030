import HTTPTypes

/// The text of the Cookie header (RFC 6265).
enum CookieText {
    /// The text, if it can stand in a cookie as it is.
    static func checked(_ text: String, named name: String) throws -> String {
        let isAllowed = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x00...0x20, UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\\"), 0x7F...0xFF:
                false
            default: true
            }
        }
        guard isAllowed else { throw GeneratedCodeError.inexpressibleParameter(name, in: "cookie") }
        return text
    }

    /// The parts of a parameter that is a cookie, or several; nil without such a cookie.
    static func parts(
        of name: String,
        _ shape: ParameterShape,
        style: ParameterStyle,
        explode: Bool,
        in headerFields: HTTPFields
    ) throws -> ParameterValue? {
        let decode: (Substring) -> String =
            switch style {
            case .cookie: { String($0) }
            default: { PercentEncoding.decode($0) }
            }
        let items = items(of: headerFields[values: .cookie]).map { name, value in
            ParameterItem(name: decode(name), value: value)
        }
        return try items.parts(of: name, shape, style: .form, explode: explode, decode)
    }

    /// Names and values of all cookies. Others' cookies arrive with ours, so what is malformed is passed over.
    static func items(of fields: [String]) -> [(name: Substring, value: Substring)] {
        var items: [(name: Substring, value: Substring)] = []
        for field in fields {
            for pair in field.split(separator: ";") {
                guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
                let name = ContentType.trimmed(pair[..<equals])
                var value = ContentType.trimmed(pair[pair.index(after: equals)...])
                let quote = UInt8(ascii: "\"")
                if value.utf8.count >= 2, value.utf8.first == quote, value.utf8.last == quote {
                    value = value.dropFirst().dropLast()
                }
                if !name.isEmpty { items.append((name, value)) }
            }
        }
        return items
    }
}
