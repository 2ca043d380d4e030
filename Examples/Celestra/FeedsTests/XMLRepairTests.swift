import ExampleTesting
import Testing

@testable import CelestraFeeds

struct XMLRepairTests {
    @Test(
        arguments: [
            ("<rss>a & b</rss>", "<rss>a &amp; b</rss>", [.strayAmpersand]),
            ("<rss>a &nbsp;&eacute; &lt;</rss>", "<rss>a \u{A0}é &lt;</rss>", [.undefinedEntity]),
            ("<rss>&bogus;</rss>", "<rss>&amp;bogus;</rss>", [.undefinedEntity]),
            ("<rss>&#0;&#x1F;a</rss>", "<rss>a</rss>", [.invalidCharacterReference]),
            ("<rss>1 < 2</rss>", "<rss>1 &lt; 2</rss>", [.strayAngleBracket]),
            ("<rss><a>x</rss>", "<rss><a>x</a></rss>", [.unclosedElement]),
            ("<rss>x</a></rss>", "<rss>x</rss>", [.unmatchedEndTag]),
            ("<rss><a>x</A></rss>", "<rss><a>x</a></rss>", []),
            ("<rss><title>a<link>b</link></rss>", "<rss><title>a</title><link>b</link></rss>", [.unclosedElement]),
            ("<rss><item>a<item>b</item></rss>", "<rss><item>a</item><item>b</item></rss>", [.unclosedElement]),
            ("<rss>a<br>b<img src='x'></rss>", "<rss>a<br/>b<img src=\"x\"/></rss>", [.unclosedElement]),
            ("<rss>a<br>b</br></rss>", "<rss>a<br/>b</rss>", [.unclosedElement]),
            ("<rss a=1 b='2' c>x</rss>", "<rss a=\"1\" b=\"2\" c=\"\">x</rss>", [.malformedTag]),
            ("<rss a='1' a='2'/>", "<rss a=\"1\"/>", [.duplicateAttribute]),
            ("<rss a='&' b='<'/>", "<rss a=\"&amp;\" b=\"&lt;\"/>", [.strayAmpersand]),
            ("<rss a='x>t</rss>", "<rss a=\"x\">t</rss>", [.malformedTag]),
            ("<rss>\u{1}a\u{B}\u{FFFE}</rss>", "<rss>a</rss>", [.controlCharacter]),
            ("junk <?xml version='1.0'?><rss/>", "<rss/>", [.textOutsideRoot]),
            ("\n\n<?xml version='1.0'?>\n<rss/>", "\n\n\n<rss/>", [.textOutsideRoot]),
            ("<b>Warning</b>: x\n<rss><a/></rss>", "\n<rss><a/></rss>", [.textOutsideRoot]),
            ("<rss></rss>x", "<rss></rss>", [.textOutsideRoot]),
            ("<rss><a>x", "<rss><a>x</a></rss>", [.truncated]),
            ("<rss><a", "<rss></rss>", [.malformedTag, .truncated]),
            ("<rss><a>x</a", "<rss><a>x</a></rss>", [.malformedTag, .truncated]),
            ("<rss><![CDATA[<b>&]]></rss>", "<rss>&lt;b&gt;&amp;</rss>", []),
            ("<rss><a><![CDATA[x</a><b/></rss>", "<rss><a>x</a><b/></rss>", [.unclosedSection]),
            ("<rss><![CDATA[x", "<rss>x</rss>", [.unclosedSection, .truncated]),
            ("<rss><!-- x --><?y?>z</rss>", "<rss>z</rss>", []),
            ("<rss><!-- x</rss>", "<rss> x</rss>", [.unclosedSection]),
            ("<rss>]]></rss>", "<rss>]]&gt;</rss>", []),
            ("<rss><!DOCTYPE html>x</rss>", "<rss>x</rss>", [.malformedTag]),
            ("<rss><a:b:c x:y:z='1'/></rss>", "<rss><a:b-c x:y-z=\"1\"/></rss>", []),
            ("text", "", [.textOutsideRoot]),
            ("", "", []),
        ] as [(String, String, [FeedProblem.Kind])]
    )
    func mistakesAreRepairedAndReported(text: String, repaired: String, kinds: [FeedProblem.Kind]) throws {
        var problems = ProblemLog()
        #expect(XMLRepair.repaired(text, problems: &problems) == repaired)
        #expect(problems.problems.map(\.kind) == kinds)
        if !repaired.isEmpty {
            var others = ProblemLog()
            _ = try FeedDocument(parsing: repaired, base: nil, problems: &others)
        }
    }

    @Test func aProblemHasTheLineOfItsFirstOccurrence() {
        var problems = ProblemLog()
        _ = XMLRepair.repaired("<rss>\n<a>\nx & y\n</b> & &nbsp;</a></rss>", problems: &problems)
        #expect(
            problems.problems.map(\.description) == [
                "strayAmpersand: \"&\" does not begin a reference (2 times) (line 3)",
                "unmatchedEndTag: </b> has no start tag (line 4)",
                "undefinedEntity: &nbsp; (line 4)",
            ]
        )
    }

    @Test func deepElementsLoseTheirTags() throws {
        let text =
            "<rss>" + String(repeating: "<a>", count: 5000) + "x" + String(repeating: "</a>", count: 5000) + "</rss>"
        var problems = ProblemLog()
        let repaired = XMLRepair.repaired(text, problems: &problems)
        #expect(problems.contains(.tooDeep))
        let document = try FeedDocument(parsing: repaired, base: nil, problems: &problems)
        #expect(document.root.deepText == "x")
    }

    @Test func repairTakesLinearTime() {
        let clock = ContinuousClock()
        for piece in [
            "<a>", "<a b=\"<a", "<!--", "<![CDATA[", "<?", "<!D", "</a>", "<a></b>", "&", "<", "<title>", "<item>",
            "<a b='>",
        ] {
            var problems = ProblemLog()
            let text = "<rss>" + String(repeating: piece, count: 10_000)
            let time = clock.measure { _ = XMLRepair.repaired(text, problems: &problems) }
            #expect(time < .seconds(5), "\(piece): \(time)")
        }
    }

    @Test func randomTextBecomesWellFormed() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("repair: seed \(seed)")
        var random = SeededRandom(seed: seed)
        let pieces = [
            "<rss>", "<item>", "</item>", "<title>", "</title>", "<a b='", "\"", "'", ">", "<", "/>", "=", "&", "&amp;",
            "&nbsp;", "&#",
            ";", "<![CDATA[", "]]>", "<!--", "-->", "<?", "?>", "<!", "x", " ", "\n", "é", "\u{1}", "xml:base='",
            "xmlns:a=\"", "a:b",
            "<br>", "<a:b:c", "-", ".", "1", "[", "\u{FFFF}", "xmlns='", "]",
        ]
        for _ in 0..<5_000 {
            let count = Int.random(in: 1..<30, using: &random)
            let text = "<rss>" + (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            var problems = ProblemLog()
            let repaired = XMLRepair.repaired(text, problems: &problems)
            do throws(FeedDocument.Failure) {
                _ = try FeedDocument(parsing: repaired, base: nil, problems: &problems)
            } catch {
                Issue.record("seed \(seed): \(text) became \(repaired): \(error)")
            }
        }
    }
}

struct XMLPrologTests {
    @Test(arguments: [
        ("<rss/>", "<rss/>"),
        ("<?xml version='1.0'?>\n<rss/>", "                     \n<rss/>"),
        ("<!DOCTYPE rss>\n<rss/>", "              \n<rss/>"),
        ("<!-- > --><!doctype a \"[>\" [ <!-- ] > --> <!ELEMENT b> ]\n><c/>", "<!-- > -->\n <c/>"),
        ("<!DOCTYPE rss [<!ENTITY a \"1 &lt; 2\">]><rss>&a;&b;</rss>", "<rss>1 &lt; 2&b;</rss>"),
        ("<!DOCTYPE rss [<!ENTITY a 'x'><!ENTITY a 'y'><!ENTITY % b 'z'>]><rss c='&a;'/>", "<rss c='x'/>"),
        // Entities within entities and entities from files are not replaced.
        ("<!DOCTYPE rss [<!ENTITY a '&b;'><!ENTITY b 'x'>]><rss>&a;</rss>", "<rss>&amp;b;</rss>"),
        ("<!DOCTYPE rss [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><rss>&a;</rss>", "<rss>&a;</rss>"),
        ("<!DOCTYPE rss", "<!DOCTYPE rss"),
        ("<!DOCTYPE rss [", "<!DOCTYPE rss ["),
        ("<?xml", "<?xml"),
    ])
    func declarationsAreTakenOff(text: String, body: String) {
        // Spaces replace the declarations, so runs of spaces are ignored.
        #expect(XMLProlog(text).body.replacing(/[ ]{10,}/, with: "") == body.replacing(/[ ]{10,}/, with: ""))
        #expect(XMLProlog(text).body.count { $0 == "\n" } == text.count { $0 == "\n" })
    }

    @Test func entitiesDoNotMultiplyTheText() {
        let value = String(repeating: "x", count: 4000)
        let text = "<!DOCTYPE rss [<!ENTITY a '\(value)'>]><rss>" + String(repeating: "&a;", count: 100_000) + "</rss>"
        #expect(XMLProlog(text).body.utf8.count < 10 * text.utf8.count)
    }
}
