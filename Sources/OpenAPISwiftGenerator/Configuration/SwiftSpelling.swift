/// Checks text that the configuration puts into the output as it is.
///
/// Without these checks, a mistake shows as an error in a generated file, and text such as `x {}; import Other` becomes
/// code.
enum SwiftSpelling {
    /// Whether a text is an identifier: one that is not reserved, or any in backticks.
    static func isIdentifier(_ text: some StringProtocol) -> Bool {
        let scalars = Array(text.unicodeScalars)
        if scalars.count > 2, scalars.first == "`", scalars.last == "`" {
            return isWord(scalars[1..<scalars.count - 1])
        }
        return isWord(scalars[...]) && !reserved.contains(String(text))
    }

    /// Whether a text is one or more identifiers with dots between them.
    static func isPath(_ text: String) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { isIdentifier($0) }
    }

    /// Whether a text is what follows `import`: a module, or a declaration of one behind its kind.
    static func isImport(_ text: String) -> Bool {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        switch parts.count {
        case 1: return isPath(text)
        case 2:
            let kinds = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]
            return kinds.contains(String(parts[0])) && isPath(String(parts[1])) && parts[1].contains(".")
        default: return false
        }
    }

    /// Whether a text is the name of a type, with its generic arguments; or an array, a dictionary or an optional.
    static func isType(_ text: String) -> Bool {
        var reader = TypeReader(rest: text[...])
        return reader.readType() && reader.rest.isEmpty
    }

    /// Whether the spelling of a type names something of a module.
    static func isModule(_ module: String, namedIn type: String) -> Bool {
        let names = type.split { !($0.isLetter || $0.isNumber || "_`.".contains($0)) }
        return names.contains { $0.hasPrefix("\(module).") }
    }

    /// Whether the scalars are those of an identifier.
    private static func isWord(_ scalars: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = scalars.first, first == "_" || isHead(first) else { return false }
        guard scalars.count > 1 || first != "_" else { return false }
        return scalars.dropFirst().allSatisfy { $0 == "_" || isHead($0) || isTail($0) }
    }

    private static func isHead(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII
            ? scalar.properties.isAlphabetic : scalar.properties.isXIDStart || scalar.properties.isEmojiPresentation
    }

    private static func isTail(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isXIDContinue
    }

    /// The words that are not identifiers without backticks. Those that the output writes in backticks by itself are
    /// not among them.
    private static let reserved: Set<String> = [
        "associatedtype", "class", "deinit", "enum", "fileprivate", "func", "import", "inout", "let", "operator",
        "private", "precedencegroup", "protocol", "public", "rethrows", "static", "struct", "subscript", "typealias",
        "var", "break", "case", "catch", "defer", "do", "else", "fallthrough", "for", "guard", "if", "in", "repeat",
        "return", "throw", "switch", "where", "while", "Any", "as", "false", "is", "nil", "Self", "super", "throws",
        "true", "try",
    ]

    /// Reads the spelling of a type from its beginning.
    private struct TypeReader {
        var rest: Substring
        private var depth = 0

        init(rest: Substring) {
            self.rest = rest
        }

        mutating func readType() -> Bool {
            depth += 1
            defer { depth -= 1 }
            guard depth < 64 else { return false }
            skipSpaces()
            if skip("[") {
                guard readType() else { return false }
                if skip(":") { guard readType() else { return false } }
                guard skip("]") else { return false }
            } else {
                repeat {
                    guard readName() else { return false }
                    if skip("<") {
                        repeat {
                            guard readType() else { return false }
                        } while skip(",")
                        guard skip(">") else { return false }
                    }
                } while skip(".")
            }
            while skip("?") {}
            skipSpaces()
            return true
        }

        private mutating func readName() -> Bool {
            let name = rest.prefix { $0 == "`" || $0 == "_" || $0.isLetter || $0.isNumber }
            rest = rest[name.endIndex...]
            return isIdentifier(name)
        }

        private mutating func skip(_ character: Character) -> Bool {
            guard rest.first == character else { return false }
            rest.removeFirst()
            return true
        }

        private mutating func skipSpaces() {
            while rest.first == " " { rest.removeFirst() }
        }
    }
}
