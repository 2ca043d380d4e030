import Foundation
import Testing

@testable import CelestraServing

struct HTMLPageTests {
    private let evil = "<script>alert('1')</script> & \"x\""
    private let time = Date(timeIntervalSince1970: 1_767_261_600)

    /// The text of a feed never becomes a tag, and only web addresses become links.
    @Test func whatFeedsWriteIsEscaped() {
        let feed = FeedEntry(
            title: evil,
            feedURL: "http://a.example/",
            isActive: true,
            qualityScore: 1,
            category: evil,
            language: evil,
            description: evil,
            siteURL: "javascript:alert(1)",
            lastVerified: nil
        )
        let article = ArticleEntry(
            feedRecordName: "a",
            title: evil,
            url: "http://a.example/?a=1&b=\"><script>",
            fetchedAt: time,
            publishedDate: time,
            excerpt: evil,
            author: evil,
            estimatedReadingTime: 2,
            tags: nil
        )
        let pages = [
            HTMLPage.feeds(EntryPage(entries: [Named(name: "a/b\"", entry: feed)])),
            HTMLPage.articles(EntryPage(entries: [Named(name: "1", entry: article)]), of: feed, path: "/feeds/a"),
        ]
        for page in pages {
            let text = String(decoding: page.representation(asOf: time).body, as: UTF8.self)
            #expect(!text.contains("<script"))
            #expect(!text.contains("javascript:"))
            #expect(text.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;"))
        }
        #expect(pages[0].main.contains("<a href=\"/feeds/a%2Fb%22\">"))
        #expect(pages[1].main.contains("<a href=\"http://a.example/?a=1&amp;b=&quot;&gt;&lt;script&gt;\" rel="))
        #expect(pages[1].main.contains("2026-01-01 10:00 UTC"))
    }

    @Test(arguments: [(1, "1 minute<"), (2, "2 minutes<")])
    func theReadingTimeIsInMinutes(minutes: Int, text: String) {
        let feed = FeedEntry(title: "A", feedURL: "http://a.example/")
        var article = ArticleEntry(feedRecordName: "a", title: "B", url: "http://a.example/1", fetchedAt: time)
        article.estimatedReadingTime = minutes
        let page = EntryPage(entries: [Named(name: "1", entry: article)])
        #expect(HTMLPage.articles(page, of: feed, path: "/feeds/a").main.contains(text))
    }

    @Test func theTagIsThatOfTheContentAndNotOfTheTime() {
        let page = HTMLPage(title: "A", main: "<p>A</p>")
        let (first, second) = (page.representation(asOf: time), page.representation(asOf: time.addingTimeInterval(60)))
        #expect(first.body != second.body)
        #expect(first.tag == second.tag)
        #expect(first.tag.isWeak)
        #expect(HTMLPage(title: "A", main: "<p>B</p>").representation(asOf: time).tag != first.tag)
    }
}
