import CloudKitEmulatorServer
import Foundation
import MistKit
import MistTesting
import Testing

/// Limits of queries, the first record, and counting.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct QueryLimitTests {
    private func withNotes(_ count: Int, _ body: (CloudKitDatabase, RunningEmulator) async throws -> Void) async throws
    {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let records = (0..<count).map { number in
                Record(
                    recordType: "Memo",
                    recordName: "r\(number)",
                    fields: ["title": "A", "count": .int64(Int64(number))]
                )
            }
            _ = try await database.save(records).allOrThrow()
            emulator.faults.forgetRequests()
            try await body(database, emulator)
        }
    }

    /// The numbers of records and of requests for each limit, with pages of the service's size and of 100.
    @Test(arguments: [
        (0, nil, 0, 0), (1, nil, 1, 1), (200, nil, 200, 1), (201, nil, 201, 2), (450, nil, 450, 3), (451, nil, 450, 3),
        (1000, nil, 450, 3), (150, 100, 150, 2), (300, 100, 300, 3), (50, 100, 50, 1),
    ])
    func aLimitEndsTheQuery(limit: Int, pageSize: Int?, expected: Int, requests: Int) async throws {
        try await withNotes(450) { database, emulator in
            let query = Query(recordType: "Memo", sorts: [Sort("count")], limit: limit)
            var numbers: [Int64] = []
            for try await record in database.records(matching: query, pageSize: pageSize) {
                if case .int64(let number)? = record["count"] { numbers.append(number) }
            }
            #expect(numbers == Array(0..<Int64(expected)))
            // Requests for pages ahead have been sent by now, or are never sent.
            for _ in 0..<100 { await Task.yield() }
            #expect(emulator.faults.requests.count == requests)

            emulator.faults.forgetRequests()
            let collected = try await database.records(matching: query, pageSize: pageSize).collect()
            #expect(collected.count == expected)
            #expect(emulator.faults.requests.count == requests)
            #expect(try await database.count(matching: query) == expected)
        }
    }

    @Test func eachRequestAsksForWhatIsLeft() async throws {
        let page = { (names: [String], marker: String) in
            #"{"records":[\#(names.map { note($0) }.joined(separator: ","))],"continuationMarker":"\#(marker)"}"#
        }
        let transport = FakeTransport(json: page(["a", "b"], "m1"), page([], "m2"), page(["c", "d"], "m3"))
        let database = fakeService(transport).publicDatabase
        var markers: [String?] = []
        var names: [String?] = []
        // At the end, the service returns more records than requested.
        for try await page in database.records(matching: Query(recordType: "Note", limit: 3), pageSize: 2).pages {
            markers.append(page.marker)
            names += page.results.map { try? $0.get().recordName }
        }
        #expect(names == ["a", "b", "c"])
        #expect(markers == ["m1", "m2", nil])
        #expect(
            try transport.requests == [
                #"POST public/records/query {"query":{"recordType":"Note"},"resultsLimit":2}"#,
                #"POST public/records/query {"continuationMarker":"m1","query":{"recordType":"Note"},"resultsLimit":1}"#,
                #"POST public/records/query {"continuationMarker":"m2","query":{"recordType":"Note"},"resultsLimit":1}"#,
            ]
        )
    }

    @Test func theFirstRecordIsFetchedAlone() async throws {
        let transport = FakeTransport(
            json: #"{"records":[],"continuationMarker":"m"}"#,
            #"{"records":[\#(note("a"))],"continuationMarker":"n"}"#
        )
        let database = fakeService(transport).publicDatabase
        #expect(try await database.records(matching: Query(recordType: "Note")).first()?.recordName == "a")
        #expect(
            try transport.requests == [
                #"POST public/records/query {"query":{"recordType":"Note"},"resultsLimit":1}"#,
                #"POST public/records/query {"continuationMarker":"m","query":{"recordType":"Note"},"resultsLimit":1}"#,
            ]
        )
        try await withNotes(3) { database, _ in
            let newest = Query<Memo> { Sort(\.count, ascending: false) }
            let first = try await database.records(matching: newest).first()
            #expect(first?.recordName == "r2")
            let none = try await database.records(matching: Query<Memo> { Filter(\.count > 7) }).first()
            #expect(none == nil)
        }
    }

    @Test func countingFetchesNoFields() async throws {
        let transport = FakeTransport(
            json: #"{"records":[\#(note("a")),\#(note("b"))],"continuationMarker":"m"}"#,
            #"{"records":[\#(note("c"))]}"#
        )
        #expect(try await fakeService(transport).publicDatabase.count(matching: Query<Memo>()) == 3)
        #expect(
            try transport.requests == [
                #"POST public/records/query {"desiredKeys":[],"query":{"recordType":"Memo"}}"#,
                #"POST public/records/query {"continuationMarker":"m","desiredKeys":[],"query":{"recordType":"Memo"}}"#,
            ]
        )
        try await withNotes(250) { database, emulator in
            let most = try await database.count(matching: Query<Memo> { Filter(\.count >= 20) })
            #expect(most == 230)
            #expect(emulator.faults.requests.count == 2)
            let ten = try await database.count(matching: Query<Memo>(limit: 10))
            #expect(ten == 10)
            let none = try await database.count(
                matching: Query(recordType: "Memo", filters: [Filter("count", .lessThan, 0)])
            )
            #expect(none == 0)
        }
    }
}
