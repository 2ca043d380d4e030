import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import StreamingJSON
import Testing

struct MultipartCodingTests {

    /// A form in the shape of generated code: `title` is a required text, `tags` an optional list of texts, `meta`
    /// optional JSON with a header field.
    private enum Form: Sendable, Hashable {

        struct TextPayload: Sendable, Hashable {
            var body: HTTPBody
        }

        struct MetaPayload: Sendable, Hashable {
            var tag: Int?
            var body: [String: Int]
        }

        case title(MultipartPart<TextPayload>)
        case tags(MultipartPart<TextPayload>)
        case meta(MultipartPart<MetaPayload>)
        case undocumented(MultipartRawPart)

        static let requirements = MultipartRequirements([
            (name: "title", occurrence: .exactlyOnce), (name: "tags", occurrence: .anyNumber),
            (name: "meta", occurrence: .atMostOnce),
        ])

        static func decode(_ part: MultipartPartReader) throws -> Form {
            switch part.name {
            case "title":
                try part.requireContentType("text/plain")
                return .title(MultipartPart(payload: TextPayload(body: try part.rawBody()), filename: part.filename))
            case "tags":
                try part.requireContentType("text/plain")
                return .tags(MultipartPart(payload: TextPayload(body: try part.rawBody()), filename: part.filename))
            case "meta":
                try part.requireContentType("application/json")
                let tag = try part.header("x-tag", .number, Int.self)
                let payload = MetaPayload(tag: tag, body: try part.json([String: Int].self))
                return .meta(MultipartPart(payload: payload, filename: part.filename))
            default: return .undocumented(part.rawPart)
            }
        }

        func encode(_ part: inout MultipartPartWriter) throws {
            switch self {
            case .title(let value):
                part.setName("title", filename: value.filename)
                try part.setBody(value.payload.body, contentType: "text/plain")
            case .tags(let value):
                part.setName("tags", filename: value.filename)
                try part.setBody(value.payload.body, contentType: "text/plain")
            case .meta(let value):
                part.setName("meta", filename: value.filename)
                try part.addHeader("x-tag", value.payload.tag)
                try part.setJSONBody(value.payload.body, contentType: "application/json; charset=utf-8")
            case .undocumented(let value): part.setRawPart(value)
            }
        }
    }

    private static func sent(_ form: MultipartBody<Form>) throws -> SentMessage {
        var message = SentMessage()
        try message.setMultipartBody(form, contentType: "multipart/form-data", Form.requirements) { part, writer in
            try part.encode(&writer)
        }
        return message
    }

    private static func text(_ name: String, _ body: String, type: String = "text/plain") -> String {
        "--b\r\ncontent-disposition: form-data; name=\"\(name)\"\r\ncontent-type: \(type)\r\n\r\n\(body)\r\n"
    }

    /// The parts of a form that was read, as text.
    private static func read(_ message: ReceivedMessage) async throws -> [String] {
        var seen: [String] = []
        for try await part in try message.multipart(Form.requirements, Form.decode) {
            switch part {
            case .title(let title):
                let body = try await String(collecting: title.payload.body, upTo: 1000)
                seen.append("title \(title.filename ?? "-") \(body)")
            case .tags(let tag): seen.append("tag \(try await String(collecting: tag.payload.body, upTo: 1000))")
            case .meta(let meta): seen.append("meta \(meta.payload.tag ?? -1) \(meta.payload.body["a"] ?? -1)")
            case .undocumented(let part):
                seen.append("\(part.name ?? "-") \(try await String(collecting: part.body, upTo: 1000))")
            }
        }
        return seen
    }

    private static func read(_ text: String) async throws -> [String] {
        try await read(ReceivedMessage(boundary: "b", Arriving((text + "--b--\r\n").utf8, size: 10)))
    }

    @Test func typedPartsAreWrittenAndReadBack() async throws {
        let message = try Self.sent([
            .title(MultipartPart(payload: .init(body: "Hello"), filename: "t.txt")),
            .tags(MultipartPart(payload: .init(body: "one"))),
            .meta(MultipartPart(payload: .init(tag: 3, body: ["a": 1]))),
            .tags(MultipartPart(payload: .init(body: "two"))),
            .undocumented(MultipartRawPart(name: "other", headerFields: [:], body: "?")),
        ])
        let boundary = "__X_SWIFT_OPENAPI_GENERATOR_BOUNDARY__"
        #expect(message.headerFields == [.contentType: "multipart/form-data; boundary=\(boundary)"])
        #expect(
            try await message.text
                == [
                    "--\(boundary)", #"content-disposition: form-data; filename="t.txt"; name="title""#,
                    "content-length: 5",
                    "content-type: text/plain", "", "Hello",
                    "--\(boundary)", #"content-disposition: form-data; name="tags""#, "content-length: 3",
                    "content-type: text/plain", "", "one",
                    "--\(boundary)", #"content-disposition: form-data; name="meta""#, "content-length: 13",
                    "content-type: application/json; charset=utf-8", "x-tag: 3", "", "{\n  \"a\" : 1\n}",
                    "--\(boundary)", #"content-disposition: form-data; name="tags""#, "content-length: 3",
                    "content-type: text/plain", "", "two",
                    "--\(boundary)", #"content-disposition: form-data; name="other""#, "content-length: 1", "", "?",
                    "--\(boundary)--", "", "",
                ].joined(separator: "\r\n")
        )
        #expect(
            try await Self.read(ReceivedMessage(message)) == [
                "title t.txt Hello", "tag one", "meta 3 1", "tag two", "other ?",
            ]
        )
    }

    @Test func theLengthOfARawPartIsWrittenWhereItIsKnown() async throws {
        let stream = AsyncStream<ArraySlice<UInt8>> { continuation in
            continuation.yield(ArraySlice("two".utf8))
            continuation.finish()
        }
        let message = try Self.sent([
            .title(MultipartPart(payload: .init(body: "t"))),
            .undocumented(MultipartRawPart(name: "one", headerFields: [.contentLength: "9"], body: "é")),
            .undocumented(MultipartRawPart(name: "two", headerFields: [:], body: HTTPBody(stream, length: .unknown))),
            .undocumented(MultipartRawPart(name: "three", headerFields: [:], body: HTTPBody())),
        ])
        let boundary = "__X_SWIFT_OPENAPI_GENERATOR_BOUNDARY__"
        #expect(
            try await message.text
                == [
                    "--\(boundary)", #"content-disposition: form-data; name="title""#, "content-length: 1",
                    "content-type: text/plain", "", "t",
                    "--\(boundary)", #"content-disposition: form-data; name="one""#, "content-length: 2", "", "é",
                    "--\(boundary)", #"content-disposition: form-data; name="two""#, "", "two",
                    "--\(boundary)", #"content-disposition: form-data; name="three""#, "content-length: 0", "", "",
                    "--\(boundary)--", "", "",
                ].joined(separator: "\r\n")
        )
    }

    @Test func theContentTypeOfAPartMustMatchIfThereIsOne() async throws {
        let bare = "--b\r\ncontent-disposition: form-data; name=\"title\"\r\n\r\nHello\r\n"
        #expect(try await Self.read(bare) == ["title - Hello"])
        #expect(
            try await Self.read(Self.text("title", "Hello", type: "Text/Plain; charset=utf-8")) == ["title - Hello"]
        )
        let error = await #expect(throws: GeneratedCodeError.self) {
            try await Self.read(Self.text("title", "Hello", type: "image/png"))
        }
        #expect(error?.httpStatus == .unsupportedMediaType)
        await #expect(throws: GeneratedCodeError.self) {
            try await Self.read(Self.text("title", "x") + Self.text("meta", "{", type: "application/json"))
        }
    }

    @Test func partsAreCountedWhileTheyAreRead() async throws {
        let title = Self.text("title", "x")
        let meta = Self.text("meta", "{}", type: "application/json")
        #expect(try await Self.read(title) == ["title - x"])
        for (text, code) in [
            ("", MultipartError.Code.missingPart), (meta, .missingPart), (title + title, .repeatedPart),
            (meta + meta + title, .repeatedPart),
        ] {
            let error = await #expect(throws: MultipartError.self) { try await Self.read(text) }
            #expect(error?.code == code)
            #expect(error?.httpStatus == .badRequest)
        }
    }

    @Test func partsAreCountedWhileTheyAreWritten() async throws {
        let title = Form.title(MultipartPart(payload: .init(body: "x")))
        for (parts, code) in [([], MultipartError.Code.missingPart), ([title, title], .repeatedPart)]
            as [([Form], MultipartError.Code)]
        {
            let message = try Self.sent(MultipartBody(parts))
            let error = await #expect(throws: MultipartError.self) { try await message.text }
            #expect(error?.code == code)
        }
    }

    @Test func everyRequirementIsKept() async throws {
        let once = MultipartRequirements([(name: "a", occurrence: .exactlyOnce)])
        let atMost = MultipartRequirements([(name: "a", occurrence: .atMostOnce)])
        let atLeast = MultipartRequirements([(name: "a", occurrence: .atLeastOnce)])
        let any = MultipartRequirements([(name: "a", occurrence: .anyNumber)])
        let expected: [(MultipartRequirements, [MultipartError.Code?])] = [
            (once, [.missingPart, nil, .repeatedPart]), (atMost, [nil, nil, .repeatedPart]),
            (atLeast, [.missingPart, nil, nil]),
            (any, [nil, nil, nil]),
        ]
        for (requirements, codes) in expected {
            for (count, code) in codes.enumerated() {
                let parts = (0..<count).map { _ in MultipartRawPart(name: "a", headerFields: [:], body: "x") }
                let sent = try SentMessage(MultipartBody(parts))
                let error = await Self.code {
                    for try await part in try ReceivedMessage(sent).rawParts(requirements) {
                        _ = try await ReadPart(part)
                    }
                }
                #expect(error == code)
                let other = try SentMessage(MultipartBody(parts), requirements)
                #expect(await Self.code { _ = try await other.text } == code)
            }
        }
    }

    private static func code(_ body: () async throws -> Void) async -> MultipartError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? MultipartError)?.code
        }
    }

    @Test func aClosedBodyRefusesUnknownAndUnnamedParts() async throws {
        let closed = MultipartRequirements([(name: "a", occurrence: .anyNumber)], allowsOtherParts: false)
        let parts = [
            MultipartRawPart(name: "b", headerFields: [:], body: "x"), MultipartRawPart(headerFields: [:], body: "x"),
            MultipartRawPart(name: nil, headerFields: [:], body: "x"),
        ]
        for part in parts {
            let sent = try SentMessage([part])
            #expect(try await ReceivedMessage(sent).readParts().count == 1)
            let message = ReceivedMessage(sent)
            let error = await #expect(throws: MultipartError.self) { try await message.rawParts(closed).read() }
            #expect(error?.code == .unexpectedPart)
        }
        let malformed = MultipartRawPart(headerFields: [.contentDisposition: #"form-data; name="a"#], body: "x")
        let message = ReceivedMessage(try SentMessage([MultipartRawPart(name: "a", headerFields: [:], body: "x")]))
        #expect(try await message.rawParts(closed).read().count == 1)
        let error = await #expect(throws: MultipartError.self) { try await SentMessage([malformed]).text }
        #expect(error?.code == .malformedHeader)
    }

    @Test func aReceivedBodyIsReadAsOftenAsItCanBe() async throws {
        var message = ReceivedMessage(try Self.sent([.title(MultipartPart(payload: .init(body: "x")))]))
        let again = try message.rawParts()
        for _ in 0..<2 { #expect(try await again.read().count == 1) }
        let bytes = try await Array(collecting: try #require(message.body), upTo: 1000)
        message.body = HTTPBody(Arriving(bytes, size: 9), length: .unknown, iterationBehavior: .single)
        let once = try message.rawParts()
        #expect(once.iterationBehavior == .single)
        _ = try await once.read()
        await #expect(throws: HTTPBodyError.self) { try await once.read() }
    }
}
