import OpenAPISwiftRuntime
import Testing

struct AcceptHeaderContentTypeTests {

    private enum StatsType: AcceptableProtocol {
        case json
        case plainText
        case other(String)

        init?(rawValue: String) {
            switch rawValue {
            case "application/json": self = .json
            case "text/plain": self = .plainText
            default: self = .other(rawValue)
            }
        }

        var rawValue: String {
            switch self {
            case .json: "application/json"
            case .plainText: "text/plain"
            case .other(let text): text
            }
        }

        static var allCases: [Self] { [.json, .plainText] }
    }

    private typealias Accept = AcceptHeaderContentType<StatsType>

    @Test func entriesAreReadAndWritten() {
        let entries: [(String, Accept, String)] = [
            ("application/json", Accept(contentType: .json), "application/json"),
            ("Application/JSON", Accept(contentType: .json), "application/json"),
            ("text/plain; q=0.8", Accept(contentType: .plainText, quality: 0.8), "text/plain; q=0.800"),
            ("text/plain;Q=0.8", Accept(contentType: .plainText, quality: 0.8), "text/plain; q=0.800"),
            ("text/plain; charset=utf-8; q=0", Accept(contentType: .plainText, quality: 0), "text/plain; q=0.000"),
            ("application/json; q=1.0", Accept(contentType: .json), "application/json"),
            ("*/*; q=0.1234", Accept(contentType: .other("*/*"), quality: 0.123), "*/*; q=0.123"),
        ]
        for (text, expected, written) in entries {
            #expect(Accept(rawValue: text) == expected)
            #expect(expected.rawValue == written)
        }
    }

    @Test(arguments: ["", "json", "/", "text/", "a b/c", "text/plain; q=2", "text/plain; q=-1", "text/plain; q=much"])
    func textThatIsNoEntryIsRefused(text: String) {
        #expect(Accept(rawValue: text) == nil)
    }

    @Test func theDefaultIsEveryTypeEquallyWanted() {
        let expected = [Accept(contentType: .json), Accept(contentType: .plainText)]
        #expect(Accept.defaultValues == expected)
        #expect([Accept].defaultValues() == expected)
    }

    @Test func sortingPutsTheMostWantedFirstAndKeepsOrderAmongEquals() {
        let entries = [
            Accept(contentType: .other("a/a"), quality: 0.5), Accept(contentType: .json, quality: 0.9),
            Accept(contentType: .other("b/b"), quality: 0.5), Accept(contentType: .plainText),
        ]
        #expect(entries.sortedByQuality().map(\.contentType) == [.plainText, .json, .other("a/a"), .other("b/b")])
    }

    @Test func qualitiesHaveThreeDecimalsFromZeroToOne() {
        #expect(QualityValue(doubleValue: 0.12345).rawValue == "0.123")
        #expect(QualityValue(doubleValue: 7).rawValue == "1.000")
        #expect(QualityValue(doubleValue: .nan).rawValue == "0.000")
        #expect(QualityValue(rawValue: "1.0")?.isDefault == true)
        #expect((1 as QualityValue) == (1.0 as QualityValue))
        #expect(QualityValue(rawValue: "0.5")?.doubleValue == 0.5)
    }
}
