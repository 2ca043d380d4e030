import Foundation
import MistModels
import WebText

/// Reads the table of swiftversion.net: the day, the version of Swift, and the version of Xcode that contains it.
///
/// ```html
/// <tr class="table-entry"><td>28 Oct 24</td><td>6.0.2</td><td>16.1</td></tr>
/// ```
public enum SwiftVersionNet {
    /// Reads the body of a response.
    ///
    /// - Throws: ``SourceError`` if the page has no such table.
    public static func parse(_ body: [UInt8]) throws(SourceError) -> SourceContents {
        guard body.contains(where: { !$0.isXMLSpace }) else {
            throw SourceError(.swiftVersionNet, "the response is empty")
        }
        let rows = HTMLTable.rows(of: String(decoding: body, as: UTF8.self))
            .filter { $0.cells.count == 3 && !$0.cells.contains(where: \.isTitle) }
        guard !rows.isEmpty else { throw SourceError(.swiftVersionNet, "the page has no table with three columns") }
        var releases: [SwiftVersion] = []
        var problems: [SourceProblem] = []
        for row in rows {
            var reader = EntryReader("row \(row.number)")
            defer { problems += reader.problems }
            guard let version = reader.version(row.cells[1].text, "swift") else { continue }
            guard version.stage ?? Stage.release == Stage.release else {
                reader.note("swift", "is not a final release: \"\(row.cells[1].text.prefix(40))\"")
                continue
            }
            var release = SwiftVersion(key: version.version.text)
            release.stage = Stage.release
            release.releaseDate = reader.date(row.cells[0].text, "date")
            release.xcodeVersion = reader.optionalVersion(row.cells[2].text, "xcode")?.text
            releases.append(release)
        }
        return try SourceContents(of: .swiftVersionNet, swift: releases, problems: problems)
    }
}
