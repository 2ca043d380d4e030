import MistKit
import Testing

@testable import MistStore

struct RequestAheadTests {
    private static func cursor(_ zone: String, _ token: String?) -> SyncRequest.ZoneCursor {
        SyncRequest.ZoneCursor(zoneID: ZoneID(zoneName: zone), token: token.flatMap(ZoneChangeToken.init))
    }

    private static func page(
        _ token: String,
        more: Bool,
        results: [Result<Record, CloudKitError>] = []
    ) -> Result<ZoneChanges, CloudKitError> {
        guard let token = ZoneChangeToken(token) else { return .failure(lost) }
        return .success(ZoneChanges(results: results, token: token, moreComing: more))
    }

    private static let lost = CloudKitError(code: .network, message: "lost")
    private static let many = (0..<SyncRequest.zonesPerRequest).map { cursor("\($0)", nil) }

    private static let cases: [(request: SyncRequest, reply: Result<SyncReply, CloudKitError>, ahead: SyncRequest?)] = [
        (
            .zoneChanges([cursor("A", nil)]), .success(.zoneChanges([page("1", more: true)])),
            .zoneChanges([cursor("A", "1")])
        ),
        (.zoneChanges([cursor("A", "1")]), .success(.zoneChanges([page("2", more: false)])), nil),
        (
            .zoneChanges([cursor("A", nil), cursor("B", "7"), cursor("C", nil)]),
            .success(.zoneChanges([page("1", more: true), page("8", more: false), page("9", more: true)])),
            .zoneChanges([cursor("A", "1"), cursor("C", "9")])
        ),
        // The engine decides about a zone that fails.
        (
            .zoneChanges([cursor("A", nil), cursor("B", nil)]),
            .success(.zoneChanges([page("1", more: true), .failure(lost)])), nil
        ),
        // A page without a record that the service could not deliver comes again.
        (
            .zoneChanges([cursor("A", nil)]),
            .success(.zoneChanges([page("1", more: true, results: [.failure(lost)])])), nil
        ),
        // The zones that did not fit into the request are requested next.
        (.zoneChanges(many), .success(.zoneChanges(many.map { _ in page("1", more: true) })), nil),
        (.zoneChanges([cursor("A", nil)]), .failure(lost), nil),
        (.zoneChanges([cursor("A", nil)]), .success(.zoneChanges([])), nil),
        (
            .databaseChanges(since: nil),
            DatabaseChangeToken("1").map {
                .success(.databaseChanges(DatabaseChanges(results: [], token: $0, moreComing: true)))
            } ?? .failure(lost), nil
        ),
    ]

    @Test(arguments: cases.indices) func theRequestAheadIsTheOneThatFollows(index: Int) {
        let (request, reply, ahead) = Self.cases[index]
        #expect(RequestAhead.request(after: request, reply) == ahead)
    }
}
