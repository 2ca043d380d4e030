import Dispatch
import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Testing

@testable import MistKit

struct RecordSequenceTests {
    private static let pages = [
        #"{"records":[\#(note("a")),\#(note("b"))],"continuationMarker":"m1"}"#,
        #"{"records":[],"continuationMarker":"m2"}"#,
        #"{"records":[{"recordName":"x","serverErrorCode":"ACCESS_DENIED"},\#(note("c"))],"continuationMarker":"m3"}"#,
        #"{"records":[\#(note("d"))]}"#,
    ]

    @Test(arguments: [
        #"{"continuationMarker":"m1","records":[\#(note("a"))]}"#,
        #"{"other":1,"continuationMarker":"m1","records":[\#(note("a"))]}"#,
        #"{"records":[\#(note("a"))],"continuationMarker":"m1","other":1}"#,
        #"{"records":[\#(note("a"))],"continuation\u004darker":"m1"}"#,
        #"{"records":[\#(note("a"))],"continuationMarker":"m\u0031"}"#,
    ])
    func theMarkerMayStandAnywhere(page: String) async throws {
        let transport = FakeTransport([reply(.ok, page), reply(.ok, Self.pages[3])])
        let records = fakeService(transport).publicDatabase.records(matching: Query(recordType: "Note"))
        #expect(try await records.collect().map(\.recordName) == ["a", "d"])
        var names: [String?] = []
        let again = FakeTransport([reply(.ok, page), reply(.ok, Self.pages[3])])
        for try await record in fakeService(again).publicDatabase.records(matching: Query(recordType: "Note")) {
            names.append(record.recordName)
        }
        #expect(names == ["a", "d"])
        #expect(try again.requests.last?.contains(#""continuationMarker":"m1""#) == true)
    }

    @Test func pagesFollowOneAnotherToTheLast() async throws {
        let transport = FakeTransport(Self.pages.map { reply(.ok, $0) })
        let records = fakeService(transport).publicDatabase.records(matching: Query(recordType: "Note"))
        #expect(transport.sent.isEmpty)
        var names: [String] = []
        for try await result in records.results { names.append(summary(result) { $0.recordName ?? "" }) }
        #expect(names == ["a", "b", "ACCESS_DENIED x", "c", "d"])
        #expect(
            try transport.requests == [
                #"POST public/records/query {"query":{"recordType":"Note"}}"#,
                #"POST public/records/query {"continuationMarker":"m1","query":{"recordType":"Note"}}"#,
                #"POST public/records/query {"continuationMarker":"m2","query":{"recordType":"Note"}}"#,
                #"POST public/records/query {"continuationMarker":"m3","query":{"recordType":"Note"}}"#,
            ]
        )
    }

    @Test func anItemThatFailedEndsTheRecordsWithItsError() async throws {
        let transport = FakeTransport(Self.pages.map { reply(.ok, $0) })
        let records = fakeService(transport).publicDatabase.records(matching: Query(recordType: "Note"))
        var names: [String] = []
        let error = try await failure {
            for try await record in records { names.append(record.recordName ?? "") }
        }
        #expect(names == ["a", "b"])
        #expect(error.code == .accessDenied)
        #expect(error.item == .record(name: "x"))
    }

    @Test func aPageSaysWhereToGoOn() async throws {
        let transport = FakeTransport(Self.pages.map { reply(.ok, $0) })
        let database = fakeService(transport).privateDatabase
        let zone = ZoneID(zoneName: "Notes")
        var markers: [String?] = []
        for try await page in database.records(matching: Query(recordType: "Note"), inZone: zone, pageSize: 2).pages {
            markers.append(page.marker)
        }
        #expect(markers == ["m1", "m2", "m3", nil])
        let rest = database.records(
            matching: Query(recordType: "Note"),
            zoneWide: true,
            desiredKeys: [],
            startingAt: markers[2]
        )
        #expect(try await rest.collect().map(\.recordName) == ["d"])
        #expect(
            try [transport.requests[0], transport.requests[4]] == [
                """
                POST private/records/query \
                {"query":{"recordType":"Note"},"resultsLimit":2,"zoneID":{"zoneName":"Notes"}}
                """,
                """
                POST private/records/query \
                {"continuationMarker":"m3","desiredKeys":[],"query":{"recordType":"Note"},"zoneWide":true}
                """,
            ]
        )
    }

    @Test func collectingStopsAtTheLimit() async throws {
        let transport = FakeTransport(Self.pages.map { reply(.ok, $0) })
        let records = fakeService(transport).publicDatabase.records(matching: Query(recordType: "Note"))
        #expect(try await records.collect(limit: 0).isEmpty)
        let error = try await failure { try await records.collect(limit: -1) }
        #expect(error.code == .invalidArgument)
        #expect(error.message == "The limit of a query cannot be negative, but is -1.")
        #expect(transport.sent.isEmpty)
        #expect(try await records.collect(limit: 2).map(\.recordName) == ["a", "b"])
        #expect(transport.sent.count == 1)
    }

    @Test func aServerThatNeverGoesOnIsNotFollowedForEver() async throws {
        let transport = FakeTransport(json: #"{"records":[],"continuationMarker":"m"}"#)
        let records = fakeService(transport).publicDatabase.records(matching: Query(recordType: "Note"))
        let error = try await failure { try await records.collect() }
        #expect(error.code == .unexpectedResponse)
        #expect(transport.sent.count == 2)
    }

    @Test func aServerThatRepeatsAPageIsNotFollowedForEver() async throws {
        let transport = FakeTransport(json: #"{"records":[\#(note("a"))],"continuationMarker":"m"}"#)
        let records = fakeService(transport).publicDatabase.records(matching: Query(recordType: "Note"))
        let error = try await failure { try await records.collect() }
        #expect(error.code == .unexpectedResponse)
        #expect(transport.sent.count == 2)
    }

    @Test func aCancelledTaskStopsAtTheNextRecord() async throws {
        let transport = FakeTransport(Self.pages.map { reply(.ok, $0) })
        let records = fakeService(transport).publicDatabase.records(matching: Query(recordType: "Note"))
        let task = Task {
            var count = 0
            let error = try await failure {
                for try await _ in records {
                    count += 1
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
            return (count, error.code)
        }
        let (count, code) = try await task.value
        #expect(count == 1)
        #expect(code == .cancelled)
        // The request for the second page may have been sent ahead, but not the one for the third page.
        #expect(transport.sent.count <= 2)
    }

    @Test func theNextPageIsSentForBeforeThePresentOneIsTakenApart() async throws {
        // Reading the first page waits until the second one is requested.
        let isSent = DispatchSemaphore(value: 0)
        let records = RecordSequence<String>(
            fetchPage: { (position) async throws(CloudKitError) in
                guard position.marker == nil else {
                    isSent.signal()
                    return ArrivedPage(announced: nil, at: position) {
                        RecordPage(results: [.success("b")], marker: nil)
                    }
                }
                return ArrivedPage(announced: "m", at: position) {
                    isSent.wait()
                    return RecordPage(results: [.success("a")], marker: "m")
                }
            },
            startMarker: nil
        )
        let desk = Desk()
        #expect(try await desk.names(of: records) == ["a", "b"])
    }

    @Test func aPageSizeOfZeroIsRefusedLocally() async throws {
        let transport = FakeTransport(json: "{}")
        let records = fakeService(transport).publicDatabase.records(matching: Query(recordType: "Note"), pageSize: 0)
        let error = try await failure { try await records.collect() }
        #expect(error.code == .invalidArgument)
        #expect(error.httpStatus == nil)
        #expect(transport.sent.isEmpty)
    }
}

/// An actor with its own thread, which it may block without blocking other tasks.
private actor Desk {
    private final class Executor: SerialExecutor {
        private let queue = DispatchQueue(label: "desk")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    private let executor = Executor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func names(of records: RecordSequence<String>) async throws -> [String] {
        var names: [String] = []
        for try await name in records { names.append(name) }
        return names
    }
}

/// A record of a response.
func note(_ name: String, tag: String = "1") -> String {
    #"{"recordName":"\#(name)","recordType":"Note","recordChangeTag":"\#(tag)","fields":{}}"#
}
