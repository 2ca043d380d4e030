import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The servers of the document, and the paths of handlers.
struct ServerAddressTests {
    private final class Routes: ServerTransport {
        nonisolated(unsafe) var all: [String] = []

        func register(_ handler: @escaping ServerTransport.Handler, method: HTTPRequest.Method, path: String) throws {
            all.append("\(method) \(path)")
        }
    }

    @Test func aServerWithoutVariablesIsItsURL() throws {
        #expect(try Servers.Server1.url().absoluteString == "https://ground.example.com/v1")
    }

    @Test func aBarePathIsAServer() throws {
        #expect(try Servers.Server2.url().absoluteString == "/api")
    }

    @Test func variablesHaveTheDocumentsDefaults() throws {
        #expect(try Servers.Server3.url().absoluteString == "https://eu-west.example.com:8443/v2")
        #expect(try Servers.Server4.url().absoluteString == "https://1.example.com")
        #expect(try Servers.Server5.url().absoluteString == "https://ground.example.com")
    }

    @Test func variablesAreGivenOneByOne() throws {
        #expect(
            try Servers.Server3.url(host: .us_hyphen_east, base_hyphen_path: "v3").absoluteString
                == "https://us-east.example.com:8443/v3"
        )
        #expect(
            try Servers.Server3.url(host: ._default, port: "1", base_hyphen_path: "").absoluteString
                == "https://default.example.com:1/"
        )
    }

    @Test func valuesOfAVariableAreAnEnumeration() {
        #expect(Servers.Server3.Host(rawValue: "us-east") == .us_hyphen_east)
        #expect(Servers.Server4.Region_hyphen_Name.two_space_words.rawValue == "two words")
    }

    @Test func aValueThatMakesNoURLThrows() {
        #expect(throws: (any Error).self) { try Servers.Server3.url(port: "a b") }
    }

    @available(*, deprecated)
    @Test func theOldFormTakesStringsAndChecksThem() throws {
        #expect(try Servers.server1().absoluteString == "https://ground.example.com/v1")
        #expect(try Servers.server3(host: "us-east").absoluteString == "https://us-east.example.com:8443/v2")
        #expect(throws: (any Error).self) { try Servers.server3(host: "mars") }
        #expect(try Servers.server3(port: "1").absoluteString == "https://eu-west.example.com:1/v2")
    }

    @Test func handlersStandBelowThePathOfTheServer() throws {
        let plain = Routes()
        try Service(handlers: .init()).registerHandlers(on: plain)
        #expect(plain.all.first == "GET /names/{name}")
        #expect(plain.all.contains("GET /archive/{year}-{month}/{file-name}.json"))
        let below = Routes()
        try Service(handlers: .init()).registerHandlers(on: below, serverURL: Servers.Server2.url())
        #expect(below.all == plain.all.map { $0.replacing(" /", with: " /api/") })
        let absolute = Routes()
        try Service(handlers: .init()).registerHandlers(on: absolute, serverURL: Servers.Server1.url())
        #expect(absolute.all == plain.all.map { $0.replacing(" /", with: " /v1/") })
    }

    @Test func clientAndServerMeetBelowThePathOfTheServer() async throws {
        let transport = InProcessTransport()
        try Service(handlers: .init(getName: { _ in .noContent }))
            .registerHandlers(on: transport, serverURL: Servers.Server2.url())
        let client = Client(serverURL: try Servers.Server2.url(), transport: transport)
        #expect(try await client.getName(path: .init(name: "n")) == .noContent)
        let elsewhere = Client(serverURL: try Servers.Server1.url(), transport: transport)
        #expect(caseName(try await elsewhere.getName(path: .init(name: "n"))) == "undocumented")
    }
}

/// Names that cannot be used in Swift unchanged, and the forms in which operations are called.
struct CallTests {
    @Test func anOperationWithoutIdentifierIsNamedByMethodAndPath() async throws {
        #expect(Operations.get_sol_derived_sol__lcub_id_rcub_.id == "get/derived/{id}")
        let wire = Wire()
        _ = try await wire.client().get_sol_derived_sol__lcub_id_rcub_(path: .init(id: "1"))
        #expect(try wire.request == Message(start: "GET /derived/1"))
    }

    @Test func keywordsAndOddNamesKeepTheirSpellingOnTheWire() async throws {
        let wire = Wire()
        _ = try await wire.client()._default(
            query: .init(_self: "a", _in: "b", _2nd: "c", _commat_type: "d", async: "e")
        )
        #expect(try wire.target == "/words?self=a&in=b&2nd=c&%40type=d&async=e")
        #expect(Operations._default.id == "default")
    }

    @Test func everyMethodIsSent() async throws {
        let wire = Wire(200)
        let client: Client = wire.client()
        _ = try await client.head_space_words()
        #expect(try wire.request.start == "HEAD /words")
        _ = try await client.words_period_options()
        #expect(try wire.request.start == "OPTIONS /words")
        _ = try await client.trace_hyphen_words()
        #expect(try wire.request.start == "TRACE /words")
        _ = try await client.patchOptional()
        #expect(try wire.request.start == "PATCH /bodies/optional")
        _ = try await client.deleteOverlap(path: .init(id: "1"))
        #expect(try wire.request.start == "DELETE /overlap/1")
    }

    @Test func everyMethodIsAnswered() async throws {
        let handlers = Handlers(
            headWords: { _ in .ok },
            wordsOptions: { _ in .noContent },
            traceWords: { _ in .noContent }
        )
        #expect(try await handlers.answer(.head, "/words") == Message(start: "200"))
        #expect(try await handlers.answer(.options, "/words") == Message(start: "204"))
        #expect(try await handlers.answer(.trace, "/words") == Message(start: "204"))
    }

    @available(*, deprecated)
    @Test func deprecatedOperationsWork() async throws {
        #expect(try await Handlers().client().oldWords() == .noContent)
        #expect(try await Handlers().client().oldWords(.init()) == .noContent)
    }

    @Test func anOperationIsCalledWithItsInputOrWithTheParts() async throws {
        let wire = Wire()
        let client: Client = wire.client()
        let input = Operations.useReferences.Input(
            path: .init(key: "k"),
            query: .init(page_hyphen_size: 1),
            headers: .init(X_hyphen_Trace: .red)
        )
        let expected = Message(start: "GET /references/k?page-size=1", fields: ["x-trace": "red"])
        _ = try await client.useReferences(input)
        #expect(try wire.request == expected)
        _ = try await client.useReferences(
            path: .init(key: "k"),
            query: .init(page_hyphen_size: 1),
            headers: .init(X_hyphen_Trace: .red)
        )
        #expect(try wire.request == expected)
        _ = try await client.useReferences(path: .init(key: "k"))
        #expect(try wire.request == Message(start: "GET /references/k"))
    }

    @Test func anOperationWithNothingToPassIsCalledWithNothing() async throws {
        #expect(try await Wire(404).client().everyStatus() == .notFound)
        #expect(try await Wire(404).client().everyStatus(.init()) == .notFound)
    }

    @Test func everyPartIsGivenAtOnce() async throws {
        let wire = Wire(json: "{}")
        let output = try await wire.client().exchange(
            headers: .init(accept: [.init(contentType: .json)]),
            body: .json(.init(text: "t"))
        )
        #expect(try output.ok.body.json == .init())
        #expect(try wire.request.fields["accept"] == "application/json")
    }

    @Test func outputsAreTakenApartBySwitch() async throws {
        func words(_ output: Operations.everyRange.Output) -> String {
            switch output {
            case .successful(statusCode: let status, let payload): "\(status) \(payload)".isEmpty ? "" : "fine"
            case .clientError(let status, _): "client \(status)"
            case .notFound(let payload): payload == .init() ? "nothing" : "something"
            case .informational, .redirection: "other"
            case .default(statusCode: let status, let payload):
                if case .json(let note) = payload.body { "\(status) \(note.text)" } else { "" }
            }
        }
        #expect(words(try await Wire(200).client().everyRange()) == "fine")
        #expect(words(try await Wire(418, json: #"{"text":"t"}"#).client().everyRange()) == "client 418")
        #expect(words(try await Wire(404).client().everyRange()) == "nothing")
        #expect(words(try await Wire(500, json: #"{"text":"t"}"#).client().everyRange()) == "500 t")
    }

    @Test func bodiesAreTakenApartByGuard() async throws {
        let ok = try await Wire(json: #"{"text":"t"}"#).client().negotiate().ok
        guard case .json(let note) = ok.body else {
            Issue.record("not JSON")
            return
        }
        #expect(note == .init(text: "t"))
    }

    @Test func operationsAreFunctionsLikeAnyOther() async throws {
        let wire = Wire()
        let call: @Sendable (Operations.query.Input) async throws -> Operations.query.Output = wire.client().query
        #expect(try await call(.init(query: .init(text: "t"))) == .noContent)
        #expect(try wire.target == "/query?text=t")
    }

    @Test func handlersHaveTheConvenienceFormsToo() async throws {
        let service: any APIProtocol = Service(
            handlers: .init(query: { input in
                #expect(input.query.text == "t")
                return .noContent
            })
        )
        #expect(try await service.query(query: .init(text: "t")) == .noContent)
    }

    @Test func aClientCanStandForAServer() async throws {
        let wire = Wire()
        let proxy = InProcessTransport()
        try wire.client().registerHandlers(on: proxy)
        let client = Client(serverURL: .defaultOpenAPIServerURL, transport: proxy)
        #expect(try await client.getName(path: .init(name: "a/b")) == .noContent)
        #expect(try wire.request == Message(start: "GET /names/a%2Fb"))
    }

    @Test func inputsAndOutputsAreHashable() async throws {
        let inputs: Set<Operations.query.Input> = [
            .init(), .init(query: .init(text: "t")), .init(query: .init(text: "t")), .init(query: .init(text: "")),
        ]
        #expect(inputs.count == 3)
        let outputs: Set<Operations.everyRange.Output> = [
            .notFound, .notFound(.init()), .successful(statusCode: 200, .init()), .successful(statusCode: 201, .init()),
        ]
        #expect(outputs.count == 3)
    }

    @Test func propertiesOfAnInputChangeInPlace() {
        var input = Operations.query.Input()
        input.query.text = "t"
        input.query.flag = true
        #expect(input == .init(query: .init(text: "t", flag: true)))
    }

    @Test func identifiersAreThoseOfTheDocument() {
        #expect(Operations.query.id == "query")
        #expect(Operations.head_space_words.id == "head words")
        #expect(Operations.words_period_options.id == "words.options")
    }
}
