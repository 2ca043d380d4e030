/// A media type as documents write it: `application/json; charset=utf-8`.
struct MediaTypeName: Hashable, Sendable {
    /// How a body of this type is read and written.
    enum Coding: Hashable, Sendable {
        case json
        case form
        case multipart
        case raw
    }

    var type: String
    var subtype: String
    var parameters: [(name: String, value: String)]

    init?(_ text: String) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: true)
        guard let name = parts.first else { return nil }
        let halves = name.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        type = MediaTypeName.trimmed(halves[0])
        subtype = MediaTypeName.trimmed(halves[1])
        guard !type.isEmpty, !subtype.isEmpty, !type.contains(" "), !subtype.contains(" ") else { return nil }
        parameters = []
        for part in parts.dropFirst() {
            let sides = part.split(separator: "=", maxSplits: 1)
            guard sides.count == 2 else { continue }
            parameters.append((MediaTypeName.trimmed(sides[0]), MediaTypeName.trimmed(sides[1])))
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    var coding: Coding {
        let type = self.type.lowercased()
        let subtype = self.subtype.lowercased()
        if type == "application", subtype == "json" { return .json }
        if subtype.hasSuffix("+json") { return .json }
        if type == "application", subtype == "x-www-form-urlencoded" { return .form }
        if type == "multipart", subtype == "form-data" { return .multipart }
        return .raw
    }

    /// Lower-case `type/subtype` without parameters.
    var essence: String { "\(type)/\(subtype)".lowercased() }

    /// Lower-case, parameters as `; name=value`.
    var normalized: String {
        parameters.reduce(into: essence) { (text: inout String, parameter: (name: String, value: String)) in
            text += "; \(parameter.name)=\(parameter.value)".lowercased()
        }
    }

    /// The value of `Content-Type` for text in UTF-8.
    var withCharset: String {
        parameters.contains { $0.name.lowercased() == "charset" } ? normalized : normalized + "; charset=utf-8"
    }

    static func == (left: MediaTypeName, right: MediaTypeName) -> Bool { left.normalized == right.normalized }

    func hash(into hasher: inout Hasher) { hasher.combine(normalized) }
}
