import Foundation
import OpenAPISwiftRuntime
import StreamingJSON
import TestSupport
import Testing

struct ServerSentEventsTests {

    private struct Greeting: Codable, Hashable, Sendable {
        var message: String
    }

    /// The events of a text, read in chunks of every size.
    private static func events(
        _ text: String,
        while predicate: @escaping @Sendable (ArraySlice<UInt8>) -> Bool = { _ in true }
    ) async throws -> [ServerSentEvent] {
        let expected = try await Arriving(text.utf8, size: max(1, text.utf8.count))
            .asDecodedServerSentEvents(while: predicate).collected()
        for size in 1...8 {
            let read = try await Arriving(text.utf8, size: size).asDecodedServerSentEvents(while: predicate).collected()
            #expect(read == expected, "chunks of \(size) bytes")
        }
        return expected
    }

    // MARK: Reading

    @Test func everyFieldIsRead() async throws {
        let text = "id: 7\nevent: greeting\nretry: 5000\ndata: Hello\n\ndata: second\n\n"
        #expect(
            try await Self.events(text) == [
                ServerSentEvent(id: "7", event: "greeting", data: "Hello", retry: 5000),
                ServerSentEvent(data: "second"),
            ]
        )
    }

    @Test func linesEndWithLineFeedCarriageReturnOrBoth() async throws {
        let expected = [ServerSentEvent(event: "a", data: "b\nc"), ServerSentEvent(data: "d")]
        for ending in ["\n", "\r", "\r\n"] {
            let text = ["event: a", "data: b", "data: c", "", "data: d", "", ""].joined(separator: ending)
            #expect(try await Self.events(text) == expected)
        }
        #expect(try await Self.events("event: a\rdata: b\r\ndata: c\n\rdata: d\r\n\n") == expected)
    }

    @Test func carriageReturnEndsALineWithoutWaitingForWhatFollows() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: ArraySlice<UInt8>.self)
        var iterator = HTTPBody(stream, length: .unknown).asDecodedServerSentEvents().makeAsyncIterator()
        continuation.yield(ArraySlice("data: a\r\n\r".utf8))
        #expect(try await iterator.next() == ServerSentEvent(data: "a"))
        continuation.yield(ArraySlice("\ndata: b\r\r".utf8))
        #expect(try await iterator.next() == ServerSentEvent(data: "b"))
        continuation.finish()
        #expect(try await iterator.next() == nil)
    }

    @Test func dataLinesAreJoined() async throws {
        #expect(
            try await Self.events("data: a\ndata:\ndata: \ndata:  b\n\ndata\n\ndata:\ndata:\n\n") == [
                ServerSentEvent(data: "a\n\n\n b"), ServerSentEvent(data: ""), ServerSentEvent(data: "\n"),
            ]
        )
    }

    @Test func oneSpaceAfterTheColonIsRemoved() async throws {
        #expect(
            try await Self.events("data:a\ndata: b\ndata:  c\ndata:\td\ndata: e: f\n\n") == [
                ServerSentEvent(data: "a\nb\n c\n\td\ne: f")
            ]
        )
    }

    @Test func commentsAndUnknownFieldsAreIgnored() async throws {
        let text = ": keep alive\n\n:\n\ndata: a\n: in between\ncolor: red\nDATA: b\n\n\n\nunknown\n\n"
        #expect(try await Self.events(text) == [ServerSentEvent(data: "a")])
    }

    @Test func anEventThatIsNotEndedIsDropped() async throws {
        #expect(try await Self.events("data: a\n\ndata: b\n") == [ServerSentEvent(data: "a")])
        #expect(try await Self.events("data: a\n\ndata: b") == [ServerSentEvent(data: "a")])
        #expect(try await Self.events("") == [])
    }

    @Test func aByteOrderMarkAtTheBeginningIsRemoved() async throws {
        #expect(try await Self.events("\u{FEFF}data: a\n\n") == [ServerSentEvent(data: "a")])
        #expect(try await Self.events("data: a\n\n\u{FEFF}data: b\n\ndata: c\n\n").map(\.data) == ["a", "c"])
    }

    @Test func fieldsOutsideTheRulesAreIgnored() async throws {
        let text = "id: a\u{0}b\nretry: 12a\ndata: x\n\nretry: -1\nretry:\nretry: 99999999999999999999\ndata: y\n\n"
        #expect(try await Self.events(text) == [ServerSentEvent(data: "x"), ServerSentEvent(data: "y")])
        #expect(try await Self.events("retry: 10\n\nid\n\n") == [ServerSentEvent(retry: 10), ServerSentEvent(id: "")])
    }

    @Test func bytesThatAreNotTextAreRepaired() async throws {
        let bytes = Array("data: a".utf8) + [0xFF] + Array("\n\n".utf8)
        let read = try await Arriving(bytes, size: 3).asDecodedServerSentEvents().collected()
        #expect(read == [ServerSentEvent(data: "a\u{FFFD}")])
    }

    @Test func thePredicateSeesTheDataAndEndsTheStreamBeforeTheEvent() async throws {
        let text = "data: a\n\nevent: no data\n\ndata: [DONE]\n\ndata: b\n\n"
        let read = try await Self.events(text) { $0 != ArraySlice("[DONE]".utf8) }
        #expect(read == [ServerSentEvent(data: "a"), ServerSentEvent(event: "no data")])
        var iterator = Arriving(text.utf8, size: 4).asDecodedServerSentEvents { _ in false }.makeAsyncIterator()
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func theLinesCanBeReadAlone() async throws {
        for size in 1...5 {
            let lines = ServerSentEventsLineDeserializationSequence(
                upstream: Arriving("\u{FEFF}a\r\n\rb\n\nc".utf8, size: size)
            )
            #expect(try await lines.collected().map { String(decoding: $0, as: UTF8.self) } == ["a", "", "b", "", "c"])
        }
        var iterator = ServerSentEventsLineDeserializationSequence(
            upstream: Arriving("abcd\n".utf8, size: 1),
            maximumLength: 3
        ).makeAsyncIterator()
        let error = await #expect(throws: EventStreamError.self) { try await iterator.next() }
        #expect(error?.code == .tooLong)
    }

    @Test func dataCanBeJSON() async throws {
        let text = "id: 1\nevent: greeting\ndata: {\ndata: \"message\":\"Hello\"}\n\nretry: 5\n\ndata: [DONE]\n\n"
        let read = try await Arriving(text.utf8, size: 5).asDecodedServerSentEventsWithJSONData(of: Greeting.self) {
            $0 != ArraySlice("[DONE]".utf8)
        }.collected()
        #expect(
            read == [
                ServerSentEventWithJSONData(event: "greeting", data: Greeting(message: "Hello"), id: "1"),
                ServerSentEventWithJSONData(retry: 5),
            ]
        )
        let values = try await Arriving(text.utf8, size: 5).asDecodedServerSentEventsWithJSONData(of: JSONValue.self) {
            $0 != ArraySlice("[DONE]".utf8)
        }.collected()
        #expect(
            values == [
                ServerSentEventWithJSONData(event: "greeting", data: ["message": "Hello"], id: "1"),
                ServerSentEventWithJSONData(retry: 5),
            ]
        )
        await #expect(throws: DecodingError.self) {
            try await Arriving(text.utf8, size: 5).asDecodedServerSentEventsWithJSONData(of: Greeting.self).collected()
        }
    }

    // MARK: Writing

    private static func text(_ events: ServerSentEvent...) async throws -> [String] {
        try await Arriving(elements: events).asEncodedServerSentEvents().collected().map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test func fieldsAreWrittenInOrder() async throws {
        #expect(
            try await Self.text(
                ServerSentEvent(id: "7", event: "greeting", data: "Hello\nworld", retry: 5000),
                ServerSentEvent(data: ""),
                ServerSentEvent()
            ) == ["id: 7\nevent: greeting\nretry: 5000\ndata: Hello\ndata: world\n\n", "data: \n\n", "\n"]
        )
    }

    @Test func everyLineOfTheDataIsADataLine() async throws {
        #expect(
            try await Self.text(ServerSentEvent(data: "a\rb\r\nc\n\n d\r"))
                == ["data: a\ndata: b\ndata: c\ndata: \ndata:  d\ndata: \n\n"]
        )
    }

    @Test func fieldsThatWouldForgeOthersAreRefused() async throws {
        let events = [
            ServerSentEvent(id: "1\ndata: forged"), ServerSentEvent(id: "1\r"), ServerSentEvent(id: "\u{0}"),
            ServerSentEvent(event: "a\r\nb"), ServerSentEvent(retry: -1),
        ]
        for event in events {
            let error = await #expect(throws: EventStreamError.self) { try await Self.text(event) }
            #expect(error?.code == .invalidField)
        }
    }

    @Test func jsonDataIsWrittenWithSortedKeysAndPlainSlashes() async throws {
        struct Both: Codable, Hashable, Sendable {
            var b = "x/y"
            var a = 1
        }
        let events = [
            ServerSentEventWithJSONData(event: "e", data: Both(), id: "1"), ServerSentEventWithJSONData(retry: 3),
        ]
        let chunks = try await Arriving(elements: events).asEncodedServerSentEventsWithJSONData().collected()
        #expect(
            chunks.map { String(decoding: $0, as: UTF8.self) } == [
                "id: 1\nevent: e\ndata: {\"a\":1,\"b\":\"x/y\"}\n\n", "retry: 3\n\n",
            ]
        )
        let pretty = JSONEncoder()
        pretty.outputFormatting = .prettyPrinted
        let lines = Arriving(elements: events).asEncodedServerSentEventsWithJSONData(encoder: pretty)
        let body = HTTPBody(lines, length: .unknown, iterationBehavior: .multiple)
        let read = try await body.asDecodedServerSentEventsWithJSONData(of: Both.self).collected()
        #expect(read == events)
    }

    // MARK: Any bytes

    @Test func randomEventsSurviveRandomChunks() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        func text(_ letters: String) -> String? {
            guard Bool.random(using: &generator) else { return nil }
            let letters = Array(letters)
            return String(
                (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                    letters.randomElement(using: &generator) ?? "a"
                }
            )
        }
        for _ in 0..<300 {
            var events: [ServerSentEvent] = []
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                let retry = Bool.random(using: &generator) ? Int64.random(in: 0...Int64.max, using: &generator) : nil
                let event = ServerSentEvent(
                    id: text("a: é"),
                    event: text("b: 🐈"),
                    data: text("c:\n \u{FEFF}é"),
                    retry: retry
                )
                if event != ServerSentEvent() { events.append(event) }
            }
            let bytes = try await Arriving(elements: events).asEncodedServerSentEvents().collected().joined()
            let read = try await Arriving(bytes, using: &generator).asDecodedServerSentEvents().collected()
            #expect(read == events, "seed \(seed)")
        }
    }

    @Test func anyBytesGiveTheSameEventsWhereverTheyAreCut() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let original = Array("id: 7\r\nevent: greeting\rretry: 5000\n: note\ndata: Hello\ndata: world\n\ndata\n\n".utf8)
        for _ in 0..<fuzzRuns {
            let bytes = original.mutated(with: ["\r", "\n", "\r\n", "\n\n", "data:", ":", " "], using: &generator)
            let whole = try await Arriving(bytes, size: max(1, bytes.count)).asDecodedServerSentEvents().collected()
            let cut = try await Arriving(bytes, using: &generator).asDecodedServerSentEvents().collected()
            #expect(whole == cut, "seed \(seed)")
        }
    }
}
