import CelestraFeeds
import Foundation
import MistModels

/// An article of a feed's document, with the name of its record.
public struct NamedArticle: Sendable, Hashable {
    /// The record name, which is the same in each run.
    public var recordName: String
    /// The article.
    public var article: ArticleRecord
}

/// The changes that a feed's document makes to the articles of the database.
public struct ArticlePlan: Sendable {
    /// Articles that the database does not have.
    public var new: [StoredRecord<ArticleRecord>] = []
    /// Articles that differ from their records, and articles whose expiry is extended.
    public var changed: [StoredRecord<ArticleRecord>] = []
    /// The number of articles that stay as they are.
    public var unchanged = 0

    /// The articles of a document, each once.
    ///
    /// An article is identified by its guid, and its record name follows from the feed and the guid. Some feeds give
    /// the same guid to several articles; the record names of these follow from their content hashes as well.
    ///
    /// - Parameters:
    ///   - feed: The document.
    ///   - feedURL: The address of the feed.
    ///   - feedRecordName: The feed's record name.
    ///   - now: The current time.
    ///   - lifetime: The number of seconds that an article is kept.
    /// - Returns: The articles in the order of the document.
    public static func articles(
        of feed: CelestraFeeds.Feed,
        feedURL: String,
        feedRecordName: String,
        now: Date,
        lifetime: Double
    ) -> [NamedArticle] {
        let articles = feed.items.map {
            ArticleRecord(
                $0,
                of: feed,
                feedURL: feedURL,
                feedRecordName: feedRecordName,
                now: now,
                lifetime: lifetime
            )
        }
        let hashes = Dictionary(grouping: articles, by: \.guid).mapValues { Set($0.map(\.contentHash)) }
        var seen: Set<String> = []
        return articles.compactMap { article in
            let isAmbiguous = (hashes[article.guid]?.count ?? 0) > 1
            let parts = [feedRecordName, article.guid] + (isAmbiguous ? [article.contentHash] : [])
            let name = "article-" + RecordNames.digest(parts)
            return seen.insert(name).inserted ? NamedArticle(recordName: name, article: article) : nil
        }
    }

    /// Compares articles with their records.
    ///
    /// An article without a record is new. An article that differs from its record keeps the time at which it was first
    /// seen. A record that expires within half of its lifetime is extended, since the feed still has the article. Every
    /// other record stays as it is.
    ///
    /// - Parameters:
    ///   - articles: The articles of the document.
    ///   - existing: The records of the database by their names.
    public init(_ articles: [NamedArticle], existing: [String: StoredRecord<ArticleRecord>]) {
        for item in articles {
            guard var record = existing[item.recordName] else {
                new.append(StoredRecord(item.article, recordName: item.recordName))
                continue
            }
            var article = item.article
            let lifetime = article.expiresAt.timeIntervalSince(article.fetchedAt)
            let rest = record.expiresAt.timeIntervalSince(article.fetchedAt)
            article.fetchedAt = record.fetchedAt
            if rest > lifetime / 2 { article.expiresAt = record.expiresAt }
            record.model = article
            if record.hasChanges {
                changed.append(record)
            } else {
                unchanged += 1
            }
        }
    }
}
