/// A path with placeholders in braces.
struct PathTemplate {
    /// Literal text and placeholders, in order.
    enum Part: Hashable {
        case literal(String)
        case placeholder(String)
    }

    let parts: [Part]
    /// Why the text is not a template; `nil` if it is one.
    private(set) var problem: String?

    init(_ text: String) {
        var parts: [Part] = []
        var rest = text.unicodeScalars[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            if open > rest.startIndex { parts.append(.literal(String(rest[..<open]))) }
            parts.append(.placeholder(String(rest[rest.index(after: open)..<close])))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.literal(String(rest))) }
        self.parts = parts
        for part in parts {
            switch part {
            case .literal(let text) where text.contains("{"): problem = "a brace is not closed"
            case .literal(let text) where text.contains("}"): problem = "a brace is closed that was not opened"
            case .placeholder(""): problem = "a placeholder has no name"
            case .placeholder(let name) where name.contains("{"): problem = "a brace is opened inside of a placeholder"
            case .literal, .placeholder: continue
            }
            break
        }
    }

    var names: [String] {
        parts.compactMap { (part: Part) -> String? in
            if case .placeholder(let name) = part { name } else { nil }
        }
    }
}
