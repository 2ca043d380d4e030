import Foundation

/// Columns of text. Control characters are shown as spaces, since the texts come from arbitrary feeds and pages.
package struct TextTable {
    private var rows: [[String]]
    private let numbers: Set<Int>
    private let addresses: Set<Int>
    private let widest: Int

    /// Begins a table.
    ///
    /// - Parameters:
    ///   - titles: The titles of the columns.
    ///   - numbers: The indexes of the columns that are aligned on the right.
    ///   - addresses: The indexes of the columns of addresses. They are shortened in the middle, since pages of one
    ///     host differ at the end.
    ///   - widest: The maximum length of a cell's text, in characters.
    package init(_ titles: [String], numbers: Set<Int> = [], addresses: Set<Int> = [], widest: Int = 60) {
        rows = [titles]
        self.numbers = numbers
        self.addresses = addresses
        self.widest = widest
    }

    /// Adds a row, with a cell for each column. Texts longer than `widest` are shortened.
    package mutating func append(_ cells: [String]) {
        rows.append(
            cells.enumerated().map { index, cell in
                let line = String(cell.map { $0.unicodeScalars.contains { $0.value < 0x20 } ? " " : $0 })
                guard line.count > widest else { return line }
                let ending = addresses.contains(index) ? widest / 2 : 0
                return line.prefix(widest - 1 - ending) + "…" + line.suffix(ending)
            }
        )
    }

    /// Whether the table has no row besides the titles.
    package var isEmpty: Bool { rows.count == 1 }

    /// The lines: the titles, a rule, the rows.
    package var lines: [String] {
        let titles = rows[0]
        let widths = titles.indices.map { column in rows.reduce(0) { max($0, $1[column].count) } }
        var lines = rows.map { row in
            row.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - row[column].count)
                return numbers.contains(column) ? padding + row[column] : row[column] + padding
            }
            .joined(separator: "  ")
        }
        lines.insert(widths.map { String(repeating: "-", count: $0) }.joined(separator: "  "), at: 1)
        return lines.map { line in String(line.reversed().drop { $0 == " " }.reversed()) }
    }
}

extension Date {
    /// The time in UTC, without seconds, for tables.
    package var short: String {
        let parts = ISO8601Format().split(separator: "T")
        return parts.count == 2 ? "\(parts[0]) \(parts[1].prefix(5))" : ISO8601Format()
    }
}
