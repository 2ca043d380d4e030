/// The components of a content type, for comparison.
struct ContentType {
    /// In lower case.
    private var type: String
    private var subtype: String
    private var parameters: [(name: String, value: String)]

    init?(_ text: some StringProtocol) {
        var rest = Substring(text).utf8
        let name = Substring(rest.prefix { $0 != UInt8(ascii: ";") })
        let halves = name.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        type = Self.trimmed(halves[0]).lowercased()
        subtype = Self.trimmed(halves[1]).lowercased()
        guard !type.isEmpty, !subtype.isEmpty else { return nil }
        parameters = []
        rest = rest.dropFirst(name.utf8.count)
        while rest.popFirst() != nil {
            let parameter = Self.parameter(&rest)
            let sides = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2 else { continue }
            parameters.append((Self.trimmed(sides[0]).lowercased(), Self.unquoted(Self.trimmed(sides[1]))))
        }
    }

    /// Whether it names several types: `image/*`.
    var isWildcard: Bool { type == "*" || subtype == "*" }

    /// How well a received type fits this documented type; `nil` if it does not fit.
    ///
    /// The received type must have the documented parameters; the case of their names and values does not matter. Only
    /// the parameter `charset` may be missing.
    func score(of received: ContentType) -> Int? {
        if type == "*" { return 0 }
        guard type == received.type else { return nil }
        if subtype == "*" { return 1 }
        guard subtype == received.subtype else { return nil }
        var score = 2
        for parameter in parameters {
            if let value = received.parameters.first(where: { $0.name == parameter.name })?.value {
                guard value.lowercased() == parameter.value.lowercased() else { return nil }
                score += 1
            } else if parameter.name != "charset" {
                return nil
            }
        }
        return score
    }

    /// Whether an entry of an Accept header accepts this type. A range such as `image/*` is accepted if the entry
    /// accepts one of its types.
    func isAccepted(by entry: some StringProtocol) -> Bool {
        guard var accepted = ContentType(entry) else { return false }
        accepted.parameters = []
        if isWildcard {
            guard type != "*", accepted.type != "*" else { return true }
            return type == accepted.type
        }
        return accepted.score(of: self) != nil
    }

    /// Takes the text up to the next semicolon that is not in quotes.
    private static func parameter(_ rest: inout Substring.UTF8View) -> Substring {
        var isQuoted = false
        var isEscaped = false
        let text = rest.prefix { byte in
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = isQuoted
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            }
            return isQuoted || byte != UInt8(ascii: ";")
        }
        rest = rest[text.endIndex...]
        return Substring(text)
    }

    private static func unquoted(_ text: Substring) -> String {
        guard text.utf8.count >= 2, text.utf8.first == UInt8(ascii: "\""), text.utf8.last == UInt8(ascii: "\"") else {
            return String(text)
        }
        var result = ""
        var isEscaped = false
        for scalar in text.dropFirst().dropLast().unicodeScalars {
            if scalar == "\\", !isEscaped {
                isEscaped = true
            } else {
                result.unicodeScalars.append(scalar)
                isEscaped = false
            }
        }
        return result
    }

    /// The text without spaces and tabs around it.
    static func trimmed(_ text: Substring) -> Substring {
        var text = text.utf8
        while let first = text.first, first == 0x20 || first == 0x09 { text.removeFirst() }
        while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
        return Substring(text)
    }

    /// The entries of an Accept header, divided at commas outside of quotes.
    static func entries(ofAccept text: String) -> [Substring] {
        guard text.utf8.contains(UInt8(ascii: "\"")) else {
            return text.utf8.split(separator: UInt8(ascii: ",")).map { Substring($0) }.filter { !trimmed($0).isEmpty }
        }
        var entries: [Substring] = []
        var start = text.startIndex
        var isQuoted = false
        for index in text.utf8.indices {
            switch text.utf8[index] {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted:
                entries.append(text[start..<index])
                start = text.utf8.index(after: index)
            default: break
            }
        }
        entries.append(text[start...])
        return entries.filter { !trimmed($0).isEmpty }
    }
}
