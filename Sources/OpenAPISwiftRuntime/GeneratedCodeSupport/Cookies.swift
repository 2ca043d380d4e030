import HTTPTypes

/// The text of the Cookie header (RFC 6265).
enum CookieText {
    /// The text, if a cookie can hold it without encoding.
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

    /// The parts of a parameter that is one cookie or several; nil if there is no cookie for it.
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

    /// The names and values of all cookies. Other programs of the host set cookies, too, so malformed ones are skipped.
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
