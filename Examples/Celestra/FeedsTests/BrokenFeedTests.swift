import Testing

@testable import CelestraFeeds

/// Feeds with mistakes, from the bytes to the value.
struct BrokenFeedTests {
    @Test(
        arguments: [
            // The text of the response, the title of its item, the kinds of problems.
            (
                "<rss><channel><item><title>Fish & Chips&nbsp;now</title></item></channel></rss>", "Fish & Chips now",
                [.strayAmpersand, .undefinedEntity]
            ),
            (
                "\n <?xml version='1.0'?><rss><channel><item><title>T</title></item></channel></rss>", "T",
                [.textOutsideRoot]
            ),
            (
                "<br />\n<b>Warning</b>: PHP<rss><channel><item><title>T</title></item></channel></rss>", "T",
                [.textOutsideRoot]
            ),
            (
                "<rss><channel><item><title>T</title><description><p>One<br>Two</description></item></channel></rss>",
                "T",
                [.unclosedElement]
            ),
            ("<rss><channel><item><title>T<link>http://a/</link></item></channel></rss>", "T", [.unclosedElement]),
            ("<rss><channel><item><title>T</title><link>http://a/?b=1&c=2</link>", "T", [.strayAmpersand, .truncated]),
            ("<rss><channel><item><title><![CDATA[T</title></item></channel></rss>", "T", [.unclosedSection]),
            ("<rss><channel><item><title>T\u{8}\u{0}</title></item></channel></rss>", "T", [.controlCharacter]),
            ("<rss><channel><item><dc:title>T</dc:title></item></channel></rss>", "T", [.undeclaredPrefix]),
            (
                "<rss><channel><item><title>T</title><pubDate>soon</pubDate></item></channel></rss>", "T",
                [.unreadableDate]
            ),
            ("<rss version=2.0><channel><item><title>T</title></item></channel></rss>", "T", [.malformedTag]),
            ("<!DOCTYPE html><rss><channel><item><title>T</title></item></channel></rss>", "T", []),
            ("<feed><entry><title>A &mdash; B</title></entry></feed>", "A — B", [.undefinedEntity]),
            ("<rss><channel><item><title>T</Title></item></channel></rss>", "T", [.malformedTag]),
            ("<rdf:RDF><channel/><item><title>T</title></item></rdf:RDF>", "T", [.undeclaredPrefix]),
            ("{\"items\": [{'title': 'T', /* no end */},]}", "T", [.nonstandardJSON]),
            ("{\"items\": [{\"title\": \"T\", \"date_published\": \"soon\"}]}", "T", [.unreadableDate]),
        ] as [(String, String, [FeedProblem.Kind])]
    )
    func aFeedIsReadAndItsProblemsAreReported(text: String, title: String, kinds: [FeedProblem.Kind]) throws {
        let parsed = try FeedParser.parse(text.utf8)
        #expect(parsed.feed.items.first?.title == title)
        #expect(parsed.problems.map(\.kind) == kinds)
    }

    @Test(
        arguments: [
            ("", .empty, "The response is empty.", nil),
            (" \n\u{FEFF}", .empty, "The response is empty.", nil),
            ("Not found", .notAFeed, "Text without a tag is not a feed. It begins with \"Not found\".", nil),
            ("<!DOCTYPE html>\n<html><body>x</body></html>", .notAFeed, "An HTML page is not a feed.", 2),
            ("<html><head><meta charset=utf-8><body>x & y", .notAFeed, "An HTML page is not a feed.", 1),
            ("<?xml version='1.0'?>\n\n<opml/>", .notAFeed, "XML with the root element <opml> is not a feed.", 3),
            ("[1]", .notAFeed, "JSON that is not an object is not a feed.", nil),
            ("{\"a\": 1}", .notAFeed, "A JSON object without the version of JSON Feed is not a feed.", nil),
            ("<", .notAFeed, "Text without a tag is not a feed. It begins with \"<\".", nil),
        ] as [(String, FeedError.Code, String, Int?)]
    )
    func whatIsNoFeedIsAnError(text: String, code: FeedError.Code, message: String, line: Int?) throws {
        let error = #expect(throws: FeedError.self) { try FeedParser.parse(text.utf8) }
        #expect(error?.code == code)
        #expect(error?.message == message)
        #expect(error?.line == line)
    }

    @Test func aPageNamesItsFeeds() {
        let page = """
            <!DOCTYPE html><html><head><meta charset=utf-8><link rel=stylesheet type="text/css" href="a.css">
            <link rel="alternate" type="application/rss+xml" href="/feed.xml"><link rel="alternate"
            type="application/feed+json" href="https://b.example/feed.json" /></head><body>a & b<br></body></html>
            """
        let error = #expect(throws: FeedError.self) {
            try FeedParser.parse(page.utf8, contentType: "text/html", address: "https://a.example/blog/")
        }
        #expect(
            error?.message
                == "An HTML page is not a feed. The page names its feeds: https://a.example/feed.xml https://b.example/feed.json"
        )
    }

    @Test func malformedJSONSaysWhere() {
        let error = #expect(throws: FeedError.self) { try FeedParser.parse("{\"items\": [\n{\"title\": }]}".utf8) }
        #expect(error?.code == .malformedJSON)
        #expect(error?.line == 2)
        #expect(error?.column == 11)
    }

    @Test func bytesOfAnImageAreNoFeed() {
        let bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D, 0x49, 0x48, 0x44, 0x52]
        #expect(throws: FeedError.self) { try FeedParser.parse(bytes, contentType: "image/png") }
    }

    @Test func aFeedInTheWrongEncodingIsRead() throws {
        // The declaration says UTF-8, but the text is in Windows-1252.
        let bytes =
            Array("<?xml version='1.0' encoding='utf-8'?><rss><channel><title>".utf8) + [0x93, 0x4E, 0xE9, 0x94]
        let parsed = try FeedParser.parse(bytes + Array("</title></channel></rss>".utf8))
        #expect(parsed.feed.title == "“Né”")
        #expect(parsed.problems.map(\.kind) == [.undecodableBytes])
        // Shift_JIS, from the bytes to the title.
        let japanese =
            Array("<?xml version='1.0' encoding='Shift_JIS'?><rss><channel><title>".utf8) + [0x93, 0xFA, 0x96, 0x7B]
        let second = try FeedParser.parse(japanese + Array("</title></channel></rss>".utf8))
        #expect(second.feed.title == "日本")
        #expect(second.encoding == "shift_jis")
        #expect(second.problems == [])
    }

    @Test func anExternalEntityIsNotRead() throws {
        let text =
            "<!DOCTYPE rss [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><rss><channel><title>&x;</title></channel></rss>"
        let parsed = try FeedParser.parse(text.utf8)
        #expect(parsed.feed.title == "&x;")
        #expect(parsed.problems.map(\.kind) == [.undefinedEntity])
    }

    @Test(arguments: [
        // On Linux, Foundation's parser crashes on these.
        "<?x?><rss><channel><title>T</title></channel></rss>",
        "<rss><?x?><channel><?y?><title>T</title></channel></rss><?z?>",
        "<!DOCTYPE rss [<!ATTLIST a b CDATA #IMPLIED>]><rss><channel><title>T</title></channel></rss>",
        "<!DOCTYPE rss><!DOCTYPE rss [<!ATTLIST a b CDATA #IMPLIED>]><rss><channel><title>T</title></channel></rss>",
        "<!DOCTYPE rss [<!ATTLIST a b CDATA #IMPLIED> ] <rss><channel><title>T</title></channel></rss>",
        "<rss><channel><title>T</title><a b='<?x?>'><?x?></a></channel></rss>",
        "<rss><channel><title>T</title><!-- <?x?> --><![CDATA[<?x?>]]></channel></rss>",
        "<rss><channel><title>T</title><!-- <?x?> </channel></rss>",
        "<rss><channel><title>T</title><?x </channel></rss>",
    ])
    func instructionsAndDeclarationsAreNoTrap(text: String) throws {
        #expect(try FeedParser.parse(text.utf8).feed.title == "T")
    }

    @Test func deepNestingIsNoTrap() throws {
        let deep = String(repeating: "<b>", count: 100_000)
        let parsed = try FeedParser.parse("<rss><channel><description>\(deep)x".utf8)
        #expect(parsed.feed.description == "x")
        #expect(parsed.problems.map(\.kind).contains(.tooDeep))
        #expect(throws: FeedError.self) { try FeedParser.parse(String(repeating: "[", count: 100_000).utf8) }
        #expect(throws: FeedError.self) { try FeedParser.parse(String(repeating: "{\"a\":", count: 100_000).utf8) }
    }
}
