import Testing

@testable import WebText

struct HTMLTextTests {
    @Test(arguments: [
        ("", ""),
        ("a  b\n\tc", "a b c"),
        ("<p>One</p><p>Two</p>", "One\nTwo"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("a<b>b</b>c", "abc"),
        ("<ul><li>x</li><li>y</li></ul>", "• x\n• y"),
        ("a<script>if (a < b) { \"</p>\" }</script>b", "ab"),
        ("a<style>p { }</style>b<!-- <p> -->c", "abc"),
        ("Fish &amp; Chips &lt;b&gt; &eacute;&#233;&#xE9;&nbsp;x", "Fish & Chips <b> ééé x"),
        ("&#146;&#150;", "\u{2019}\u{2013}"),
        ("AT&T &unknown; & &", "AT&T &unknown; & &"),
        // A reference ends with a semicolon: "&copy=1" is a part of an address, not a reference.
        ("a &amp b?x&copy=1", "a &amp b?x&copy=1"),
        ("&#0;&#xD800;&#99999999999;&#x;", "&#0;&#xD800;&#99999999999;&#x;"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("a <b", "a <b"),
        ("<a title=\"x > y\" href='z'>t</a>", "t"),
        ("<a title=\"x", "<a title=\"x"),
        ("<td>a</td><td>b</td>", "a b"),
        ("a<!-- not closed", "a<!-- not closed"),
        ("<![CDATA[x]]>y", "y"),
        ("<p>\n  <img alt='x'>\n</p>\n", ""),
        ("</p>a</p>", "a"),
        ("&amp;lt;", "&lt;"),
    ])
    func htmlBecomesText(html: String, text: String) {
        #expect(HTMLText.plainText(of: html) == text)
    }

    @Test(arguments: [
        ("plain", false), ("1 < 2", false), ("AT&T", false), ("a & b", false), ("<b>x</b>", true), ("x<br/>", true),
        ("a &amp; b", true),
        ("it&apos;s", true), ("<3", false), ("<!-- x -->", true), ("a <b", false),
        ("Array<Element>", false), ("Vec<T> & <u>x</u>", true), ("</p>", true),
    ])
    func htmlIsToldFromText(text: String, isHTML: Bool) {
        #expect(HTMLText.isLikelyHTML(text) == isHTML)
    }

    @Test(arguments: [
        ("<a href=\"/x\">", "<a href=\"http://a/x\">"),
        ("<A HREF='x'>t</A>", "<A HREF='http://a/b/x'>t</A>"),
        ("<img src=x.png alt=\"/y\">", "<img src=http://a/b/x.png alt=\"/y\">"),
        ("<a href=\"http://c/\" title=\"/x\">", "<a href=\"http://c/\" title=\"/x\">"),
        ("<a href=\" /x \">", "<a href=\"http://a/x\">"),
        (
            "<a title=\"x > y\" href=\"/x\"><a title='<b>' href=/y>",
            "<a title=\"x > y\" href=\"http://a/x\"><a title='<b>' href=http://a/y>"
        ),
        ("<a href=\"?a=1&amp;b=2\">", "<a href=\"http://a/b/?a=1&amp;b=2\">"),
        ("<a href=\"\">", "<a href=\"\">"),
        ("<a\nhref = \"x\" href=\"y\">é", "<a\nhref = \"http://a/b/x\" href=\"http://a/b/y\">é"),
        ("<a href=\"x", "<a href=\"x"),
        ("href=\"x\" <", "href=\"x\" <"),
    ])
    func linksBecomeAbsolute(html: String, resolved: String) {
        #expect(HTMLLinks.resolved(in: html, against: "http://a/b/") == resolved)
        #expect(HTMLLinks.resolved(in: html, against: nil) == html)
    }

    @Test func unclosedTagsTakeLinearTime() {
        let clock = ContinuousClock()
        for piece in [
            "<a b=\"<a", "<a b='<a b=\"", "<!--", "<", "<a ", "</", "&", "&#", "<script>", "<a b=\"<\" ", "b=\"<a\" ",
        ] {
            let html = String(repeating: piece, count: 10_000)
            let time = clock.measure {
                _ = HTMLText.plainText(of: html) + HTMLLinks.resolved(in: html, against: "http://a/")
            }
            #expect(time < .seconds(5), "\(piece): \(time)")
        }
    }
}
