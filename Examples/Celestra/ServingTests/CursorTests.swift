import Foundation
import Testing

@testable import CelestraServing

struct CursorTests {
    @Test(arguments: ["m", "EgYKBA+/==", "ÿ~?", String(repeating: "x", count: 1000)])
    func aCursorComesBackAsItIs(marker: String) {
        let cursor = Cursor(listing: "feeds/a/articles", limit: 7, marker: marker)
        #expect(Cursor(cursor.text, of: "feeds/a/articles") == cursor)
        let allowed = CharacterSet(charactersIn: "-_").union(.alphanumerics)
        #expect(cursor.text.unicodeScalars.allSatisfy { $0.isASCII && allowed.contains($0) })
    }

    @Test func otherTextsAreRefused() {
        let cursor = Cursor(listing: "feeds", limit: 20, marker: "m")
        #expect(Cursor(cursor.text, of: "feeds/a/articles") == nil)
        for text in ["", "x", "%%%", "{}", "e30", String(cursor.text.dropLast(3)), String(repeating: "A", count: 5000)]
        {
            #expect(Cursor(text, of: "feeds") == nil)
        }
        for other in [
            Cursor(listing: "feeds", limit: 0, marker: "m"), Cursor(listing: "feeds", limit: 101, marker: "m"),
            Cursor(listing: "feeds", limit: 1, marker: ""),
            Cursor(listing: "feeds", limit: 1, marker: String(repeating: "x", count: 4000)),
        ] {
            #expect(Cursor(other.text, of: "feeds") == nil)
        }
    }
}
