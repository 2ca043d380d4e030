import CloudKitEmulator
import CloudKitModel
import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

@testable import CloudKitEmulatorServer

/// What those who watch an emulator are told.
struct EventStreamTests {
    private struct Event {
        var name: String
        var data: JSONValue
    }

    /// The events of a stream, until one of a name for which a condition holds.
    private func events(
        of body: HTTPBody,
        until isLast: (Event) -> Bool,
        whenOpen: () async throws -> Void
    ) async throws -> [Event] {
        var (events, rest, isOpen) = ([Event](), "", false)
        for try await chunk in body {
            rest += String(decoding: chunk, as: UTF8.self)
            while let end = rest.range(of: "\n\n") {
                let lines = rest[..<end.lowerBound].split(separator: "\n")
                rest = String(rest[end.upperBound...])
                guard lines.count == 2, lines[0].hasPrefix("event: "), lines[1].hasPrefix("data: ") else { continue }
                let data = try JSONReader.read(JSONValue.self, from: Array(lines[1].dropFirst(6).utf8))
                events.append(Event(name: String(lines[0].dropFirst(7)), data: data))
                if isLast(events[events.count - 1]) { return events }
            }
            if !isOpen {
                isOpen = true
                try await whenOpen()
            }
        }
        Issue.record("the stream ended")
        return events
    }

    private func open(_ page: PageServer) async throws -> HTTPBody {
        var request = HTTPRequest(
            method: .get,
            scheme: "http",
            authority: "127.0.0.1:8181",
            path: "/_emulator/events"
        )
        request.headerFields = page.ownPage
        let (response, body) = try await page.server.respond(to: request, body: nil)
        #expect(response.status == .ok && response.headerFields[.contentType]?.hasPrefix("text/event-stream") == true)
        return try #require(body)
    }

    @Test(.timeLimit(.minutes(1)))
    func requestsAndChangesAreToldAsTheyHappen() async throws {
        let page = try await PageServer()
        let create =
            #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"a"}},{"operationType":"create","record":{"recordType":"Note","recordName":"b"}}]}"#
        _ = try await page.ask("records/modify", create)
        var seen = try await events(of: open(page)) {
            $0.name == "change"
        } whenOpen: {
            _ = try await page.administer(.post, "/faults", #"{"fault":"delay","seconds":0}"#)
            let delete = #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"a"}}]}"#
            _ = try await page.ask("records/modify", delete)
        }
        #expect(seen.removeFirst().name == "hello")
        #expect(seen.map(\.name) == ["faults", "request", "change"])
        #expect(seen[0].data["rules"]?[0]?["rule"]?["fault"]?.stringValue == "delay")
        #expect(seen[1].data["number"]?.int64Value == 2)
        let change = seen[2].data
        #expect(change["deleted"] == ["a"] && change["saved"] == .array([]))
        #expect(change["ownerRecordName"]?.stringValue == page.user && change["changes"]?.int64Value == 3)
    }

    @Test(.timeLimit(.minutes(1)))
    func changesOfAnotherProcessAreTold() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "mistkit-events-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let storage = EmulatorStorage.file(path: folder.appending(path: "emulator.sqlite").path)
        let page = try await PageServer(storage: storage)
        let other = try CloudKitEmulator(storage: storage)
        let seen = try await events(of: open(page)) {
            $0.name == "change"
        } whenOpen: {
            let database = DatabaseAddress(PageServer.container, .development, .private)
            let record = Record(recordType: "Note", recordName: "n")
            _ = try other.request(in: database, as: .user(page.user)).modify([RecordOperation(.create, record: record)])
        }
        #expect(seen.last?.data["saved"] == ["n"])
        #expect(seen.last?.data["environment"]?.stringValue == "development")
    }

    @Test func anEventThatNobodyListensToIsNotMade() throws {
        let hub = EventHub()
        hub.send {
            Issue.record("an event was made")
            return .hello
        }
        var listener: (stream: EventHub.Stream, continuation: EventHub.Stream.Continuation)? = hub.listen()
        #expect(hub.listenerCount == 1)
        listener?.continuation.finish()
        listener = nil
        #expect(hub.listenerCount == 0)
    }

    @Test func aSlowReaderIsToldHowMuchItLost() async throws {
        let hub = EventHub()
        let (stream, continuation) = hub.listen()
        for _ in 0..<(EventHub.bufferSize + 5) { hub.send { .users } }
        continuation.finish()
        var texts: [String] = []
        for await bytes in stream { texts.append(String(decoding: bytes, as: UTF8.self)) }
        #expect(texts.count == EventHub.bufferSize)
        #expect(texts.contains { $0.hasPrefix("event: lost\ndata: {\"events\":") })
    }
}
