import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

/// Operations with idiomatic Swift names. Requests and responses keep the document's names.
struct IdiomaticOperationTests {
    private typealias Post = Operations.GetUser_post

    @Test func parametersKeepTheirSpellingOnTheWire() async throws {
        let wire = Wire(200, json: "{}")
        _ = try await wire.client().getUser_post(
            path: .init(userId: "u", postId: 7),
            query: .init(pageSize: 1, page: 2, _in: "x", _default: true, sort_by: ._2nd),
            headers: .init(xRateLimitLimit: 3, recent: "y")
        )
        #expect(
            try wire.request
                == Message(
                    start: "GET /users/u/posts/7.json?page_size=1&PAGE=2&in=x&Default=true&sort.by=2nd",
                    fields: [
                        "x-ratelimit-limit": "3", "x-old": "y", "accept": "application/json, application/problem+json",
                    ]
                )
        )
    }

    @Test func parametersAreReadInTheSpellingOfTheWire() async throws {
        let input = try await received(
            \.getPost,
            .get,
            "/users/u/posts/7.json?PAGE=2&page_size=1&sort.by=OLDEST_FIRST&Default=false",
            [.custom("x-old"): "y"]
        )
        #expect(input.path == .init(userId: "u", postId: 7))
        #expect(input.query == .init(pageSize: 1, page: 2, _default: false, sort_by: .oldestFirst))
        #expect(input.headers == .init(recent: "y"))
    }

    @Test func headersAndInlineTypesOfAResponseAreBentToo() async throws {
        let fields: HTTPFields = [
            .contentType: "application/json", try .custom("X-RateLimit-Remaining"): "5", try .custom("X-Old"): "o",
        ]
        let wire = Wire(200, fields, #"{"post_title":"t","tag_list":[{"tag_name":"n"}]}"#)
        let ok = try await wire.client().getUser_post(path: .init(userId: "u", postId: 7)).ok
        typealias Payload = Post.Output.Ok.Body.JsonPayload
        let tags: Payload.TagListPayload = [Payload.TagListPayloadPayload(tagName: "n")]
        #expect(
            ok
                == Post.Output.Ok(
                    headers: .init(xRateLimitRemaining: 5, recent: "o"),
                    body: .json(Payload(postTitle: "t", tagList: tags))
                )
        )
    }

    @Test func aReferencedResponseIsNamedByItsKey() async throws {
        let missing: Components.Responses.NotFound = .init(body: .applicationProblemJson(.init(errorCode: 1)))
        let wire = Wire(404, [.contentType: "application/problem+json"], #"{"error_code":1}"#)
        #expect(try await wire.client().getUser_post(path: .init(userId: "u", postId: 7)) == .notFound(missing))
    }

    @Test func anOperationWithoutIdentifierIsNamedByItsPath() async throws {
        let wire = Wire()
        _ = try await wire.client().getV1AccountThings(path: .init(account: "a"))
        #expect(try wire.request == Message(start: "GET /v1/a/things"))
        #expect(Operations.GetV1AccountThings.id == "get/v1/{account}/things")
    }

    @Test func anAcronymAtTheBeginningIsOneWord() async throws {
        let client: Client = try Handlers(connect: { _ in .noContent }).client()
        #expect(try await client.httpsConnection() == .noContent)
        #expect(Operations.HTTPSConnection.id == "HTTPSConnection")
    }

    @Test func anOverriddenNameIsUsedForTypeAndMember() async throws {
        let body: Components.RequestBodies.DoIt = .json(Components.RequestBodies.DoIt.JsonPayload(howOften: 2))
        let wire = Wire()
        _ = try await wire.client(configuration: .init(jsonEncodingOptions: [])).performIt(body: body)
        #expect(try wire.request.start == "POST /connections")
        #expect(try wire.request.body == #"{"how_often":2}"#)
        #expect(Operations.performIt.id == "doIt")
        let input = try await received(\.performIt, .post, "/connections", [:], #"{"how_often":2}"#)
        #expect(input == Operations.performIt.Input(body: body))
    }

    @Test func aDocumentWithoutServersHasAnEmptyEnumeration() {
        #expect("\(Servers.self)" == "Servers")
    }

    // MARK: Media types

    @Test(
        arguments: [
            (
                Operations.SendMedia.Input.Body.applicationVnd_apiJsonV_2(.init(a: 1)),
                "application/vnd.api+json; v=2; charset=utf-8" as String?
            ),
            (.applicationVnd_github_v3Json(.init(b: 1)), "application/vnd.github.v3+json; charset=utf-8"),
            (.textPlainCharsetUtf8("t"), "text/plain; charset=utf-8"), (.textEventStream("t"), "text/event-stream"),
            (.applicationXNdjson("t"), "application/x-ndjson"), (.imageSvgXml("t"), "image/svg+xml"),
            (.image_Ast_("t"), nil), (.urlEncodedForm(.init(fullName: "t")), "application/x-www-form-urlencoded"),
        ]
    )
    func everyMediaTypeIsACase(body: Operations.SendMedia.Input.Body, contentType: String?) async throws {
        let wire = Wire()
        _ = try await wire.client().sendMedia(body: body)
        #expect(try wire.request.fields["content-type"] == contentType)
    }

    @Test func payloadsAreNamedByTheMediaType() async throws {
        typealias Body = Operations.SendMedia.Input.Body
        let input = try await received(
            \.sendMedia,
            .post,
            "/media",
            [.contentType: "application/vnd.api+json;v=2"],
            #"{"a":1}"#
        )
        #expect(input.body == .applicationVnd_apiJsonV_2(Body.ApplicationVndApiJsonV2Payload(a: 1)))
        #expect(Body.ApplicationVndGithubV3JsonPayload(b: 1).b == 1)
    }

    @Test func namesOfAFormKeepTheirSpelling() async throws {
        let form = Operations.SendMedia.Input.Body.UrlEncodedFormPayload(fullName: "a b", eMails: ["x@y", "z"])
        let wire = Wire()
        _ = try await wire.client().sendMedia(body: .urlEncodedForm(form))
        #expect(try wire.request.body == "e_mails=x%40y&e_mails=z&full_name=a+b")
    }

    // MARK: Multipart

    @Test func partsAreBentAndKeepTheirSpellingOnTheWire() async throws {
        typealias Part = Operations.SendParts.Input.Body.MultipartFormPayload
        let configuration = Configuration(jsonEncodingOptions: [], multipartBoundaryGenerator: .constant)
        let parts: MultipartBody<Part> = [
            .profileImage(.init(payload: .init(headers: .init(xImageSize: 3), body: "png"), filename: "p.png")),
            .part(.init(payload: .init(body: "text"))),
            .extraInfo(.init(payload: Part.ExtraInfoPayload(body: Part.ExtraInfoPayload.BodyPayload(someKey: 1)))),
            .rawFiles(.init(payload: .init(body: "r"))),
            .additionalProperties(.init(payload: Part.AdditionalPropertiesPayload(n: 1), name: "more")),
        ]
        let wire = Wire()
        _ = try await wire.client(configuration: configuration).sendParts(body: .multipartForm(parts))
        let boundary = "--__X_SWIFT_OPENAPI_GENERATOR_BOUNDARY__"
        let lines: [String] = [
            boundary, "content-disposition: form-data; filename=\"p.png\"; name=\"profile-image\"", "content-length: 3",
            "content-type: image/png", "x-image-size: 3", "", "png", boundary,
            "content-disposition: form-data; name=\"old_part\"", "content-length: 4", "content-type: text/plain", "",
            "text", boundary, "content-disposition: form-data; name=\"extra_info\"", "content-length: 14",
            "content-type: application/json; charset=utf-8", "", #"{"some_key":1}"#, boundary,
            "content-disposition: form-data; name=\"raw_files\"", "content-length: 1",
            "content-type: application/octet-stream", "", "r", boundary,
            "content-disposition: form-data; name=\"more\"", "content-length: 7",
            "content-type: application/json; charset=utf-8", "", #"{"n":1}"#, boundary + "--", "", "",
        ]
        #expect(try wire.request.body == lines.joined(separator: "\r\n"))
    }

    @Test func binaryPartsAreBodies() async throws {
        let client: Client = try Handlers(sendParts: { input in
            guard case .multipartForm(let parts) = input.body else { throw UnexpectedCall() }
            for try await case .profileImage(let part) in parts {
                #expect(try await text(part.payload.body) == "bytes")
            }
            return .noContent
        }).client()
        #expect(
            try await client.sendParts(
                body: .multipartForm([.profileImage(.init(payload: .init(body: .dripping("bytes"))))])
            ) == .noContent
        )
    }
}
