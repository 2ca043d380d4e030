/// Text as the macros of `mdoc` take it, which `man` formats.
enum ManualText {
    /// The lines of prose. Each sentence begins on a new line, lines are wrapped, and options can be copied.
    static func prose(_ text: String) -> [String] {
        sentences(text).flatMap { wrapped($0, to: 78) }.map { line in
            line.hasPrefix(".") ? "\\&" + escaped(line) : escaped(line)
        }
    }

    /// A line that keeps its form, such as an example.
    static func literal(_ line: String) -> String {
        let line = escaped(line, keepsEachHyphen: true)
        return line.hasPrefix(".") ? "\\&" + line : line
    }

    /// A word or several as one argument of a macro.
    static func argument(_ text: String) -> String {
        let escaped = escaped(text, keepsEachHyphen: true)
        if escaped.isEmpty || escaped.contains(" ") { return "\"\(escaped)\"" }
        // A short word that begins with a capital may be a macro's name; punctuation would lose its font.
        let isWord = escaped.count > 3 || escaped.first.map { $0.isLowercase || $0.isNumber } ?? false
        return isWord ? escaped : "\\&" + escaped
    }

    /// The sentences of a paragraph.
    private static func sentences(_ text: String) -> [String] {
        var sentences: [String] = [""]
        for word in text.split(whereSeparator: \.isWhitespace) {
            let ends = sentences[sentences.count - 1].last.map { ".!?".contains($0) } ?? false
            if ends {
                sentences.append(String(word))
            } else {
                sentences[sentences.count - 1] += (sentences[sentences.count - 1].isEmpty ? "" : " ") + word
            }
        }
        return sentences.filter { !$0.isEmpty }
    }

    private static func wrapped(_ sentence: String, to width: Int) -> [String] {
        var lines = [""]
        for word in sentence.split(separator: " ") {
            let line = lines[lines.count - 1]
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(String(word))
            } else {
                lines[lines.count - 1] = line.isEmpty ? String(word) : "\(line) \(word)"
            }
        }
        return lines
    }

    /// A text with escapes for the characters that have a meaning in `mdoc`, or that `man` would replace with others.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - keepsEachHyphen: Whether every hyphen can be copied into a terminal; otherwise only the hyphens of options
    ///     can.
    /// - Returns: The text, which may begin with a character that begins a macro.
    private static func escaped(_ text: String, keepsEachHyphen: Bool = false) -> String {
        var result = ""
        var previous: Character = " "
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "\"": result += "\\(dq"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "-": result += keepsEachHyphen || !(previous.isLetter || previous.isNumber) ? "\\-" : "-"
            default:
                if character.isASCII {
                    result.append(character)
                } else {
                    for scalar in character.unicodeScalars {
                        let digits = String(scalar.value, radix: 16, uppercase: true)
                        result += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
                    }
                }
            }
            previous = character
        }
        return result
    }
}
