import MistKit
import Testing

struct ChangesTests {
    private static let notes = ZoneID(zoneName: "Notes")

    @Test func aZoneIsFollowedPageByPage() async throws {
        let transport = FakeTransport(
            json: #"{"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"t1","moreComing":true,"records":[]}]}"#,
            """
            {"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"t2","moreComing":true,"records":[\(note("a")),
            {"recordName":"b","recordType":null,"deleted":true,"recordChangeTag":"2"},
            {"recordName":"c","serverErrorCode":"INTERNAL_ERROR"}]}]}
            """,
            #"{"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"t3","moreComing":false,"records":[\#(note("d"))]}]}"#
        )
        let changes = fakeService(transport).privateDatabase.changes(
            inZone: Self.notes,
            desiredKeys: ["title"],
            pageSize: 3
        )
        #expect(transport.sent.isEmpty)
        var pages: [String] = []
        for try await page in changes {
            let changed = page.changedRecords.map { $0.recordName ?? "" }
            let deleted = page.deletedRecords.map { "-\($0.recordName ?? "")" }
            let failures = page.failures.map { summary(Result<Void, CloudKitError>.failure($0)) }
            pages.append((["\(page.token)"] + changed + deleted + failures).joined(separator: " "))
        }
        #expect(pages == ["t1", "t2 a -b INTERNAL_ERROR c", "t3 d"])
        #expect(
            try transport.requests
                == ["", #","syncToken":"t1""#, #","syncToken":"t2""#].map {
                    """
                    POST private/changes/zone \
                    {"zones":[{"desiredKeys":["title"],"resultsLimit":3\($0),"zoneID":{"zoneName":"Notes"}}]}
                    """
                }
        )
    }

    @Test func aTokenThatDoesNotWorkIsNamed() async throws {
        for (json, code) in [
            (
                #""serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type""#,
                "CHANGE_TOKEN_EXPIRED Notes"
            ),
            (#""serverErrorCode":"BAD_REQUEST","reason":"Invalid continuation format""#, "CHANGE_TOKEN_EXPIRED Notes"),
            (#""serverErrorCode":"CHANGE_TOKEN_EXPIRED""#, "CHANGE_TOKEN_EXPIRED Notes"),
            (#""serverErrorCode":"BAD_REQUEST","reason":"else""#, "BAD_REQUEST Notes"),
            (#""serverErrorCode":"ZONE_NOT_FOUND""#, "ZONE_NOT_FOUND Notes"),
            (#""records":[]"#, "unexpectedResponse Notes"),
        ] {
            let transport = FakeTransport(json: #"{"zones":[{"zoneID":{"zoneName":"Notes"},\#(json)}]}"#)
            let database = fakeService(transport).privateDatabase
            let token = json.contains("records") ? nil : ZoneChangeToken("old")
            let error = try await failure {
                for try await _ in database.changes(inZone: Self.notes, since: token) {}
            }
            #expect(summary(Result<Void, CloudKitError>.failure(error)) == code)
            #expect(transport.sent.count == 1)
        }
    }

    @Test func aDatabaseIsFollowedPageByPage() async throws {
        let transport = FakeTransport(
            json: """
                {"syncToken":"d1","moreComing":true,"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"z1"},
                {"zoneID":{"zoneName":"Old"},"deleted":true}]}
                """,
            #"{"syncToken":"d2","moreComing":false,"zones":[]}"#
        )
        let database = fakeService(transport).privateDatabase
        var pages: [String] = []
        for try await page in database.changes(since: DatabaseChangeToken("d0")) {
            let zones = page.changedZones.map { "\($0.zoneID.zoneName)=\($0.syncToken ?? "")" }
            pages.append(
                (["\(page.token)"] + zones + page.deletedZones.map { "-\($0.zoneName)" }).joined(separator: " ")
            )
        }
        #expect(pages == ["d1 Notes=z1 -Old", "d2"])
        for try await _ in database.changes() { break }
        #expect(
            try transport.requests == [
                #"POST private/changes/database {"syncToken":"d0"}"#,
                #"POST private/changes/database {"syncToken":"d1"}"#,
                "POST private/changes/database {}",
            ]
        )
    }

    @Test func aFeedThatNeverGoesOnIsNotFollowedForEver() async throws {
        let transport = FakeTransport(json: #"{"syncToken":"d","moreComing":true,"zones":[]}"#)
        let error = try await failure {
            for try await _ in fakeService(transport).privateDatabase.changes() {}
        }
        #expect(error.code == .unexpectedResponse)
        #expect(transport.sent.count == 2)
    }

    @Test func aFeedThatRepeatsAPageIsNotFollowedForEver() async throws {
        let transport = FakeTransport(
            json: #"{"syncToken":"d","moreComing":true,"zones":[{"zoneID":{"zoneName":"Notes"}}]}"#
        )
        let error = try await failure {
            for try await _ in fakeService(transport).privateDatabase.changes() {}
        }
        #expect(error.code == .unexpectedResponse)
        #expect(transport.sent.count == 2)
    }

    @Test func anEmptyTokenIsNone() {
        #expect(ZoneChangeToken("") == nil)
        #expect(DatabaseChangeToken("") == nil)
        #expect(ZoneChangeToken("a")?.text == "a")
    }
}
