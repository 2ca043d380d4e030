import Foundation

/// The suite of feeds in the folder `feeds` of the shared data, which is not part of this repository.
enum FeedSuite {
    /// A feed of the suite.
    struct Case: Sendable {
        /// The path below the folder of the suite.
        var path: String
        var bytes: [UInt8]
        var contentType: String?
        var address: String?
        /// What a reader should find, or `nil` if the feed does not say.
        var expectation: String?
    }

    /// The folder with the feeds: below the folder that `MISTKIT_SHARED` names, or else below `shared` beside the
    /// repository.
    static let folder: URL = {
        let shared =
            ProcessInfo.processInfo.environment["MISTKIT_SHARED"].map { URL(fileURLWithPath: $0, isDirectory: true) }
            ?? (0..<5).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }.appending(
                path: "shared"
            )
        return shared.appending(path: "feeds")
    }()

    /// The feeds, sorted by path. Empty if the folder is not there.
    static let cases: [Case] = {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".xml") || $0.hasSuffix(".json") }.sorted()
            .compactMap { path in
                (try? Data(contentsOf: folder.appending(path: path))).map { Case(path: path, bytes: Array($0)) }
            }
    }()

    static let isMissing = "needs ../shared/feeds"
}

extension FeedSuite.Case {
    fileprivate init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
        // The comments are ASCII in all encodings, except for the zero bytes of UTF-16 and UTF-32.
        let lines = bytes.filter { $0 != 0 }.split { $0 == 0x0A || $0 == 0x0D }
            .map { line in String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) })) }
        func field(_ name: String, in line: String) -> String? {
            guard let range = line.firstRange(of: name + ":") else { return nil }
            return line[range.upperBound...].trimmingCharacters(in: .whitespaces)
        }
        for line in lines.prefix(20) {
            expectation = expectation ?? field("Expect", in: line)
            if let header = field("Header", in: line) {
                contentType = contentType ?? field("Content-type", in: header)
                address = address ?? field("Content-Location", in: header)
            }
        }
        expectation = expectation?.split(separator: "-->").first.map { $0.trimmingCharacters(in: .whitespaces) }
        // The suite fetches these feeds from a server.
        if path.contains("/http_") { address = address ?? "http://127.0.0.1:8097/tests/\(path)" }
    }
}
