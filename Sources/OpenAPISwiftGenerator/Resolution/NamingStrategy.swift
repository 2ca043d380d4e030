/// How names of the document become Swift identifiers.
public enum NamingStrategy: String, Hashable, Sendable, CaseIterable {
    /// Keeps the spelling, and replaces each character that Swift does not allow with a word.
    case defensive
    /// Upper camel case for types, lower camel case for members. Characters that Swift does not allow are then replaced
    /// as in ``defensive``.
    case idiomatic
}

/// Makes the names of one run: with a strategy, and with the user's overrides.
struct NameAssigner: Sendable {
    var strategy: NamingStrategy
    var overrides: [String: String]

    /// The name of a type.
    func typeName(_ documentName: String) -> String {
        if let override = overrides[documentName] { return override }
        switch strategy {
        case .defensive: return DefensiveNaming.identifier(documentName)
        case .idiomatic: return IdiomaticNaming.identifier(documentName, isType: true)
        }
    }

    /// The name of a property, function, parameter or enum case.
    func memberName(_ documentName: String) -> String {
        if let override = overrides[documentName] { return override }
        switch strategy {
        case .defensive: return DefensiveNaming.identifier(documentName)
        case .idiomatic: return IdiomaticNaming.identifier(documentName, isType: false)
        }
    }

    /// The name of a media type: of the case of a body, and of the type of its payload. Overrides do not apply.
    func contentName(_ mediaType: MediaTypeName) -> String {
        if mediaType.parameters.isEmpty, let short = NameAssigner.contentShortNames[mediaType.essence] { return short }
        switch strategy {
        case .defensive:
            let base: [String] = [mediaType.type, mediaType.subtype]
            let rest = mediaType.parameters.flatMap { [$0.name.lowercased(), $0.value.lowercased()] }
            return (base + rest).map(DefensiveNaming.identifier).joined(separator: "_")
        case .idiomatic:
            let parts: [String] =
                [mediaType.subtype] + mediaType.parameters.flatMap { [$0.name.lowercased(), $0.value.lowercased()] }
            var name = IdiomaticNaming.identifier(mediaType.type, isType: false)
            for part in parts {
                let member = IdiomaticNaming.identifier(part, isType: false)
                name += NameAssigner.withFirstLetterUppercased(member)
            }
            return name
        }
    }

    /// The text with its first letter in upper case, also behind other characters: `_1d` becomes `_1D`.
    private static func withFirstLetterUppercased(_ text: String) -> String {
        guard let index = text.firstIndex(where: \.isLetter) else { return text }
        return text[..<index] + text[index].uppercased() + text[text.index(after: index)...]
    }

    private static let contentShortNames: [String: String] = [
        "application/json": "json",
        "application/x-www-form-urlencoded": "urlEncodedForm",
        "multipart/form-data": "multipartForm",
        "text/plain": "plainText",
        "*/*": "any",
        "application/xml": "xml",
        "application/octet-stream": "binary",
        "text/html": "html",
        "application/yaml": "yaml",
        "text/csv": "csv",
        "image/png": "png",
        "application/pdf": "pdf",
        "image/jpeg": "jpeg",
    ]
}

/// The strategy that keeps the spelling.
enum DefensiveNaming {
    static func identifier(_ name: String) -> String {
        guard !name.isEmpty else { return "_empty" }
        if isIdentifier(name) {
            if name == "_" { return "_underscore_" }
            return reserved.contains(name) ? "_\(name)" : name
        }
        var result = ""
        for (index, scalar) in name.unicodeScalars.enumerated() {
            let category = scalar.properties.generalCategory
            if scalar == "_" || category.isLetterOrMark || (index > 0 && category.isNumber) {
                result.unicodeScalars.append(scalar)
            } else if category == .decimalNumber {
                result += "_"
                result.unicodeScalars.append(scalar)
            } else if let word = words[scalar] {
                result += "_\(word)_"
            } else {
                result += "_x\(String(scalar.value, radix: 16, uppercase: true))_"
            }
        }
        if result == "_" { return "_underscore_" }
        return reserved.contains(result) ? "_\(result)" : result
    }

    /// Whether a name is an identifier of ASCII letters, digits and underscores, as most names are.
    private static func isIdentifier(_ name: String) -> Bool {
        var isFirst = true
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): break
            case UInt8(ascii: "0")...UInt8(ascii: "9") where !isFirst: break
            default: return false
            }
            isFirst = false
        }
        return true
    }

    private static let words: [Unicode.Scalar: String] = [
        " ": "space", "!": "excl", "\"": "quot", "#": "num", "$": "dollar", "%": "percnt", "&": "amp", "'": "apos",
        "(": "lpar", ")": "rpar", "*": "ast", "+": "plus", ",": "comma", "-": "hyphen", ".": "period", "/": "sol",
        ":": "colon", ";": "semi", "<": "lt", "=": "equals", ">": "gt", "?": "quest", "@": "commat", "[": "lbrack",
        "\\": "bsol", "]": "rbrack", "^": "hat", "`": "grave", "{": "lcub", "|": "verbar", "}": "rcub", "~": "tilde",
    ]

    private static let reserved: Set<String> = [
        "associatedtype", "class", "deinit", "enum", "extension", "func", "import", "init", "inout", "let", "operator",
        "precedencegroup", "protocol", "struct", "subscript", "typealias", "var", "fileprivate", "internal", "private",
        "public", "static", "defer", "if", "guard", "do", "repeat", "else", "for", "in", "while", "return", "break",
        "continue", "fallthrough", "switch", "case", "default", "where", "catch", "throw", "as", "Any", "false", "is",
        "nil", "rethrows", "super", "self", "Self", "true", "try", "throws", "yield", "String", "Error", "Int", "Bool",
        "Array", "Type", "type", "Protocol", "await",
    ]
}

extension Unicode.GeneralCategory {
    fileprivate var isLetterOrMark: Bool {
        switch self {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark:
            true
        default: false
        }
    }

    fileprivate var isNumber: Bool {
        switch self {
        case .decimalNumber, .letterNumber, .otherNumber: true
        default: false
        }
    }
}

/// The strategy that changes the case of letters: a state machine over characters.
enum IdiomaticNaming {
    private enum State {
        /// Before the first letter.
        case lead
        /// In the first word. `isRun` is true while the leading upper-case letters of a member's name are lowered.
        case first(isRun: Bool)
        /// In a later word.
        case word
        /// Between words.
        case gap
    }

    private static let separators: Set<Character> = ["_", "-", " ", "/", "+"]

    static func identifier(_ name: String, isType: Bool) -> String {
        guard !name.isEmpty else { return isType ? "_Empty_" : "_empty_" }
        let characters = Array(name)
        let isAllUpper = !characters.contains(where: \.isLowercase)
        var result = ""
        var state: State = .lead
        for (index, character) in characters.enumerated() {
            let isWordCharacter = character.isLetter || character.isNumber
            switch state {
            case .lead:
                if character == "_" {
                    result.append(character)
                } else if character.isNumber {
                    result.append(character)
                    state = .first(isRun: false)
                } else if character.isLetter {
                    result += isType ? character.uppercased() : character.lowercased()
                    state = .first(isRun: !isType && character.isUppercase)
                } else {
                    result.append(character)
                    state = .first(isRun: false)
                }
            case .first(let isRun):
                if isWordCharacter {
                    if isAllUpper {
                        result += character.lowercased()
                    } else if isRun {
                        let step = runStep(character, after: index, in: characters)
                        result += step.text
                        state = .first(isRun: step.goesOn)
                    } else {
                        result.append(character)
                    }
                } else if separators.contains(character) {
                    state = .gap
                } else if character == "." {
                    result.append("_")
                    state = .first(isRun: false)
                } else if character == "{" || character == "}" {
                    state = .first(isRun: false)
                } else {
                    result.append(character)
                    state = .first(isRun: false)
                }
            case .word:
                if isWordCharacter {
                    result += isAllUpper ? character.lowercased() : String(character)
                } else if separators.contains(character) {
                    state = .gap
                } else if character == "." {
                    result.append("_")
                } else if character != "{", character != "}" {
                    result.append(character)
                }
            case .gap:
                if isWordCharacter {
                    result += character.uppercased()
                    state = .word
                } else if character == " " || !(separators.contains(character) || [".", "{", "}"].contains(character)) {
                    result.append(character)
                }
            }
        }
        return DefensiveNaming.identifier(result)
    }

    /// The output for one character in the leading upper-case letters of a member's name, and whether they go on.
    private static func runStep(
        _ character: Character,
        after index: Int,
        in characters: [Character]
    ) -> (text: String, goesOn: Bool) {
        if character.isLowercase { return (String(character), false) }
        guard index + 2 < characters.count else { return (character.lowercased(), false) }
        let next: Character = characters[index + 1]
        let afterNext: Character = characters[index + 2]
        if next.isUppercase, afterNext.isLowercase { return (character.lowercased(), false) }
        if separators.contains(next) { return (character.lowercased(), false) }
        if next.isUppercase { return (character.lowercased(), true) }
        return (String(character), false)
    }
}
