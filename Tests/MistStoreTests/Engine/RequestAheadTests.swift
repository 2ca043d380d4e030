import MistKit
import Testing

@testable import MistStore

struct RequestAheadTests {
    private static func cursor(_ zone: String, _ token: String?) -> SyncRequest.ZoneCursor {
        SyncRequest.ZoneCursor(zoneID: ZoneID(zoneName: zone), token: token)
    }

    private static func page(
        _ token: String,
        _ results: [Result<Record, CloudKitError>] = [],
        more: Bool
    ) -> Result<ZoneChangesPage, CloudKitError> {
        guard let token = ZoneChangeToken(token) else { return .failure(lost) }
        return .success(ZoneChangesPage(results: results, token: token, moreComing: more))
    }

    private static let lost = CloudKitError(code: .network, message: "lost")
    private static let list = DatabaseChangeToken("1").map { DatabaseChanges(token: $0, moreComing: true) }
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
            .success(.zoneChanges([page("1", [.failure(lost)], more: true)])), nil
        ),
        // The zones that did not fit into the request are requested next.
        (.zoneChanges(many), .success(.zoneChanges(many.map { _ in page("1", more: true) })), nil),
        (.zoneChanges([cursor("A", nil)]), .failure(lost), nil),
        (.zoneChanges([cursor("A", nil)]), .success(.zoneChanges([])), nil),
        (.databaseChanges(since: nil), list.map { .success(.databaseChanges($0)) } ?? .failure(lost), nil),
    ]

    @Test(arguments: cases.indices) func theRequestAheadIsTheOneThatFollows(index: Int) {
        let (request, reply, ahead) = Self.cases[index]
        #expect(RequestAhead.request(after: request, reply) == ahead)
    }
}
