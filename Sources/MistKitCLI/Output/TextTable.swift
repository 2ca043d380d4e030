/// Columns of text for people: as wide as their widest cell, shortened where the terminal is narrower.
struct TextTable {
    enum Alignment {
        case left
        case right
    }

    struct Column {
        var title: String
        var alignment: Alignment = .left
    }

    var columns: [Column]
    private(set) var rows: [[String]] = []

    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row. Cells beyond the columns are left out, missing ones are empty, and control characters are shown as
    /// spaces.
    mutating func append(_ cells: [String]) {
        var row = cells.prefix(columns.count).map(Self.singleLine)
        row.append(contentsOf: repeatElement("", count: columns.count - row.count))
        rows.append(row)
    }

    /// The number of lines: the titles, a rule, the rows.
    var height: Int { rows.count + 2 }

    /// Sets the table.
    ///
    /// - Parameters:
    ///   - width: The columns of the terminal, to which the lines are shortened; `nil` for lines of any length.
    ///   - style: How the titles and the rule are set off.
    /// - Returns: The lines of the table: the titles, a rule, the rows.
    func lines(width: Int?, in style: TextStyle = .plain) -> [String] {
        let widths = fittedWidths(terminal: width)
        var lines = [
            style.bold(line(columns.map(\.title), widths)),
            style.grey(widths.map { String(repeating: "-", count: $0) }.joined(separator: "  ")),
        ]
        lines.append(contentsOf: rows.map { line($0, widths) })
        return lines
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            let text = Self.shortened(cell, to: widths[index])
            let padding = String(repeating: " ", count: max(0, widths[index] - text.displayWidth))
            if index > 0 { line += "  " }
            line += columns[index].alignment == .right ? padding + text : text + padding
        }
        while line.last == " " { line.removeLast() }
        return line
    }

    /// The widths of the columns. The widest columns are shortened first, but not below eight characters.
    private func fittedWidths(terminal: Int?) -> [Int] {
        var widths = columns.indices.map { index in
            rows.reduce(columns[index].title.displayWidth) { max($0, $1[index].displayWidth) }
        }
        guard let terminal else { return widths }
        let gaps = 2 * max(0, widths.count - 1)
        while widths.reduce(gaps, +) > terminal, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
            widths[widest] > 8
        {
            widths[widest] -= 1
        }
        return widths
    }

    /// The text with spaces in place of line ends and control characters, which a terminal would obey.
    static func singleLine(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars { result.unicodeScalars.append(isControl(scalar) ? " " : scalar) }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // The second group has an escape of one byte in terminals that are set to Latin 1.
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }

    private static func shortened(_ text: String, to width: Int) -> String {
        guard text.displayWidth > width else { return text }
        var result = ""
        var used = 0
        for character in text {
            let next = String(character).displayWidth
            if used + next > width - 1 { break }
            result.append(character)
            used += next
        }
        return result + "…"
    }
}

extension String {
    /// The number of terminal cells that the text takes: two for East Asian wide characters and emoji, one for the
    /// rest.
    fileprivate var displayWidth: Int {
        reduce(0) { width, character in
            guard let first = character.unicodeScalars.first else { return width }
            let wide =
                switch first.value {
                case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
                    0xFF00...0xFF60,
                    0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
                    true
                default: false
                }
            return width + (wide ? 2 : 1)
        }
    }
}
