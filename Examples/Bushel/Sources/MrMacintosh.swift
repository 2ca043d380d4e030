import Foundation
import MistModels
import WebText

/// Reads the tables of restore images of Mr. Macintosh, a page that is edited by hand.
///
/// ```html
/// <table><tr><th>Version</th><th>Build</th><th>Date</th><th>Download</th><th>Signed</th></tr>
/// <tr><td>26.1 Beta 4</td><td>25B5072a</td><td>10/20/25</td><td><a href="https://….ipsw">Link</a></td><td>YES</td></tr></table>
/// ```
///
/// Columns are found by their titles, in any order. A table without a column of builds has no releases and is ignored.
/// A date without a year, as in rows of the current year, is left out.
public enum MrMacintosh {
    private struct Columns {
        var version: Int?
        var build: Int
        var date: Int?
        var signed: Int?

        /// Finds the columns in a row of titles.
        init?(_ row: HTMLTable.Row) {
            let titles = row.cells.map { $0.text.lowercased() }
            guard let build = titles.firstIndex(where: { $0.contains("build") }) else { return nil }
            self.build = build
            version = titles.firstIndex { $0.contains("version") || $0.contains("macos") }
            date = titles.firstIndex { $0.contains("date") || $0.contains("released") }
            signed = titles.firstIndex { $0.contains("signed") }
        }
    }

    /// Reads the body of a response.
    ///
    /// - Throws: ``SourceError`` if the page has no such table.
    public static func parse(_ body: [UInt8]) throws(SourceError) -> SourceContents {
        guard body.contains(where: { !$0.isXMLSpace }) else {
            throw SourceError(.mrMacintosh, "the response is empty")
        }
        var images: [RestoreImage] = []
        var problems: [SourceProblem] = []
        var columns: [Int: Columns] = [:]
        for row in HTMLTable.rows(of: String(decoding: body, as: UTF8.self)) {
            guard let known = columns[row.table] else {
                columns[row.table] = Columns(row)
                continue
            }
            // A table may repeat its titles, and may have rows across all columns.
            guard Columns(row) == nil, row.cells.count > known.build else { continue }
            func text(_ column: Int?) -> String? {
                column.flatMap { row.cells.indices.contains($0) ? row.cells[$0].text : nil }
            }
            var reader = EntryReader("table \(row.table + 1), row \(row.number)")
            defer { problems += reader.problems }
            guard let build = reader.build(text(known.build), "build"),
                let version = reader.version(text(known.version), "version")
            else { continue }
            var image = RestoreImage(key: build)
            image.version = version.version.text
            image.stage = version.stage ?? Stage.release
            image.releaseDate = date(text(known.date), &reader)
            let links = row.cells.flatMap(\.links)
            image.downloadURL = reader.address(links.first { $0.hasSuffix(".ipsw") }, "link")
            image.isSigned = signed(text(known.signed))
            images.append(image)
        }
        guard !columns.isEmpty else {
            throw SourceError(.mrMacintosh, "the page has no table with a column of build numbers")
        }
        return try SourceContents(of: .mrMacintosh, images: images, problems: problems)
    }

    /// A date as month, day and year of two or four digits. Without a year, there is no date.
    private static func date(_ text: String?, _ reader: inout EntryReader) -> Date? {
        guard let text = text?.nonEmpty, text.uppercased() != "N/A" else { return nil }
        let parts = text.split(separator: "/").map { Int($0) }
        guard parts.count >= 2, let month = parts[0], let day = parts[1] else {
            return reader.date(text, "date")
        }
        guard parts.count == 3 else { return nil }
        guard let year = parts[2] else {
            reader.note("date", "is not a date: \"\(text.prefix(40))\"")
            return nil
        }
        let century = year < 100 ? 2000 : 0
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return reader.date("\(year + century)-\(two(month))-\(two(day))", "date")
    }

    private static func signed(_ text: String?) -> Bool? {
        switch text?.uppercased().prefix(3) {
        case "YES": true
        case "NO": false
        default: nil
        }
    }
}
