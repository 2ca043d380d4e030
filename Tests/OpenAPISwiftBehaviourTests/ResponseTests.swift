import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The cases of statuses, and the statuses of cases.
struct ResponseStatusTests {
    static let statuses: [(Int, Operations.everyStatus.Output)] = [
        (100, .continue), (101, .switchingProtocols), (102, .code102), (103, .earlyHints), (200, .ok), (201, .created),
        (202, .accepted), (203, .nonAuthoritativeInformation), (204, .noContent), (205, .resetContent),
        (206, .partialContent), (300, .multipleChoices), (301, .movedPermanently), (302, .found), (303, .seeOther),
        (304, .notModified), (307, .temporaryRedirect), (308, .permanentRedirect), (400, .badRequest),
        (401, .unauthorized), (402, .code402), (403, .forbidden), (404, .notFound), (405, .methodNotAllowed),
        (406, .notAcceptable), (407, .proxyAuthenticationRequired), (408, .requestTimeout), (409, .conflict),
        (410, .gone), (411, .lengthRequired), (412, .preconditionFailed), (413, .contentTooLarge), (414, .uriTooLong),
        (415, .unsupportedMediaType), (416, .rangeNotSatisfiable), (417, .expectationFailed), (418, .code418),
        (421, .misdirectedRequest), (422, .unprocessableContent), (425, .tooEarly), (426, .upgradeRequired),
        (428, .preconditionRequired), (429, .tooManyRequests), (431, .requestHeaderFieldsTooLarge),
        (451, .unavailableForLegalReasons), (500, .internalServerError), (501, .notImplemented), (502, .badGateway),
        (503, .serviceUnavailable), (504, .gatewayTimeout), (505, .httpVersionNotSupported),
        (511, .networkAuthenticationRequired), (599, .code599),
    ]

    @Test(arguments: statuses)
    func aStatusIsItsCase(status: Int, output: Operations.everyStatus.Output) async throws {
        #expect(try await Wire(status).client().everyStatus() == output)
    }

    @Test(arguments: statuses)
    func aCaseIsItsStatus(status: Int, output: Operations.everyStatus.Output) async throws {
        #expect(
            try await Handlers(everyStatus: { _ in output }).answer(.get, "/statuses") == Message(start: "\(status)")
        )
    }

    @Test func theShortFormIsTheCaseWithAnEmptyPayload() {
        typealias Output = Operations.everyStatus.Output
        #expect(Output.ok == Output.ok(Output.Ok()))
        #expect(Output.noContent == .noContent(.init()))
        #expect(Output.continue == .continue(Output.Continue()))
        #expect(Output.code402 == .code402(Output.Code402()))
    }

    @Test func theContentTypeOfAnEmptyResponseIsOfNoImportance() async throws {
        let wire = Wire(204, [.contentType: "application/json", .contentLength: "0"])
        #expect(try await wire.client().everyStatus() == .noContent)
    }

    @Test func anEmptyAnswerHasNeitherBodyNorHeaderFields() async throws {
        let answer = try await Handlers(getName: { _ in .noContent }).answer(.get, "/names/n")
        #expect(answer == Message(start: "204", fields: [:], body: nil))
    }

    @Test func thePropertyOfTheCaseIsItsPayload() async throws {
        let payload: Operations.everyStatus.Output.NotFound = try await Wire(404).client().everyStatus().notFound
        #expect(payload == .init())
    }

    @Test func thePropertyOfAnotherCaseThrows() async throws {
        let output = try await Wire(404).client().everyStatus()
        #expect(throws: (any Error).self) { try output.ok }
        #expect(throws: (any Error).self) {
            try Operations.everyStatus.Output.undocumented(statusCode: 299, .init()).ok
        }
    }

    // MARK: Ranges and default

    @Test(
        arguments: [
            (150, Operations.everyRange.Output.informational(statusCode: 150, .init())),
            (204, .successful(statusCode: 204, .init())), (299, .successful(statusCode: 299, .init())),
            (302, .redirection(statusCode: 302, .init())),
            (400, .clientError(statusCode: 400, .init(body: .json(.init(text: "t"))))),
            (499, .clientError(statusCode: 499, .init(body: .json(.init(text: "t"))))), (404, .notFound),
            (500, .default(statusCode: 500, .init(body: .json(.init(text: "t"))))),
            (503, .default(statusCode: 503, .init(body: .json(.init(text: "t"))))),
        ]
    )
    func exactCodesWinOverRangesAndRangesOverTheDefault(status: Int, output: Operations.everyRange.Output) async throws
    {
        #expect(try await Wire(status, json: #"{"text":"t"}"#).client().everyRange() == output)
        let answer = try await Handlers(everyRange: { _ in output }).answer(.get, "/ranges")
        #expect(answer.start == "\(status)")
    }

    @Test func payloadsOfRangesAndOfTheDefaultHaveProperties() async throws {
        let output = try await Wire(418, json: #"{"text":"t"}"#).client().everyRange()
        #expect(try output.clientError.body.json == .init(text: "t"))
        #expect(throws: (any Error).self) { try output.default }
        #expect(try await Wire(500, json: #"{"text":"t"}"#).client().everyRange().default.body.json.text == "t")
        #expect(try await Wire(200).client().everyRange().successful == .init())
    }

    @Test func aRangeAnswersWithTheStatusAndBodyOfTheHandler() async throws {
        let handlers = Handlers(everyRange: { _ in .clientError(statusCode: 422, .init(body: .json(.init(text: "t")))) }
        )
        let body = "{\n  \"text\" : \"t\"\n}"
        #expect(
            try await handlers.answer(.get, "/ranges")
                == Message(
                    start: "422",
                    fields: ["content-type": "application/json; charset=utf-8", "content-length": "\(body.count)"],
                    body: body
                )
        )
    }

    // MARK: Undocumented

    @Test func anUndocumentedStatusKeepsHeaderFieldsAndBody() async throws {
        let output = try await Wire(418, [.retryAfter: "1"], "short and stout").client().failing()
        guard case .undocumented(statusCode: let status, let payload) = output else {
            Issue.record("unexpected \(output)")
            return
        }
        #expect(status == 418)
        #expect(payload.headerFields == [.retryAfter: "1"])
        #expect(try await text(payload.body) == "short and stout")
    }

    @Test func anUndocumentedAnswerSendsItsStatus() async throws {
        let handlers = Handlers(failing: { _ in .undocumented(statusCode: 299, .init()) })
        #expect(try await handlers.answer(.get, "/failures") == Message(start: "299"))
    }
}

/// Bodies of responses.
struct ResponseBodyTests {
    @Test func aJSONBodyIsReadByTheShortestPath() async throws {
        #expect(try await Wire(json: #"{"text":"t"}"#).client().failing().ok.body.json == .init(text: "t"))
    }

    @Test func inlineObjectsOfAResponseAreReadable() async throws {
        let output = try await Wire(400, json: #"{"code":7,"info":{"why":"because"}}"#).client().failing()
        typealias Payload = Operations.failing.Output.BadRequest.Body.jsonPayload
        #expect(output == .badRequest(.init(body: .json(Payload(code: 7, info: Payload.infoPayload(why: "because"))))))
        #expect(try output.badRequest.body.json.info?.why == "because")
    }

    @Test func aReferencedResponseIsATypeOfTheComponents() async throws {
        let fields: HTTPFields = [.contentType: "application/json", try .custom("X-Reason"): "lost"]
        let missing = Components.Responses.Missing(
            headers: .init(X_hyphen_Reason: "lost"),
            body: .json(.init(text: "t"))
        )
        #expect(try await Wire(404, fields, #"{"text":"t"}"#).client().failing() == .notFound(missing))
        #expect(
            try await Wire(502, fields, #"{"text":"t"}"#).client().failing()
                == .serverError(statusCode: 502, missing)
        )
    }

    @Test func aReferencedResponseWithoutContentHasAnEmptyPayload() async throws {
        let bare: Components.Responses.Bare = try await Wire(409).client().failing().conflict
        #expect(bare == .init())
        let answer = try await Handlers(failing: { _ in .conflict(.init()) }).answer(.get, "/failures")
        #expect(answer == Message(start: "409"))
    }

    @Test func aNilPropertyIsLeftOutOfTheAnswer() async throws {
        let handlers = Handlers(parameterised: { _ in .default(statusCode: 200, .init(body: .json(.init(text: "t")))) })
        let answer = try await handlers.answer(.get, "/parameterised", configuration: .init(jsonEncodingOptions: []))
        #expect(answer.body == #"{"text":"t"}"#)
    }

    @Test(arguments: [
        ("application/json", "json"), ("text/plain", "plainText"), ("application/octet-stream", "binary"),
    ])
    func theContentTypeOfTheAnswerPicksTheCase(contentType: String, name: String) async throws {
        let body = try await Wire(200, [.contentType: contentType], #"{"text":"t"}"#).client().negotiate().ok.body
        #expect(caseName(body) == name)
    }

    @Test func textAndBytesArriveAsTheyAre() async throws {
        let plain = try await Wire(200, [.contentType: "text/plain; charset=utf-8"], "né").client().negotiate()
        #expect(try await text(plain.ok.body.plainText) == "né")
        let binary = try await Wire(200, [.contentType: "application/octet-stream"], [0, 255]).client().negotiate()
        #expect(try await [UInt8](collecting: binary.ok.body.binary, upTo: 10) == [0, 255])
    }

    @Test func thePropertyOfAnotherBodyThrows() async throws {
        let body = try await Wire(200, [.contentType: "text/plain"], "t").client().negotiate().ok.body
        #expect(throws: (any Error).self) { try body.json }
        #expect(throws: (any Error).self) { try body.binary }
        guard case .plainText(let plain) = body else {
            Issue.record("not plain text")
            return
        }
        #expect(try await text(plain) == "t")
    }

    @Test(arguments: [nil, "no type", "*/*"])
    func withoutAUsefulContentTypeTheFirstIsMeant(contentType: String?) async throws {
        let fields: HTTPFields = contentType.map { [.contentType: $0] } ?? [:]
        let output = try await Wire(200, fields, #"{"text":"t"}"#).client().negotiate()
        #expect(try output.ok.body.json == .init(text: "t"))
    }

    @Test func aTypeThatIsNotDocumentedIsAnErrorThatNamesIt() async throws {
        let error = await #expect(throws: ClientError.self) {
            try await Wire(200, [.contentType: "image/png"], "t").client().negotiate()
        }
        #expect(error?.response?.status == .ok)
        #expect("\(try #require(error?.underlyingError))".contains("image/png"))
    }

    @Test func aMissingBodyIsAnError() async throws {
        let error = await #expect(throws: ClientError.self) {
            try await Wire(200, [.contentType: "application/json"]).client().negotiate()
        }
        #expect(error?.operationID == "negotiate")
        #expect(error?.response?.status == .ok)
    }

    @Test(
        arguments: [
            ("application/json", "json"), ("application/json; foo=bar", "application_json_foo_bar"),
            ("application/json; charset=utf-8; Foo=bar", "application_json_foo_bar"),
            ("application/json; foo=baz", "json"),
            ("application/json; v=2; foo=bar", "application_json_foo_bar_v__2"), ("application/json; v=2", "json"),
        ]
    )
    func theMostSpecialDocumentedTypeWins(contentType: String, name: String) async throws {
        let json: [String: String] = [
            "json": #"{"text":"t"}"#, "application_json_foo_bar": #"{"x":1,"y":2}"#,
            "application_json_foo_bar_v__2": "7",
        ]
        let wire = Wire(299, [.contentType: contentType], HTTPBody(json[name] ?? ""))
        #expect(caseName(try await wire.client().parameterised().default.body) == name)
    }

    @Test(
        arguments: [
            (Operations.parameterised.Output.Default.Body.json(.init(text: "t")), "application/json; charset=utf-8"),
            (.application_json_foo_bar(.init(x: 1, y: 2)), "application/json; foo=bar; charset=utf-8"),
            (.application_json_foo_bar_v__2(7), "application/json; foo=bar; v=2; charset=utf-8"),
        ]
    )
    func everyCaseAnswersWithItsOwnType(
        body: Operations.parameterised.Output.Default.Body,
        contentType: String
    ) async throws {
        let handlers = Handlers(parameterised: { _ in .default(statusCode: 200, .init(body: body)) })
        #expect(try await handlers.answer(.get, "/parameterised").fields["content-type"] == contentType)
    }

    @Test(arguments: [
        ("text/csv", "csv"), ("text/html", "text__ast_"), ("TEXT/Html", "text__ast_"), ("image/png", "any"),
    ])
    func concreteTypesWinOverRangesWhereverTheyAreListed(contentType: String, name: String) async throws {
        let wire = Wire(200, [.contentType: contentType], "t")
        #expect(caseName(try await wire.client().wildcards().ok.body) == name)
    }

    @Test func aRangeOfTypesRefusesOthers() async throws {
        #expect(
            caseName(try await Wire(200, [.contentType: "text/html"], "t").client().textWildcard().ok.body)
                == "text__ast_"
        )
        await #expect(throws: ClientError.self) {
            try await Wire(200, [.contentType: "image/png"], "t").client().textWildcard()
        }
    }

    @Test func textAndBytesAreAnsweredWithTypeAndLength() async throws {
        let plain = Handlers(negotiate: { _ in .ok(.init(body: .plainText("né"))) })
        #expect(
            try await plain.answer(.get, "/negotiated")
                == Message(start: "200", fields: ["content-type": "text/plain", "content-length": "3"], body: "né")
        )
        let binary = Handlers(negotiate: { _ in .ok(.init(body: .binary(.dripping("ab")))) })
        #expect(
            try await binary.answer(.get, "/negotiated")
                == Message(start: "200", fields: ["content-type": "application/octet-stream"], body: "ab")
        )
    }

    // MARK: Scalars

    @Test func aBase64BodyIsBytes() async throws {
        let wire = Wire(json: #""AQID""#)
        #expect(try await wire.client().sendString(body: .json("")).ok.body.json == [1, 2, 3])
        let handlers = Handlers(sendString: { _ in .ok(.init(body: .json([0xFB, 0xFF]))) })
        let answer = try await handlers.answer(.post, "/bodies/string", [:], #""""#)
        #expect(answer.body == #""+\/8=""#)
    }

    @Test func aNullableBodyIsOptional() async throws {
        let none: String? = try await Wire(201, json: "null").client().sendString(body: .json("")).created.body.json
        #expect(none == nil)
        #expect(try await Wire(201, json: #""t""#).client().sendString(body: .json("")).created.body.json == "t")
        let handlers = Handlers(sendString: { _ in .created(.init(body: .json(nil))) })
        #expect(try await handlers.answer(.post, "/bodies/string", [:], #""""#).body == "null")
    }

    @Test func aNullableObjectOrDateIsOptional() async throws {
        typealias Output = Operations.sendString.Output
        let one: Output.ResetContent.Body.jsonPayload = .init(a: 1)
        let call = { (status: Int, json: String) async throws -> Output in
            try await Wire(status, json: json).client().sendString(body: .json(""))
        }
        #expect(try await call(205, "null").resetContent.body.json == nil)
        #expect(try await call(205, #"{"a":1}"#).resetContent.body.json == one)
        #expect(try await call(206, "null").partialContent.body.json == nil)
        #expect(try await call(206, #"{"a":1}"#).partialContent.body.json == .init(a: 1))
        #expect(try await call(226, "null").code226.body.json == nil)
        #expect(try await call(226, #""2023-11-14T22:13:20Z""#).code226.body.json == .november)
        let handlers = Handlers(sendString: { _ in .code226(.init(body: .json(nil))) })
        #expect(try await handlers.answer(.post, "/bodies/string", [:], #""""#).body == "null")
    }

    @Test func numbersAndDatesAreBodies() async throws {
        #expect(try await Wire(202, json: "1.5").client().sendString(body: .json("")).accepted.body.json == 1.5)
        let date = try await Wire(203, json: #""2023-11-14T22:13:20Z""#).client().sendString(body: .json(""))
        #expect(try date.nonAuthoritativeInformation.body.json == .november)
        let handlers = Handlers(sendString: { _ in .nonAuthoritativeInformation(.init(body: .json(.november))) })
        #expect(try await handlers.answer(.post, "/bodies/string", [:], #""""#).body == #""2023-11-14T22:13:20Z""#)
    }

    // MARK: Uploads

    @Test func eachAnswerToAnUploadIsItsOwnCase() async throws {
        let bytes = try await Wire(200, [.contentType: "application/octet-stream"], "abc").client()
            .upload(body: .binary("abc"))
        #expect(try await text(bytes.ok.body.binary) == "abc")
        let failed = try await Wire(412, json: #""too late""#).client().upload(body: .binary("abc"))
        #expect(failed == .preconditionFailed(.init(body: .json("too late"))))
        let broken = try await Wire(500, [.contentType: "text/plain"], "oh").client().upload(body: .binary("abc"))
        #expect(try await text(broken.internalServerError.body.plainText) == "oh")
    }

    @Test func anUploadIsAnsweredInEachCase() async throws {
        let failed = Handlers(upload: { _ in .preconditionFailed(.init(body: .json("a/b"))) })
        #expect(
            try await failed.answer(.put, "/uploads", [:], "abc")
                == Message(
                    start: "412",
                    fields: ["content-type": "application/json; charset=utf-8", "content-length": "6"],
                    body: #""a\/b""#
                )
        )
        let broken = Handlers(upload: { _ in .internalServerError(.init(body: .plainText("oh"))) })
        #expect(
            try await broken.answer(.put, "/uploads", [:], "abc")
                == Message(start: "500", fields: ["content-type": "text/plain", "content-length": "2"], body: "oh")
        )
    }

    @Test func aBodyStreamsFromTheHandlerToTheCaller() async throws {
        let (chunks, continuation) = AsyncStream<ArraySlice<UInt8>>.makeStream()
        let client: Client = try Handlers(upload: { _ in
            .ok(.init(body: .binary(HTTPBody(chunks, length: .unknown))))
        }).client()
        let body = try await client.upload(body: .binary("")).ok.body.binary
        // The response arrives before its first byte.
        var iterator = body.makeAsyncIterator()
        continuation.yield([1, 2])
        #expect(try await iterator.next() == [1, 2])
        continuation.yield([3])
        #expect(try await iterator.next() == [3])
        continuation.finish()
        #expect(try await iterator.next() == nil)
    }

    @Test func aBodyStreamsFromTheCallerToTheHandler() async throws {
        let (chunks, continuation) = AsyncStream<ArraySlice<UInt8>>.makeStream()
        let client: Client = try Handlers(upload: { input in
            guard case .binary(let body) = input.body else { throw UnexpectedCall() }
            // The handler runs before the first byte is sent.
            var seen: [[UInt8]] = []
            continuation.yield([1, 2])
            for try await chunk in body {
                seen.append([UInt8](chunk))
                if seen.count == 1 { continuation.yield([3]) } else { continuation.finish() }
            }
            #expect(seen == [[1, 2], [3]])
            return .ok(.init(body: .binary("done")))
        }).client()
        let answer = try await client.upload(body: .binary(HTTPBody(chunks, length: .unknown)))
        #expect(try await text(answer.ok.body.binary) == "done")
    }
}

/// Header fields of responses.
struct ResponseHeaderTests {
    private typealias Headers = Operations.answerHeaders.Output.Ok.Headers

    private let headers = Headers(
        X_hyphen_Total: 3,
        X_hyphen_Text: "a b/c",
        X_hyphen_Flag: true,
        X_hyphen_Moment: .november,
        X_hyphen_Colour: .dark_hyphen_blue,
        X_hyphen_List: [1, 2],
        X_hyphen_Json: .init(text: "a/b é", weight: 1),
        X_hyphen_Shared: .yes,
        Content_hyphen_Type: "odd"
    )
    private let fields: [String: String] = [
        "x-total": "3", "x-text": "a%20b%2Fc", "x-flag": "true", "x-moment": "2023-11-14T22%3A13%3A20Z",
        "x-colour": "dark-blue", "x-list": "1,2", "x-json": #"{"text":"a/b é","weight":1}"#, "x-shared": "yes",
        "content-type": "odd",
    ]

    @Test func aServerWritesEveryKindOfHeaderField() async throws {
        let headers: Headers = headers
        let handlers = Handlers(answerHeaders: { _ in .ok(.init(headers: headers)) })
        #expect(try await handlers.answer(.get, "/answers") == Message(start: "200", fields: fields))
    }

    @Test func aClientReadsEveryKindOfHeaderField() async throws {
        var received: HTTPFields = [:]
        for (name, value) in fields { received[try .custom(name.uppercased())] = value }
        #expect(try await Wire(200, received).client().answerHeaders() == .ok(.init(headers: headers)))
    }

    @Test func optionalHeaderFieldsThatAreAbsentAreNil() async throws {
        #expect(
            try await Wire(200, [.custom("X-Total"): "1"]).client().answerHeaders()
                == .ok(.init(headers: .init(X_hyphen_Total: 1)))
        )
        #expect(try await Wire(204).client().answerHeaders() == .noContent(.init()))
        #expect(
            try await Wire(204, [.custom("X-Text"): "t"]).client().answerHeaders()
                == .noContent(.init(headers: .init(X_hyphen_Text: "t")))
        )
    }

    @Test func aMissingRequiredHeaderFieldIsAnErrorThatNamesIt() async throws {
        let error = await #expect(throws: ClientError.self) { try await Wire(200).client().answerHeaders() }
        #expect("\(try #require(error?.underlyingError))".contains("X-Total"))
        await #expect(throws: ClientError.self) { try await Wire(201, json: #"{"text":"t"}"#).client().answerHeaders() }
    }

    @Test(
        arguments: [
            ("X-Flag", "yes"), ("X-Moment", "soon"), ("X-Colour", "pink"), ("X-List", "1,x"), ("X-Json", "{"),
            ("X-Shared", "maybe"),
        ]
    )
    func aHeaderFieldOfTheWrongTypeIsAnError(name: String, value: String) async throws {
        let fields: HTTPFields = [try .custom("X-Total"): "1", try .custom(name): value]
        await #expect(throws: ClientError.self) { try await Wire(200, fields).client().answerHeaders() }
    }

    @Test func aBodyAndAJSONHeaderFieldStandTogether() async throws {
        let handlers = Handlers(answerHeaders: { _ in
            .created(.init(headers: .init(X_hyphen_Json: .init(text: "h", weight: 2)), body: .json(.init(text: "b"))))
        })
        let body = "{\n  \"text\" : \"b\"\n}"
        #expect(
            try await handlers.answer(.get, "/answers")
                == Message(
                    start: "201",
                    fields: [
                        "x-json": #"{"text":"h","weight":2}"#, "content-type": "application/json; charset=utf-8",
                        "content-length": "\(body.count)",
                    ],
                    body: body
                )
        )
    }

    @Test func responseHeadersTravelThroughBothSides() async throws {
        let headers: Headers = headers
        let client: Client = try Handlers(answerHeaders: { _ in .ok(.init(headers: headers)) }).client()
        #expect(try await client.answerHeaders() == .ok(.init(headers: headers)))
    }
}
