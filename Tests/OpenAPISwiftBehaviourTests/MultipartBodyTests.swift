import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Synchronization
import Testing

/// Multipart bodies as bytes. Client and server are tested separately.
struct MultipartWireTests {
    private typealias Parts = Operations.sendParts.Input.Body.multipartFormPayload

    private static let configuration = Configuration(
        jsonEncodingOptions: .sortedKeys,
        multipartBoundaryGenerator: .constant
    )
    private static let boundary = "__X_SWIFT_OPENAPI_GENERATOR_BOUNDARY__"

    /// The bytes of one part.
    private static func part(_ lines: [String], _ body: String) -> String {
        "--\(boundary)\r\n" + lines.map { "\($0)\r\n" }.joined() + "\r\n\(body)\r\n"
    }

    private static let end = "--\(boundary)--\r\n\r\n"

    /// Sends parts, followed by the parts that the document requires. The result does not include the required parts.
    private func sent(_ parts: [Parts]) async throws -> Message {
        let wire = Wire()
        var rest: [Parts] = [.scores(.init(payload: .init(body: "1")))]
        var tail: String = Self.part(Self.lines("scores", length: 1), "1") + Self.end
        if !parts.contains(where: { caseName($0) == "title" }) {
            rest.insert(.title(.init(payload: .init(body: "t"))), at: 0)
            tail = Self.part(Self.lines("title", length: 1), "t") + tail
        }
        _ = try await wire.client(configuration: Self.configuration)
            .sendParts(body: .multipartForm(MultipartBody(parts + rest)))
        var message: Message = try wire.request
        let body: String = try #require(message.body)
        try #require(body.hasSuffix(tail))
        message.body = String(body.dropLast(tail.count))
        return message
    }

    /// The header lines of a text part.
    private static func lines(_ name: String, length: Int) -> [String] {
        ["content-disposition: form-data; name=\"\(name)\"", "content-length: \(length)", "content-type: text/plain"]
    }

    // MARK: What the client sends

    @Test func theBoundaryStandsInTheContentTypeAndNoLengthIsSaid() async throws {
        let message = try await sent([.title(.init(payload: .init(body: "t")))])
        #expect(message.fields == ["content-type": "multipart/form-data; boundary=\(Self.boundary)"])
    }

    @Test func aTextPartHasLengthNameAndType() async throws {
        let body = Self.part(Self.lines("title", length: 3), "né")
        #expect(try await sent([.title(.init(payload: .init(body: "né")))]).body == body)
    }

    @Test func aFileNameStandsBeforeTheName() async throws {
        let body = Self.part(
            [
                "content-disposition: form-data; filename=\"t.txt\"; name=\"title\"", "content-length: 1",
                "content-type: text/plain",
            ],
            "t"
        )
        #expect(try await sent([.title(.init(payload: .init(body: "t"), filename: "t.txt"))]).body == body)
    }

    @Test func aStructuredPartIsJSON() async throws {
        let body = Self.part(
            [
                "content-disposition: form-data; name=\"note\"", "content-length: 12",
                "content-type: application/json; charset=utf-8",
            ],
            #"{"text":"t"}"#
        )
        #expect(try await sent([.note(.init(payload: .init(body: .init(text: "t"))))]).body == body)
    }

    @Test func anInlineObjectIsATypeInThePart() async throws {
        let payload = Parts.inner_objPayload(body: Parts.inner_objPayload.bodyPayload(a: 1))
        let message = try await sent([.inner_obj(.init(payload: payload))])
        #expect(message.body?.contains("\r\n\r\n{\"a\":1}\r\n") == true)
    }

    @Test func aListInAListIsJSONForEachOfItsLists() async throws {
        let message = try await sent([
            .matrix(.init(payload: .init(body: [1, 2]))), .matrix(.init(payload: .init(body: []))),
        ])
        #expect(message.body?.contains("\r\n\r\n[1,2]\r\n") == true)
        #expect(message.body?.contains("\r\n\r\n[]\r\n") == true)
    }

    @Test func aFreePartIsJSON() async throws {
        let message = try await sent([.free(.init(payload: .init(body: true)))])
        #expect(message.body?.contains("content-type: application/json; charset=utf-8\r\n\r\ntrue\r\n") == true)
    }

    @Test func theEncodingGivesTypeAndHeaderFieldsSortedByName() async throws {
        let body = Self.part(
            [
                "content-disposition: form-data; filename=\"f.jpg\"; name=\"file\"", "content-length: 3",
                "content-type: image/jpeg", "x-size: 3", "x-sum: a%20b",
            ],
            "abc"
        )
        let file = Parts.filePayload(headers: .init(X_hyphen_Sum: "a b", X_hyphen_Size: 3), body: "abc")
        #expect(try await sent([.file(.init(payload: file, filename: "f.jpg"))]).body == body)
    }

    @Test func theSchemaGivesTheMediaTypeOfAPart() async throws {
        let message = try await sent([.picture(.init(payload: .init(body: "p")))])
        #expect(message.body?.contains("content-type: image/png\r\n\r\np\r\n") == true)
    }

    @Test func severalTypesOfAnEncodingCountAsNone() async throws {
        let message = try await sent([.flag(.init(payload: .init(body: "true")))])
        #expect(message.body?.contains("content-type: text/plain\r\n\r\ntrue\r\n") == true)
    }

    @Test func aStreamedPartHasNoLength() async throws {
        let body = Self.part(
            ["content-disposition: form-data; name=\"title\"", "content-type: text/plain"],
            "abc"
        )
        #expect(try await sent([.title(.init(payload: .init(body: .dripping("abc"))))]).body == body)
    }

    @Test func partsStandInTheOrderInWhichTheyAreGiven() async throws {
        let message = try await sent(
            [
                .scores(.init(payload: .init(body: "1"))), .title(.init(payload: .init(body: "t"))),
                .scores(.init(payload: .init(body: "2"))),
            ]
        )
        let names: [String] = try #require(message.body).matches(of: /name="(\w+)"/).map { String($0.1) }
        #expect(names == ["scores", "title", "scores"])
    }

    @Test func anUndocumentedPartIsSentAsItIsWithItsLength() async throws {
        let raw = MultipartRawPart(name: "more", filename: "m", headerFields: [.contentType: "text/csv"], body: "a,b")
        let body = Self.part(
            [
                "content-disposition: form-data; filename=\"m\"; name=\"more\"", "content-length: 3",
                "content-type: text/csv",
            ],
            "a,b"
        )
        #expect(try await sent([.undocumented(raw)]).body == body)
    }

    @Test func aBodyWithoutPartsIsItsEnd() async throws {
        let wire = Wire()
        _ = try await wire.client(configuration: Self.configuration).sendUntyped(body: .multipartForm([]))
        #expect(try wire.request.body == Self.end)
    }

    @Test func aRequiredPartThatIsMissingIsNoticedWhileTheBodyIsSent() async throws {
        let error = await #expect(throws: ClientError.self) {
            try await Wire().client().sendParts(body: .multipartForm([.title(.init(payload: .init(body: "t")))]))
        }
        #expect("\(try #require(error?.underlyingError))".contains("scores"))
    }

    @Test func theBoundaryIsAnotherEachTime() async throws {
        var seen: Set<String> = []
        for _ in 0..<10 {
            let wire = Wire()
            _ = try await wire.client().sendUntyped(body: .multipartForm([]))
            let contentType = try #require(try wire.request.fields["content-type"])
            #expect(contentType.wholeMatch(of: /multipart\/form-data; boundary=__X_SWIFT_OPENAPI_\d{20}/) != nil)
            seen.insert(contentType)
        }
        #expect(seen.count == 10)
    }

    @Test func quotesInNamesStayInside() async throws {
        let raw = MultipartRawPart(name: "a\"b", headerFields: [:], body: "x")
        let client: Client = try Handlers(sendUntyped: { input in
            guard case .multipartForm(let body) = input.body else { throw UnexpectedCall() }
            for try await case .undocumented(let part) in body {
                #expect(part.name == "a\"b")
                #expect(try await text(part.body) == "x")
            }
            return .noContent
        }).client()
        #expect(try await client.sendUntyped(body: .multipartForm([.undocumented(raw)])) == .noContent)
    }
}

/// Multipart bodies as a server reads them.
struct MultipartReadingTests {
    private typealias Parts = Operations.sendParts.Input.Body.multipartFormPayload

    /// The parts that the handler reads from a body, a line for each.
    private final class Found: Sendable {
        private let all = Mutex<[String]>([])
        func add(_ line: String) { all.withLock { $0.append(line) } }
        var lines: [String] { all.withLock { $0 } }
    }

    /// A body of parts with the boundary `b`. Each part is its header lines and its text.
    private func body(_ parts: [(String, String)]) -> String {
        parts.map { "--b\r\n\($0.0)\r\n\r\n\($0.1)\r\n" }.joined() + "--b--\r\n\r\n"
    }

    private func named(_ name: String, _ text: String) -> (String, String) {
        ("content-disposition: form-data; name=\"\(name)\"", text)
    }

    private func words(_ part: Parts) async throws -> String {
        switch part {
        case .title(let part):
            "title \(part.filename ?? "-") \(part.payload.headers.X_hyphen_Lang ?? "-") \(try await text(part.payload.body))"
        case .scores(let part): "score \(try await text(part.payload.body))"
        case .tags(let part): "tag \(try await text(part.payload.body))"
        case .flag(let part): "flag \(try await text(part.payload.body))"
        case .note(let part): "note \(part.payload.body.text)"
        case .inner_obj(let part): "inner \(part.payload.body.a)"
        case .matrix(let part): "row \(part.payload.body)"
        case .file(let part): "file \(part.payload.headers.X_hyphen_Sum) \(try await text(part.payload.body))"
        case .picture(let part): "picture \(try await text(part.payload.body))"
        case .free(let part): "free \(String(describing: part.payload.body.value))"
        case .undocumented(let part): "\(part.name ?? "nameless") \(try await text(part.body))"
        }
    }

    /// Sends a body, and returns the status of the response with the parts that the handler read.
    private func read(
        _ body: String,
        contentType: String = "multipart/form-data; boundary=b",
        isDripping: Bool = false
    ) async throws -> (status: String, lines: [String]) {
        let found = Found()
        let handlers = Handlers(sendParts: { input in
            guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
            for try await part in parts { found.add(try await words(part)) }
            return .noContent
        })
        let answer = try await handlers.answer(
            .post,
            "/multipart",
            [.contentType: contentType],
            isDripping ? .dripping(body) : HTTPBody(body)
        )
        return (answer.start, found.lines)
    }

    // MARK: What the server reads

    @Test(arguments: [false, true])
    func partsArriveInOrderAndTyped(isDripping: Bool) async throws {
        let body = body([
            ("Content-Disposition: form-data; name=\"title\"; filename=\"t.txt\"\r\nx-lang: de", "Nebel"),
            ("content-type: application/json\r\nCONTENT-DISPOSITION: form-data; name=note", #"{"text":"n"}"#),
            named("scores", "1"), named("tags", ""), named("scores", "2"), named("flag", "true"),
            named("inner_obj", #"{"a":7}"#), named("matrix", "[1,2]"), named("matrix", "[]"), named("free", "null"),
            ("content-disposition: form-data; name=\"file\"\r\nx-sum: a%20b", "\r\n--c\r\n"), named("other", "x"),
        ])
        let result = try await read(body, isDripping: isDripping)
        #expect(
            result.lines == [
                "title t.txt de Nebel", "note n", "score 1", "tag ", "score 2", "flag true", "inner 7", "row [1, 2]",
                "row []", "free nil", "file a b \r\n--c\r\n", "other x",
            ]
        )
        #expect(result.status == "204")
    }

    @Test func theBoundaryMayBeQuotedInTheContentType() async throws {
        let body = body([named("title", "t"), named("scores", "1")])
        #expect(try await read(body, contentType: "Multipart/Form-Data; charset=utf-8; Boundary=\"b\"").status == "204")
    }

    @Test func aContentTypeWithoutBoundaryIsABadRequest() async throws {
        let body = body([named("title", "t"), named("scores", "1")])
        #expect(try await read(body, contentType: "multipart/form-data").status == "400")
    }

    @Test func textBeforeTheFirstBoundaryIsSkipped() async throws {
        let body = "This is a message in several parts.\r\n" + body([named("title", "t"), named("scores", "1")])
        #expect(try await read(body) == ("204", ["title - - t", "score 1"]))
    }

    // MARK: How often a part may occur

    @Test func aRequiredPartMayNotBeMissing() async throws {
        #expect(try await read(body([named("scores", "1")])).status == "400")
    }

    @Test func aRequiredListNeedsOnePart() async throws {
        #expect(try await read(body([named("title", "t")])).status == "400")
        #expect(try await read(body([named("title", "t"), named("scores", "1")])).status == "204")
    }

    @Test func aRequiredPartMayNotStandThereTwice() async throws {
        let result = try await read(body([named("title", "t"), named("title", "u"), named("scores", "1")]))
        #expect(result == ("400", ["title - - t"]))
    }

    @Test func anOptionalPartMayNotStandThereTwice() async throws {
        let result = try await read(
            body([named("title", "t"), named("scores", "1"), named("flag", "a"), named("flag", "b")])
        )
        #expect(result == ("400", ["title - - t", "score 1", "flag a"]))
    }

    @Test func anOptionalListMayBeEmptyOrLong() async throws {
        let many = (0..<100).map { named("tags", "\($0)") }
        let result = try await read(body([named("title", "t"), named("scores", "1")] + many))
        #expect(result.status == "204")
        #expect(result.lines.count == 102)
    }

    @Test func unknownPartsMayOccurSeveralTimes() async throws {
        let result = try await read(
            body([named("title", "t"), named("x", "1"), named("x", "2"), ("x-a: b", "3"), named("scores", "1")])
        )
        #expect(result == ("204", ["title - - t", "x 1", "x 2", "nameless 3", "score 1"]))
    }

    // MARK: Parts that do not fit

    @Test func aPartOfAnotherTypeIsRefused() async throws {
        let note = ("content-disposition: form-data; name=\"note\"\r\ncontent-type: text/plain", #"{"text":"n"}"#)
        #expect(try await read(body([note, named("title", "t"), named("scores", "1")])).status != "204")
    }

    @Test func aJSONPartThatCannotBeReadIsABadRequest() async throws {
        #expect(try await read(body([named("note", "{"), named("title", "t"), named("scores", "1")])) == ("400", []))
    }

    @Test func aMissingRequiredHeaderFieldOfAPartIsABadRequest() async throws {
        #expect(try await read(body([named("file", "f"), named("title", "t"), named("scores", "1")])) == ("400", []))
    }

    @Test(
        arguments: [
            "", "--b", "--b\r\n", "--b\r\ncontent-disposition: form-data; name=\"title\"\r\n\r\nt",
            "--b\r\ncontent-disposition: form-data; name=\"title\"\r\n\r\nt\r\n--b\r\n", "--c--\r\n",
        ]
    )
    func aBodyThatBreaksOffIsABadRequest(body: String) async throws {
        #expect(try await read(body).status == "400")
    }

    @Test func theNextPartWaitsForTheBodyOfThisOne() async throws {
        let handlers = Handlers(sendParts: { input in
            guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
            var iterator = parts.makeAsyncIterator()
            _ = try await iterator.next()
            await #expect(throws: (any Error).self) { _ = try await iterator.next() }
            return .noContent
        })
        let body: String = body([named("title", "not read"), named("scores", "1")])
        let answer = try await handlers.answer(
            .post,
            "/multipart",
            [.contentType: "multipart/form-data; boundary=b"],
            .dripping(body)
        )
        #expect(answer.start == "204")
    }

    // MARK: Other parts

    private func status(_ target: String, _ handlers: Handlers, _ parts: [(String, String)]) async throws -> String {
        try await handlers.answer(
            .post,
            target,
            [.contentType: "multipart/form-data; boundary=b"],
            HTTPBody(body(parts))
        ).start
    }

    @Test func aClosedBodyRefusesUnknownAndNamelessParts() async throws {
        let found = Found()
        let handlers = Handlers(sendClosed: { input in
            guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
            for try await case .name(let part) in parts { found.add(try await text(part.payload.body)) }
            return .noContent
        })
        #expect(try await status("/multipart/closed", handlers, [named("name", "n")]) == "204")
        #expect(try await status("/multipart/closed", handlers, [named("name", "m"), named("other", "x")]) == "400")
        #expect(try await status("/multipart/closed", handlers, [named("name", "l"), ("x-a: b", "x")]) == "400")
        #expect(found.lines == ["n", "m", "l"])
    }

    @Test func anOpenBodyHasOtherParts() async throws {
        let found = Found()
        let handlers = Handlers(sendOpen: { input in
            guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
            for try await part in parts {
                switch part {
                case .name(let part): found.add("name \(try await text(part.payload.body))")
                case .other(let part): found.add("other \(part.name ?? "-") \(try await text(part.body))")
                }
            }
            return .noContent
        })
        #expect(
            try await status("/multipart/open", handlers, [named("x", "1"), named("name", "n"), named("x", "2")])
                == "204"
        )
        #expect(found.lines == ["other x 1", "name n", "other x 2"])
    }

    @Test func partsOfFreeNamesHaveTheTypeOfTheSchema() async throws {
        typealias Part = Operations.sendTyped.Input.Body.multipartFormPayload
        let found = Found()
        let client: Client = try Handlers(sendTyped: { input in
            guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
            for try await case .additionalProperties(let part) in parts {
                found.add("\(part.name ?? "-") \(part.filename ?? "-") \(part.payload.n)")
            }
            return .noContent
        }).client()
        let parts: MultipartBody<Part> = [
            .additionalProperties(.init(payload: Part.additionalPropertiesPayload(n: 1), filename: "f", name: "a")),
            .additionalProperties(.init(payload: .init(n: 2), name: "b")),
        ]
        #expect(try await client.sendTyped(body: .multipartForm(parts)) == .noContent)
        #expect(found.lines == ["a f 1", "b - 2"])
    }

    @Test func partsOfFreeNamesMayBeAComponentOrText() async throws {
        let found = Found()
        let client: Client = try Handlers(
            sendNotes: { input in
                guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
                for try await case .additionalProperties(let part) in parts {
                    let note: Components.Schemas.Note = part.payload
                    found.add("\(part.name ?? "-") \(note.text)")
                }
                return .noContent
            },
            sendTexts: { input in
                guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
                for try await case .additionalProperties(let part) in parts {
                    let body: HTTPBody = part.payload
                    found.add("\(part.name ?? "-") \(try await text(body))")
                }
                return .noContent
            }
        ).client()
        #expect(
            try await client.sendNotes(
                body: .multipartForm([.additionalProperties(.init(payload: .init(text: "t"), name: "n"))])
            ) == .noContent
        )
        #expect(
            try await client.sendTexts(
                body: .multipartForm([.additionalProperties(.init(payload: "u", name: "m"))])
            ) == .noContent
        )
        #expect(found.lines == ["n t", "m u"])
    }

    @Test func aBodyWithoutSchemaHasOnlyUndocumentedParts() async throws {
        let found = Found()
        let handlers = Handlers(sendUntyped: { input in
            guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
            for try await part in parts {
                switch part {
                case .undocumented(let part): found.add("\(part.name ?? "-") \(try await text(part.body))")
                }
            }
            return .noContent
        })
        #expect(try await status("/multipart/untyped", handlers, [named("a", "1"), named("a", "2")]) == "204")
        #expect(found.lines == ["a 1", "a 2"])
    }

    @Test func partsAreThoseOfEveryMemberOfAComposition() async throws {
        typealias Parts = Operations.sendMessage.Input.Body.multipartFormPayload
        let found = Found()
        let client: Client = try Handlers(sendMessage: { input in
            guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
            for try await part in parts {
                switch part {
                case .text(let part): found.add("text \(try await text(part.payload.body))")
                case .kind(let part): found.add("kind \(part.payload.body.value2?.rawValue ?? "-")")
                case .answers(let part): found.add("answer \(try await text(part.payload.body))")
                case .file(let part): found.add("\(part.filename ?? "-") \(try await text(part.payload.body))")
                case .undocumented(let part): found.add("\(part.name ?? "-")?")
                }
            }
            return .noContent
        }).client()
        let parts: [Parts] = [
            .kind(.init(payload: .init(body: .init(value2: .poll)))),
            .answers(.init(payload: .init(body: "yes"))),
            .answers(.init(payload: .init(body: "no"))),
            .file(.init(payload: .init(body: "f"), filename: "f.txt")),
        ]
        #expect(try await client.sendMessage(body: .multipartForm(MultipartBody(parts))) == .noContent)
        #expect(found.lines == ["kind poll", "answer yes", "answer no", "f.txt f"])
        // `kind` is required in every message, `text` only in some.
        let handlers = Handlers(sendMessage: { input in
            guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
            for try await case .text(let part) in parts { found.add(try await text(part.payload.body)) }
            return .noContent
        })
        #expect(try await status("/multipart/message", handlers, [named("text", "t")]) == "400")
    }

    @Test func aComponentWithAnEncodingHasPartsOfItsOwnThere() async throws {
        typealias Parts = Operations.sendSheet.Input.Body.multipartFormPayload
        let component: Components.Schemas.Sheet = .title(.init(payload: .init(body: "c")))
        guard case .title = component else { throw UnexpectedCall() }
        let wire = Wire()
        let part: Parts = .title(.init(payload: .init(body: "# t")))
        _ = try await wire.client().sendSheet(body: .multipartForm([part]))
        #expect(try wire.request.body?.contains("content-type: text/markdown") == true)
    }

    @Test func anOptionalMultipartBodyMayBeAbsent() async throws {
        let found = Found()
        let handlers = Handlers(sendOptionalParts: { input in
            switch input.body {
            case nil: found.add("nothing")
            case .multipartForm(let parts)?:
                for try await part in parts {
                    if case .name(let part) = part { found.add(try await text(part.payload.body)) }
                }
            }
            return .noContent
        })
        #expect(try await handlers.client().sendOptionalParts() == .noContent)
        #expect(
            try await handlers.client().sendOptionalParts(
                body: .multipartForm([.name(.init(payload: .init(body: "n")))])
            ) == .noContent
        )
        #expect(found.lines == ["nothing", "n"])
    }
}

/// Multipart bodies of components and of responses.
struct MultipartAlbumTests {
    private typealias Album = Components.Schemas.Album

    private let cover: MultipartBody<Album> = [.cover(.init(payload: .init(body: "c")))]

    private func words(_ album: MultipartBody<Album>) async throws -> [String] {
        var words: [String] = []
        for try await part in album {
            switch part {
            case .cover(let part): words.append("cover \(part.filename ?? "-") \(try await text(part.payload.body))")
            case .caption(let part): words.append("caption \(try await text(part.payload.body))")
            case .notes(let part): words.append("note \(part.payload.body.text)")
            case .undocumented(let part): words.append("\(part.name ?? "-") \(try await text(part.body))")
            }
        }
        return words
    }

    @Test func aComponentThatIsOnlyMultipartIsThePartItself() async throws {
        let client: Client = try Handlers(sendAlbum: { input in
            guard case .multipartForm(let album) = input.body else { throw UnexpectedCall() }
            let words: [String] = try await words(album)
            #expect(words == ["note a", "cover c.png bytes", "caption c", "note b"])
            return .ok(.init(body: .multipartForm([.cover(.init(payload: .init(body: "back"), filename: "d"))])))
        }).client()
        let album: MultipartBody<Album> = [
            .notes(.init(payload: .init(body: .init(text: "a")))),
            .cover(.init(payload: .init(body: .dripping("bytes")), filename: "c.png")),
            .caption(.init(payload: .init(body: "c"))), .notes(.init(payload: .init(body: .init(text: "b")))),
        ]
        let answer = try await client.sendAlbum(body: .multipartForm(album)).ok.body.multipartForm
        #expect(try await words(answer) == ["cover d back"])
    }

    @Test func anAnswerSaysItsBoundaryAndNoLength() async throws {
        let handlers = Handlers(sendAlbum: { _ in
            .accepted(.init(body: .multipartForm([.count(.init(payload: .init(body: "7")))])))
        })
        let boundary = "__X_SWIFT_OPENAPI_GENERATOR_BOUNDARY__"
        let answer = try await handlers.answer(
            .post,
            "/multipart/album",
            [.contentType: "multipart/form-data; boundary=b"],
            "--b--\r\n",
            configuration: .init(multipartBoundaryGenerator: .constant)
        )
        #expect(
            answer
                == Message(
                    start: "202",
                    fields: ["content-type": "multipart/form-data; boundary=\(boundary)"],
                    body: "--\(boundary)\r\ncontent-disposition: form-data; name=\"count\"\r\ncontent-length: 1\r\n"
                        + "content-type: text/plain\r\n\r\n7\r\n--\(boundary)--\r\n\r\n"
                )
        )
    }

    @Test func aClientReadsAMultipartAnswer() async throws {
        let wire = Wire(
            200,
            [.contentType: "multipart/form-data; boundary=\"x y\""],
            .dripping("--x y\r\ncontent-disposition: form-data; name=\"cover\"\r\n\r\nc\r\n--x y--")
        )
        let output = try await wire.client().sendAlbum(body: .multipartForm(cover))
        #expect(try await words(output.ok.body.multipartForm) == ["cover - c"])
        #expect(try wire.request.fields["accept"] == "multipart/form-data")
    }

    @Test func aMissingPartOfAnAnswerIsAnErrorWhileItIsRead() async throws {
        let wire = Wire(200, [.contentType: "multipart/form-data; boundary=b"], "--b--\r\n")
        let body = try await wire.client().sendAlbum(body: .multipartForm(cover)).ok.body.multipartForm
        await #expect(throws: (any Error).self) { _ = try await words(body) }
    }

    @Test func aStreamOfPartsCanBeReadOnce() async throws {
        let (parts, continuation) = AsyncStream<Album>.makeStream()
        continuation.yield(.cover(.init(payload: .init(body: "c"))))
        continuation.finish()
        let body = MultipartBody<Album>(parts)
        #expect(body.iterationBehavior == .single)
        #expect(try await words(body) == ["cover - c"])
        await #expect(throws: (any Error).self) { _ = try await words(body) }
        let list: MultipartBody<Album> = [.cover(.init(payload: .init(body: "c")))]
        #expect(list.iterationBehavior == .multiple)
        for _ in 0..<2 { #expect(try await words(list) == ["cover - c"]) }
    }

    @Test func partsAreReadBeforeTheLastOneIsMade() async throws {
        let (parts, continuation) = AsyncStream<Album>.makeStream()
        let client: Client = try Handlers(sendAlbum: { input in
            guard case .multipartForm(let album) = input.body else { throw UnexpectedCall() }
            // The handler runs before the first part exists.
            continuation.yield(.cover(.init(payload: .init(body: "c"))))
            continuation.yield(.caption(.init(payload: .init(body: "d"))))
            var iterator = album.makeAsyncIterator()
            guard case .cover(let cover) = try await iterator.next() else { throw UnexpectedCall() }
            #expect(try await text(cover.payload.body) == "c")
            continuation.finish()
            guard case .caption(let caption) = try await iterator.next() else { throw UnexpectedCall() }
            #expect(try await text(caption.payload.body) == "d")
            #expect(try await iterator.next() == nil)
            return .accepted(.init(body: .multipartForm([.count(.init(payload: .init(body: "2")))])))
        }).client()
        let output = try await client.sendAlbum(body: .multipartForm(MultipartBody(parts)))
        #expect(caseName(output) == "accepted")
    }
}
