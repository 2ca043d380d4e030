import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Dates as numbers of seconds.
private struct Seconds: DateTranscoder {
    struct NoNumber: Error {}

    func encode(_ date: Date) throws -> String { "at \(Int(date.timeIntervalSince1970))" }

    func decode(_ text: String) throws -> Date {
        guard text.hasPrefix("at "), let seconds = Double(text.dropFirst(3)) else { throw NoNumber() }
        return Date(timeIntervalSince1970: seconds)
    }
}

/// The effects of a configuration.
struct ConfigurationTests {
    // MARK: Dates

    private let seconds = Configuration(dateTranscoder: Seconds(), jsonEncodingOptions: [])

    @Test func datesOfTheClientFollowTheTranscoderEverywhere() async throws {
        let wire = Wire(json: #"{"moment":"at 1700000000"}"#)
        let client: Client = wire.client(configuration: seconds)
        let specimen = specimen { $0.moment = .november }
        #expect(try await client.exchange(body: .json(specimen)).ok.body.json == specimen)
        #expect(try wire.request.body == #"{"moment":"at 1700000000"}"#)
        let other = Wire()
        _ = try await other.client(configuration: seconds).query(query: .init(moment: .november))
        #expect(try other.target == "/query?moment=at%201700000000")
        _ = try await other.client(configuration: seconds).queryLists(query: .init(moments: [.november]))
        #expect(try other.target == "/query/lists?moments=at%201700000000")
        _ = try await other.client(configuration: seconds).sendHeaders(headers: .init(X_hyphen_Moment: .november))
        #expect(try other.request.fields == ["x-moment": "at%201700000000"])
        _ = try await other.client(configuration: seconds)
            .sendForm(body: .urlEncodedForm(.init(Name: "n", moment: .november)))
        #expect(try other.request.body == "moment=at+1700000000&Name=n")
    }

    @Test func datesOfTheServerFollowTheTranscoderEverywhere() async throws {
        let query = try await received(\.query, .get, "/query?moment=at%201", configuration: seconds).query
        #expect(query == .init(moment: Date(timeIntervalSince1970: 1)))
        let path = try await received(\.getValues, .get, "/values/true/1/at%202/red/1", configuration: seconds).path
        #expect(path.moment == Date(timeIntervalSince1970: 2))
        let body = try await received(\.sendForm, .post, "/forms", [:], "Name=n&moment=at+3", configuration: seconds)
            .body
        #expect(body == .urlEncodedForm(.init(Name: "n", moment: Date(timeIntervalSince1970: 3))))
        let handlers = Handlers(answerHeaders: { _ in
            .ok(.init(headers: .init(X_hyphen_Total: 1, X_hyphen_Moment: .november)))
        })
        let answer = try await handlers.answer(.get, "/answers", configuration: seconds)
        #expect(answer.fields == ["x-total": "1", "x-moment": "at%201700000000"])
    }

    @Test func whatATranscoderRefusesIsABadRequest() async throws {
        let body: HTTPBody = #"{"moment":"2023-11-14T22:13:20Z"}"#
        #expect(
            try await Handlers().answer(.post, "/specimens", [:], body, configuration: seconds) == Message(start: "400")
        )
        #expect(
            try await Handlers().answer(.get, "/query?moment=1", configuration: seconds) == Message(start: "400")
        )
    }

    @available(*, deprecated)
    @Test func olderInitialisersStillWork() async throws {
        let older = Configuration(dateTranscoder: Seconds(), multipartBoundaryGenerator: .constant)
        let wire = Wire()
        _ = try await wire.client(configuration: older).query(query: .init(moment: .november))
        #expect(try wire.target == "/query?moment=at%201700000000")
        let withCoder = Configuration(dateTranscoder: Seconds(), multipartBoundaryGenerator: .constant, xmlCoder: nil)
        _ = try await wire.client(configuration: withCoder).sendUntyped(body: .multipartForm([]))
        #expect(try wire.request.body == "--__X_SWIFT_OPENAPI_GENERATOR_BOUNDARY__--\r\n\r\n")
    }

    // MARK: Header fields

    private let plain = Configuration(headerValueEncoding: .plain)

    @Test func plainHeaderFieldsStandAsTheyAre() async throws {
        let wire = Wire()
        _ = try await wire.client(configuration: plain).sendHeaders(
            headers: .init(
                X_hyphen_Text: "a b/c; d=\"e\"",
                X_hyphen_Moment: .november,
                X_hyphen_List: ["a b", "c"],
                X_hyphen_Point: .init(x: 1, y: 2)
            )
        )
        #expect(
            try wire.request.fields == [
                "x-text": "a b/c; d=\"e\"", "x-moment": "2023-11-14T22:13:20Z", "x-list": "a b,c", "x-point": "x,1,y,2",
            ]
        )
    }

    @Test func plainHeaderFieldsAreReadAsTheyAre() async throws {
        let headers = try await received(
            \.sendHeaders,
            .get,
            "/headers",
            [.custom("X-Text"): "50%25 off", .custom("X-List"): "a%2Cb,c"],
            configuration: plain
        ).headers
        #expect(headers == .init(X_hyphen_Text: "50%25 off", X_hyphen_List: ["a%2Cb", "c"]))
    }

    @Test func plainHeaderFieldsRefuseWhatTheyCannotHold() async throws {
        for headers in [
            Operations.sendHeaders.Input.Headers(X_hyphen_Text: "a\r\nb"), .init(X_hyphen_List: ["a,b"]),
        ] {
            let wire = Wire()
            await #expect(throws: ClientError.self) {
                try await wire.client(configuration: plain).sendHeaders(headers: headers)
            }
            #expect(wire.isSilent)
        }
    }

    @Test func lineBreaksNeverReachTheWire() async throws {
        let wire = Wire()
        _ = try await wire.client().sendHeaders(headers: .init(X_hyphen_Text: "a\r\nx-evil: 1"))
        #expect(try wire.request.fields == ["x-text": "a%0D%0Ax-evil%3A%201"])
    }

    // MARK: Limits

    private let small = Configuration(maximumBufferedBytes: 20)

    @Test func aLongBodyThatMustBeReadWholeIsTooLarge() async throws {
        let long = "{\"text\":\"\(String(repeating: "x", count: 20))\"}"
        #expect(
            try await Handlers().answer(.post, "/specimens", [:], .dripping(long), configuration: small)
                == Message(start: "413")
        )
        #expect(
            try await Handlers().answer(.post, "/forms", [:], .dripping("Name=\(long)"), configuration: small)
                == Message(start: "413")
        )
        let wire = Wire(200, [.contentType: "application/json"], .dripping(long))
        await #expect(throws: ClientError.self) { try await wire.client(configuration: small).failing() }
    }

    @Test func aShortBodyIsReadWhole() async throws {
        let input = try await received(
            \.exchange,
            .post,
            "/specimens",
            [:],
            .dripping(#"{"text":"123456789"}"#),
            configuration: small
        )
        #expect(input.body == .json(specimen { $0.text = "123456789" }))
    }

    @Test func aBodyThatStreamsHasNoLimit() async throws {
        let long = String(repeating: "x", count: 1000)
        let client: Client = try Handlers(upload: { input in
            guard case .binary(let body) = input.body else { throw UnexpectedCall() }
            return .ok(.init(body: .binary(body)))
        }).client(configuration: small)
        let answer = try await client.upload(body: .binary(.dripping(long)))
        #expect(try await text(answer.ok.body.binary) == long)
    }

    @Test func whoCollectsABodySaysHowMuch() async throws {
        let body = try await Wire(200, [.contentType: "text/plain"], "0123456789").client().negotiate().ok.body
            .plainText
        await #expect(throws: (any Error).self) { try await String(collecting: body, upTo: 9) }
        #expect(try await String(collecting: body, upTo: 10) == "0123456789")
        #expect(try await ArraySlice(collecting: body, upTo: 10) == ArraySlice("0123456789".utf8))
        #expect(try await Data(collecting: body, upTo: 10) == Data("0123456789".utf8))
    }

    @Test func aStreamIsReadOnceAndBytesOftener() async throws {
        let wire = Wire(200, [.contentType: "text/plain"], .dripping("abc"))
        let stream = try await wire.client().negotiate().ok.body.plainText
        #expect(stream.iterationBehavior == .single && stream.length == .unknown)
        #expect(try await text(stream) == "abc")
        await #expect(throws: (any Error).self) { try await text(stream) }
        let bytes = try await Wire(200, [.contentType: "text/plain"], "abc").client().negotiate().ok.body.plainText
        #expect(bytes.iterationBehavior == .multiple && bytes.length == .known(3))
        for _ in 0..<2 { #expect(try await text(bytes) == "abc") }
    }

    // MARK: Boundaries

    @Test func theBoundaryFollowsTheGenerator() async throws {
        struct Fixed: MultipartBoundaryGenerator {
            func makeBoundary() -> String { "two words" }
        }
        let wire = Wire()
        _ = try await wire.client(configuration: .init(multipartBoundaryGenerator: Fixed()))
            .sendUntyped(body: .multipartForm([]))
        #expect(try wire.request.fields["content-type"] == "multipart/form-data; boundary=\"two words\"")
        #expect(try wire.request.body == "--two words--\r\n\r\n")
    }

    // MARK: Undocumented

    @Test func anUndocumentedAnswerKeepsHeaderFieldsAndBody() async throws {
        let handlers = Handlers(failing: { _ in
            .undocumented(statusCode: 418, .init(headerFields: [.retryAfter: "1"], body: "short"))
        })
        let answer = try await handlers.answer(.get, "/failures")
        #expect(answer.start == "418")
        #expect(answer.fields["retry-after"] == "1")
        #expect(answer.body == "short")
    }

    @Test func anUndocumentedAnswerTravelsThroughBothSides() async throws {
        let client: Client = try Handlers(failing: { _ in
            .undocumented(statusCode: 418, .init(headerFields: [.retryAfter: "1"], body: "short"))
        }).client()
        guard case .undocumented(418, let payload) = try await client.failing() else {
            Issue.record("not undocumented")
            return
        }
        #expect(payload.headerFields[.retryAfter] == "1")
        #expect(try await text(payload.body) == "short")
    }

    // MARK: Free-form values

    @Test func onlyValuesOfJSONAreFree() throws {
        #expect(throws: (any Error).self) { try OpenAPIValueContainer(unvalidatedValue: Date.november) }
        #expect(throws: (any Error).self) { try OpenAPIValueContainer(unvalidatedValue: [Date.november]) }
        #expect(throws: (any Error).self) { try OpenAPIObjectContainer(unvalidatedValue: ["a": Date.november]) }
        #expect(throws: (any Error).self) { try OpenAPIArrayContainer(unvalidatedValue: [Date.november]) }
        let value: [String: (any Sendable)?] = ["a": [1, nil, 1.5, true, "s"] as [(any Sendable)?]]
        let one = try OpenAPIValueContainer(unvalidatedValue: value)
        #expect(try one == OpenAPIValueContainer(unvalidatedValue: value))
        #expect(one != nil)
        #expect(Set([one, one, "s", 1]).count == 3)
    }
}
