import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

/// Bodies that are streams of values.
struct EventStreamTests {
    private typealias Note = Components.Schemas.Note

    private func collect<Values: AsyncSequence>(_ values: Values) async throws -> [Values.Element] {
        var all: [Values.Element] = []
        for try await value in values { all.append(value) }
        return all
    }

    private let notes: [Note] = [.init(text: "a/b"), .init(text: "é", weight: 1.5)]

    private func stream<Element: Sendable>(_ values: [Element]) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream()
        for value in values { continuation.yield(value) }
        continuation.finish()
        return stream
    }

    // MARK: JSON Lines

    @Test func jsonLinesAreAnsweredOneByLine() async throws {
        let body = HTTPBody(stream(notes).asEncodedJSONLines(), length: .unknown, iterationBehavior: .single)
        let handlers = Handlers(stream: { _ in .ok(.init(body: .application_jsonl(body))) })
        #expect(
            try await handlers.answer(.get, "/streams")
                == Message(
                    start: "200",
                    fields: ["content-type": "application/jsonl"],
                    body: "{\"text\":\"a/b\"}\n{\"text\":\"é\",\"weight\":1.5}\n"
                )
        )
    }

    @Test func jsonLinesAreReadHoweverTheyAreCut() async throws {
        let wire = Wire(
            200,
            [.contentType: "application/jsonl"],
            .dripping("{\"text\":\"a/b\"}\n{\"weight\":1.5,\"text\":\"é\"}")
        )
        let body = try await wire.client().stream().ok.body.application_jsonl
        #expect(try await collect(body.asDecodedJSONLines(of: Note.self)) == notes)
    }

    @Test func aLineThatIsNoValueIsAnError() async throws {
        let wire = Wire(200, [.contentType: "application/jsonl"], "{\"text\":\"a\"}\n\n{\"text\":\"b\"}\n")
        let body = try await wire.client().stream().ok.body.application_jsonl
        await #expect(throws: (any Error).self) { try await collect(body.asDecodedJSONLines(of: Note.self)) }
    }

    // MARK: JSON sequences

    @Test func jsonSequencesAreAnsweredWithSeparators() async throws {
        let body = HTTPBody(stream(notes).asEncodedJSONSequence(), length: .unknown, iterationBehavior: .single)
        let handlers = Handlers(stream: { _ in .ok(.init(body: .application_json_hyphen_seq(body))) })
        #expect(
            try await handlers.answer(.get, "/streams")
                == Message(
                    start: "200",
                    fields: ["content-type": "application/json-seq"],
                    body: "\u{1E}{\"text\":\"a/b\"}\n\u{1E}{\"text\":\"é\",\"weight\":1.5}\n"
                )
        )
    }

    @Test func jsonSequencesAreReadHoweverTheyAreCut() async throws {
        let wire = Wire(
            200,
            [.contentType: "application/json-seq"],
            .dripping("\u{1E}{\"text\":\"a/b\"}\n\u{1E}{\"text\":\"é\",\n\"weight\":1.5}\n")
        )
        let body = try await wire.client().stream().ok.body.application_json_hyphen_seq
        #expect(try await collect(body.asDecodedJSONSequence(of: Note.self)) == notes)
    }

    @Test func aSequenceWithoutItsFirstSeparatorIsAnError() async throws {
        let wire = Wire(200, [.contentType: "application/json-seq"], "{\"text\":\"a\"}\n")
        let body = try await wire.client().stream().ok.body.application_json_hyphen_seq
        await #expect(throws: (any Error).self) { try await collect(body.asDecodedJSONSequence(of: Note.self)) }
    }

    // MARK: Server-sent events

    @Test func eventsAreAnsweredInTheirOrderOfFields() async throws {
        let events: [ServerSentEvent] = [
            .init(id: "1", event: "note", data: "a\nb", retry: 500), .init(data: "c"),
        ]
        let body = HTTPBody(stream(events).asEncodedServerSentEvents(), length: .unknown, iterationBehavior: .single)
        let handlers = Handlers(stream: { _ in .ok(.init(body: .text_event_hyphen_stream(body))) })
        #expect(
            try await handlers.answer(.get, "/streams")
                == Message(
                    start: "200",
                    fields: ["content-type": "text/event-stream"],
                    body: "id: 1\nevent: note\nretry: 500\ndata: a\ndata: b\n\ndata: c\n\n"
                )
        )
    }

    @Test func eventsAreReadHoweverTheyAreCut() async throws {
        let wire = Wire(
            200,
            [.contentType: "text/event-stream"],
            .dripping(
                ": a comment\r\nid: 1\r\nevent:note\r\ndata:  a\r\ndata: b\r\n\r\nunknown: x\ndata: c\n\ndata: dropped"
            )
        )
        let body = try await wire.client().stream().ok.body.text_event_hyphen_stream
        #expect(
            try await collect(body.asDecodedServerSentEvents())
                == [.init(id: "1", event: "note", data: " a\nb"), .init(data: "c")]
        )
    }

    @Test func eventsCarryJSONUntilTheSignToStop() async throws {
        let wire = Wire(
            200,
            [.contentType: "text/event-stream"],
            "event: note\ndata: {\"text\":\"a\"}\n\ndata: [DONE]\n\ndata: {\"text\":\"b\"}\n\n"
        )
        let body = try await wire.client().stream().ok.body.text_event_hyphen_stream
        let events = body.asDecodedServerSentEventsWithJSONData(of: Note.self) { $0 != ArraySlice("[DONE]".utf8) }
        #expect(try await collect(events) == [.init(event: "note", data: .init(text: "a"))])
    }

    @Test func eventsWithJSONTravelThroughBothSides() async throws {
        let events: [ServerSentEventWithJSONData<Note>] = [.init(data: .init(text: "a")), .init(event: "e", id: "2")]
        let sent = HTTPBody(
            stream(events).asEncodedServerSentEventsWithJSONData(),
            length: .unknown,
            iterationBehavior: .single
        )
        let client: Client = try Handlers(sendStream: { input in
            guard case .text_event_hyphen_stream(let body) = input.body else { throw UnexpectedCall() }
            #expect(try await collect(body.asDecodedServerSentEventsWithJSONData(of: Note.self)) == events)
            return .noContent
        }).client()
        #expect(try await client.sendStream(body: .text_event_hyphen_stream(sent)) == .noContent)
    }

    @Test func anEventIsReadBeforeTheNextOneIsWritten() async throws {
        let (events, continuation) = AsyncStream<ServerSentEvent>.makeStream()
        let client: Client = try Handlers(stream: { _ in
            let body = HTTPBody(events.asEncodedServerSentEvents(), length: .unknown, iterationBehavior: .single)
            return .ok(.init(body: .text_event_hyphen_stream(body)))
        }).client()
        let body = try await client.stream().ok.body.text_event_hyphen_stream
        var iterator = body.asDecodedServerSentEvents().makeAsyncIterator()
        continuation.yield(.init(data: "1"))
        #expect(try await iterator.next() == .init(data: "1"))
        continuation.yield(.init(data: "2"))
        #expect(try await iterator.next() == .init(data: "2"))
        continuation.finish()
        #expect(try await iterator.next() == nil)
    }

    @Test func aClientAsksForEveryKindOfStream() async throws {
        let wire = Wire(200, [.contentType: "application/jsonl"], "")
        _ = try await wire.client().stream()
        #expect(try wire.request.fields["accept"] == "text/event-stream, application/jsonl, application/json-seq")
    }
}
