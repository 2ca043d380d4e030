import Foundation
import OpenAPISwiftRuntime
import StreamingJSON
import TestSupport
import Testing

struct JSONStreamsTests {

    private struct Greeting: Codable, Hashable, Sendable {
        var message: String
        var count: Int?
    }

    private static let greetings = [
        Greeting(message: "Hello", count: 1),
        Greeting(message: "a/b\n\u{1E}é🐈"),
        Greeting(message: ""),
    ]

    private static func text(_ chunks: [ArraySlice<UInt8>]) -> [String] {
        chunks.map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: JSON Lines

    @Test func jsonLinesHaveOneValueALine() async throws {
        let chunks = try await Arriving(elements: Self.greetings).asEncodedJSONLines().collected()
        #expect(
            Self.text(chunks) == [
                #"{"count":1,"message":"Hello"}"# + "\n",
                #"{"message":"a/b\n\u001eé🐈"}"# + "\n",
                #"{"message":""}"# + "\n",
            ]
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let escaped = try await Arriving(elements: Self.greetings).asEncodedJSONLines(encoder: encoder).collected()
        #expect(Self.text(escaped)[1] == #"{"message":"a\/b\n\u001eé🐈"}"# + "\n")
    }

    @Test func jsonLinesAreReadWhereverTheirChunksEnd() async throws {
        let bytes = try await Arriving(elements: Self.greetings).asEncodedJSONLines().collected().joined()
        for size in 1...(bytes.count + 1) {
            let read = try await Arriving(bytes, size: size).asDecodedJSONLines(of: Greeting.self).collected()
            #expect(read == Self.greetings)
        }
    }

    @Test func aLastLineWithoutItsEndIsDelivered() async throws {
        for size in 1...4 {
            let lines = JSONLinesDeserializationSequence(upstream: Arriving("a\nbcd\n\ne".utf8, size: size))
            #expect(Self.text(try await lines.collected()) == ["a", "bcd", "", "e"])
            let ended = JSONLinesDeserializationSequence(upstream: Arriving("a\nbcd\n".utf8, size: size))
            #expect(Self.text(try await ended.collected()) == ["a", "bcd"])
        }
        #expect(try await JSONLinesDeserializationSequence(upstream: Arriving("".utf8, size: 1)).collected().isEmpty)
    }

    @Test func aBlankLineInTheMiddleFails() async throws {
        var seen: [Int] = []
        await #expect(throws: DecodingError.self) {
            let numbers = Arriving("1\n\n2\n".utf8, size: 2).asDecodedJSONLines(of: Int.self, decoder: JSONDecoder())
            for try await number in numbers { seen.append(number) }
        }
        await #expect(throws: JSONError.self) {
            for try await number in Arriving("1\n\n2\n".utf8, size: 2).asDecodedJSONLines(of: Int.self) {
                seen.append(number)
            }
        }
        #expect(seen == [1, 1])
    }

    @Test func carriageReturnsAndAByteOrderMarkAreLeftToTheDecoder() async throws {
        let text = "\u{FEFF}{\"message\":\"a\"}\r\n{\"message\":\"b\"}\r\n"
        let read = try await Arriving(text.utf8, size: 3).asDecodedJSONLines(of: Greeting.self).collected()
        #expect(read == [Greeting(message: "a"), Greeting(message: "b")])
        let values: [JSONValue] = try await Arriving(text.utf8, size: 3).asDecodedJSONLines().collected()
        #expect(values == [["message": "a"], ["message": "b"]])
    }

    @Test func theTypeOfAStreamCanBeSpelledOut() async throws {
        typealias Chunks = Arriving<ArraySlice<UInt8>>
        let mapped: AsyncThrowingMapSequence<JSONLinesDeserializationSequence<Chunks>, JSONValue> =
            Arriving("1\n".utf8, size: 1).asDecodedJSONLines()
        let direct: DecodedEventSequence<JSONLinesDeserializationSequence<Chunks>, JSONValue> =
            Arriving("1\n".utf8, size: 1).asDecodedJSONLines()
        #expect(try await mapped.collected() == [1])
        #expect(try await direct.collected() == [1])
    }

    @Test func aStreamIsOverAfterAValueThatCannotBeRead() async throws {
        var iterator = Arriving("1\nx\n2\n".utf8, size: 3).asDecodedJSONLines(of: Int.self).makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        await #expect(throws: JSONError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test func aLineIsDeliveredAsSoonAsItIsComplete() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: ArraySlice<UInt8>.self)
        var iterator = HTTPBody(stream, length: .unknown).asDecodedJSONLines(of: Int.self).makeAsyncIterator()
        continuation.yield(ArraySlice("1\n2".utf8))
        #expect(try await iterator.next() == 1)
        continuation.yield(ArraySlice("3\n".utf8))
        #expect(try await iterator.next() == 23)
        continuation.finish()
        #expect(try await iterator.next() == nil)
    }

    @Test func linesCanBeBounded() async throws {
        for size in 1...12 {
            let lines = JSONLinesDeserializationSequence(
                upstream: Arriving("1234\n12345\n".utf8, size: size),
                maximumLength: 4
            )
            var iterator = lines.makeAsyncIterator()
            #expect(try await iterator.next() == ArraySlice("1234".utf8))
            let error = await #expect(throws: EventStreamError.self) { try await iterator.next() }
            #expect(error?.code == .tooLong)
        }
    }

    @Test func errorsOfTheUpstreamComeAfterTheLinesBefore() async throws {
        var upstream = Arriving("1\n2\n3".utf8, size: 2)
        upstream.error = CancellationError()
        var seen: [Int] = []
        await #expect(throws: CancellationError.self) {
            for try await number in upstream.asDecodedJSONLines(of: Int.self) { seen.append(number) }
        }
        #expect(seen == [1, 2])
    }

    // MARK: JSON sequences

    @Test func jsonSequencesHaveASeparatorBeforeAndALineFeedAfterEachValue() async throws {
        let chunks = try await Arriving(elements: Self.greetings).asEncodedJSONSequence().collected()
        #expect(
            Self.text(chunks) == [
                "\u{1E}" + #"{"count":1,"message":"Hello"}"# + "\n",
                "\u{1E}" + #"{"message":"a/b\n\u001eé🐈"}"# + "\n",
                "\u{1E}" + #"{"message":""}"# + "\n",
            ]
        )
    }

    @Test func jsonSequencesAreReadWhereverTheirChunksEnd() async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted]
        let bytes = try await Arriving(elements: Self.greetings).asEncodedJSONSequence(encoder: encoder).collected()
            .joined()
        for size in 1...(bytes.count + 1) {
            let read = try await Arriving(bytes, size: size).asDecodedJSONSequence(of: Greeting.self).collected()
            #expect(read == Self.greetings)
        }
    }

    @Test func aJSONSequenceMustBeginWithASeparator() async throws {
        for text in ["1\n\u{1E}2\n", "\n\u{1E}1", "1"] {
            var iterator = Arriving(text.utf8, size: 1).asDecodedJSONSequence(of: Int.self).makeAsyncIterator()
            let error = await #expect(throws: EventStreamError.self) { try await iterator.next() }
            #expect(error?.code == .missingRecordSeparator)
        }
        #expect(try await Arriving("".utf8, size: 1).asDecodedJSONSequence(of: Int.self).collected().isEmpty)
    }

    @Test func separatorsInARowCountAsOne() async throws {
        for size in 1...8 {
            let upstream = Arriving("\u{1E}\u{1E}1\n\u{1E}\u{1E}\u{1E}2\n\u{1E}".utf8, size: size)
            let records = JSONSequenceDeserializationSequence(upstream: upstream)
            #expect(Self.text(try await records.collected()) == ["1\n", "2\n"])
            #expect(try await upstream.asDecodedJSONSequence(of: Int.self).collected() == [1, 2])
        }
    }

    @Test func recordsCanBeBounded() async throws {
        let records = JSONSequenceDeserializationSequence(
            upstream: Arriving("\u{1E}12\n\u{1E}123\n".utf8, size: 2),
            maximumLength: 3
        )
        var iterator = records.makeAsyncIterator()
        #expect(try await iterator.next() == ArraySlice("12\n".utf8))
        let error = await #expect(throws: EventStreamError.self) { try await iterator.next() }
        #expect(error?.code == .tooLong)
    }

    // MARK: Any bytes

    @Test func randomValuesSurviveRandomChunks() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let values = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                Greeting(
                    message: String(
                        (0..<Int.random(in: 0...30, using: &generator)).map { _ in Self.letter(&generator) }
                    ),
                    count: Bool.random(using: &generator) ? Int.random(in: -99...99, using: &generator) : nil
                )
            }
            let lines = try await Arriving(elements: values).asEncodedJSONLines().collected().joined()
            let readLines = try await Arriving(lines, using: &generator).asDecodedJSONLines(of: Greeting.self)
                .collected()
            #expect(readLines == values, "seed \(seed)")
            let sequence = try await Arriving(elements: values).asEncodedJSONSequence().collected().joined()
            let readSequence = try await Arriving(sequence, using: &generator).asDecodedJSONSequence(of: Greeting.self)
                .collected()
            #expect(readSequence == values, "seed \(seed)")
        }
    }

    private static func letter(_ generator: inout SeededGenerator) -> Character {
        Array("ab\"\\/\n\r\u{1E}\t é🐈\u{2028}").randomElement(using: &generator) ?? "a"
    }

    @Test func anyBytesGiveAnErrorOrValues() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let lines = Array("{\"message\":\"Hello\"}\n{\"message\":\"Hi\"}\n".utf8)
        let records = Array("\u{1E}{\"message\":\"Hello\"}\n\u{1E}{\"message\":\"Hi\"}\n".utf8)
        for _ in 0..<fuzzRuns {
            let mutatedLines = lines.mutated(with: ["\n", "\n\n", "{", "\r\n"], using: &generator)
            let chunks = Arriving(mutatedLines, using: &generator)
            // The lines are those of Swift's `split`, regardless of the chunks.
            var expected = mutatedLines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            if expected.last?.isEmpty == true { expected.removeLast() }
            #expect(
                try await JSONLinesDeserializationSequence(upstream: chunks).collected() == expected,
                "seed \(seed)"
            )
            _ = try? await chunks.asDecodedJSONLines(of: Greeting.self).collected()
            let mutatedRecords = records.mutated(with: ["\u{1E}", "\u{1E}\n", "{"], using: &generator)
            _ = try? await Arriving(mutatedRecords, using: &generator).asDecodedJSONSequence(of: Greeting.self)
                .collected()
        }
    }
}
