import HTTPTypes
public import StreamingJSON

extension ClientRequest {
    /// Adds a cookie unless the value is `nil`.
    public mutating func addCookie<T: JSONWritable>(
        _ name: String,
        _ value: T?,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws {
        try addCookie(
            name,
            value,
            { value, writer in value.write(json: &writer) },
            style: style,
            explode: explode
        )
    }

    /// Adds a cookie, whose value a closure writes, unless the value is `nil`.
    ///
    /// Of several values, and of members, each is a cookie of its own.
    public mutating func addCookie<T>(
        _ name: String,
        _ value: T?,
        _ write: (T, inout JSONWriter) -> Void,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws {
        for item in try items(name, value, write, style: style, explode: explode) {
            headerFields[.cookie] = headerFields[.cookie].map { "\($0); \(item)" } ?? item
        }
    }
}

extension ServerRequest {
    /// A cookie that may be missing.
    public func cookie<T: JSONReadable>(
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws -> T? {
        try cookie(
            name,
            shape,
            { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) },
            style: style,
            explode: explode
        )
    }

    /// A cookie that may be missing, read by a closure.
    public func cookie<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws -> T? {
        let decode: (Substring) -> String =
            switch style {
            case .cookie: { String($0) }
            default: { PercentEncoding.decode($0) }
            }
        let cookies = CookieText.items(of: headerFields[values: .cookie])
        let items = cookies.map { ParameterItem(name: decode($0.name), value: $0.value) }
        guard let parts = try items.parts(of: name, shape, style: .form, explode: explode, decode) else { return nil }
        return try ParameterDecoder.read(parts, shape, named: name, dates: configuration.dates, read)
    }

    /// A cookie that must be there.
    public func requiredCookie<T: JSONReadable>(
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws -> T {
        try cookie(name, shape, type, style: style, explode: explode).required(name, in: "cookie")
    }

    /// A cookie that must be there, read by a closure.
    public func requiredCookie<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws -> T {
        try cookie(name, shape, read, style: style, explode: explode).required(name, in: "cookie")
    }
}

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
