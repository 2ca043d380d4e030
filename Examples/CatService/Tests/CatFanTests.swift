import CatServiceAPI
import OpenAPISwiftRuntime
import Testing

@testable import CatClient

/// The client, with a mock instead of the service.
struct CatFanTests {
    @Test func asksForAsManyCatsAsAreWanted() async throws {
        let cats = MockCats(emoji: { count in .ok(.init(body: .plainText(HTTPBody("\(count ?? 0) cats")))) })
        #expect(try await CatFan(cats: cats).emoji(count: 3) == "3 cats")
        #expect(try await CatFan(cats: cats).emoji(count: nil) == "0 cats")
    }

    @Test func saysWhyThereAreNoCats() async throws {
        let refusing = MockCats(emoji: { _ in .badRequest(.init(body: .plainText("all asleep"))) })
        #expect(try await CatFan(cats: refusing).emoji(count: 1) == "No cats: all asleep")

        let broken = MockCats(emoji: { _ in .undocumented(statusCode: 502, .init()) })
        #expect(try await CatFan(cats: broken).emoji(count: 1) == "No cats: the service answers with status 502.")
    }

    @Test func passesTheClipOnInTheChunksInWhichItArrives() async throws {
        let chunks = AsyncStream<ArraySlice<UInt8>> { continuation in
            continuation.yield([1, 2])
            continuation.yield([3])
            continuation.finish()
        }
        var received: [[UInt8]] = []
        for try await chunk in try await CatFan(cats: MockCats(clip: HTTPBody(chunks, length: .unknown))).clip() {
            received.append(Array(chunk))
        }
        #expect(received == [[1, 2], [3]])
    }
}
