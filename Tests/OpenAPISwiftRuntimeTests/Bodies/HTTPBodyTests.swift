import Foundation
import OpenAPISwiftRuntime
import Testing

struct HTTPBodyTests {

    /// The properties of a body that a reader can observe.
    private struct Seen: Equatable {
        var chunks: [[UInt8]]
        var length: HTTPBody.Length
        var iterationBehavior: IterationBehavior

        init(_ chunks: [String], _ length: HTTPBody.Length, _ iterationBehavior: IterationBehavior) {
            self.chunks = chunks.map { Array($0.utf8) }
            self.length = length
            self.iterationBehavior = iterationBehavior
        }

        init(_ body: HTTPBody) async throws {
            self.init([], body.length, body.iterationBehavior)
            for try await chunk in body { chunks.append(Array(chunk)) }
        }
    }

    @Test func bodiesInMemoryAreOneChunkAndCanBeReadAgain() async throws {
        let bodies: [HTTPBody] = [
            HTTPBody("Hello"),
            HTTPBody("Hello"[...]),
            HTTPBody(Array("Hello".utf8)),
            HTTPBody(ArraySlice("Hello".utf8)),
            HTTPBody("Hello".utf8),
            HTTPBody(Data("Hello".utf8)),
            "Hello",
            [0x48, 0x65, 0x6C, 0x6C, 0x6F],
        ]
        for body in bodies {
            for _ in 0..<2 {
                #expect(try await Seen(body) == Seen(["Hello"], .known(5), .multiple))
            }
        }
    }

    @Test func lengthsAreThoseThatWereGiven() async throws {
        #expect(try await Seen(HTTPBody("Hi", length: .unknown)) == Seen(["Hi"], .unknown, .multiple))
        #expect(try await Seen(HTTPBody(ArraySlice("Hi".utf8), length: .unknown)) == Seen(["Hi"], .unknown, .multiple))
        #expect(try await Seen(HTTPBody("Hi".utf8, length: .known(2))) == Seen(["Hi"], .known(2), .multiple))
        let once = HTTPBody(repeatElement(UInt8(ascii: "a"), count: 3), length: .known(3), iterationBehavior: .single)
        #expect(try await Seen(once) == Seen(["aaa"], .known(3), .single))
        await #expect(throws: HTTPBodyError.self) { try await Seen(once) }
    }

    @Test func anEmptyBodyHasNoChunk() async throws {
        for body in [HTTPBody(), HTTPBody(""), "", [], HTTPBody([UInt8]())] {
            #expect(try await Seen(body) == Seen([], .known(0), .multiple))
        }
    }

    @Test func streamsKeepTheirChunksAndAreReadOnce() async throws {
        let bodies = [
            HTTPBody(Self.stream(["He", "", "llo"]) { ArraySlice($0.utf8) }, length: .known(5)),
            HTTPBody(Self.throwingStream(["He", "", "llo"]) { ArraySlice($0.utf8) }, length: .known(5)),
            HTTPBody(Self.stream(["He", "", "llo"]) { $0 }, length: .known(5)),
            HTTPBody(Self.throwingStream(["He", "", "llo"]) { $0 }, length: .known(5)),
            HTTPBody(Self.stream(["He", "", "llo"]) { $0 }, length: .known(5), iterationBehavior: .single),
            HTTPBody(
                Self.stream(["He", "", "llo"]) { ArraySlice($0.utf8) },
                length: .known(5),
                iterationBehavior: .single
            ),
            HTTPBody(Self.stream(["He", "", "llo"]) { Data($0.utf8) }, length: .known(5), iterationBehavior: .single),
        ]
        for body in bodies {
            #expect(try await Seen(body) == Seen(["He", "", "llo"], .known(5), .single))
            var iterator = body.makeAsyncIterator()
            let error = await #expect(throws: HTTPBodyError.self) { try await iterator.next() }
            #expect(error?.code == .alreadyIterated)
        }
    }

    @Test func aSequenceThatCanBeReadAgainIsReadAgain() async throws {
        let body = HTTPBody(Countdown(start: 3), length: .unknown, iterationBehavior: .multiple)
        for _ in 0..<2 {
            #expect(try await Seen(body) == Seen(["3", "2", "1"], .unknown, .multiple))
        }
    }

    @Test func anErrorOfTheStreamReachesTheReader() async throws {
        struct Broken: Error {}
        let stream = AsyncThrowingStream<HTTPBody.ByteChunk, any Error> { continuation in
            continuation.yield([1])
            continuation.finish(throwing: Broken())
        }
        let body = HTTPBody(stream, length: .unknown)
        var iterator = body.makeAsyncIterator()
        #expect(try await iterator.next() == [1])
        await #expect(throws: Broken.self) { try await iterator.next() }
    }

    @Test func collectingJoinsTheChunks() async throws {
        func body() -> HTTPBody { HTTPBody(Self.stream(["He", "ll", "o"]) { $0 }, length: .known(5)) }
        #expect(try await String(collecting: body(), upTo: 5) == "Hello")
        #expect(try await [UInt8](collecting: body(), upTo: 5) == Array("Hello".utf8))
        #expect(try await ArraySlice(collecting: body(), upTo: 5) == ArraySlice("Hello".utf8))
        #expect(try await Data(collecting: body(), upTo: 5) == Data("Hello".utf8))
        #expect(try await String(collecting: [0x48, 0xFF], upTo: 5) == "H\u{FFFD}")
        #expect(try await String(collecting: HTTPBody(), upTo: 0) == "")
    }

    @Test func collectingAnArrayInMemoryCopiesNothing() async throws {
        let bytes = [UInt8](repeating: 7, count: 1000)
        let collected = try await ArraySlice(collecting: HTTPBody(bytes), upTo: 1000)
        #expect(
            bytes.withUnsafeBufferPointer(\.baseAddress) == collected.withUnsafeBufferPointer(\.baseAddress)
        )
    }

    @Test func collectingRefusesMoreThanTheLimit() async throws {
        let bodies = [
            HTTPBody("Hello"),
            HTTPBody("Hello", length: .unknown),
            HTTPBody(Self.stream(["He", "llo"]) { $0 }, length: .unknown),
            HTTPBody(Self.stream(["He", "llo"]) { $0 }, length: .known(5)),
            // A stream that is longer than its announced length.
            HTTPBody(Self.stream(["He", "llo"]) { $0 }, length: .known(2)),
        ]
        for body in bodies {
            let error = await #expect(throws: HTTPBodyError.self) { try await String(collecting: body, upTo: 4) }
            #expect(error?.code == .tooManyBytes)
        }
    }

    @Test(arguments: [.min, -1, 0, 6, 1 << 40, .max] as [Int64])
    func aLengthThatIsNotTrueReservesNoMemory(length: Int64) async throws {
        let body = HTTPBody(Self.stream(["He", "ll", "o"]) { $0 }, length: .known(length))
        #expect(try await String(collecting: body, upTo: .max) == "Hello")
    }

    @Test func aBodyKnownToBeTooLongIsNotRead() async throws {
        let body = HTTPBody(Self.stream(["Hello"]) { $0 }, length: .known(5))
        await #expect(throws: HTTPBodyError.self) { try await String(collecting: body, upTo: 4) }
        #expect(try await String(collecting: body, upTo: 5) == "Hello")
    }

    @Test func bodiesAreEqualByIdentity() {
        let body: HTTPBody = "same"
        #expect(body == body)
        #expect(body != "same")
        #expect(Set([body, body, "same"]).count == 2)
    }

    private static func stream<Element: Sendable>(
        _ texts: [String],
        _ element: (String) -> Element
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream()
        for text in texts { continuation.yield(element(text)) }
        continuation.finish()
        return stream
    }

    private static func throwingStream<Element: Sendable>(
        _ texts: [String],
        _ element: (String) -> Element
    ) -> AsyncThrowingStream<Element, any Error> {
        let (stream, continuation) = AsyncThrowingStream<Element, any Error>.makeStream()
        for text in texts { continuation.yield(element(text)) }
        continuation.finish()
        return stream
    }
}

/// Counts down to one, as text.
private struct Countdown: AsyncSequence, Sendable {

    var start: Int

    struct AsyncIterator: AsyncIteratorProtocol {
        var number: Int

        mutating func next() async -> String? {
            guard number > 0 else { return nil }
            defer { number -= 1 }
            return String(number)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(number: start) }
}
