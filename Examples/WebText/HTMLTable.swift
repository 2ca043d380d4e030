/// Reads the tables of an HTML page, row by row. It accepts what browsers accept, and never fails.
///
/// ```swift
/// HTMLTable.rows(of: "<table><tr><th>Version<tr><td><a href='a.ipsw'>15.1</a></table>")
/// // table 0: "Version" (a title); "15.1" with the link a.ipsw
/// ```
package enum HTMLTable {
    /// A cell.
    package struct Cell: Sendable, Hashable {
        /// The text without markup, in one line.
        package var text = ""
        /// The addresses that the cell links to, not resolved.
        package var links: [String] = []
        /// Whether the cell is a title (`th`).
        package var isTitle = false
    }

    /// A row.
    package struct Row: Sendable, Hashable {
        /// The number of the table in the page, from 0.
        package var table: Int
        /// The number of the row in its table, from 1.
        package var number: Int
        /// The cells.
        package var cells: [Cell]
    }

    /// The rows of all tables. End tags may be missing, as HTML allows. A table within a cell is a table of its own,
    /// with its own rows.
    package static func rows(of html: String) -> [Row] {
        var scanner = HTMLScanner(html)
        var reader = Reader()
        while let part = scanner.next() {
            switch part {
            case .text(let range): reader.append(HTMLText.replacingReferences(in: scanner.text(range)))
            case .comment: break
            case .tag(let tag) where !tag.isEnd && (tag.name == "script" || tag.name == "style"):
                scanner.skipRawText(of: tag.name)
            case .tag(let tag):
                let link = tag.name == "a" ? tag.attributes.first { $0.name == "href" } : nil
                reader.take(tag, link: link.map { HTMLText.replacingReferences(in: scanner.text($0.value)) })
            }
        }
        reader.endTable()
        return reader.rows.sorted { ($0.table, $0.number) < ($1.table, $1.number) }
    }

    private struct Reader {
        private struct Table {
            var index: Int
            var rows = 0
            var cells: [Cell] = []
            var cell: Cell?
        }

        private(set) var rows: [Row] = []
        private var open: [Table] = []
        private var count = 0

        mutating func append(_ text: String) {
            guard !open.isEmpty else { return }
            open[open.count - 1].cell?.text += text
        }

        mutating func take(_ tag: HTMLScanner.Tag, link: String?) {
            switch (tag.name, tag.isEnd) {
            case ("table", false):
                open.append(Table(index: count))
                count += 1
            case ("table", true): endTable()
            case ("tr", _), ("thead", _), ("tbody", _), ("tfoot", _): endRow()
            case ("td", false), ("th", false):
                guard !open.isEmpty else { return }
                endCell()
                open[open.count - 1].cell = Cell(isTitle: tag.name == "th")
            case ("td", true), ("th", true): endCell()
            case ("br", _), ("p", _), ("li", _), ("div", _): append(" ")
            default: break
            }
            if let link, !tag.isEnd, !open.isEmpty { open[open.count - 1].cell?.links.append(link) }
        }

        mutating func endTable() {
            endRow()
            _ = open.popLast()
        }

        private mutating func endRow() {
            endCell()
            guard let table = open.last, !table.cells.isEmpty else { return }
            let number = table.rows + 1
            rows.append(Row(table: table.index, number: number, cells: table.cells))
            open[open.count - 1].rows = number
            open[open.count - 1].cells = []
        }

        private mutating func endCell() {
            guard var cell = open.last?.cell else { return }
            cell.text = HTMLText.collapsed(cell.text)
            open[open.count - 1].cells.append(cell)
            open[open.count - 1].cell = nil
        }
    }
}
