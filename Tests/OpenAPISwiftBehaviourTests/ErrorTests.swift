import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Synchronization
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An error that only this test throws.
private struct Oops: Error, Equatable {
    var text: String = "oops"
}

/// A failure that defines its whole response.
private struct Teapot: Error, HTTPResponseConvertible {
    var httpStatus: HTTPResponse.Status { .init(code: 418) }
    var httpHeaderFields: HTTPFields { [.retryAfter: "1"] }
    var httpBody: HTTPBody? { "short and stout" }
}

/// A failure that defines only its status.
private struct Gone: Error, HTTPResponseConvertible {
    var httpStatus: HTTPResponse.Status { .gone }
}

/// A middleware made of closures.
private struct Between: ClientMiddleware, ServerMiddleware {
    var before: @Sendable (inout HTTPRequest, inout URL) async throws -> Void = { _, _ in }
    var after: @Sendable (inout HTTPResponse) async throws -> Void = { _ in }

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: ClientMiddleware.Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var request: HTTPRequest = request
        var baseURL: URL = baseURL
        try await before(&request, &baseURL)
        var (response, body) = try await next(request, body, baseURL)
        try await after(&response)
        return (response, body)
    }

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        operationID: String,
        next: ServerMiddleware.Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var request: HTTPRequest = request
        var unused: URL = .defaultOpenAPIServerURL
        try await before(&request, &unused)
        var (response, body) = try await next(request, body, metadata)
        try await after(&response)
        return (response, body)
    }
}

/// A transport that is a closure.
private struct Sending: ClientTransport {
    var answer: @Sendable (HTTPRequest, URL, String) async throws -> (HTTPResponse, HTTPBody?)

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await answer(request, baseURL, operationID)
    }
}

/// The error of a failed call.
struct ClientErrorTests {
    private let baseURL: URL = URL(string: "https://ground.example.com/v1")!

    private func client(
        _ transport: any ClientTransport,
        middlewares: [any ClientMiddleware] = []
    ) -> Client {
        Client(serverURL: baseURL, transport: transport, middlewares: middlewares)
    }

    private func failure(
        _ transport: any ClientTransport,
        middlewares: [any ClientMiddleware] = []
    ) async throws -> ClientError {
        let client: Client = client(transport, middlewares: middlewares)
        return try #require(
            await #expect(throws: ClientError.self) {
                try await client.query(query: .init(text: "t"))
            }
        )
    }

    @Test func anInputThatCannotBeWrittenFailsBeforeTheRequest() async throws {
        let error = try #require(
            await #expect(throws: ClientError.self) {
                try await client(Wire()).queryNested(query: .init(matrix: [[1]]))
            }
        )
        #expect(error.operationID == "queryNested")
        #expect(error.operationInput as? Operations.queryNested.Input == .init(query: .init(matrix: [[1]])))
        #expect(error.baseURL == baseURL)
        #expect(error.request == nil && error.requestBody == nil && error.response == nil && error.responseBody == nil)
    }

    @Test func anInfiniteNumberCannotBeWrittenAsJSON() async throws {
        let wire = Wire()
        let error = await #expect(throws: ClientError.self) {
            try await wire.client().patchOptional(body: .json(.init(text: "t", weight: .infinity)))
        }
        #expect(error?.request == nil)
        #expect(wire.isSilent)
    }

    @Test func aFailureOfTheTransportCarriesTheRequest() async throws {
        let error = try await failure(Sending { _, _, _ in throw Oops() })
        #expect(error.operationID == "query")
        #expect(error.operationInput as? Operations.query.Input == .init(query: .init(text: "t")))
        #expect(error.underlyingError as? Oops == Oops())
        #expect(error.request?.path == "/query?text=t")
        #expect(error.request?.method == .get)
        #expect(error.baseURL == baseURL)
        #expect(error.response == nil && error.responseBody == nil)
    }

    @Test func aFailureOfAMiddlewareBeforeTheRequestCarriesTheRequest() async throws {
        let wire = Wire()
        let error = try await failure(wire, middlewares: [Between(before: { _, _ in throw Oops() })])
        #expect(error.underlyingError as? Oops == Oops())
        #expect(error.request?.path == "/query?text=t")
        #expect(error.response == nil)
        #expect(wire.isSilent)
    }

    @Test func aFailureOfAMiddlewareAfterTheResponseKeepsItsError() async throws {
        let wire = Wire()
        let error = try await failure(wire, middlewares: [Between(after: { _ in throw Oops() })])
        #expect(error.underlyingError as? Oops == Oops())
        #expect(error.request?.path == "/query?text=t")
        #expect(!wire.isSilent)
    }

    @Test func aFailureToReadTheResponseCarriesTheResponse() async throws {
        let wire = Wire(200, [.contentType: "application/json"], "{")
        let error = try #require(
            await #expect(throws: ClientError.self) { try await client(wire).failing() }
        )
        #expect(error.request?.path == "/failures")
        #expect(error.response?.status == .ok)
        #expect(try await text(error.responseBody) == "{")
        #expect(error.baseURL == baseURL)
        #expect(!(error.underlyingError is ClientError))
    }

    @Test func aClientErrorOfAMiddlewarePassesThrough() async throws {
        let thrown = ClientError(
            operationID: "other",
            operationInput: 7,
            causeDescription: "because",
            underlyingError: Oops(text: "inner")
        )
        let error = try await failure(Wire(), middlewares: [Between(before: { _, _ in throw thrown })])
        #expect(error.causeDescription == "because")
        #expect(error.underlyingError as? Oops == Oops(text: "inner"))
    }

    @Test func aMiddlewareCanAnswerInsteadOfTheTransport() async throws {
        struct Cache: ClientMiddleware {
            func intercept(
                _ request: HTTPRequest,
                body: HTTPBody?,
                baseURL: URL,
                operationID: String,
                next: ClientMiddleware.Next
            ) async throws -> (HTTPResponse, HTTPBody?) {
                (HTTPResponse(status: .noContent), nil)
            }
        }
        let wire = Wire(500)
        #expect(try await client(wire, middlewares: [Cache()]).query() == .noContent)
        #expect(wire.isSilent)
    }

    @Test func aMiddlewareCanTryAgain() async throws {
        struct Retry: ClientMiddleware {
            func intercept(
                _ request: HTTPRequest,
                body: HTTPBody?,
                baseURL: URL,
                operationID: String,
                next: ClientMiddleware.Next
            ) async throws -> (HTTPResponse, HTTPBody?) {
                do { return try await next(request, body, baseURL) } catch {
                    return try await next(request, body, baseURL)
                }
            }
        }
        let log = Log()
        let flaky = Sending { _, _, _ in
            log.add("try")
            if log.lines.count == 1 { throw Oops() }
            return (HTTPResponse(status: .noContent), nil)
        }
        #expect(try await client(flaky, middlewares: [Retry()]).query() == .noContent)
        #expect(log.lines.count == 2)
    }

    @Test func aCancelledCallEndsInAnError() async throws {
        let client: Client = client(
            Sending { _, _, _ in
                try await Task.sleep(for: .seconds(600))
                return (HTTPResponse(status: .noContent), nil)
            }
        )
        let task = Task { try await client.query() }
        task.cancel()
        let error = await #expect(throws: ClientError.self) { try await task.value }
        #expect(error?.underlyingError is CancellationError)
    }

    // MARK: Order

    @Test func theFirstClientMiddlewareIsOutermost() async throws {
        let log = Log()
        func named(_ name: String) -> Between {
            Between(before: { _, _ in log.add("> \(name)") }, after: { _ in log.add("< \(name)") })
        }
        _ = try await client(Wire(), middlewares: [named("a"), named("b"), named("c")]).query()
        #expect(log.lines == ["> a", "> b", "> c", "< c", "< b", "< a"])
    }

    @Test func middlewaresChangeRequestBaseURLAndResponse() async throws {
        let elsewhere: URL = URL(string: "http://localhost:8080/v2")!
        let outer = Between(before: { _, url in url = elsewhere })
        let inner = Between(
            before: { request, url in
                #expect(url == elsewhere)
                request.headerFields[.authorization] = "Bearer b"
            },
            after: { response in response.status = .init(code: 299) }
        )
        let transport = Sending { request, url, operation in
            #expect(url == elsewhere)
            #expect(request.headerFields == [.authorization: "Bearer b"])
            #expect(operation == "query")
            return (HTTPResponse(status: .noContent), nil)
        }
        let output = try await client(transport, middlewares: [outer, inner]).query()
        #expect(caseName(output) == "undocumented")
    }

    @Test func theTransportGetsTheBaseURLUntouchedAndThePathApart() async throws {
        let expected: URL = baseURL
        let transport = Sending { request, url, operation in
            #expect(url == expected)
            #expect(request.path == "/names/a%2Fb")
            #expect(request.scheme == nil && request.authority == nil)
            #expect(operation == "getName")
            return (HTTPResponse(status: .noContent), nil)
        }
        #expect(try await client(transport).getName(path: .init(name: "a/b")) == .noContent)
    }
}

/// Lines in the order in which they were added.
private final class Log: Sendable {
    private let all = Mutex<[String]>([])
    func add(_ line: String) { all.withLock { $0.append(line) } }
    var lines: [String] { all.withLock { $0 } }
}

/// The responses of a server to failures.
struct ServerErrorTests {
    private func raw(
        _ handlers: Handlers,
        _ method: HTTPRequest.Method,
        _ target: String,
        _ fields: HTTPFields = [:],
        _ body: HTTPBody? = nil,
        middlewares: [any ServerMiddleware] = []
    ) async throws -> ServerError {
        let kept = Failures()
        let transport = InProcessTransport(onUnhandledError: { kept.add($0) })
        try Service(handlers: handlers).registerHandlers(on: transport, middlewares: middlewares)
        let (response, _) = try await transport.send(
            HTTPRequest(method: method, scheme: nil, authority: nil, path: target, headerFields: fields),
            body: body,
            baseURL: .defaultOpenAPIServerURL,
            operationID: ""
        )
        #expect(response.status == .internalServerError)
        return try #require(kept.only as? ServerError)
    }

    // MARK: With the middleware

    static let refusals: [(HTTPRequest.Method, String, HTTPFields, HTTPBody?, Int)] = [
        (.get, "/query?whole=x", [:], nil, 400), (.get, "/query?text", [:], nil, 400),
        (.get, "/query/required", [:], nil, 400), (.get, "/values/x/x/x/x/x", [:], nil, 400),
        (.get, "/headers/required", [:], nil, 400), (.get, "/negotiated", [.accept: "no type"], nil, 400),
        (.post, "/specimens", [:], nil, 400), (.post, "/specimens", [:], "{", 400),
        (.post, "/specimens", [:], "[]", 400), (.post, "/forms", [:], "name=n", 400),
        (.post, "/specimens", [.contentType: "text/plain"], "{}", 415),
        (.post, "/multipart", [.contentType: "multipart/form-data"], "--b--", 400),
        (.post, "/multipart", [.contentType: "text/plain"], "--b--", 415), (.get, "/nowhere", [:], nil, 404),
        (.put, "/query", [:], nil, 405), (.get, "/query", [:], nil, 500),
    ]

    @Test(arguments: refusals)
    func everyFailureHasItsStatus(
        method: HTTPRequest.Method,
        target: String,
        fields: HTTPFields,
        body: HTTPBody?,
        status: Int
    ) async throws {
        let answer = try await Handlers().answer(method, target, fields, body)
        #expect(answer == Message(start: "\(status)", fields: status == 405 ? ["allow": "GET"] : [:]))
    }

    @Test func aFailureThatKnowsItsAnswerIsAnsweredSo() async throws {
        let handlers = Handlers(query: { _ in throw Teapot() })
        #expect(
            try await handlers.answer(.get, "/query")
                == Message(start: "418", fields: ["retry-after": "1"], body: "short and stout")
        )
    }

    @Test func aFailureThatKnowsItsStatusHasNoFieldsAndNoBody() async throws {
        let handlers = Handlers(query: { _ in throw Gone() })
        #expect(try await handlers.answer(.get, "/query") == Message(start: "410"))
    }

    @Test func anAddressThatIsNoneIsNotFound() async throws {
        let handlers = Handlers(query: { _ in
            _ = try Servers.Server3.url(port: "a b")
            return .noContent
        })
        #expect(try await handlers.answer(.get, "/query") == Message(start: "404"))
    }

    @Test func aFailureOfAMiddlewareIsAnsweredLikeOneOfTheHandler() async throws {
        let teapot = Between(before: { _, _ in throw Teapot() })
        let answer = try await Handlers().answer(
            .get,
            "/query",
            middlewares: [ErrorHandlingMiddleware(), teapot]
        )
        #expect(answer.start == "418")
        let oops = Between(after: { _ in throw Oops() })
        let handlers = Handlers(query: { _ in .noContent })
        #expect(
            try await handlers.answer(.get, "/query", middlewares: [ErrorHandlingMiddleware(), oops])
                == Message(start: "500")
        )
    }

    @Test func middlewaresOutsideSeeTheAnswerOfTheErrorHandling() async throws {
        let outer = Between(after: { response in
            #expect(response.status.code == 410)
            response.headerFields[.server] = "ground"
        })
        let handlers = Handlers(query: { _ in throw Gone() })
        #expect(
            try await handlers.answer(.get, "/query", middlewares: [outer, ErrorHandlingMiddleware()])
                == Message(start: "410", fields: ["server": "ground"])
        )
    }

    // MARK: Without it

    @Test func aFailureOfTheHandlerCarriesInputAndCause() async throws {
        let error = try await raw(Handlers(query: { _ in throw Oops() }), .get, "/query?text=t")
        #expect(error.operationID == "query")
        #expect(error.operationInput as? Operations.query.Input == .init(query: .init(text: "t")))
        #expect(error.operationOutput == nil)
        #expect(error.underlyingError as? Oops == Oops())
        #expect(error.request.path == "/query?text=t")
        #expect(error.httpStatus == .internalServerError && error.httpHeaderFields == [:] && error.httpBody == nil)
    }

    @Test func aFailureToReadTheRequestHasNoInput() async throws {
        let error = try await raw(Handlers(), .get, "/names/n?")
        #expect(error.operationInput != nil)
        let unread = try await raw(Handlers(), .get, "/query?whole=x")
        #expect(unread.operationInput == nil && unread.operationOutput == nil)
        #expect(unread.httpStatus == .badRequest)
    }

    @Test func aFailureToWriteTheResponseCarriesInputAndOutput() async throws {
        let output = Operations.failing.Output.ok(.init(body: .json(.init(text: "t", weight: .nan))))
        let error = try await raw(Handlers(failing: { _ in output }), .get, "/failures")
        #expect(error.operationInput as? Operations.failing.Input == .init())
        #expect(error.operationOutput is Operations.failing.Output)
        #expect(error.httpStatus == .internalServerError)
    }

    @Test func thePathParametersAreKept() async throws {
        let error = try await raw(Handlers(), .get, "/names/a%2Fb")
        #expect(error.requestMetadata == ServerRequestMetadata(pathParameters: ["name": "a/b"]))
    }

    @Test func aServerErrorOfTheHandlerPassesThroughWithTheInput() async throws {
        let thrown = ServerError(
            operationID: "other",
            request: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/other"),
            requestBody: nil,
            requestMetadata: ServerRequestMetadata(),
            causeDescription: "because",
            underlyingError: Teapot()
        )
        let error = try await raw(Handlers(query: { _ in throw thrown }), .get, "/query?text=t")
        #expect(error.operationID == "other")
        #expect(error.causeDescription == "because")
        #expect(error.operationInput as? Operations.query.Input == .init(query: .init(text: "t")))
        #expect(error.httpStatus.code == 418)
    }

    @Test func aFailureOfAMiddlewareIsAServerErrorToo() async throws {
        let error = try await raw(Handlers(), .get, "/query", middlewares: [Between(before: { _, _ in throw Oops() })])
        #expect(error.underlyingError as? Oops == Oops())
        #expect(error.operationID == "query")
        #expect(error.operationInput == nil)
    }

    // MARK: Order

    @Test func theFirstServerMiddlewareIsOutermost() async throws {
        let log = Log()
        func named(_ name: String) -> Between {
            Between(before: { _, _ in log.add("> \(name)") }, after: { _ in log.add("< \(name)") })
        }
        let handlers = Handlers(query: { _ in
            log.add("handler")
            return .noContent
        })
        _ = try await handlers.answer(.get, "/query", middlewares: [named("a"), named("b")])
        #expect(log.lines == ["> a", "> b", "handler", "< b", "< a"])
    }

    @Test func middlewaresChangeTheRequestThatTheHandlerSees() async throws {
        let middleware = Between(before: { request, _ in request.path = "/query?text=changed" })
        let input = try await received(\.query, .get, "/query?text=t", middlewares: [middleware])
        #expect(input.query == .init(text: "changed"))
    }

    @Test func pluesInPathAndFragmentStayBehindTheNormalizingMiddleware() async throws {
        let input = try await received(
            \.getName,
            .get,
            "/names/a+b",
            middlewares: [QuerySpaceNormalizingMiddleware()]
        )
        #expect(input.path.name == "a+b")
    }

    private final class Failures: Sendable {
        private let all = Mutex<[any Error]>([])
        func add(_ error: any Error) { all.withLock { $0.append(error) } }
        var only: (any Error)? { all.withLock { $0.count == 1 ? $0[0] : nil } }
    }
}
