import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

/// The Accept header of a client, and the response of a server to it.
struct NegotiationTests {
    private typealias Accept = AcceptHeaderContentType<Operations.negotiate.AcceptableContentType>

    private func accept(_ headers: Operations.negotiate.Input.Headers) async throws -> String? {
        let wire = Wire(json: #"{"text":"t"}"#)
        _ = try await wire.client().negotiate(headers: headers)
        return try wire.request.fields["accept"]
    }

    private func read(_ accept: String?) async throws -> [Accept] {
        let fields: HTTPFields = accept.map { [.accept: $0] } ?? [:]
        return try await received(\.negotiate, .get, "/negotiated", fields).headers.accept
    }

    // MARK: What the client asks for

    @Test func byDefaultEveryDocumentedTypeIsAskedForInOrder() async throws {
        #expect(
            try await accept(.init())
                == "application/json, text/plain, application/octet-stream, application/problem+json"
        )
    }

    @Test func typesThatDifferOnlyInParametersAreAskedForOnce() async throws {
        let wire = Wire(200, json: #"{"text":"t"}"#)
        _ = try await wire.client().parameterised()
        #expect(try wire.request.fields["accept"] == "application/json")
        #expect(Operations.parameterised.AcceptableContentType.allCases == [.json])
    }

    @Test func parametersArePartOfTheCaseAndNotOfTheHeaderField() async throws {
        typealias Types = Operations.parameterisedAlone.AcceptableContentType
        let all: [Types] = [.text_plain_charset_utf_hyphen_8, .application_json_charset_utf_hyphen_8]
        #expect(Types.allCases == all)
        let wire = Wire(200, json: #"{"text":"t"}"#)
        _ = try await wire.client().parameterisedAlone()
        #expect(try wire.request.fields["accept"] == "text/plain, application/json")
        let accept: HTTPFields = [.accept: "text/plain; charset=utf-8, application/json"]
        let input = try await received(\.parameterisedAlone, .get, "/parameterised/alone", accept)
        #expect(input.headers.accept.map(\.contentType) == all)
    }

    @Test func rangesAreAskedForAsTheyStand() async throws {
        let wire = Wire(200, [.contentType: "text/csv"], "t")
        _ = try await wire.client().wildcards()
        #expect(try wire.request.fields["accept"] == "*/*, text/*, text/csv")
    }

    @Test func anOperationWithoutContentAsksForNothing() async throws {
        let wire = Wire()
        _ = try await wire.client().getName(path: .init(name: "n"))
        #expect(try wire.request.fields == [:])
    }

    @Test func qualitiesHaveThreeDecimalsAndOneIsLeftOut() async throws {
        #expect(
            try await accept(
                .init(
                    accept: [
                        .init(contentType: .plainText, quality: 0.5), .init(contentType: .json),
                        .init(contentType: .binary, quality: 0.1234),
                        .init(contentType: .application_problem_plus_json, quality: 0),
                    ]
                )
            )
                == "text/plain; q=0.500, application/json, application/octet-stream; q=0.123, application/problem+json; q=0.000"
        )
    }

    @Test func otherTypesCanBeAskedFor() async throws {
        #expect(try await accept(.init(accept: [.init(contentType: .other("image/png"))])) == "image/png")
    }

    // MARK: What the server reads

    @Test(
        arguments: [
            ("text/plain", ["text/plain 1.0"]), ("Text/PLAIN;q=0.5", ["text/plain 0.5"]),
            ("application/json, text/plain; q=0.8", ["application/json 1.0", "text/plain 0.8"]),
            ("text/plain;q=0.25,application/json;q=0.123456", ["text/plain 0.25", "application/json 0.123"]),
            ("image/png, */*;q=0.1", ["image/png 1.0", "*/* 0.1"]), ("text/*", ["text/* 1.0"]),
            ("application/json; charset=utf-8; q=0.5", ["application/json 0.5"]),
        ]
    )
    func theAcceptHeaderIsReadInOrder(accept: String, entries: [String]) async throws {
        #expect(try await read(accept).map { "\($0.contentType.rawValue) \($0.quality.doubleValue)" } == entries)
    }

    @Test func documentedTypesAreCasesAndOthersAreOther() async throws {
        #expect(
            try await read("text/plain, image/png, */*").map(\.contentType) == [
                .plainText, .other("image/png"), .other("*/*"),
            ]
        )
    }

    @Test func withoutAnAcceptHeaderEveryDocumentedTypeIsMeant() async throws {
        #expect(try await read(nil) == .defaultValues())
        #expect(
            try await read(nil).map(\.contentType) == [.json, .plainText, .binary, .application_problem_plus_json]
        )
    }

    @Test(arguments: ["nonsense", "text", "text/plain; q=2", "text/plain; q=x", "/"])
    func anAcceptHeaderThatCannotBeReadIsABadRequest(accept: String) async throws {
        #expect(try await Handlers().answer(.get, "/negotiated", [.accept: accept]) == Message(start: "400"))
    }

    @Test func handlersSortByQuality() async throws {
        let accept: [Accept] = try await read("text/plain;q=0.1, application/json;q=0.9, */*;q=0.9, image/png")
        #expect(
            accept.sortedByQuality().map(\.contentType.rawValue) == [
                "image/png", "application/json", "*/*", "text/plain",
            ]
        )
    }

    // MARK: What the server may answer

    @Test(
        arguments: [
            "application/json", "APPLICATION/JSON", "application/*", "*/*", "text/html, application/json",
            "text/plain, */*; q=0.1", "application/json; q=0.5",
        ]
    )
    func anAnswerThatIsAcceptedIsSent(accept: String) async throws {
        let handlers = Handlers(negotiate: { _ in .ok(.init(body: .json(.init(text: "t")))) })
        #expect(try await handlers.answer(.get, "/negotiated", [.accept: accept]).start == "200")
    }

    @Test(arguments: ["text/plain", "text/*", "image/png, text/html", "application/problem+json"])
    func anAnswerThatIsNotAcceptedIsNotSent(accept: String) async throws {
        let handlers = Handlers(negotiate: { _ in .ok(.init(body: .json(.init(text: "t")))) })
        #expect(try await handlers.answer(.get, "/negotiated", [.accept: accept]) == Message(start: "406"))
    }

    @Test func anAnswerWithoutBodyIsAlwaysAccepted() async throws {
        let handlers = Handlers(failing: { _ in .conflict(.init()) })
        #expect(try await handlers.answer(.get, "/failures", [.accept: "image/png"]) == Message(start: "409"))
    }

    @Test func theHandlerCanAnswerWhatTheClientWantsMost() async throws {
        let client: Client = try Handlers(negotiate: { input in
            switch input.headers.accept.sortedByQuality().first?.contentType {
            case .plainText: .ok(.init(body: .plainText("plain")))
            case .binary: .ok(.init(body: .binary("bytes")))
            default: .ok(.init(body: .json(.init(text: "json"))))
            }
        }).client()
        func call(_ accept: [Accept]) async throws -> Operations.negotiate.Output.Ok.Body {
            try await client.negotiate(headers: .init(accept: accept)).ok.body
        }
        #expect(try await call(.defaultValues()).json.text == "json")
        let plain = try await call([.init(contentType: .json, quality: 0.2), .init(contentType: .plainText)])
        #expect(try await text(plain.plainText) == "plain")
        #expect(try await text(call([.init(contentType: .binary)]).binary) == "bytes")
    }

    // MARK: The type

    @Test func acceptableTypesAreTheirMediaTypes() {
        typealias Types = Operations.negotiate.AcceptableContentType
        #expect(
            Types.allCases.map(\.rawValue) == [
                "application/json", "text/plain", "application/octet-stream", "application/problem+json",
            ]
        )
        #expect(Types(rawValue: "Text/Plain") == .plainText)
        #expect(Types(rawValue: "image/png") == .other("image/png"))
        #expect(Types.other("image/png").rawValue == "image/png")
    }

    @Test func entriesOfAnAcceptHeaderAreText() {
        #expect(Accept(contentType: .json).rawValue == "application/json")
        #expect(Accept(contentType: .plainText, quality: 0.8).rawValue == "text/plain; q=0.800")
        #expect(Accept(rawValue: "text/plain; q=0.8") == Accept(contentType: .plainText, quality: 0.8))
        #expect(Accept.defaultValues.count == 4)
    }
}
