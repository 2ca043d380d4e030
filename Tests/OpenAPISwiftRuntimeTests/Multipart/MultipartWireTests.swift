import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import TestSupport
import Testing

struct MultipartWireTests {

    private static func lines(_ lines: String...) -> String {
        lines.joined(separator: "\r\n")
    }

    // MARK: Writing

    @Test func partsAreWrittenBetweenBoundaries() async throws {
        let message = try SentMessage(
            [
                MultipartRawPart(
                    name: "notes",
                    filename: "a.txt",
                    headerFields: [HTTPField.Name("X-Tag")!: "1", .contentType: "text/plain"],
                    body: "Hello"
                ),
                MultipartRawPart(
                    headerFields: [:],
                    body: HTTPBody(Arriving("World".utf8, size: 2), length: .unknown, iterationBehavior: .multiple)
                ),
                MultipartRawPart(name: "empty", headerFields: [:], body: HTTPBody()),
            ],
            boundary: "b"
        )
        #expect(message.headerFields == [.contentType: "multipart/form-data; boundary=b"])
        #expect(message.body?.length == .unknown)
        #expect(message.body?.iterationBehavior == .multiple)
        let expected = Self.lines(
            "--b",
            #"content-disposition: form-data; filename="a.txt"; name="notes""#,
            "content-length: 5",
            "content-type: text/plain",
            "x-tag: 1",
            "",
            "Hello",
            "--b",
            "",
            "World",
            "--b",
            #"content-disposition: form-data; name="empty""#,
            "content-length: 0",
            "",
            "",
            "--b--",
            "",
            ""
        )
        for _ in 0..<2 { #expect(try await message.text == expected) }
    }

    @Test func noPartsAreOneBoundary() async throws {
        let message = try SentMessage([], boundary: "b")
        #expect(try await message.text == "--b--\r\n\r\n")
        #expect(try await ReceivedMessage(message).readParts() == [])
    }

    @Test func theBodyIsAsRepeatableAsItsParts() async throws {
        let parts = MultipartBody(
            Arriving(elements: [MultipartRawPart(name: "a", headerFields: [:], body: "x")]),
            iterationBehavior: .single
        )
        let message = try SentMessage(parts)
        #expect(message.body?.iterationBehavior == .single)
        _ = try await message.text
        await #expect(throws: HTTPBodyError.self) { try await message.text }
    }

    @Test func boundariesThatNoHeaderCanCarryAreRefused() async throws {
        for boundary in ["", "a\r\nb", "é", "a\"b", "a ", String(repeating: "a", count: 71)] {
            let error = #expect(throws: MultipartError.self) { try SentMessage([], boundary: boundary) }
            #expect(error?.code == .invalidBoundary)
        }
        let quoted = try SentMessage([MultipartRawPart(name: "a", headerFields: [:], body: "x")], boundary: "a b/c=?")
        #expect(quoted.headerFields[.contentType] == #"multipart/form-data; boundary="a b/c=?""#)
        #expect(try await ReceivedMessage(quoted).readParts().map(\.name) == ["a"])
    }

    // MARK: Reading

    @Test func partsAreReadWhereverChunksEnd() async throws {
        let text = Self.lines(
            "--b",
            #"Content-Disposition: form-data; name="a""#,
            "X-Long:  one",
            "\ttwo ",
            "",
            "Hello\r\n--\r\n--c\r\n-b\n--b",
            "--b \t",
            "",
            "\r\n",
            "--b--",
            "epilogue --b"
        )
        for prefix in ["", "\r\n", "preamble\r\n", "--bpreamble-b\r\n--\r\n\r\n"] where !prefix.hasPrefix("--b") {
            let bytes = Array((prefix + text).utf8)
            for size in 1...bytes.count {
                let parts = try await ReceivedMessage(boundary: "b", Arriving(bytes, size: size)).readParts()
                try #require(parts.count == 2, "chunks of \(size) bytes")
                #expect(
                    parts[0].headerFields
                        == [.contentDisposition: #"form-data; name="a""#, HTTPField.Name("x-long")!: "one\ttwo"]
                )
                #expect(parts[0].name == "a")
                #expect(String(decoding: parts[0].bytes, as: UTF8.self) == "Hello\r\n--\r\n--c\r\n-b\n--b")
                #expect(parts[1].headerFields == [:])
                #expect(String(decoding: parts[1].bytes, as: UTF8.self) == "\r\n")
            }
        }
    }

    @Test func aPartMayEndWithItsHeader() async throws {
        let text = "--b\r\nx: 1\r\n\r\n--b\r\n\r\n--b--"
        for size in 1...text.utf8.count {
            let parts = try await ReceivedMessage(boundary: "b", Arriving(text.utf8, size: size)).readParts()
            #expect(parts.map(\.bytes) == [[], []])
            #expect(parts.map(\.headerFields) == [[HTTPField.Name("x")!: "1"], [:]])
        }
    }

    @Test func theBoundaryIsThatOfTheContentType() async throws {
        let body: HTTPBody = "--a;b\r\n\r\nx\r\n--a;b--"
        let colon: HTTPBody = "--a:b\r\n\r\nx\r\n--a:b--"
        let types = [#"multipart/form-data; boundary="a:b""#, #"Multipart/Form-Data; charset=utf-8; BOUNDARY=a:b"#]
        for type in types {
            #expect(
                try await ReceivedMessage(contentType: type, body: colon).readParts().map(\.bytes) == [Array("x".utf8)]
            )
        }
        let faults: [(String, MultipartError.Code)] = [
            ("multipart/form-data", .missingBoundary), ("multipart/form-data; boundary=", .invalidBoundary),
            (#"multipart/form-data; boundary="a;b""#, .invalidBoundary),
        ]
        for (type, code) in faults {
            let error = #expect(throws: MultipartError.self) {
                try ReceivedMessage(contentType: type, body: body).rawParts()
            }
            #expect(error?.code == code)
            #expect(error?.httpStatus == .badRequest)
        }
        #expect(throws: (any Error).self) { try ReceivedMessage(contentType: types[0], body: nil).rawParts() }
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd, 0),
            ("no boundary", .unexpectedEnd, 11),
            ("--b", .unexpectedEnd, 3),
            ("--b\r", .unexpectedEnd, 4),
            ("--b\r\nx: 1", .unexpectedEnd, 9),
            ("--b\r\nx: 1\r\n\r\n", .unexpectedEnd, 13),
            ("--b\r\n\r\nabc\r\n--", .unexpectedEnd, 14),
            ("--b\r\n\r\nabc\r\n--b-", .unexpectedEnd, 16),
            ("--b\n\nabc", .malformedDelimiter, 3),
            ("--bc\r\n", .malformedDelimiter, 3),
            ("--b\r\n\r\nabc\r\n--b-x", .malformedDelimiter, 15),
            ("--b --\r\n", .malformedDelimiter, 4),
            ("--b\r\nno colon\r\n\r\n\r\n--b--", .malformedHeader, 5),
            ("--b\r\nx: 1\r\n: 2\r\n\r\n\r\n--b--", .malformedHeader, 11),
            ("--b\r\nx y: 1\r\n\r\n\r\n--b--", .malformedHeader, 5),
            ("--b\r\nx: 1\n2\r\n\r\n\r\n--b--", .malformedHeader, 5),
            ("--b\r\nx: 1\r2\r\n\r\n\r\n--b--", .malformedHeader, 5),
            ("--b\r\nx: 1\u{0}\r\n\r\n\r\n--b--", .malformedHeader, 5),
        ] as [(String, MultipartError.Code, Int)]
    )
    func faultsAreNamedWithTheirPlace(text: String, code: MultipartError.Code, offset: Int) async throws {
        for size in 1...max(1, text.utf8.count) {
            let error = await #expect(throws: MultipartError.self) {
                try await ReceivedMessage(boundary: "b", Arriving(text.utf8, size: size)).readParts()
            }
            #expect(error?.code == code)
            #expect(error?.offset == offset, "chunks of \(size) bytes")
            #expect(error?.description.contains("byte \(offset)") == true)
        }
    }

    @Test func headersAreBounded() async throws {
        let long = "--b\r\nx: " + String(repeating: "a", count: 40_000) + "\r\n\r\n\r\n--b--"
        let many = "--b\r\n" + String(repeating: "x: 1\r\n", count: 200) + "\r\n\r\n--b--"
        let folded = "--b\r\nx: 1\r\n" + String(repeating: " a\r\n", count: 10_000) + "\r\n\r\n--b--"
        let endless = "--b\r\n" + String(repeating: "a", count: 40_000)
        for text in [long, many, folded, endless] {
            for size in [7, 1000, text.utf8.count] {
                let error = await #expect(throws: MultipartError.self) {
                    try await ReceivedMessage(boundary: "b", Arriving(text.utf8, size: size)).readParts()
                }
                #expect(error?.code == .headerTooLarge)
            }
        }
        let allowed = "--b\r\nx: " + String(repeating: "a", count: 30_000) + "\r\n\r\n\r\n--b--"
        #expect(try await ReceivedMessage(boundary: "b", Arriving(allowed.utf8, size: 1)).readParts().count == 1)
    }

    // MARK: Order of reading

    private static let twoParts = "--b\r\n\r\nfirst\r\n--b\r\n\r\nsecond\r\n--b--\r\n"

    @Test func theNextPartNeedsThePreviousToBeRead() async throws {
        for size in [1, 3, 100] {
            let message = ReceivedMessage(boundary: "b", Arriving(Self.twoParts.utf8, size: size))
            var iterator = try message.rawParts().makeAsyncIterator()
            let first = try #require(try await iterator.next())
            for _ in 0..<2 {
                let error = await #expect(throws: MultipartError.self) { try await iterator.next() }
                #expect(error?.code == .previousPartNotConsumed)
                #expect(error?.offset == 7)
                #expect(error?.httpStatus == .internalServerError)
            }
            await #expect(throws: MultipartError.self) { try await String(collecting: first.body, upTo: 100) }
        }
    }

    @Test func aPartWithoutBytesNeedNotBeRead() async throws {
        let message = ReceivedMessage(boundary: "b", Arriving("--b\r\n\r\n\r\n--b\r\n\r\nx\r\n--b--".utf8, size: 4))
        var iterator = try message.rawParts().makeAsyncIterator()
        let first = try #require(try await iterator.next())
        let second = try #require(try await iterator.next())
        #expect(try await String(collecting: first.body, upTo: 10) == "")
        #expect(try await String(collecting: second.body, upTo: 10) == "x")
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func theBytesOfAPartCanBeReadOnce() async throws {
        let message = ReceivedMessage(boundary: "b", Arriving(Self.twoParts.utf8, size: 5))
        for try await part in try message.rawParts() {
            _ = try await String(collecting: part.body, upTo: 10)
            let error = await #expect(throws: HTTPBodyError.self) { try await String(collecting: part.body, upTo: 10) }
            #expect(error?.code == .alreadyIterated)
        }
    }

    @Test func errorsOfTheTransportReachTheReader() async throws {
        var chunks = Arriving(Self.twoParts.utf8.prefix(30), size: 5)
        chunks.error = URLError.fake
        let message = ReceivedMessage(boundary: "b", chunks)
        await #expect(throws: URLError.self) { try await message.readParts() }
    }

    private enum URLError: Error { case fake }

    @Test func cancellationIsNoTruncatedBody() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: ArraySlice<UInt8>.self)
        continuation.yield(ArraySlice("--b\r\n\r\nabc".utf8))
        var message = ReceivedMessage(boundary: "b", Arriving(elements: []))
        message.body = HTTPBody(stream, length: .unknown)
        let received = message
        let task = Task { try await received.readParts() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        continuation.finish()
    }

    // MARK: Streaming

    @Test func manyMegabytesPassWithOneChunkInFlight() async throws {
        let source = CountedChunks(of: UInt8(ascii: "\r"))
        let message = try SentMessage([
            MultipartRawPart(
                name: "big",
                headerFields: [:],
                body: HTTPBody(source, length: .unknown, iterationBehavior: .single)
            )
        ])
        for try await part in try ReceivedMessage(message).rawParts() {
            for try await bytes in part.body { source.take(bytes.count) }
        }
        #expect(source.taken == source.length)
        // A line break at the end of a chunk is held back, because the next chunk may begin with a boundary.
        #expect(source.largestBacklog < 2 * source.chunk.count)
    }

    // MARK: Any bytes

    @Test func randomPartsSurviveRandomChunks() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let boundary =
                ["b", "\r\n--b", "a-b", "----", "-"].filter { !$0.contains("\r") }.randomElement(using: &generator)
                ?? "b"
            var parts: [MultipartRawPart] = []
            var expected: [[UInt8]] = []
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                let pieces = ["\r", "\n", "-", "--", "\r\n", "\r\n-", "\r\n--", "x", "\u{0}", "é"]
                var bytes: [UInt8] = []
                for _ in 0..<Int.random(in: 0...20, using: &generator) {
                    bytes += (pieces.randomElement(using: &generator) ?? "").utf8
                }
                // A text that contains the boundary after a line break is not a legal part.
                let text = String(decoding: bytes, as: UTF8.self)
                if ("\r\n" + text + "\r\n").utf8.contains("\r\n--\(boundary)".utf8) { continue }
                expected.append(bytes)
                let chunks = Arriving(bytes, using: &generator)
                let body =
                    Bool.random(using: &generator)
                    ? HTTPBody(bytes) : HTTPBody(chunks, length: .unknown, iterationBehavior: .multiple)
                parts.append(MultipartRawPart(name: "n", headerFields: [.contentType: "text/plain"], body: body))
            }
            let sent = try SentMessage(MultipartBody(parts), boundary: boundary)
            let bytes = try await Array(collecting: try #require(sent.body), upTo: .max)
            let read = try await ReceivedMessage(boundary: boundary, Arriving(bytes, using: &generator)).readParts()
            #expect(read.map(\.bytes) == expected, "seed \(seed)")
            #expect(read.allSatisfy { $0.name == "n" && $0.headerFields[.contentType] == "text/plain" }, "seed \(seed)")
        }
    }

    @Test func anyBytesGiveTheSameWhereverTheyAreCut() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let original = Array(
            ("preamble\r\n--b\r\nContent-Disposition: form-data; name=\"a\"; filename*=UTF-8''%e2\r\nx: 1\r\n y\r\n\r\nHello\r\n"
                + "--b \r\n\r\n\r\n--b--\r\nepilogue").utf8
        )
        for _ in 0..<fuzzRuns {
            let bytes = original.mutated(
                with: ["\r", "\n", "\r\n", "--b", "--", "\r\n--b\r\n", ":", "\"", " "],
                using: &generator
            )
            let whole = await Outcome(ReceivedMessage(boundary: "b", Arriving(bytes, size: max(1, bytes.count))))
            let cut = await Outcome(ReceivedMessage(boundary: "b", Arriving(bytes, using: &generator)))
            #expect(whole == cut, "seed \(seed)")
        }
    }

    /// The parts that were read, and the error.
    private struct Outcome: Equatable {
        var parts: [ReadPart] = []
        var error: MultipartError?
        var isOther = false

        init(_ message: ReceivedMessage) async {
            do {
                for try await part in try message.rawParts() { parts.append(try await ReadPart(part)) }
            } catch let error as MultipartError {
                self.error = error
            } catch {
                isOther = true
            }
        }
    }
}
