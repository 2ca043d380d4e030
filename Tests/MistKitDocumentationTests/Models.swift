import Foundation
import MistModels

@CloudKitRecord("Feed")
struct Feed: Hashable {
    @CloudKitField(.queryable) var feedURL: URL
    var title: String
    @CloudKitField(.queryable) var category: String
    @CloudKitField(.queryable, .sortable) var qualityScore: Int = 0
    var isActive: Bool = true
    var tags: [String] = []
    @CloudKitField("summary") var blurb: String?
}

@CloudKitRecord
struct Article: Hashable {
    @CloudKitField(.queryable) var feed: RecordReference<Feed>
    var guid: String
    var title: String
    @CloudKitField(.queryable, .sortable) var publishedDate: Date
    @CloudKitField(.queryable) var expiresAt: Date
    var status: Status = .unread
    @CloudKitField(.encrypted) var note: String?
    @CloudKitField(.json) var reading: Reading = Reading()
    var place: Location?
    @CloudKitIgnored var isExpanded = false
}

enum Status: String, FieldConvertible { case unread, read, kept }

struct Reading: Codable, Hashable, Sendable {
    var scrollPosition = 0.0
    var highlights: [String] = []
}

extension Feed {
    /// A feed to begin with.
    static let swift = Feed(
        feedURL: URL(string: "https://www.swift.org/atom.xml")!,
        title: "Swift.org",
        category: "programming",
        qualityScore: 90,
        tags: ["swift"]
    )
}

extension Article {
    init(_ title: String, in feed: RecordReference<Feed>, published: Date, expires: Date = .distantFuture) {
        self.init(feed: feed, guid: title, title: title, publishedDate: published, expiresAt: expires)
    }
}
