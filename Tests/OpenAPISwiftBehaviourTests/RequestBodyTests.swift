import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Bodies of requests: their cases, their bytes, and how the server reads them.
struct RequestBodyTests {
    private typealias Media = Operations.sendMedia.Input.Body

    private func sent(_ body: Media) async throws -> Message {
        let wire = Wire()
        _ = try await wire.client().sendMedia(body: body)
        return try wire.request
    }

    private func read(_ contentType: String?, _ body: HTTPBody?) async throws -> Media {
        let fields: HTTPFields = contentType.map { [.contentType: $0] } ?? [:]
        return try await received(\.sendMedia, .post, "/media", fields, body).body
    }

    // MARK: What the client sends

    @Test(
        arguments: [
            (Operations.sendMedia.Input.Body.json(.init(text: "t")), "application/json; charset=utf-8" as String?),
            (.application_json_foo_bar(.init(x: 1, y: 2)), "application/json; foo=bar; charset=utf-8"),
            (.application_problem_plus_json(.init(text: "t")), "application/problem+json; charset=utf-8"),
            (
                .application_vnd_period_github_period_v3_plus_json(.init(text: "t")),
                "application/vnd.github.v3+json; charset=utf-8"
            ),
            (
                .application_merge_hyphen_patch_plus_json(.init(text: "t")),
                "application/merge-patch+json; charset=utf-8"
            ),
            (.plainText("t"), "text/plain"), (.html("t"), "text/html"), (.csv("t"), "text/csv"),
            (.text_xml("t"), "text/xml"),
            (.xml("t"), "application/xml"), (.yaml("t"), "application/yaml"), (.pdf("t"), "application/pdf"),
            (.binary("t"), "application/octet-stream"), (.png("t"), "image/png"), (.jpeg("t"), "image/jpeg"),
            (.image_svg_plus_xml("t"), "image/svg+xml"), (.image__ast_("t"), nil),
            (.urlEncodedForm(.init(text: "t")), "application/x-www-form-urlencoded"),
        ]
    )
    func everyCaseSendsItsOwnContentTypeIfItIsOne(body: Operations.sendMedia.Input.Body, contentType: String?)
        async throws
    {
        #expect(try await sent(body).fields["content-type"] == contentType)
    }

    @Test func aJSONBodyHasTypeAndLengthAndPrettyText() async throws {
        let text = "{\n  \"text\" : \"é\",\n  \"weight\" : 1.5\n}"
        #expect(
            try await sent(.json(.init(text: "é", weight: 1.5)))
                == Message(
                    start: "POST /media",
                    fields: [
                        "content-type": "application/json; charset=utf-8", "content-length": String(text.utf8.count),
                    ],
                    body: text
                )
        )
    }

    @Test func aTextBodyIsSentAsItIs() async throws {
        #expect(
            try await sent(.plainText("né\n"))
                == Message(
                    start: "POST /media",
                    fields: ["content-type": "text/plain", "content-length": "4"],
                    body: "né\n"
                )
        )
    }

    @Test func aStreamOfUnknownLengthHasNoContentLength() async throws {
        #expect(
            try await sent(.binary(.dripping("abc")))
                == Message(start: "POST /media", fields: ["content-type": "application/octet-stream"], body: "abc")
        )
    }

    @Test func aStreamOfKnownLengthSaysIt() async throws {
        let body = HTTPBody(HTTPBody.dripping("abc"), length: .known(3), iterationBehavior: .single)
        #expect(
            try await sent(.binary(body))
                == Message(
                    start: "POST /media",
                    fields: ["content-type": "application/octet-stream", "content-length": "3"],
                    body: "abc"
                )
        )
    }

    @Test func aCharsetThatTheDocumentNamesIsSentOnce() async throws {
        let wire = Wire()
        _ = try await wire.client().sendCharset(body: .application_json_charset_utf_hyphen_8(.init(text: "t")))
        #expect(try wire.request.fields["content-type"] == "application/json; charset=utf-8")
        _ = try await wire.client().sendCharset(body: .Text_Plain_charset_utf_hyphen_8("t"))
        #expect(try wire.request.fields["content-type"] == "text/plain; charset=utf-8")
    }

    @Test func anyMediaTypeIsACaseOfItsOwn() async throws {
        let wire = Wire()
        _ = try await wire.client().sendAny(body: .any("t"))
        #expect(
            try wire.request
                == Message(
                    start: "POST /media/any",
                    fields: ["content-type": "application/octet-stream", "content-length": "1"],
                    body: "t"
                )
        )
    }

    // MARK: What the server reads

    @Test(
        arguments: [
            ("application/json", "json"), ("APPLICATION/Json", "json"), ("application/json;charset=UTF-8", "json"),
            ("application/problem+json", "application_problem_plus_json"), ("text/plain; charset=ascii", "plainText"),
            ("text/html", "html"), ("application/xml", "xml"), ("text/xml; version=1", "text_xml"),
            ("image/png", "png"),
            ("image/gif", "image__ast_"), ("Image/GIF; q=1", "image__ast_"), ("image/svg+xml", "image_svg_plus_xml"),
            ("application/octet-stream", "binary"), ("not a type", "json"), ("*/*", "json"), ("text/*", "json"),
            ("", "json"),
        ]
    )
    func theContentTypePicksTheCase(contentType: String, name: String) async throws {
        #expect(caseName(try await read(contentType, #"{"text":"t"}"#)) == name)
    }

    @Test func xmlIsBytesWhateverItsSchemaIs() async throws {
        let text = "<?xml version='1.0'?>\n<note text=\"é\">  <!-- \"weight\" --> </note>\n"
        #expect(try await sent(.xml(HTTPBody(text))).body == text)
        guard case .xml(let body) = try await read("application/xml; charset=utf-8", HTTPBody(text)) else {
            Issue.record("the content type names another case")
            return
        }
        #expect(try await String(collecting: body, upTo: 1024) == text)
    }

    @Test(
        arguments: [
            "application/json; foo=bar", "application/json;FOO=bar", "application/json; charset=utf-8; foo=bar",
        ]
    )
    func matchingParametersPickTheMoreSpecialCase(contentType: String) async throws {
        let body: Media = try await read(contentType, #"{"x":1,"y":2}"#)
        #expect(body == .application_json_foo_bar(.init(x: 1, y: 2)))
    }

    @Test func otherParametersPickTheGeneralCase() async throws {
        #expect(try await read("application/json; foo=baz", #"{"text":"t"}"#) == .json(.init(text: "t")))
    }

    @Test func withoutContentTypeTheFirstCaseIsMeant() async throws {
        #expect(try await read(nil, #"{"text":"t"}"#) == .json(.init(text: "t")))
    }

    @Test(arguments: ["video/mp4", "text/markdown", "application/json5"])
    func aTypeThatIsNotDocumentedIsUnsupported(contentType: String) async throws {
        let answer = try await Handlers().answer(.post, "/media", [.contentType: contentType], "t")
        #expect(answer == Message(start: "415"))
    }

    @Test func aDocumentedCharsetMatchesItselfInAnyCase() async throws {
        for contentType in ["application/json; charset=utf-8", "application/json; charset=UTF-8"] {
            let input = try await received(
                \.sendCharset,
                .post,
                "/media/charset",
                [.contentType: contentType],
                #"{"text":"t"}"#
            )
            #expect(input.body == .application_json_charset_utf_hyphen_8(.init(text: "t")))
        }
        let input = try await received(
            \.sendCharset,
            .post,
            "/media/charset",
            [.contentType: "text/plain; charset=UTF-8"],
            "t"
        )
        #expect(caseName(input.body) == "Text_Plain_charset_utf_hyphen_8")
    }

    @Test(arguments: ["image/png", "application/json", nil])
    func anyMediaTypeArrivesWhereEveryOneIsDocumented(contentType: String?) async throws {
        let fields: HTTPFields = contentType.map { [.contentType: $0] } ?? [:]
        let input = try await received(\.sendAny, .post, "/media/any", fields, "bytes")
        guard case .any(let body) = input.body else { return }
        #expect(try await text(body) == "bytes")
    }

    @Test func textAndBytesArriveAsBodies() async throws {
        guard case .plainText(let plain) = try await read("text/plain", "né") else {
            Issue.record("not plain text")
            return
        }
        #expect(try await text(plain) == "né")
        guard case .binary(let binary) = try await read("application/octet-stream", [0, 255, 1]) else {
            Issue.record("not binary")
            return
        }
        #expect(try await [UInt8](collecting: binary, upTo: 10) == [0, 255, 1])
    }

    @Test func aMissingRequiredBodyIsABadRequest() async throws {
        #expect(try await Handlers().answer(.post, "/media") == Message(start: "400"))
    }

    // MARK: Optional bodies

    @Test func aBodyThatIsLeftOutLeavesNoTrace() async throws {
        let wire = Wire()
        _ = try await wire.client().patchOptional()
        #expect(try wire.request == Message(start: "PATCH /bodies/optional"))
        _ = try await wire.client().patchOptional(body: nil)
        #expect(try wire.request == Message(start: "PATCH /bodies/optional"))
    }

    @Test func anOptionalBodyIsSentLikeARequiredOne() async throws {
        let wire = Wire()
        _ = try await wire.client().patchOptional(body: .json(.init(text: "t")))
        let body = "{\n  \"text\" : \"t\"\n}"
        #expect(
            try wire.request
                == Message(
                    start: "PATCH /bodies/optional",
                    fields: ["content-type": "application/json; charset=utf-8", "content-length": "\(body.count)"],
                    body: body
                )
        )
    }

    @Test func anOptionalBodyArrivesOrIsNil() async throws {
        #expect(try await received(\.patchOptional, .patch, "/bodies/optional").body == nil)
        #expect(
            try await received(\.patchOptional, .patch, "/bodies/optional", [:], #"{"text":"t"}"#).body
                == .json(.init(text: "t"))
        )
    }

    @Test func anOptionalBodyOfTheWrongTypeIsStillUnsupported() async throws {
        let answer = try await Handlers().answer(.patch, "/bodies/optional", [.contentType: "text/plain"], "t")
        #expect(answer == Message(start: "415"))
    }

    @Test func aNullableSchemaDoesNotMakeThePayloadOptional() async throws {
        let payload = Operations.putNullable.Input.Body.jsonPayload(text: "t")
        let input = try await received(\.putNullable, .put, "/bodies/optional", [:], #"{"text":"t"}"#)
        #expect(input == .init(body: .json(payload)))
        #expect(try await received(\.putNullable, .put, "/bodies/optional").body == nil)
        #expect(try await Handlers().answer(.put, "/bodies/optional", [:], "null") == Message(start: "400"))
    }

    // MARK: References and inline schemas

    @Test func aReferencedBodyIsATypeOfTheComponents() async throws {
        let body: Components.RequestBodies.NoteBody = .plainText("t")
        let wire = Wire()
        _ = try await wire.client().sendReferenced(body: body)
        #expect(
            try wire.request
                == Message(
                    start: "POST /bodies/referenced",
                    fields: ["content-type": "text/plain", "content-length": "1"],
                    body: "t"
                )
        )
        let input = try await received(\.sendReferenced, .post, "/bodies/referenced", [:], #"{"text":"t"}"#)
        #expect(input.body == Components.RequestBodies.NoteBody.json(.init(text: "t")))
        #expect(try await received(\.sendReferenced, .post, "/bodies/referenced").body == nil)
    }

    @Test func aReferencedRequiredBodyIsRequired() async throws {
        let body: Components.RequestBodies.Required_hyphen_Body = .json("t")
        let wire = Wire()
        _ = try await wire.client().sendRequiredReference(body: body)
        #expect(try wire.request.body == #""t""#)
        #expect(try await Handlers().answer(.post, "/bodies/required") == Message(start: "400"))
    }

    @Test func inlineObjectsAreTypesWhereTheyStand() async throws {
        typealias Payload = Operations.sendInline.Input.Body.jsonPayload
        let deep: Payload.inner_objPayload.deepPayload = [
            Payload.inner_objPayload.deepPayloadPayload(leaf: 1), .init(),
        ]
        let body = Payload(name: "n", inner_obj: Payload.inner_objPayload(deep: deep))
        let wire = Wire()
        _ = try await wire.client(configuration: .init(jsonEncodingOptions: .sortedKeys)).sendInline(body: .json(body))
        let text = #"{"inner_obj":{"deep":[{"leaf":1},{}]},"name":"n"}"#
        #expect(try wire.request.body == text)
        #expect(try await received(\.sendInline, .post, "/bodies/inline", [:], HTTPBody(text)).body == .json(body))
    }

    @Test func aListIsABody() async throws {
        let wire = Wire(json: #"[{"a":1},{}]"#)
        let client: Client = wire.client(configuration: .init(jsonEncodingOptions: []))
        let answer: Operations.sendList.Output.Ok.Body.jsonPayload =
            try await client.sendList(body: .json([.init(x: 1, y: 2), .init(x: 3, y: 4)])).ok.body.json
        #expect(answer == [Operations.sendList.Output.Ok.Body.jsonPayloadPayload(a: 1), .init()])
        #expect(try wire.request.body == #"[{"x":1,"y":2},{"x":3,"y":4}]"#)
        let input = try await received(\.sendList, .post, "/bodies/list", [:], #"[{"x":1,"y":2}]"#)
        #expect(input.body == .json([.init(x: 1, y: 2)]))
    }

    @Test func aScalarIsABody() async throws {
        let wire = Wire()
        _ = try await wire.client().sendString(body: .json("a\"b"))
        #expect(try wire.request.body == #""a\"b""#)
        #expect(try await received(\.sendString, .post, "/bodies/string", [:], #""a\"b""#).body == .json("a\"b"))
        #expect(try await Handlers().answer(.post, "/bodies/string", [:], "7") == Message(start: "400"))
    }

    @Test func aBodyWithoutSchemaIsFree() async throws {
        let value: OpenAPIValueContainer = try .init(unvalidatedValue: [
            "a": [1, nil, "b", true, 1.5] as [(any Sendable)?]
        ])
        let wire = Wire(json: #"{"a":[1,null,"b",true,1.5]}"#)
        let client: Client = wire.client(configuration: .init(jsonEncodingOptions: []))
        #expect(try await client.sendFree(body: .json(value)).ok.body.json == value)
        #expect(try wire.request.body == #"{"a":[1,null,"b",true,1.5]}"#)
        let input = try await received(\.sendFree, .post, "/bodies/free", [:], "[]")
        #expect(input.body == .json(try .init(unvalidatedValue: [] as [any Sendable])))
    }
}

/// URL-encoded forms.
struct FormBodyTests {
    private typealias Form = Operations.sendForm.Input.Body.urlEncodedFormPayload

    private let form = Form(
        Name: "A & B",
        age: 7,
        ratio: 1,
        flag: true,
        moment: .november,
        colour: .dark_hyphen_blue,
        tags: ["x y", "z"],
        key_space_with_space_space_amp_: "+",
        B: "é"
    )
    private let text: String =
        "age=7&B=%C3%A9&colour=dark-blue&flag=true&key+with+space%26=%2B&moment=2023-11-14T22%3A13%3A20Z"
        + "&Name=A+%26+B&ratio=1.0&tags=x+y&tags=z"

    @Test func membersAreSortedWithoutRegardToCaseAndSpacesArePluses() async throws {
        let wire = Wire()
        _ = try await wire.client().sendForm(body: .urlEncodedForm(form))
        #expect(
            try wire.request
                == Message(
                    start: "POST /forms",
                    fields: [
                        "content-type": "application/x-www-form-urlencoded", "content-length": "\(text.utf8.count)",
                    ],
                    body: text
                )
        )
    }

    @Test func aFormIsReadInAnyOrder() async throws {
        let text =
            "tags=x+y&Name=A%20%26+B&unknown=1&key+with%20space%26=%2B&tags=z&B=%C3%A9&age=7&flag=true"
            + "&ratio=1&colour=dark-blue&moment=2023-11-14T22:13:20Z"
        let input = try await received(
            \.sendForm,
            .post,
            "/forms",
            [.contentType: "application/x-www-form-urlencoded"],
            .dripping(text)
        )
        #expect(input.body == .urlEncodedForm(form))
    }

    @Test func membersThatAreAbsentAreNil() async throws {
        let input = try await received(\.sendForm, .post, "/forms", [:], "Name=")
        #expect(input.body == .urlEncodedForm(Form(Name: "")))
    }

    @Test(arguments: ["", "name=n", "Name=n&age=x", "Name=n&flag=1", "Name=n&colour=pink", "Name=n&moment=1", "Name"])
    func aFormThatDoesNotFitIsABadRequest(text: String) async throws {
        #expect(try await Handlers().answer(.post, "/forms", [:], HTTPBody(text)) == Message(start: "400"))
    }

    @Test func aFormOfFreeNamesIsAMap() async throws {
        let wire = Wire()
        let form = Operations.sendFreeForm.Input.Body.urlEncodedFormPayload(
            additionalProperties: ["b": "2", "a c": "1 & 1"]
        )
        _ = try await wire.client().sendFreeForm(body: .urlEncodedForm(form))
        #expect(try wire.request.body == "a+c=1+%26+1&b=2")
        let input = try await received(\.sendFreeForm, .post, "/forms/free", [:], "b=2&a+c=1+%26+1")
        #expect(input.body == .urlEncodedForm(form))
    }

    @Test(arguments: [([1, 2, 3], "=1&=2&=3"), ([7], "=7"), ([], "")])
    func aListIsAFormWithoutNames(list: [Int], text: String) async throws {
        let wire = Wire()
        _ = try await wire.client().sendListForm(body: .urlEncodedForm(list))
        #expect(try wire.request.body ?? "" == text)
        let input = try await received(\.sendListForm, .post, "/forms/list", [:], HTTPBody(text))
        #expect(input.body == .urlEncodedForm(list))
    }

    @Test func aDateIsAFormWithoutNames() async throws {
        let wire = Wire()
        _ = try await wire.client().sendMomentForm(body: .urlEncodedForm(.november))
        #expect(try wire.request.body == "=2023-11-14T22%3A13%3A20Z")
        let input = try await received(\.sendMomentForm, .post, "/forms/moment", [:], "=2023-11-14T22:13:20Z")
        #expect(input.body == .urlEncodedForm(.november))
        for text in ["", "=x", "a=2023-11-14T22:13:20Z"] {
            let answer = try await Handlers().answer(.post, "/forms/moment", [:], HTTPBody(text))
            #expect(answer == Message(start: "400"))
        }
    }

    @Test(arguments: [
        (#"{"a":1,"b":"x y"}"#, "a=1&b=x+y"), (#"["","z"]"#, "=&=z"), (#""text""#, "=text"), ("2.5", "=2.5"),
        ("true", "=true"),
    ])
    func aFormWithoutSchemaHoldsAnything(json: String, text: String) async throws {
        let value: OpenAPIValueContainer = try JSONDecoder().decode(OpenAPIValueContainer.self, from: Data(json.utf8))
        let wire = Wire()
        _ = try await wire.client().sendAnyForm(body: .urlEncodedForm(value))
        #expect(try wire.request.body == text)
        let input = try await received(\.sendAnyForm, .post, "/forms/any", [:], HTTPBody(text))
        #expect(input.body == .urlEncodedForm(value))
    }

    @Test func anOptionalFormMayBeAbsent() async throws {
        let wire = Wire()
        _ = try await wire.client().sendFreeForm()
        #expect(try wire.request == Message(start: "POST /forms/free"))
        #expect(try await received(\.sendFreeForm, .post, "/forms/free").body == nil)
    }

    @Test(arguments: ["a b", "a+b", "%20", "a&b=c", "é😀", "\r\n", ""])
    func anyTextTravelsInAForm(text: String) async throws {
        let client: Client = try Handlers(sendForm: { input in
            #expect(input.body == .urlEncodedForm(.init(Name: text, tags: [text])))
            return .noContent
        }).client()
        #expect(try await client.sendForm(body: .urlEncodedForm(.init(Name: text, tags: [text]))) == .noContent)
    }
}
