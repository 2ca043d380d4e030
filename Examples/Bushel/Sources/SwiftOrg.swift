import Foundation
import MistModels

/// Reads the releases of Swift from swift.org's `/api/v1/install/releases.json`.
///
/// ```json
/// [{"name": "6.0.3", "tag": "swift-6.0.3-RELEASE", "date": "2024-12-11", "xcode": "Xcode 16.2", "xcode_release": true, "platforms": []}]
/// ```
public enum SwiftOrg {
    private struct Entry: Decodable {
        var name: String
        var tag: String?
        var date: String?
        var xcode: String?
    }

    /// Reads the body of a response.
    ///
    /// - Throws: ``SourceError`` if the body is not such a document.
    public static func parse(_ body: [UInt8]) throws(SourceError) -> SourceContents {
        let list = try JSONDocument.decode([ListEntry<Entry>].self, from: body, of: .swiftOrg)
        var (entries, problems) = JSONDocument.entries(list)
        var releases: [SwiftVersion] = []
        for (place, entry) in entries {
            var reader = EntryReader(place)
            defer { problems += reader.problems }
            guard let version = reader.version(entry.name, "name") else { continue }
            var release = SwiftVersion(key: version.version.text)
            release.stage = Stage.release
            release.releaseDate = reader.date(entry.date, "date")
            release.tag = entry.tag
            release.xcodeVersion = reader.optionalVersion(entry.xcode, "xcode")?.text
            releases.append(release)
        }
        return try SourceContents(of: .swiftOrg, swift: releases, problems: problems)
    }
}
