import HTTPTypes
import MistKit
import MistTesting
import Testing

/// Numbers that the service sends as JSON strings.
@Suite(.serialized)
struct NumbersAsStringsTests {
    @Test func everyCallAboutRecordsAsksForThem() async throws {
        let page =
            #"{"records":[\#(note("a"))],"syncToken":"s","zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"s"}]}"#
        let transport = FakeTransport([reply(.ok, page)])
        var database = fakeService(transport).privateDatabase
        for isAsked in [false, true] {
            database.numbersAsStrings = isAsked
            let before = transport.sent.count
            _ = try await database.records(matching: Query(recordType: "Note")).collect()
            _ = try await database.fetch("a")
            _ = try await database.forceUpdate(Record(recordType: "Note", recordName: "a"))
            for try await _ in database.changes(inZone: ZoneID(zoneName: "Notes")) {}
            #expect(transport.sent.count == before + 4)
            for request in try transport.requests[before...] {
                #expect(request.contains(#""numbersAsStrings":true"#) == isAsked, "\(request)")
            }
        }
    }

    @Test func theyAreReadAsTheSameValues() async throws {
        try await withCloudKitEmulator { emulator in
            var database = emulator.service(as: .user).privateDatabase
            database.numbersAsStrings = true
            let saved = try await database.save(Memo(title: "a", count: 7), named: "a")
            #expect(saved.count == 7)
            #expect(try await database.fetch(Memo.self, named: "a").count == 7)
            #expect(try await database.fetch("a")["count"]?.int64Value == 7)
            let found = try await database.records(matching: Query<Record>(recordType: Memo.recordType)).collect()
            #expect(found.map { $0["count"]?.int64Value } == [7])
        }
    }
}
