import Foundation
import MistModels

// The tests are on the pages of the book: Sources/MistKit/MistKit.docc, and README.md.

extension Article {
    init(_ title: String, in feed: RecordReference<Feed>, published: Date, expires: Date = .distantFuture) {
        self.init(feed: feed, guid: title, title: title, publishedDate: published, expiresAt: expires)
    }
}
