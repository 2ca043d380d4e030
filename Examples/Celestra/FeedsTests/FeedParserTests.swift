import Foundation
import Testing
import WebText

@testable import CelestraFeeds

struct FeedParserTests {
    @Test func aPodcastInRSS() throws {
        let parsed = try FeedParser.parse(
            """
            <?xml version="1.0" encoding="utf-8"?>
            <rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:atom="http://www.w3.org/2005/Atom"
              xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" xmlns:media="http://search.yahoo.com/mrss/"
              xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/">
            <channel>
              <title>Fish &amp; Chips</title>
              <link>https://example.com/</link>
              <atom:link rel="self" type="application/rss+xml" href="/feed"/>
              <description>All about &lt;b&gt;food&lt;/b&gt;</description>
              <language>en-gb</language>
              <itunes:author>Ann</itunes:author>
              <itunes:image href="/logo.png"/>
              <itunes:category text="Arts"><itunes:category text="Food"/></itunes:category>
              <lastBuildDate>Thu, 01 Jan 2004 19:48:21 GMT</lastBuildDate>
              <sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>
              <item>
                <title>Episode 1</title>
                <link>episodes/1</link>
                <guid isPermaLink="false">e1</guid>
                <pubDate>Thu, 01 Jan 2004 10:00:00 GMT</pubDate>
                <description>Short</description>
                <content:encoded><![CDATA[<p>Long <a href="/more">text</a></p>]]></content:encoded>
                <dc:creator>Bob</dc:creator><dc:creator>Cyd (cyd@example.com)</dc:creator>
                <category>Fish</category><category domain="d">Chips</category>
                <enclosure url="1.mp3" type="audio/mpeg" length="12345"/>
                <itunes:duration>1:02:03</itunes:duration>
                <media:thumbnail url="/1.png"/>
              </item>
            </channel></rss>
            """.utf8,
            contentType: "application/rss+xml",
            address: "https://example.com/feeds/rss"
        )
        #expect(parsed.encoding == "utf-8")
        #expect(parsed.problems == [])
        var expected = Feed(format: .rss, version: "2.0")
        expected.richTitle = RichText("Fish & Chips", format: .plain)
        expected.richDescription = RichText("All about <b>food</b>", format: .html)
        expected.siteURL = "https://example.com/"
        expected.feedURL = "https://example.com/feed"
        expected.imageURL = "https://example.com/logo.png"
        expected.language = "en-gb"
        expected.categories = ["Arts", "Food"].map { FeedCategory(term: $0, scheme: "http://www.itunes.com/") }
        expected.authors = [FeedAuthor(name: "Ann")]
        expected.updated = WebDate.parse("2004-01-01T19:48:21Z")
        expected.minimumUpdateInterval = 1800
        expected.links = [
            FeedLink(relation: "alternate", url: "https://example.com/"),
            FeedLink(relation: "self", url: "https://example.com/feed", mediaType: "application/rss+xml"),
        ]
        var item = FeedItem()
        item.guid = "e1"
        item.url = "https://example.com/feeds/episodes/1"
        item.richTitle = RichText("Episode 1", format: .plain)
        item.richSummary = RichText("Short", format: .plain)
        item.richContent = RichText("<p>Long <a href=\"https://example.com/more\">text</a></p>", format: .html)
        item.authors = [FeedAuthor(name: "Bob"), FeedAuthor(name: "Cyd", email: "cyd@example.com")]
        item.imageURL = "https://example.com/1.png"
        item.published = WebDate.parse("2004-01-01T10:00:00Z")
        item.categories = [FeedCategory(term: "Fish"), FeedCategory(term: "Chips", scheme: "d")]
        item.enclosures = [
            FeedEnclosure(
                url: "https://example.com/feeds/1.mp3",
                mediaType: "audio/mpeg",
                length: 12345,
                duration: 3723
            )
        ]
        item.links = [
            FeedLink(relation: "alternate", url: "https://example.com/feeds/episodes/1"),
            FeedLink(
                relation: "enclosure",
                url: "https://example.com/feeds/1.mp3",
                mediaType: "audio/mpeg",
                length: 12345
            ),
        ]
        expected.items = [item]
        #expect(parsed.feed == expected)
        #expect(parsed.feed.title == "Fish & Chips")
        #expect(parsed.feed.description == "All about food")
        #expect(item.content == "<p>Long <a href=\"https://example.com/more\">text</a></p>")
        #expect(item.contentText == "Long text")
        #expect(item.summary == "Short")
        #expect(item.tags == ["Fish", "Chips"])
        #expect(item.author?.description == "Bob")
        #expect(item.wordCount == 2)
        #expect(item.readingTime == 1)
    }

    @Test func atomWithBasesAndLanguages() throws {
        let feed = try FeedParser.parse(
            """
            <feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de" xml:base="http://a.example/b/">
              <id>tag:a.example,2004:feed</id><title type="html">&lt;i&gt;T&lt;/i&gt;</title><subtitle>S</subtitle>
              <link href="."/><link rel="self" href="feed.atom"/><logo>logo.png</logo>
              <updated>2004-01-01T00:00:00Z</updated>
              <author><name>Ann</name><uri>ann</uri></author>
              <category term="x" label="X"/>
              <entry xml:base="c/" xml:lang="fr">
                <id>tag:a.example,2004:1</id>
                <title>A &lt; B</title>
                <link href="1.html"/><link rel="enclosure" href="1.pdf" type="application/pdf" length="9"/>
                <published>2004-01-02T00:00:00Z</published><updated>2004-01-03T00:00:00Z</updated>
                <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>P <img src="i.png" alt="&quot;"/><br/></p></div></content>
              </entry>
            </feed>
            """.utf8
        ).feed
        #expect(feed.format == .atom)
        #expect(feed.version == "1.0")
        #expect(feed.identifier == "tag:a.example,2004:feed")
        #expect(feed.title == "T")
        #expect(feed.language == "de")
        #expect(feed.siteURL == "http://a.example/b/")
        #expect(feed.feedURL == "http://a.example/b/feed.atom")
        #expect(feed.imageURL == "http://a.example/b/logo.png")
        #expect(feed.author == FeedAuthor(name: "Ann", url: "http://a.example/b/ann"))
        #expect(feed.tags == ["X"])
        let item = try #require(feed.items.first)
        #expect(item.identifier == "tag:a.example,2004:1")
        #expect(!item.guidIsPermalink)
        #expect(item.title == "A < B")
        #expect(item.language == "fr")
        #expect(item.url == "http://a.example/b/c/1.html")
        #expect(
            item.enclosures == [
                FeedEnclosure(url: "http://a.example/b/c/1.pdf", mediaType: "application/pdf", length: 9)
            ]
        )
        #expect(item.published?.formatted(.iso8601) == "2004-01-02T00:00:00Z")
        #expect(item.updated?.formatted(.iso8601) == "2004-01-03T00:00:00Z")
        #expect(item.content == "<p>P <img alt=\"&quot;\" src=\"http://a.example/b/c/i.png\" /><br /></p>")
        #expect(item.contentText == "P")
    }

    @Test(
        arguments: [
            ("<guid>http://a/1</guid><link>http://a/2</link>", "http://a/1", true, "http://a/2"),
            ("<guid>http://a/1</guid>", "http://a/1", true, "http://a/1"),
            ("<guid isPermaLink='false'>http://a/1</guid>", "http://a/1", false, nil),
            ("<guid>/1</guid>", "http://base/1", true, "http://base/1"),
            ("<guid isPermaLink='false'>/1</guid>", "/1", false, nil),
            ("<guid>tag:1</guid>", "tag:1", false, nil),
            ("<link>/2</link>", "http://base/2", false, "http://base/2"),
            ("<link> http://a/\n 2 </link>", "http://a/ 2", false, "http://a/ 2"),
            ("<title>T</title>", "409b0582e1afef834030299e2f86357df82a7ea7d13b80faf6afe28ec5fd764b", false, nil),
        ] as [(String, String, Bool, String?)]
    )
    func identityOfAnItem(elements: String, identifier: String, isPermalink: Bool, url: String?) throws {
        let text = "<rss version='2.0'><channel><item>\(elements)</item></channel></rss>"
        let item = try #require(try FeedParser.parse(text.utf8, address: "http://base/feed").feed.items.first)
        #expect(item.identifier == identifier)
        #expect(item.guidIsPermalink == isPermalink)
        #expect(item.url == url)
    }

    @Test(
        arguments: [
            ("one two", 7, "one two"), ("one two", 6, "one…"), ("one\n two", 7, "one two"), ("<b>one</b>", 3, "one"),
            ("longword", 5, "long…"),
            ("one", 0, "…"), ("", 5, nil),
        ] as [(String, Int, String?)]
    )
    func anExcerptEndsWithAWord(summary: String, length: Int, excerpt: String?) {
        var item = FeedItem()
        item.richContent = RichText(summary, format: .html)
        #expect(item.excerpt(upTo: length) == excerpt)
        item.richSummary = RichText(summary, format: .html)
        item.richContent = RichText("content", format: .plain)
        #expect(item.excerpt(upTo: length) == (summary.isEmpty ? "cont…" : excerpt))
    }

    @Test func aVideoInAtomWithMediaRSS() throws {
        let item = try FeedParser.parse(
            """
            <feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"><entry>
              <link rel="alternate" type="application/json" href="http://a.example/1"/>
              <media:group>
                <media:title>T</media:title><media:description>Two
            lines</media:description>
                <media:content url="http://a.example/1.mp4" type="video/mp4" fileSize="10" duration="61"/>
                <media:thumbnail url="http://a.example/1.jpg"/>
              </media:group>
            </entry></feed>
            """.utf8
        ).feed.items.first
        #expect(item?.summary == "Two lines")
        #expect(item?.url == "http://a.example/1")
        #expect(item?.imageURL == "http://a.example/1.jpg")
        #expect(
            item?.enclosures
                == [FeedEnclosure(url: "http://a.example/1.mp4", mediaType: "video/mp4", length: 10, duration: 61)]
        )
    }

    @Test func theContentHashIsThatOfTitleAddressAndGuid() {
        var item = FeedItem()
        // `printf '||' | sha256sum`, and `printf 'T|http://a/|g' | sha256sum`.
        #expect(item.contentHash == "565d240f5343e625ae579a4d45a770f1f02c6368b5ed4d06da4fbe6f47c28866")
        item.richTitle = RichText("<b>T</b>", format: .html)
        item.url = "http://a/"
        item.guid = "g"
        #expect(item.contentHash == "61250365ce4f82b595f5c923d1cc1c847fb89a098a93db3143deb739a921ca0e")
    }

    @Test(
        arguments: [
            (nil, nil, nil), ("hourly", nil, 3600), ("HOURLY", "2", 1800), ("daily", "0", 86_400),
            ("weekly", "x", 604_800),
            ("monthly", nil, 2_592_000), ("yearly", "1", 31_536_000), ("never", nil, nil), (nil, "2", 43_200),
            ("hourly", "9999", 60),
        ] as [(String?, String?, Int?)]
    )
    func theSyndicationModuleSetsAnInterval(period: String?, frequency: String?, seconds: Int?) {
        #expect(UpdateInterval.seconds(period: period, frequency: frequency) == seconds)
    }

    @Test(
        arguments: [
            ("61", 61), ("1:01", 61), ("1:01:01", 3661), ("00:00:10.5", 10), ("", nil), ("x", nil), ("1:2:3:4", nil),
            ("-1", nil),
            ("99999999999999999999", nil),
        ] as [(String, Int?)]
    )
    func playingTimes(text: String, seconds: Int?) {
        #expect(PlayingTime.seconds(text) == seconds)
    }

    @Test(
        arguments: [
            ("Ann", FeedAuthor(name: "Ann")), ("ann@a.example", FeedAuthor(email: "ann@a.example")),
            ("Ann (ann@a.example)", FeedAuthor(name: "Ann", email: "ann@a.example")),
            ("ann@a.example (Ann B.)", FeedAuthor(name: "Ann B.", email: "ann@a.example")),
            ("\"Ann\" <ann@a.example>", FeedAuthor(name: "Ann", email: "ann@a.example")),
            ("(ann@a.example)", FeedAuthor(email: "ann@a.example")), ("Ann (staff)", FeedAuthor(name: "Ann (staff)")),
            (") x (", FeedAuthor(name: ") x (")), ("a@b@c", FeedAuthor(name: "a@b@c")), (" ", nil),
        ] as [(String, FeedAuthor?)]
    )
    func authorsAreReadFromText(text: String, author: FeedAuthor?) {
        #expect(FeedAuthor(text: text) == author)
    }
}
