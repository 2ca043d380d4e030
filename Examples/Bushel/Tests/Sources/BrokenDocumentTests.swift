import Testing

@testable import BushelSources

/// Documents that are not those of a source: the error names the source, the position and the problem.
struct BrokenDocumentTests {
    /// The error of the source with a name, if it reads a text.
    private func error(_ id: SourceID, _ text: String) -> String? {
        guard let source = Source.all.first(where: { $0.id == id }) else { return nil }
        do throws(SourceError) {
            _ = try source.parse(Array(text.utf8))
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func noSourceTakesAnEmptyDocument() {
        for source in Source.all {
            for text in ["", " \n\t"] {
                #expect(error(source.id, text)?.lowercased().contains("the response is empty") == true, "\(source.id)")
            }
        }
    }

    @Test func noSourceTakesAPageOfSomethingElse() {
        let page = "<!DOCTYPE html><html><head><title>Maintenance</title></head><body><p>Back soon</p></body></html>"
        for source in Source.all { #expect(error(source.id, page) != nil, "\(source.id)") }
    }

    @Test func noSourceTakesGarbage() {
        for text in [
            "\u{0}\u{1}garbage", "{", "[", "{\"a\": ", "null", "7", "\"text\"", "[]", "{}", "<plist><dict>",
            "<table><tr><td>",
        ] {
            for source in Source.all { #expect(error(source.id, text) != nil, "\(source.id) takes \(text)") }
        }
    }

    @Test(
        arguments: [
            (.ipswMe, "{}", "ipsw.me: firmwares is missing."),
            (.ipswMe, "{\"firmwares\": 7}", "ipsw.me: firmwares is not a list."),
            (.ipswMe, "[1]", "ipsw.me: the document is not an object."),
            (.ipswMe, "{\"firmwares\": []}", "ipsw.me: it lists no release."),
            (
                .ipswMe, "{\"firmwares\": [7]}",
                "ipsw.me: firmwares[0] is not an object, and no other entry can be read."
            ),
            (.ipswMe, "{\"firmwares\": [", "ipsw.me: the document is not valid JSON."),
            (.appleDB, "{\"error\": \"not found\"}", "appledb: the document is not a list."),
            (.appleDB, "<html>", "appledb: the response is not JSON but HTML or XML."),
            (.xcodeReleases, "[{}]", "xcodereleases: [0].version is missing, and no other entry can be read."),
            (.swiftOrg, "{}", "swift.org: the document is not a list."),
            (
                .appleCatalog, "<plist version=\"1.0\"><dict/></plist>",
                "apple-catalog: MobileDeviceSoftwareVersionsByVersion is missing."
            ),
            (.appleCatalog, "<plist version=\"1.0\"><dict>", "apple-catalog: the response is not a property list."),
            (
                .mrMacintosh, "<table><tr><td>a</table>",
                "mrmacintosh: the page has no table with a column of build numbers."
            ),
            (.swiftVersionNet, "<p>6.0", "swiftversion.net: the page has no table with three columns."),
            (.appleReleases, "<rss><channel><title>x</title></channel></rss>", "apple-releases: it lists no release."),
        ] as [(SourceID, String, String)]
    )
    func theErrorNamesSourcePlaceAndProblem(source: SourceID, text: String, expected: String) {
        #expect(error(source, text) == expected)
    }
}
