import Foundation
import MistModels

/// Reads the releases of Xcode from xcodereleases.com's `data.json`.
///
/// ```json
/// [{"name": "Xcode", "version": {"number": "16.1", "build": "16B40", "release": {"release": true}},
///   "date": {"year": 2024, "month": 10, "day": 28}, "requires": "14.5", "sdks": {"macOS": [{"number": "15.1", "build": "24B75"}]},
///   "compilers": {"swift": [{"number": "6.0.2", "build": "6.0.2.1.2"}]}, "checksums": {"sha1": "…"},
///   "links": {"download": {"url": "https://…"}, "notes": {"url": "https://…"}}}]
/// ```
///
/// A build that was a candidate and became final is listed twice; the final entry counts. The oldest releases have no
/// build number, and are left out.
public enum XcodeReleases {
    private struct Entry: Decodable {
        struct Number: Decodable {
            var number: String?
            var build: String?
            var release: [String: StageNumber]?
        }

        struct Day: Decodable {
            var year: Int
            var month: Int
            var day: Int
        }

        struct Links: Decodable {
            struct Link: Decodable {
                var url: String?
            }

            var download: Link?
            var notes: Link?
        }

        var version: Number
        var date: Day?
        var requires: String?
        var sdks: [String: [Number]]?
        var compilers: [String: [Number]]?
        var links: Links?
        var checksums: [String: String]?
    }

    /// The number of a beta or a candidate, or `true` for a stage without a number.
    private struct StageNumber: Decodable {
        var number: Int?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if (try? container.decode(Bool.self)) == nil { number = try container.decode(Int.self) }
        }
    }

    /// Reads the body of a response.
    ///
    /// - Throws: ``SourceError`` if the body is not such a document.
    public static func parse(_ body: [UInt8]) throws(SourceError) -> SourceContents {
        let list = try JSONDocument.decode([ListEntry<Entry>].self, from: body, of: .xcodeReleases)
        var (entries, problems) = JSONDocument.entries(list)
        var releases: [XcodeVersion] = []
        for (place, entry) in entries {
            var reader = EntryReader(place)
            defer { problems += reader.problems }
            guard let build = reader.build(entry.version.build, "version.build"),
                let version = reader.version(entry.version.number, "version.number")
            else { continue }
            guard let stage = stage(entry.version.release) else {
                reader.note("version.release", "is not a stage that is known")
                continue
            }
            var release = XcodeVersion(key: build)
            release.version = version.version.text
            release.stage = stage
            release.releaseDate = date(entry.date, &reader)
            release.requiresMacOS = reader.optionalVersion(entry.requires, "requires")?.text
            release.swiftNumber =
                entry.compilers?["swift"]?.compactMap { $0.number.flatMap { VersionNumber($0) } }.max()?.text
            release.sdks = sdks(entry.sdks)
            release.downloadURL = reader.address(entry.links?.download?.url, "links.download.url")
            release.notesURL = reader.address(entry.links?.notes?.url, "links.notes.url")
            release.sha1 = reader.hash(entry.checksums?["sha1"], digits: 40, "checksums.sha1")
            releases.append(release)
        }
        return try SourceContents(of: .xcodeReleases, xcode: releases, problems: problems)
    }

    private static func stage(_ release: [String: StageNumber]?) -> String? {
        guard let (name, value) = release?.first, release?.count == 1 else { return nil }
        switch name {
        case "release", "gm": return Stage.release
        case "rc", "gmSeed": return Stage.numbered("RC", value.number.map(String.init))
        case "beta", "dp": return Stage.numbered("beta", value.number.map(String.init))
        default: return nil
        }
    }

    private static func date(_ day: Entry.Day?, _ reader: inout EntryReader) -> Date? {
        guard let day else { return nil }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return reader.date("\(day.year)-\(two(day.month))-\(two(day.day))", "date")
    }

    private static func sdks(_ sdks: [String: [Entry.Number]]?) -> [String]? {
        guard let sdks else { return nil }
        return sdks.flatMap { platform, versions in
            versions.compactMap { version in (version.number ?? version.build).map { "\(platform) \($0)" } }
        }
        .sorted()
    }
}
