import Foundation
import MistKit
import TestSupport
import Testing

/// Recorded exchanges with Apple's service: the client sends the recorded request, and reads the whole recorded
/// response.
@Suite(.enabled(if: SharedFolder.hasRecordedExchanges, "no recorded exchanges beside the package"))
struct RecordedExchangesTests {
    private static let zone = ZoneID(zoneName: "PrimarySync")

    @Test(arguments: [
        "query-200-records", "query-32-records", "query-17-records-string-and-encrypted", "query-empty-page",
    ])
    func aQueryIsSentAndReadAsItWasRecorded(name: String) async throws {
        let exchange = try object(recorded("\(name).request"))
        let response = try recorded("\(name).response")
        let transport = FakeTransport(json: response)
        let query = try #require(exchange["query"] as? [String: Any])
        let filters = try (query["filterBy"] as? [[String: Any]] ?? []).map { filter in
            let value = try #require(filter["fieldValue"] as? [String: Any])
            let name = try #require(filter["fieldName"] as? String)
            let comparator = try #require(filter["comparator"] as? String)
            let text = value["value"] as? String
            let number = value["value"] as? Int64 ?? 0
            return Filter<Record>(name, .init(rawValue: comparator), text.map(FieldValue.string) ?? .int64(number))
        }
        let pages = fakeService(transport).privateDatabase.records(
            matching: Query(recordType: try #require(query["recordType"] as? String), filters: filters),
            inZone: Self.zone,
            desiredKeys: exchange["desiredKeys"] as? [String],
            pageSize: exchange["resultsLimit"] as? Int
        ).pages
        var iterator = pages.makeAsyncIterator()
        let page = try #require(try await iterator.next())

        #expect(try sortedJSON(transport.sent[0].json) == sortedJSON(recorded("\(name).request")))

        let raw = try object(response)
        let records = try #require(raw["records"] as? [[String: Any]])
        #expect(page.marker == raw["continuationMarker"] as? String)
        #expect(page.results.count == records.count)
        for (result, raw) in zip(page.results, records) {
            let record = try result.get()
            #expect(record.recordName == raw["recordName"] as? String)
            #expect(record.recordChangeTag == raw["recordChangeTag"] as? String)
            #expect(Set(record.fields.names) == Set((raw["fields"] as? [String: Any] ?? [:]).keys))
        }
    }

    @Test func anUpdateIsSentAndReadAsItWasRecorded() async throws {
        let transport = FakeTransport(json: try recorded("modify-update.response"))
        let record = Record(
            recordType: "CPLAsset",
            recordName: "A5A7C0F1-BE37-46D8-9A99-400AD6DC2351",
            recordChangeTag: "1s2g",
            fields: ["isDeleted": 1]
        )
        let results = try await fakeService(transport).privateDatabase.modify(
            [.update(record)],
            inZone: Self.zone,
            atomic: true,
            desiredKeys: ["isDeleted"]
        )
        // The recorded client does not send the type of an integer.
        let sent = try sortedJSON(transport.sent[0].json).replacing(#""type":"INT64","#, with: "")
        #expect(try sent == sortedJSON(recorded("modify-update.request")))
        let updated = try results[0].get()
        #expect(updated.recordChangeTag == "1s2k")
        #expect(updated["isDeleted"] == 1)
        #expect(updated.modified?.timestamp == Date(timeIntervalSince1970: 1_686_106_458.410))
    }

    @Test func zonesAreReadAsTheyWereRecorded() async throws {
        for (scope, prefix) in [("private", "PrimarySync"), ("shared", "SharedSync-")] {
            let transport = FakeTransport(json: try recorded("zones-list-\(scope).response"))
            let service = fakeService(transport)
            let database = scope == "private" ? service.privateDatabase : service.sharedDatabase
            let zones = try await database.fetchZones()
            #expect(zones.count == 1)
            #expect(zones[0].zoneID.zoneName.hasPrefix(prefix))
            #expect(zones[0].zoneID.zoneType == .regularCustomZone)
        }
    }

    private func recorded(_ name: String) throws -> String {
        String(decoding: try SharedFolder.recorded(name), as: UTF8.self)
    }

    private func object(_ json: String) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }
}
