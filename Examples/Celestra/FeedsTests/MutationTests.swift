import CelestraFeeds
import ExampleTesting
import Testing

/// Damaged feeds are read or refused. Reading them never traps and never takes long.
@Suite(.enabled(if: !FeedSuite.cases.isEmpty, Comment(rawValue: FeedSuite.isMissing)))
struct MutationTests {
    @Test(.timeLimit(.minutes(5)))
    func damagedFeedsAreReadOrRefused() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("mutations: seed \(seed)")
        var random = SeededRandom(seed: seed)
        var read = 0
        var refused = 0
        for _ in 0..<4_000 {
            guard let feed = FeedSuite.cases.randomElement(using: &random) else { return }
            let bytes = Self.mutated(feed.bytes, using: &random)
            do {
                let parsed = try FeedParser.parse(bytes, contentType: feed.contentType, address: feed.address)
                read += 1
                // Computed properties must not trap either.
                for item in parsed.feed.items {
                    _ = (item.identifier, item.title, item.content, item.readingTime, item.tags)
                }
                _ = (parsed.feed.title, parsed.feed.description, parsed.problems.map(\.description))
            } catch {
                #expect(error is FeedError, "seed \(seed): \(feed.path)")
                // The repair turns any text into well-formed XML.
                #expect((error as? FeedError)?.code != .malformedXML, "seed \(seed): \(feed.path): \(error)")
                refused += 1
            }
        }
        print("mutations: \(read) read, \(refused) refused")
        #expect(read > 2_000)
    }

    /// The bytes after some random changes: bytes are cut off, changed, removed or repeated.
    private static func mutated(_ bytes: [UInt8], using random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: bytes.indices, using: &random)
            let end = min(bytes.count, index + Int.random(in: 1...40, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes.removeSubrange(index...)
            case 1: bytes[index] = UInt8.random(in: .min ... .max, using: &random)
            case 2: bytes[index] = Array("<>&\"'/=;![]-?{}:,".utf8).randomElement(using: &random) ?? 0
            case 3: bytes.removeSubrange(index..<end)
            case 4: bytes.insert(contentsOf: bytes[index..<end], at: Int.random(in: 0...bytes.count, using: &random))
            default: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
        }
        return bytes
    }
}
