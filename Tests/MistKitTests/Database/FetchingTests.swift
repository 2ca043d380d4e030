import Foundation
import HTTPTypes
import MistKit
import OpenAPISwiftRuntime
import Testing

struct FetchingTests {
    @Test func oneRecordIsFetchedOrThrows() async throws {
        let transport = FakeTransport(
            json: #"{"records":[\#(note("a", tag: "1e"))]}"#,
            #"{"records":[{"recordName":"b","reason":"Record not found","serverErrorCode":"NOT_FOUND"}]}"#
        )
        let database = fakeService(transport).publicDatabase
        let record = try await database.fetch("a")
        #expect(record.recordChangeTag == "1e")
        let error = try await failure {
            try await database.fetch("b", inZone: ZoneID(zoneName: "Z"), desiredKeys: ["title"])
        }
        #expect(error.code == .notFound)
        #expect(error.item == .record(name: "b"))
        #expect(error.reason == "Record not found")
        #expect(error.httpStatus == nil)
        #expect(
            try transport.requests == [
                #"POST public/records/lookup {"records":[{"recordName":"a"}]}"#,
                """
                POST public/records/lookup \
                {"desiredKeys":["title"],"records":[{"recordName":"b"}],"zoneID":{"zoneName":"Z"}}
                """,
            ]
        )
    }

    @Test func manyAreSplitAndRejoinedInOrder() async throws {
        let transport = FakeTransport { exchange, _ in
            // Every third record is missing.
            let names = exchange.json.split(separator: "\"").filter {
                $0.hasPrefix("r") && $0 != "records" && $0 != "recordName"
            }
            let items = names.map { name in
                (Int(name.dropFirst()) ?? 0).isMultiple(of: 3)
                    ? #"{"recordName":"\#(name)","serverErrorCode":"NOT_FOUND"}"# : note(String(name))
            }
            return reply(.ok, #"{"records":[\#(items.joined(separator: ","))]}"#)
        }
        let names = (0..<450).map { "r\($0)" }
        let results = try await fakeService(transport).publicDatabase.fetch(names)
        #expect(
            results.map { summary($0) { $0.recordName ?? "" } }
                == names.enumerated().map { $0.offset.isMultiple(of: 3) ? "NOT_FOUND \($0.element)" : $0.element }
        )
        #expect(transport.sent.count == 3)
    }

    @Test func noneIsFetchedWithoutARequest() async throws {
        let transport = FakeTransport(json: "{}")
        #expect(try await fakeService(transport).publicDatabase.fetch([]).isEmpty)
        #expect(transport.sent.isEmpty)
    }

    @Test func aLaterRequestThatFailsLeavesTheEarlierResults() async throws {
        let items = (0..<200).map { note("r\($0)") }.joined(separator: ",")
        let transport = FakeTransport([
            reply(.ok, #"{"records":[\#(items)]}"#),
            reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED","retryAfter":30}"#),
        ])
        let names = (0..<500).map { "r\($0)" }
        var service = fakeService(transport)
        service.maximumConcurrentRequests = 1
        let results = try await service.publicDatabase.fetch(names)
        #expect(transport.sent.count == 2)
        #expect(
            results.map { summary($0) { $0.recordName ?? "" } }
                == names.enumerated().map { $0.offset < 200 ? $0.element : "THROTTLED \($0.element)" }
        )
    }

    @Test func aFirstRequestThatFailsThrows() async throws {
        let transport = FakeTransport([reply(.forbidden, #"{"serverErrorCode":"ACCESS_DENIED","uuid":"u"}"#)])
        let error = try await failure {
            try await fakeService(transport).publicDatabase.fetch(["a", "b"])
        }
        #expect(error.code == .accessDenied)
        #expect(error.httpStatus == .forbidden)
        #expect(error.requestUUID == "u")
        #expect(error.operation == "lookupRecords")
    }

    @Test func resultsFindTheirRecordsByNameWhereTheOrderIsBroken() async throws {
        let transport = FakeTransport(
            json: #"{"records":[\#(note("c")),{"recordName":"a","serverErrorCode":"BRAND_NEW"}]}"#
        )
        let results = try await fakeService(transport).publicDatabase.fetch(["a", "b", "c"])
        #expect(results.map { summary($0) { $0.recordName ?? "" } } == ["BRAND_NEW a", "unexpectedResponse b", "c"])
    }

    @Test func oddAnswersNeitherCrashNorKillTheResponse() async throws {
        let odd = """
            {"records":[{"recordName":"a","recordType":"Note","fields":{"n":{"value":null},
            "t":{"value":{"deep":[1,{}]},"type":"BRAND_NEW"},"s":{"value":"x","type":"STRING"}},
            "unknown":{"a":[]},"created":null,"deleted":false}],"syncToken":"s","more":{}}
            """
        let record = try await fakeService(FakeTransport(json: odd)).publicDatabase.fetch("a")
        #expect(record["s"] == "x")
        #expect(record["n"]?.isNull == true)
        for body in ["", "{", "[]", "null", "<html>", #"{"records":7}"#] {
            let error = try await failure {
                try await fakeService(FakeTransport(json: body)).publicDatabase.fetch("a")
            }
            #expect([.decoding, .unexpectedResponse].contains(error.code), "\(body): \(error)")
            #expect(error.operation == "lookupRecords")
        }
        let html = FakeTransport([reply(.ok, "<html></html>", contentType: "text/html")])
        let error = try await failure {
            try await fakeService(html).publicDatabase.fetch("a")
        }
        #expect([.decoding, .unexpectedResponse].contains(error.code))
    }
}
