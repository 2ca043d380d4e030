/// How deep a line of Swift is in brackets, strings and comments.
///
/// It knows no regular expressions between slashes: brackets in them count.
struct SwiftNesting {
    private enum Level: Hashable {
        case bracket
        /// `\(` in a string.
        case interpolation
        case string(pounds: Int, isMultiline: Bool)
        case comment

        var isStringOfOneLine: Bool {
            if case .string(_, isMultiline: false) = self { true } else { false }
        }
    }

    private var levels: [Level] = []
    /// Whether a bracket was closed that had not been opened.
    private(set) var hasClosedTooMuch = false

    /// Whether the next line is inside of nothing.
    var isAtTop: Bool { levels.isEmpty }

    /// Whether the next line is inside of a string or a comment.
    var isInText: Bool { levels.contains { $0 != .bracket } }

    /// Reads one line.
    mutating func read(_ line: String) {
        var rest = Substring(line)
        while !rest.isEmpty {
            switch levels.last {
            case .comment: readComment(&rest)
            case .string(let pounds, let isMultiline): readString(&rest, pounds: pounds, isMultiline: isMultiline)
            case nil, .bracket, .interpolation:
                if rest.hasPrefix("//") {
                    rest = ""
                } else {
                    readCode(&rest)
                }
            }
        }
        // The end of a line ends a string that may have only one.
        if let index = levels.firstIndex(where: { $0.isStringOfOneLine }) { levels.removeSubrange(index...) }
    }

    private mutating func readComment(_ rest: inout Substring) {
        if rest.hasPrefix("*/") {
            levels.removeLast()
            rest = rest.dropFirst(2)
        } else if rest.hasPrefix("/*") {
            levels.append(.comment)
            rest = rest.dropFirst(2)
        } else {
            rest.removeFirst()
        }
    }

    private mutating func readString(_ rest: inout Substring, pounds: Int, isMultiline: Bool) {
        let escape = "\\" + String(repeating: "#", count: pounds)
        let end = (isMultiline ? #"""""# : #"""#) + String(repeating: "#", count: pounds)
        if rest.hasPrefix(escape + "(") {
            levels.append(.interpolation)
            rest = rest.dropFirst(escape.count + 1)
        } else if rest.hasPrefix(escape) {
            rest = rest.dropFirst(escape.count + 1)
        } else if rest.hasPrefix(end) {
            levels.removeLast()
            rest = rest.dropFirst(end.count)
        } else {
            rest.removeFirst()
        }
    }

    private mutating func readCode(_ rest: inout Substring) {
        let pounds = rest.prefix { $0 == "#" }.count
        let behind = rest.dropFirst(pounds)
        if behind.hasPrefix(#"""""#) {
            levels.append(.string(pounds: pounds, isMultiline: true))
            rest = behind.dropFirst(3)
        } else if behind.hasPrefix(#"""#) {
            levels.append(.string(pounds: pounds, isMultiline: false))
            rest = behind.dropFirst(1)
        } else if rest.hasPrefix("/*") {
            levels.append(.comment)
            rest = rest.dropFirst(2)
        } else {
            switch rest.removeFirst() {
            case "(", "[", "{": levels.append(.bracket)
            case ")", "]", "}": if levels.popLast() == nil { hasClosedTooMuch = true }
            default: break
            }
        }
    }
}
