import HTTPTypes
import OpenAPISwiftGenerator
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// URL-encoded forms of generated clients and servers.
struct FormTests {
    private typealias Form = Operations.Enrol.Input.Body.UrlEncodedFormPayload

    @Test func everyMemberOfAFormArrivesAsItWasSent() async throws {
        let form = Form(
            name: "A & B = 100% + ü/?#",
            tags: ["x y", "", "a,b"],
            years: [2001, -3],
            age: 7,
            active: false,
            joined: Date(timeIntervalSince1970: 1_700_000_000),
            genre: .nonFiction
        )
        let client: Client = try Library(enrol: { input in
            #expect(input.body == .urlEncodedForm(form))
            return .ok(.init(body: .urlEncodedForm(.init(text: "né + &", weight: 1.5))))
        }).client()
        let note = try await client.enrol(body: .urlEncodedForm(form)).ok.body.urlEncodedForm
        #expect(note == .init(text: "né + &", weight: 1.5))
    }

    @Test func membersThatAreLeftOutArriveAsNil() async throws {
        let form = Form(name: "n", tags: ["one"])
        let client: Client = try Library(enrol: { input in
            #expect(input.body == .urlEncodedForm(form))
            return .accepted(.init(body: .urlEncodedForm(.init(additionalProperties: ["a": 1, "b": 2]))))
        }).client()
        let counts = try await client.enrol(body: .urlEncodedForm(form)).accepted.body.urlEncodedForm
        #expect(counts.additionalProperties == ["a": 1, "b": 2])
    }

    @Test func aFormIsSpelledWithSortedNamesAndPlusesForSpaces() async throws {
        let transport = CannedTransport(
            status: 200,
            headerFields: [.contentType: "application/x-www-form-urlencoded"],
            body: "weight=2&unknown=1&text=a+b"
        )
        let form = Form(name: "a b", tags: ["+", "&"], active: true)
        let note = try await transport.client().enrol(body: .urlEncodedForm(form)).ok.body.urlEncodedForm
        #expect(note == .init(text: "a b", weight: 2))
        let text = "active=true&name=a+b&tags=%2B&tags=%26"
        #expect(await transport.requestBody == text)
        let fields = try #require(await transport.request?.headerFields)
        #expect(fields[.contentType] == "application/x-www-form-urlencoded")
        #expect(fields[.contentLength] == String(text.utf8.count))
    }

    @Test(arguments: [
        ("tags=a", 400), ("name=a&tags=b&age=x", 400), ("name", 400), ("name=a&tags=b", 202), ("name=a", 202),
    ])
    func aServerRefusesWhatIsNoSuchForm(text: String, status: Int) async throws {
        let transport = RawTransport()
        let library = Library(enrol: { _ in .accepted(.init(body: .json(.init(text: "t")))) })
        try library.registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
        let fields: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        let (response, _) = try await transport.send(.post, "/members", headerFields: fields, body: HTTPBody(text))
        #expect(response.status.code == status)
    }

    @Test func aFormIsDeclaredLikeAJSONBody() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths: {}
                components:
                  requestBodies:
                    Inline: {content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: string}}}}}}
                    Named: {content: {application/x-www-form-urlencoded: {schema: {$ref: '#/components/schemas/A'}}}}
                    List: {content: {application/x-www-form-urlencoded: {schema: {type: array, items: {type: string}}}}}
                    Text: {content: {application/x-www-form-urlencoded: {schema: {type: string}}}}
                    Anything: {content: {application/x-www-form-urlencoded: {}}}
                    None: {content: {application/x-www-form-urlencoded: {schema: {type: string, contentEncoding: binary}}}}
                  schemas:
                    A: {type: object, properties: {a: {type: string}}}
                """
        )
        let file = "Types+RequestBodies.swift"
        #expect(
            generation.contains(
                "case urlEncodedForm(Components.RequestBodies.Inline.urlEncodedFormPayload)",
                in: file
            )
        )
        #expect(generation.contains("public struct urlEncodedFormPayload: ", in: file))
        #expect(generation.contains("case urlEncodedForm(Components.Schemas.A)", in: file))
        #expect(generation.contains("case urlEncodedForm([Swift.String])", in: file))
        #expect(generation.contains("case urlEncodedForm(Swift.String)", in: file))
        #expect(generation.contains("case urlEncodedForm(OpenAPISwiftRuntime.OpenAPIValueContainer)", in: file))
        #expect(generation.files[file]?.contains("None") == false)
        #expect(generation.warnings.map { $0.contains("a form has no place for binary data") } == [true])
    }
}
