import Foundation
import HTTPTypes
import MistKit
import OpenAPISwiftRuntime
import Testing

struct ModifyingTests {
    private static let fetched = Record(
        recordType: "Note",
        recordName: "a",
        recordChangeTag: "1e",
        fields: ["title": "Hello"],
        created: Record.Stamp(timestamp: Date(timeIntervalSince1970: 1)),
        modified: Record.Stamp(timestamp: Date(timeIntervalSince1970: 1)),
        zoneID: ZoneID(zoneName: "Notes", ownerRecordName: "_o")
    )

    @Test func everyCallSendsItsOperation() async throws {
        let transport = FakeTransport(json: #"{"records":[\#(note("a", tag: "1f"))]}"#)
        let database = fakeService(transport).privateDatabase
        let record = Self.fetched
        var fresh = Record(recordType: "Note", recordName: "a", fields: ["title": "Hello"])
        #expect(try await database.create(fresh).recordChangeTag == "1f")
        try await database.save(fresh)
        try await database.save(record)
        try await database.update(record)
        try await database.replace(record)
        try await database.forceUpdate(record)
        fresh.fields = [:]
        try await database.forceReplace(fresh)
        try await database.delete(record)
        try await database.forceDelete("a", inZone: ZoneID(zoneName: "Notes"))
        let new = #"{"fields":{"title":{"type":"STRING","value":"Hello"}},"recordName":"a","recordType":"Note"}"#
        let old = """
            {"fields":{"title":{"type":"STRING","value":"Hello"}},"recordChangeTag":"1e","recordName":"a",\
            "recordType":"Note"}
            """
        let zone = #","zoneID":{"ownerRecordName":"_o","zoneName":"Notes"}"#
        let expected: [(operation: String, record: String, zone: String)] = [
            ("create", new, ""),
            ("create", new, ""),
            ("update", old, zone),
            ("update", old, zone),
            ("replace", old, zone),
            ("forceUpdate", old, zone),
            ("forceReplace", #"{"recordName":"a","recordType":"Note"}"#, ""),
            ("delete", #"{"recordChangeTag":"1e","recordName":"a","recordType":"Note"}"#, zone),
            ("forceDelete", #"{"recordName":"a"}"#, #","zoneID":{"zoneName":"Notes"}"#),
        ]
        #expect(
            try transport.requests
                == expected.map {
                    """
                    POST private/records/modify {"atomic":false,"operations":[\
                    {"operationType":"\($0.operation)","record":\($0.record)}]\($0.zone)}
                    """
                }
        )
    }

    @Test func aRefusedChangeThrows() async throws {
        let conflict = """
            {"records":[{"recordName":"a","reason":"client oplock error updating record","serverErrorCode":"CONFLICT"}]}
            """
        let transport = FakeTransport([reply(.ok, conflict, headers: ["X-Apple-Request-UUID": "u"])])
        let database = fakeService(transport).publicDatabase
        let errors = [
            try await failure { try await database.update(Self.fetched) },
            try await failure {
                try await database.create(Record(recordType: "Note"))
            },
            try await failure { try await database.delete(Self.fetched) },
            try await failure { try await database.forceDelete("a") },
        ]
        for error in errors {
            #expect(error.code == .conflict)
            #expect(error.item == .record(name: "a"))
            #expect(error.reason == "client oplock error updating record")
            #expect(error.httpStatus == nil)
            #expect(error.requestUUID == "u")
            #expect(error.operation == "modifyRecords")
        }
    }

    @Test func aBatchHasOneResultForEachOperation() async throws {
        let transport = FakeTransport(
            json: """
                {"records":[\(note("a")),{"recordName":"b","deleted":true},
                {"recordName":"c","serverErrorCode":"BRAND_NEW","reason":"no"},{"recordName":"d","deleted":false,
                "serverErrorCode":"ACCESS_DENIED"}]}
                """
        )
        let results = try await fakeService(transport).publicDatabase.modify(
            [
                .create(Record(recordType: "Note")), .forceDelete("b"), .forceDelete("c"),
                .forceUpdate(Record(recordType: "Note", recordName: "d")),
            ],
            desiredKeys: ["title"]
        )
        #expect(
            results.map { summary($0) { "\($0.recordName ?? "") \($0.isDeleted)" } }
                == ["a false", "b true", "BRAND_NEW c", "ACCESS_DENIED d"]
        )
        #expect(try transport.requests[0].contains(#""desiredKeys":["title"]"#))
    }

    @Test func moreThanTheServiceTakesIsSplitAndRejoinedInOrder() async throws {
        let transport = FakeTransport { exchange, number in
            let count = exchange.json.split(separator: "operationType").count - 1
            let items = (0..<count).map { note("r\((number - 1) * 200 + $0)") }
            return reply(.ok, #"{"records":[\#(items.joined(separator: ","))]}"#)
        }
        let records = (0..<401).map { Record(recordType: "Note", recordName: "r\($0)") }
        var service = fakeService(transport)
        service.maximumConcurrentRequests = 1
        let results = try await service.publicDatabase.save(records)
        #expect(results.map { try? $0.get().recordName } == records.map(\.recordName))
        #expect(transport.sent.map { $0.json.split(separator: "operationType").count - 1 } == [200, 200, 1])
    }

    @Test(arguments: [
        // An error in each item, as users who tested against the service observed it.
        (
            HTTPResponse.Status.ok,
            """
            {"records":[{"recordName":"a","serverErrorCode":"ATOMIC_ERROR","reason":"Atomic failure"},
            {"recordName":"b","serverErrorCode":"CONFLICT"}]}
            """, ["ATOMIC_ERROR a", "CONFLICT b"]
        ),
        // An error of the whole request, as in Apple's table.
        (
            .badRequest, #"{"uuid":"u","serverErrorCode":"ATOMIC_ERROR","reason":"Atomic failure"}"#,
            ["ATOMIC_ERROR a", "ATOMIC_ERROR b"]
        ),
    ])
    func anAtomicFailureIsAFailureOfEachItem(status: HTTPResponse.Status, json: String, expected: [String]) async throws
    {
        let transport = FakeTransport([reply(status, json)])
        let results = try await fakeService(transport).privateDatabase.modify(
            [.forceDelete("a"), .forceDelete("b")],
            inZone: ZoneID(zoneName: "Notes"),
            atomic: true
        )
        #expect(results.map { summary($0) } == expected)
        #expect(
            try transport.requests[0] == """
                POST private/records/modify {"atomic":true,"operations":[\
                {"operationType":"forceDelete","record":{"recordName":"a"}},\
                {"operationType":"forceDelete","record":{"recordName":"b"}}],"zoneID":{"zoneName":"Notes"}}
                """
        )
    }

    @Test func misuseIsALocalErrorAndNothingIsSent() async throws {
        let transport = FakeTransport(json: "{}")
        let database = fakeService(transport).privateDatabase
        let untagged = Record(recordType: "Note", recordName: "a")
        let nameless = Record(recordType: "Note", recordName: nil, recordChangeTag: "1")
        let typeless = Record(recordName: "a", recordChangeTag: "1")
        let elsewhere = Record(recordName: "z", recordChangeTag: "1", zoneID: ZoneID(zoneName: "Other"))
        let calls: [(operations: [RecordOperation], zone: ZoneID?, atomic: Bool, message: String)] = [
            ([.update(untagged)], nil, false, "needs the change tag that a fetched record has"),
            ([.replace(untagged)], nil, false, "needs the change tag that a fetched record has"),
            (
                [.forceDelete("x"), .delete(untagged)], nil, false,
                "The operation at index 1 (delete) needs the change tag"
            ),
            ([.update(nameless)], nil, false, "needs the record's name"),
            ([.create(typeless)], nil, false, "needs a record type"),
            ([.create(Self.fetched)], nil, false, "has a change tag, so the record exists"),
            ([.forceUpdate(typeless)], nil, false, "needs a record type, as it may create the record"),
            (
                [.create(untagged), .forceDelete("b"), .forceDelete("a")], nil, true,
                "The operation at index 2 is for the same record as the one at index 0, and was not sent"
            ),
            (
                [.update(Self.fetched), .delete(elsewhere)], nil, false,
                "in more than one zone (Notes, and Other at index 1)"
            ),
            (
                [.update(Self.fetched)], ZoneID(zoneName: "Other"), false,
                "The record at index 0 is in the zone Notes, but the call is for the zone Other."
            ),
            (
                (0..<201).map { .forceDelete("r\($0)") }, nil, true,
                "The atomic batch has 201 operations, and a request takes 200. It is not split"
            ),
        ]
        for call in calls {
            let error = try await failure {
                try await database.modify(call.operations, inZone: call.zone, atomic: call.atomic)
            }
            #expect(error.code == .invalidArgument)
            #expect(error.message.contains(call.message), "\(error)")
            #expect(error.httpStatus == nil && error.code.serverErrorCode == nil)
        }
        #expect(try await database.modify([]).isEmpty)
        #expect(transport.sent.isEmpty)
    }

    @Test func aResponseWithoutTheRecordIsNoSuccess() async throws {
        for json in ["{}", #"{"records":[]}"#, #"{"records":[\#(note("other"))]}"#] {
            let transport = FakeTransport(json: json)
            let error = try await failure {
                try await fakeService(transport).publicDatabase.forceDelete("a")
            }
            #expect(error.code == .unexpectedResponse)
            #expect(error.item == .record(name: "a"))
        }
    }

    @Test func aNumberThatJSONCannotHoldIsAnEncodingError() async throws {
        let transport = FakeTransport(json: "{}")
        let error = try await failure {
            try await fakeService(transport).publicDatabase.create(
                Record(recordType: "Note", fields: ["n": .double(.nan)])
            )
        }
        #expect(error.code == .encoding)
        #expect(transport.sent.isEmpty)
    }
}
