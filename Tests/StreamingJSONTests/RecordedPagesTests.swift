import Foundation
import StreamingJSON
import TestSupport
import Testing

struct RecordedPagesTests {
    static let pages: [String] = {
        let folder = SharedFolder.url.appending(path: "recorded-exchanges").path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted()
    }()

    @Test(.enabled(if: !pages.isEmpty, "needs ../shared/recorded-exchanges"), arguments: pages)
    func recordedPagesSurviveReadingAndWriting(name: String) throws {
        let bytes = try SharedFolder.bytes("recorded-exchanges/\(name)")
        let value = try JSONReader.read(JSONValue.self, from: bytes)
        let compact = try JSONWriter.bytes(of: value)
        let pretty = try JSONWriter.bytes(of: value, options: .prettyPrinted)
        #expect(try JSONRawValue(parsing: bytes) == JSONRawValue(parsing: compact))
        #expect(try JSONRawValue(parsing: bytes) == JSONRawValue(parsing: pretty))
    }
}
