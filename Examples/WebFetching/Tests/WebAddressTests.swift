import Testing
import WebFetching

struct WebAddressTests {
    @Test(
        arguments: [
            ("http://example.com", "http://example.com/"),
            (" HTTPS://Example.COM:443/a?b#c\n", "https://example.com/a?b"),
            ("http://example.com:8080/", "http://example.com:8080/"),
            ("http://example.com:/x", "http://example.com/x"),
            ("http://[::1]:81/x", "http://[::1]:81/x"),
            ("http://example.com/ä b%20c\"", "http://example.com/%C3%A4%20b%20c%22"),
            ("http://example.com?q=1", "http://example.com/?q=1"),
        ]
    )
    func anAddressIsWrittenInOneWay(text: String, expected: String) {
        #expect(WebAddress(text)?.text == expected)
    }

    @Test(
        arguments: [
            "", "example.com", "/feed", "ftp://example.com/", "http://", "http:///feed", "http://user@example.com/",
            "http://example.com:0/", "http://example.com:99999/", "http://example.com:x/", "http://a b/", "file:///etc",
        ]
    )
    func otherTextsAreRefused(text: String) {
        #expect(WebAddress(text) == nil)
    }

    @Test func referencesAreResolved() throws {
        let page = try #require(WebAddress("https://example.com/a/feed.xml?x=1"))
        #expect(page.resolving("../b")?.text == "https://example.com/b")
        #expect(page.resolving("//other.example/c")?.text == "https://other.example/c")
        #expect(page.resolving("?y")?.text == "https://example.com/a/feed.xml?y")
        #expect(page.resolving("mailto:a@b") == nil)
        #expect(page.robots.text == "https://example.com/robots.txt")
    }
}
