import Testing
import WebFetching

struct RobotsFileTests {
    @Test(
        arguments: [
            // The file, the path, whether it is allowed.
            ("", "/a", true),
            ("User-agent: *\nDisallow:", "/a", true),
            ("User-agent: *\nDisallow: /", "/a", false),
            ("User-agent: *\nDisallow: /", "/robots.txt", true),
            ("User-agent: *\nDisallow: /a", "/abc", false),
            ("User-agent: *\nDisallow: /a", "/b/a", true),
            ("User-agent: *\nDisallow: /a\nAllow: /a/feed", "/a/feed.xml", true),
            ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", true),
            ("User-agent: *\nDisallow: /*.xml$", "/x/feed.xml", false),
            ("User-agent: *\nDisallow: /*.xml$", "/x/feed.xml?a", true),
            ("User-agent: *\nDisallow: /a*b*c", "/a-b-b-c-d", false),
            ("User-agent: *\nDisallow: /a*b*c", "/a-c-b", true),
            ("User-agent: *\nDisallow: /$", "/", false),
            ("User-agent: *\nDisallow: /$", "/a", true),
            ("User-agent: *\nDisallow: *feed", "/my/feed", false),
            ("User-agent: *\nDisallow: /caf%C3%A9", "/café", false),
            ("User-agent: *\nDisallow: /%61", "/a", false),
            ("User-agent: *\nDisallow: /a%2Fb", "/a/b", true),
            ("User-agent: *\nDisallow: /a%+9b", "/a%+9b", false),
            ("User-agent: *\nDisallow: /a%+9b", "/a%09b", true),
            ("User-agent: *\nDisallow: /a%-0b", "/a%-0b", false),
            ("User-agent: *\nDisallow: /a%-0b", "/a%00b", true),
            // The groups of the program replace those of `*`; upper and lower case are equal; several groups of the
            // program are merged.
            ("User-agent: *\nDisallow: /\n\nUser-agent: Celestra/1.0\nAllow: /", "/a", true),
            ("User-agent: celestra\nDisallow: /a\n\nUser-agent: CELESTRA\nDisallow: /b", "/b", false),
            ("User-agent: other\nUser-agent: celestra\nDisallow: /", "/a", false),
            ("User-agent: celestra\nUser-agent: other\nDisallow: /", "/a", false),
            (
                "User-agent: one\nUser-agent: two\nUser-agent: celestra\nDisallow: /\nUser-agent: *\nAllow: /", "/a",
                false
            ),
            ("User-agent: other\nDisallow: /\nUser-agent: celestra\nAllow: /", "/a", true),
            ("User-agent: other\nDisallow: /", "/a", true),
            ("User-agent: celestrabot\nDisallow: /", "/a", true),
            ("User-agent: other\nSitemap: http://x/\nUser-agent: celestra\nDisallow: /", "/a", false),
            // Lines that are not rules are ignored.
            ("Disallow: /\n", "/a", true),
            ("<html><p>Disallow: /</p></html>", "/a", true),
            ("\u{FEFF}user-AGENT : * # all\r\n DISALLOW : /a # here\r\n", "/a", false),
        ]
    )
    func rulesDecide(file: String, path: String, isAllowed: Bool) {
        #expect(RobotsFile(file).allows(path, for: "celestra") == isAllowed)
    }

    @Test func aPatternOfStarsIsFast() {
        let file = RobotsFile("User-agent: *\nDisallow: /" + String(repeating: "a*", count: 200) + "b$")
        #expect(file.allows("/" + String(repeating: "a", count: 5000), for: "celestra"))
    }

    @Test func theDelayIsThatOfTheGroup() {
        let file = RobotsFile("User-agent: *\nCrawl-delay: 2.5\n\nUser-agent: slow\nCrawl-delay: 60\nCrawl-delay: soon")
        #expect(file.delay(for: "celestra") == 2.5)
        #expect(file.delay(for: "slow") == 60)
        #expect(RobotsFile("").delay(for: "celestra") == nil)
    }
}
