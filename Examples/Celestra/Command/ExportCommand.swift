import ArgumentParser
import CelestraUpdates
import Foundation
import MistModels
import ProgramSupport

/// `celestra export`
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the feeds for other readers (OPML), or feeds and articles as JSON."
    )

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case opml
        case json
    }

    @Option(help: "opml has the active feeds; json has all feeds and articles.")
    var format = Format.opml

    @Option(name: .shortAndLong, help: ArgumentHelp("The file; standard output without it.", valueName: "file"))
    var output: String?

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Celestra>

    func run() async throws {
        try await Celestra.explainingFailures {
            try printOrWrite(try await text(of: try service.database()), to: output)
        }
    }

    /// The document.
    func text(of database: CloudKitDatabase) async throws -> String {
        let query = Query<FeedRecord> {
            if format == .opml { Filter(\.isActive == true) }
            Sort(\.title)
        }
        let feeds = try await database.records(matching: query).collect()
        guard format == .json else { return OPML.document(of: feeds.map(\.model)) }
        let articles = try await database.records(
            matching: Query<ArticleRecord> { Sort(\.fetchedAt, ascending: false) }
        ).collect()
        return try jsonText(
            Export(
                feeds: feeds.map { NamedRecord(recordName: $0.recordName, fields: $0.model) },
                articles: articles.map { NamedRecord(recordName: $0.recordName, fields: $0.model) }
            )
        )
    }

    private struct Export: Codable {
        var feeds: [NamedRecord<FeedRecord>]
        var articles: [NamedRecord<ArticleRecord>]
    }
}

/// The format in which readers exchange lists of feeds.
enum OPML {
    /// A document with an outline for each feed, in groups by category.
    static func document(of feeds: [FeedRecord]) -> String {
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<opml version=\"2.0\">",
            "  <head><title>Feeds of Celestra</title></head>", "  <body>",
        ]
        let groups = Dictionary(grouping: feeds) { $0.category ?? "" }
        for (category, feeds) in groups.sorted(by: { $0.key < $1.key }) {
            if !category.isEmpty { lines.append("    <outline text=\"\(escaped(category))\">") }
            let indent = category.isEmpty ? "    " : "      "
            for feed in feeds {
                var line = "\(indent)<outline type=\"rss\" text=\"\(escaped(feed.title))\""
                line += " xmlUrl=\"\(escaped(feed.feedURL))\""
                if let siteURL = feed.siteURL { line += " htmlUrl=\"\(escaped(siteURL))\"" }
                lines.append(line + "/>")
            }
            if !category.isEmpty { lines.append("    </outline>") }
        }
        return (lines + ["  </body>", "</opml>"]).joined(separator: "\n")
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default:
                // XML does not allow control characters.
                result += character.unicodeScalars.contains { $0.value < 0x20 } ? " " : String(character)
            }
        }
    }
}
