import CelestraFeeds
import CelestraUpdates
import Foundation
import MistModels
import Testing

struct ArticlePlanTests {
    private let start = Date(timeIntervalSince1970: 1_767_261_600)
    private let day = 86_400.0

    private func articles(_ items: String, after days: Double = 0) throws -> [NamedArticle] {
        let document = "<rss><channel><title>F</title><link>http://f/</link>\(items)</channel></rss>"
        return ArticlePlan.articles(
            of: try FeedParser.parse(document.utf8).feed,
            feedURL: "http://f/feed",
            feedRecordName: "feed-1",
            now: start.addingTimeInterval(days * day),
            lifetime: 30 * day
        )
    }

    /// The records of articles, as if they had been saved.
    private func saved(_ articles: [NamedArticle]) -> [String: StoredRecord<ArticleRecord>] {
        articles.reduce(into: [:]) {
            $0[$1.recordName] = StoredRecord(stored: $1.article, recordName: $1.recordName, recordChangeTag: "1")
        }
    }

    private let first = "<item><guid>1</guid><title>One</title><link>http://f/1</link></item>"

    @Test func anArticleIsNewOnce() throws {
        let articles = try articles(first)
        let plan = ArticlePlan(articles, existing: [:])
        #expect(plan.new.map(\.recordName) == articles.map(\.recordName))
        #expect(plan.new.first?.recordChangeTag == nil)
        let second = ArticlePlan(try self.articles(first, after: 1), existing: saved(articles))
        #expect(second.new.isEmpty && second.changed.isEmpty)
        #expect(second.unchanged == 1)
    }

    @Test func aChangedArticleKeepsItsRecord() throws {
        let old = try articles(first)
        let edited = first.replacing("One", with: "Won")
        let plan = ArticlePlan(try articles(edited, after: 1), existing: saved(old))
        #expect(plan.new.isEmpty)
        let changed = try #require(plan.changed.first)
        #expect(changed.changedFields.map(\.name).sorted() == ["contentHash", "title"])
        #expect(changed.fetchedAt == start)
    }

    @Test func anArticleThatIsStillThereIsExtended() throws {
        let old = saved(try articles(first))
        #expect(ArticlePlan(try articles(first, after: 14), existing: old).unchanged == 1)
        let changed = try #require(ArticlePlan(try articles(first, after: 16), existing: old).changed.first)
        #expect(changed.changedFields.map(\.name).sorted() == ["expiresAt"])
        #expect(changed.expiresAt == start.addingTimeInterval(46 * day))
    }

    @Test func articlesWithoutGuidAreKnownByAddressOrContent() throws {
        let items =
            "<item><title>A</title><link>http://f/a</link></item><item><title>B</title></item><item><title>C</title></item>"
        let articles = try articles(items)
        #expect(Set(articles.map(\.recordName)).count == 3)
        #expect(articles.map(\.article.guid) == ["http://f/a"] + articles.dropFirst().map(\.article.contentHash))
        #expect(articles.map(\.article.url) == ["http://f/a", "http://f/", "http://f/"])
        #expect(try self.articles(items).map(\.recordName) == articles.map(\.recordName))
    }

    @Test func oneGuidForSeveralArticlesIsNotEnough() throws {
        let second = first.replacing("One", with: "Two")
        // The first article occurs twice.
        let articles = try articles(first + second + first)
        #expect(articles.map(\.article.title) == ["One", "Two"])
        #expect(Set(articles.map(\.recordName)).count == 2)
    }

    @Test func longContentFitsIntoARecord() throws {
        let text = String(repeating: "é ", count: 100_000)
        let article = try #require(try articles("<item><guid>1</guid><description>\(text)</description></item>").first)
            .article
        #expect(article.content == nil)
        #expect((article.contentText?.utf8.count ?? 0) <= 200_000)
        #expect(article.contentText?.hasPrefix("é é é") == true)
        #expect(article.wordCount == 100_000)
    }
}
