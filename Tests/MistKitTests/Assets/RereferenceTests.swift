import HTTPTypes
import OpenAPISwiftRuntime
import Testing

@testable import MistKit

/// `rereference` is a batch with the same rules as all others.
struct RereferenceTests {
    private static let policy = RetryPolicy(baseDelay: .zero)

    private static func asset(_ name: String) -> String {
        #"{"fileChecksum":"\#(name)","receipt":"\#(name)","size":3}"#
    }

    @Test func anItemThatTheServiceDidNotDoIsSentAgainAlone() async throws {
        let transport = FakeTransport(
            json: #"{"assets":[\#(Self.asset("a")),{"serverErrorCode":"TRY_AGAIN_LATER"}]}"#,
            #"{"assets":[\#(Self.asset("b"))]}"#
        )
        let database = fakeService(transport, retryPolicy: Self.policy).publicDatabase
        let results = try await database.rereference([AssetField("photo", of: "a"), AssetField("photo", of: "b")])
        #expect(results.map { summary($0) { $0.receipt ?? "" } } == ["a", "b"])
        #expect(transport.sent.map { $0.json.contains(#""a""#) } == [true, false])
    }

    @Test func aRequestThatIsTooLargeIsSentInHalves() async throws {
        let transport = FakeTransport { exchange, number in
            number == 1
                ? reply(.badRequest, #"{"serverErrorCode":"LIMIT_EXCEEDED"}"#)
                : reply(.ok, #"{"assets":[\#(Self.asset(exchange.json.contains(#""a""#) ? "a" : "b"))]}"#)
        }
        let database = fakeService(transport, retryPolicy: Self.policy).publicDatabase
        let results = try await database.rereference([AssetField("photo", of: "a"), AssetField("photo", of: "b")])
        #expect(results.map { summary($0) { $0.receipt ?? "" } } == ["a", "b"])
        #expect(transport.sent.count == 3)
    }
}
