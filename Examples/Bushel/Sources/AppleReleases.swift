import CelestraFeeds
import Foundation
import MistModels
import WebText

/// Reads the releases of Xcode from Apple's RSS feed of new releases for developers.
///
/// ```xml
/// <item><title>Xcode 16.2 beta 3 (16C5023f)</title><pubDate>Mon, 18 Nov 2024 10:00:00 PST</pubDate></item>
/// ```
///
/// The feed has the releases of all platforms of the last months. Only those of Xcode are read.
public enum AppleReleases {
    /// Reads the body of a response.
    ///
    /// - Throws: ``SourceError`` if the body is not a feed, or a feed without a release of Xcode.
    public static func parse(_ body: [UInt8]) throws(SourceError) -> SourceContents {
        let feed: CelestraFeeds.Feed
        do {
            feed = try FeedParser.parse(body).feed
        } catch let error as FeedError {
            throw SourceError(.appleReleases, "\(error)".trimming { $0 == "." })
        } catch {
            throw SourceError(.appleReleases, "the response is not a feed")
        }
        var releases: [XcodeVersion] = []
        var problems: [SourceProblem] = []
        for (index, item) in feed.items.enumerated() {
            guard let title = item.title, title.hasPrefix("Xcode ") else { continue }
            var reader = EntryReader("item[\(index)]")
            defer { problems += reader.problems }
            let parts = title.split(separator: "(", maxSplits: 1)
            let number = parts.count == 2 ? parts[1].split(separator: ")").first.map(String.init) : nil
            guard let build = reader.build(number, "build"), let version = reader.version(String(parts[0]), "title")
            else { continue }
            var release = XcodeVersion(key: build)
            release.version = version.version.text
            release.stage = version.stage ?? Stage.release
            release.releaseDate = item.published
            releases.append(release)
        }
        return try SourceContents(of: .appleReleases, xcode: releases, problems: problems)
    }
}
