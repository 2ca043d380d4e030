/// The value of a header field such as `content-disposition` or `content-type`: a value and parameters.
///
/// Reading supports quoted text with escapes (RFC 9110) and encoded parameters, `filename*=UTF-8''a%20b` (RFC 8187). An
/// encoded parameter has precedence over the plain one of the same name. In quoted text only `\"` and `\\` are escapes:
/// other backslashes are kept, because some senders write paths there without escaping them.
struct ParameterizedValue: Hashable, Sendable {
    /// The part before the parameters, in lower case.
    var value: String

    /// The parameters by lower-cased names.
    private var parameters: [(name: String, value: String)] = []

    /// Creates a value without parameters.
    init(_ value: String) {
        self.value = value
    }

    /// A parameter, by its lower-cased name.
    subscript(name: String) -> String? {
        get { parameters.first { $0.name == name }?.value }
        set {
            parameters.removeAll { $0.name == name }
            if let newValue { parameters.append((name, newValue)) }
        }
    }

    static func == (lhs: ParameterizedValue, rhs: ParameterizedValue) -> Bool {
        lhs.text == rhs.text
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}

// MARK: - Writing

extension ParameterizedValue {
    /// The value of the header field: parameters sorted by name, their values quoted.
    var text: String {
        var text = value
        for (name, value) in parameters.sorted(by: { $0.name < $1.name }) {
            text += "; \(name)=\(Self.quoted(value))"
        }
        return text
    }

    /// A text in quotes. Control characters, which a header field cannot hold, are percent-encoded, as browsers do it.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\t": result.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

// MARK: - Reading

extension ParameterizedValue {
    /// Reads the value of a header field; nil if it is malformed.
    init?(parsing text: String) {
        var scanner = Scanner(rest: text.utf8[...])
        let value = scanner.text { $0 != UInt8(ascii: ";") }
        guard !value.isEmpty else { return nil }
        self.init(value.lowercased())
        var encoded: [(name: String, value: String)] = []
        while scanner.take(UInt8(ascii: ";")) {
            scanner.skipSpaces()
            if scanner.rest.isEmpty { break }
            if scanner.rest.first == UInt8(ascii: ";") { continue }
            let name = scanner.text { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }.lowercased()
            guard !name.isEmpty, scanner.take(UInt8(ascii: "=")) else { return nil }
            scanner.skipSpaces()
            let isQuoted = scanner.rest.first == UInt8(ascii: "\"")
            guard let value = isQuoted ? scanner.quotedText() : scanner.text({ $0 != UInt8(ascii: ";") }) else {
                return nil
            }
            scanner.skipSpaces()
            guard scanner.rest.isEmpty || scanner.rest.first == UInt8(ascii: ";") else { return nil }
            if name.hasSuffix("*") {
                if let decoded = Self.decodeExtended(value) { encoded.append((String(name.dropLast()), decoded)) }
            } else if self[name] == nil {
                parameters.append((name, value))
            }
        }
        guard scanner.rest.isEmpty else { return nil }
        for (name, value) in encoded { self[name] = value }
    }

    /// The text that `charset'language'percent-encoded` encodes, in one of the two character sets that RFC 8187 names.
    private static func decodeExtended(_ text: String) -> String? {
        let parts = text.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = PercentEncoding.decode(parts[2])
        switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1":
            var text = ""
            for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
            return text
        default: return nil
        }
    }

    private struct Scanner {
        var rest: Substring.UTF8View

        mutating func take(_ byte: UInt8) -> Bool {
            guard rest.first == byte else { return false }
            rest.removeFirst()
            return true
        }

        mutating func skipSpaces() {
            rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        }

        /// Takes bytes as long as they are accepted, and returns their text without spaces around it.
        mutating func text(_ isAccepted: (UInt8) -> Bool) -> String {
            skipSpaces()
            var text = rest.prefix(while: isAccepted)
            rest = rest[text.endIndex...]
            while let last = text.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { text.removeLast() }
            return String(Substring(text))
        }

        mutating func quotedText() -> String? {
            guard take(UInt8(ascii: "\"")) else { return nil }
            var bytes: [UInt8] = []
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
                if byte == UInt8(ascii: "\\"), let next = rest.first,
                    next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\")
                {
                    rest.removeFirst()
                    bytes.append(next)
                } else {
                    bytes.append(byte)
                }
            }
            return nil
        }
    }
}
