/// Rows as comma-separated values, as RFC 4180 defines them: CRLF line ends, quotes doubled inside quoted cells.
enum CommaSeparatedValues {
    /// A cell.
    enum Cell {
        /// A text, quoted where it has to be.
        case plain(String)
        /// A value, quoted where it is empty too: an empty text differs from no value.
        case value(String)
    }

    static func line(_ cells: [String]) -> String { line(cells.map(Cell.plain)) }

    static func line(_ cells: [Cell]) -> String {
        cells.map { cell in
            switch cell {
            case .plain(let text): quoted(text, always: false)
            case .value(let text): quoted(text, always: text.isEmpty)
            }
        }.joined(separator: ",") + "\r\n"
    }

    private static func quoted(_ text: String, always: Bool) -> String {
        let isSpecial = text.unicodeScalars.contains { $0 == "," || $0 == "\"" || $0 == "\n" || $0 == "\r" }
        guard always || isSpecial else { return text }
        var quoted = "\""
        for character in text.unicodeScalars {
            if character == "\"" { quoted += "\"" }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}
