import HTTPTypes
import OpenAPISwiftGenerator
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A generated client and a generated server in one process.
struct ClientAndServerTests {
    private let book = Components.Schemas.Book(id: "1", title: "Mist", score: 4.5)

    // MARK: Parameters

    @Test func everyKindOfParameterArrivesAsItWasSent() async throws {
        let query = Operations.ListBooks.Input.Query(
            limit: 7,
            tag: ["a b", "c,d", "é&="],
            shelf: [3, 1, 2],
            price: .init(from: 1.5, to: 20),
            page: .init(offset: 40, size: 20),
            lent: true,
            since: Date(timeIntervalSince1970: 1_700_000_000),
            genre: .nonFiction
        )
        let headers = Operations.ListBooks.Input.Headers(
            trace: "a/b c",
            myHeader: [1, 2],
            xNote: .init(text: "né", weight: 1)
        )
        let client: Client = try Library(list: { input in
            #expect(input == Operations.ListBooks.Input(query: query, headers: headers))
            return .notFound
        }).client()
        let output = try await client.listBooks(query: query, headers: headers)
        #expect(output == .notFound(.init()))
    }

    @Test func parametersThatAreLeftOutArriveAsNil() async throws {
        let client: Client = try Library(list: { input in
            #expect(input == .init())
            return .notFound
        }).client()
        _ = try await client.listBooks()
    }

    @Test func placeholdersOfThePathCarryAnyText() async throws {
        for name in ["plain", "with space", "a/b", "100%", "ü?#&", "%2F"] {
            let client: Client = try Library(read: { input in
                #expect(input.path == .init(bookID: name, page: 12))
                return .ok(.init(body: .plainText("text")))
            }).client()
            let text = try await client.readPage(path: .init(bookID: name, page: 12)).ok.body.plainText
            #expect(try await String(collecting: text, upTo: 100) == "text")
        }
    }

    @Test func theRequestIsSpelledAsTheStylesSay() async throws {
        let transport = CannedTransport(status: 404)
        let client: Client = try transport.client()
        _ = try await client.listBooks(
            query: .init(
                limit: 2,
                tag: ["x y", "z"],
                shelf: [1, 2],
                price: .init(from: 1, to: 2),
                page: .init(offset: 3, size: 4),
                genre: ._3d
            ),
            headers: .init(
                myHeader: [5, 6],
                xNote: .init(text: "t"),
                accept: [.init(contentType: .plainText, quality: 0.5)]
            )
        )
        let request = try #require(await transport.request)
        #expect(
            request.path
                == "/books?limit=2&tag=x%20y&tag=z&shelf=1,2&price%5Bfrom%5D=1.0&price%5Bto%5D=2.0&offset=3&size=4&genre=3d"
        )
        #expect(request.headerFields[.init("My-Header")!] == "5,6")
        #expect(request.headerFields[.init("X-Note")!] == #"{"text":"t"}"#)
        #expect(request.headerFields[.accept] == "text/plain; q=0.500")
    }

    @Test func theDefaultAcceptHeaderListsWhatIsDocumented() async throws {
        let transport = CannedTransport(status: 404)
        _ = try await transport.client().listBooks()
        #expect(await transport.request?.headerFields[.accept] == "application/json, text/plain")
        #expect(await transport.request?.path == "/books")
    }

    // MARK: Bodies

    @Test func aRequiredJSONBodyTravelsBothWays() async throws {
        let book: Components.Schemas.Book = book
        let client: Client = try Library(add: { input in
            guard case .json(let received) = input.body else { return .conflict(.init(body: .json(.init(code: 1)))) }
            return .created(.init(body: .json(received)))
        }).client()
        #expect(try await client.addBook(body: .json(book)).created.body.json == book)
    }

    @Test func aJSONBodyIsSentWithTypeLengthAndPrettyText() async throws {
        let transport = CannedTransport(status: 409, body: HTTPBody(#"{"code":3}"#))
        let problem = try await transport.client().addBook(body: .json(book)).conflict.body.json
        #expect(problem == .init(code: 3))
        let text = "{\n  \"id\" : \"1\",\n  \"score\" : 4.5,\n  \"title\" : \"Mist\"\n}"
        #expect(await transport.requestBody == text)
        #expect(
            await transport.request?.headerFields == [
                .contentType: "application/json; charset=utf-8", .contentLength: String(text.utf8.count),
                .accept: "application/json",
            ]
        )
    }

    @Test(arguments: [nil, "json", "plainText", "binary"])
    func anOptionalBodyArrivesInTheCaseItWasSentIn(kind: String?) async throws {
        let client: Client = try Library(write: { input in
            switch input.body {
            case .json(let body)?: #expect(kind == "json" && body.text == "t")
            case .plainText(let body)?:
                let text: String = try await String(collecting: body, upTo: 100)
                #expect(kind == "plainText" && text == "plain")
            case .binary(let body)?:
                let bytes: [UInt8] = try await [UInt8](collecting: body, upTo: 100)
                #expect(kind == "binary" && bytes == [1, 2, 3])
            case nil: #expect(kind == nil)
            }
            return .noContent
        }).client()
        let path = Operations.WritePage.Input.Path(bookID: "1", page: 1)
        let output: Operations.WritePage.Output
        switch kind {
        case "json": output = try await client.writePage(path: path, body: .json(.init(text: "t")))
        case "plainText": output = try await client.writePage(path: path, body: .plainText("plain"))
        case "binary": output = try await client.writePage(path: path, body: .binary([1, 2, 3]))
        default: output = try await client.writePage(path: path)
        }
        #expect(output == .noContent)
    }

    @Test func aBodyInAnotherCaseThrowsWhenReadByName() async throws {
        let client: Client = try Library(list: { _ in
            .ok(.init(headers: .init(xTotal: 1), body: .plainText("none")))
        }).client()
        let body = try await client.listBooks().ok.body
        #expect(throws: (any Error).self) { try body.json }
        #expect(try await String(collecting: body.plainText, upTo: 10) == "none")
    }

    // MARK: Responses

    @Test func responseHeadersTravelBack() async throws {
        let headers = Operations.ListBooks.Output.Ok.Headers(
            xTotal: 3,
            xNext: "a b",
            xNote: .init(text: "n"),
            xShared: .noThanks
        )
        let book: Components.Schemas.Book = book
        let client: Client = try Library(list: { _ in .ok(.init(headers: headers, body: .json([book]))) }).client()
        let output = try await client.listBooks()
        #expect(output == .ok(.init(headers: headers, body: .json([book]))))
    }

    @Test func aMissingRequiredResponseHeaderIsAClientError() async throws {
        let transport = CannedTransport(status: 200, body: "[]")
        let error = await #expect(throws: ClientError.self) { try await transport.client().listBooks() }
        #expect(error?.operationID == "listBooks")
        #expect(error?.response?.status == .ok)
        #expect("\(try #require(error?.underlyingError))".contains("X-Total"))
    }

    @Test func anExactStatusWinsOverARange() async throws {
        #expect(try await CannedTransport(status: 404).client().listBooks() == .notFound)
        let problem = try await CannedTransport(status: 422, body: #"{"code":7}"#).client().listBooks()
        #expect(problem == .clientError(statusCode: 422, .init(body: .json(.init(code: 7)))))
        #expect(try problem.clientError.body.json.code == 7)
        #expect(throws: (any Error).self) { try problem.ok }
    }

    @Test func theDefaultResponseCarriesItsStatus() async throws {
        let client: Client = try Library(read: { _ in
            .default(statusCode: 503, .init(body: .json(.init(code: 9, reason: "later"))))
        }).client()
        let output = try await client.readPage(path: .init(bookID: "1", page: 1))
        #expect(output == .default(statusCode: 503, .init(body: .json(.init(code: 9, reason: "later")))))
    }

    @Test func anUndocumentedStatusKeepsHeadersAndBody() async throws {
        let output = try await CannedTransport(status: 500, headerFields: [.retryAfter: "3"], body: "oh").client()
            .listBooks()
        guard case .undocumented(let statusCode, let payload) = output else {
            Issue.record("unexpected \(output)")
            return
        }
        #expect(statusCode == 500)
        #expect(payload.headerFields == [.retryAfter: "3"])
        #expect(try await String(collecting: #require(payload.body), upTo: 10) == "oh")
    }

    @Test func aServerCanAnswerWithAnUndocumentedStatus() async throws {
        let client: Client = try Library(list: { _ in .undocumented(statusCode: 599, .init()) }).client()
        guard case .undocumented(599, let payload) = try await client.listBooks() else {
            Issue.record("not undocumented")
            return
        }
        #expect(payload.headerFields.isEmpty)
    }

    @Test func aWrongContentTypeIsAClientError() async throws {
        let transport = CannedTransport(
            status: 409,
            headerFields: [.contentType: "text/html"],
            body: "<p>"
        )
        let error = await #expect(throws: ClientError.self) { try await transport.client().addBook(body: .json(book)) }
        #expect("\(try #require(error?.underlyingError))".contains("text/html"))
    }

    @Test func contentTypesCompareWithoutCaseAndExtraParameters() async throws {
        let transport = CannedTransport(
            status: 409,
            headerFields: [.contentType: "Application/JSON;charset=UTF-8"],
            body: #"{"code":1}"#
        )
        #expect(try await transport.client().addBook(body: .json(book)).conflict.body.json.code == 1)
    }

    // MARK: Errors of JSON

    @Test func aMissingRequiredKeyNamesTypeKeyAndPlace() async throws {
        let transport = CannedTransport(status: 201, body: #"{"id":"1","score":null}"#)
        let error = await #expect(throws: ClientError.self) { try await transport.client().addBook(body: .json(book)) }
        let underlying = try #require(error?.underlyingError as? JSONError)
        #expect(underlying.code == .missingKey)
        #expect(underlying.message.contains("Book") && underlying.message.contains("'title'"))
    }

    @Test func anUnknownEnumValueIsAnErrorWithItsPath() async throws {
        let transport = CannedTransport(status: 201, body: #"{"id":"1","title":"t","genre":"opera"}"#)
        let error = await #expect(throws: ClientError.self) { try await transport.client().addBook(body: .json(book)) }
        let underlying = try #require(error?.underlyingError as? JSONError)
        #expect(underlying.code == .invalidValue)
        #expect(underlying.message.contains("opera"))
        #expect(underlying.path?.contains("genre") == true)
    }

    // MARK: Errors of requests

    @Test func serversAnswerMalformedInputWithTheRightStatus() async throws {
        let transport = RawTransport()
        let library = Library(
            list: { _ in .notFound },
            add: { _ in .conflict(.init(body: .json(.init(code: 1)))) },
            read: { _ in .ok(.init(body: .plainText("t"))) }
        )
        try library.registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])
        func status(
            _ method: HTTPRequest.Method,
            _ route: String,
            path: String? = nil,
            headerFields: HTTPFields = [:],
            body: HTTPBody? = nil,
            parameters: [String: Substring] = [:]
        ) async throws -> Int {
            try await transport.send(
                method,
                route,
                path: path,
                headerFields: headerFields,
                body: body,
                parameters: parameters
            ).0.status.code
        }
        let page = "/books/{bookID}/pages/{page}.txt"
        #expect(try await status(.get, "/books", path: "/books?limit=x") == 400)
        #expect(try await status(.get, "/books", path: "/books?limit") == 400)
        #expect(try await status(.get, "/books", path: "/books?genre=opera") == 400)
        #expect(try await status(.get, "/books", path: "/books?since=yesterday") == 400)
        #expect(try await status(.get, "/books", path: "/books?lent=maybe") == 400)
        #expect(try await status(.get, "/books", path: "/books?limit=1&unknown=2") == 404)
        #expect(try await status(.get, "/books", path: "/books?limit=1&limit=x") == 404)
        #expect(try await status(.get, "/books", path: "/books?price[from]=1") == 404)
        #expect(try await status(.post, "/books") == 400)
        #expect(try await status(.post, "/books", body: "{") == 400)
        #expect(try await status(.post, "/books", body: #"{"id":"1"}"#) == 400)
        #expect(
            try await status(.post, "/books", headerFields: [.contentType: "text/plain"], body: "x") == 415
        )
        #expect(try await status(.get, page, parameters: ["bookID": "1"]) == 404)
        #expect(try await status(.get, page, parameters: ["bookID": "1", "page": "x"]) == 400)
        let parameters: [String: Substring] = ["bookID": "1", "page": "2"]
        #expect(try await status(.get, page, parameters: parameters) == 200)
        #expect(try await status(.get, page, headerFields: [.accept: "image/png"], parameters: parameters) == 406)
        #expect(try await status(.get, page, headerFields: [.accept: "text/*"], parameters: parameters) == 200)
        #expect(try await status(.put, page, parameters: parameters) == 500)
    }

    @Test func aServerErrorCarriesInputAndCause() async throws {
        let transport = RawTransport()
        try Library().registerHandlers(on: transport)
        let error = await #expect(throws: ServerError.self) { try await transport.send(.get, "/books") }
        #expect(error?.operationID == "listBooks")
        #expect(error?.operationInput as? Operations.ListBooks.Input == .init())
        #expect(error?.underlyingError is Library.UnexpectedCall)
        #expect(error?.httpStatus == .internalServerError)
    }

    @Test func handlersAreRegisteredUnderThePathOfTheServer() throws {
        let transport = RawTransport()
        try Library().registerHandlers(on: transport, serverURL: Servers.Server1.url())
        #expect(
            transport.routes == [
                "DELETE /v1/books/{bookID}/pages/{page}.txt", "GET /v1/books",
                "GET /v1/books/{bookID}/pages/{page}.txt",
                "POST /v1/books", "POST /v1/covers", "POST /v1/members", "POST /v1/notes", "POST /v1/search/{scope}",
                "PUT /v1/books/{bookID}/pages/{page}.txt", "PUT /v1/shelves",
            ]
        )
    }

    @Test func datesFollowTheConfiguration() async throws {
        let configuration = Configuration(dateTranscoder: .iso8601WithFractionalSeconds, jsonEncodingOptions: [])
        let date = Date(timeIntervalSince1970: 1_700_000_000.25)
        var book: Components.Schemas.Book = book
        book.published = date
        book.loans = [date, date]
        let sent: Components.Schemas.Book = book
        let client: Client = try Library(add: { input in
            guard case .json(let received) = input.body else { throw Library.UnexpectedCall() }
            #expect(received.published == date && received.loans == [date, date])
            return .created(.init(body: .json(received)))
        }).client(configuration: configuration)
        let received = try await client.addBook(body: .json(sent)).created.body.json
        #expect(received.published == date)
    }

    // MARK: Calls

    @Test func aClientIsUsableAsTheProtocol() async throws {
        let client: any APIProtocol = try Library(list: { _ in .notFound }).client()
        let call: @Sendable (Operations.ListBooks.Input) async throws -> Operations.ListBooks.Output = client.listBooks
        #expect(try await call(.init()) == .notFound)
    }

    @Test func overriddenNamesAreUsedAsTheyAre() async throws {
        let everything = Components.Schemas.Everything(closed: .init(a: 1), reader: "r")
        let client: Client = try Library(find: { input in
            guard case .json(let body)? = input.body else { throw Library.UnexpectedCall() }
            return .ok(.init(body: .json(body)))
        }).client()
        #expect(Operations.locate.id == "find_it")
        #expect(try await client.locate(body: .json(everything)).ok.body.json == everything)
    }

    @Test func serverAddressesComeFromTheDocument() throws {
        #expect(try Servers.Server1.url().absoluteString == "https://library.example.com/v1")
        #expect(try Servers.Server2.url().absoluteString == "https://north.example.com:443/v1")
        #expect(
            try Servers.Server2.url(region: .south, port: "8443").absoluteString == "https://south.example.com:8443/v1"
        )
    }

    @Test func everyFailingStageSaysSo() async throws {
        struct Failing: ClientTransport {
            func send(
                _ request: HTTPRequest,
                body: HTTPBody?,
                baseURL: URL,
                operationID: String
            ) async throws -> (HTTPResponse, HTTPBody?) {
                throw Library.UnexpectedCall()
            }
        }
        let client = Client(serverURL: try Servers.Server1.url(), transport: Failing())
        let error = await #expect(throws: ClientError.self) { try await client.listBooks() }
        #expect(error?.underlyingError is Library.UnexpectedCall)
        #expect(error?.causeDescription == "The transport threw an error")
        #expect(error?.request?.path == "/books")
        #expect(error?.operationInput as? Operations.ListBooks.Input == .init())
        #expect(error?.response == nil)
    }

    @Test func aBufferedRangeLeavesOtherSuccessesAlone() {
        let generation = Generation(
            document: """
                openapi: 3.1.0
                info: {title: Test, version: "1"}
                paths:
                  /a:
                    get:
                      operationId: a
                      responses:
                        2XX: {description: JSON., content: {application/json: {}}}
                        '204': {description: Nothing.}
                        default: {description: Anything., content: {application/json: {}}}
                """,
            modes: [.client]
        ) { $0.bufferedResponses = .all }
        #expect(generation.errors == [])
        #expect(
            generation.contains(
                """
                switch response.statusCode {
                case 204:
                return .other(try decode(response))
                case 200...299:
                return .successful(statusCode: response.statusCode, try response.buffered("application/json", headers: response.headerFields, for: call))
                default:
                return .other(try decode(response))
                }
                """,
                in: "Client.swift"
            )
        )
    }
}
