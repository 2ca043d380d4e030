import Foundation
import HTTPTypes
import Hummingbird
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import Synchronization
import Testing

/// Behaviour of Hummingbird's routes beside the operations. The tests of the client transport cover what all transports
/// share.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct HummingbirdTransportTests {

    @Test func routesOfHummingbirdStayInReach() async throws {
        let router = Router()
        router.get("before") { _, _ in "before" }
        let transport = HummingbirdTransport(router)
        try transport.registerText("operation", method: .get, path: "/pets/{petId}")
        try transport.registerText("operation", method: .get, path: "/pets/{id}/toys")
        router.get("after") { _, _ in "after" }
        // Another method of a path that the transport knows.
        router.post("pets/{petId}") { _, context in "alias \(try context.parameters.require("petId"))" }
        router.delete("pets/{petId}") { _, _ -> String in throw HTTPError(.notFound) }

        try await withRunningServer(of: router) { url async throws in
            #expect(try await answer(.get, "/before", at: url) == "200 before")
            #expect(try await answer(.get, "/after", at: url) == "200 after")
            #expect(try await answer(.get, "/pets/1", at: url) == "200 operation")
            #expect(try await answer(.get, "/pets/1/toys", at: url) == "200 operation")
            #expect(try await answer(.post, "/pets/1", at: url) == "200 alias 1")
            #expect(try await answer(.delete, "/pets/1", at: url) == "404")
            #expect(try await answer(.put, "/pets/1", at: url) == "405 allow: GET")
            #expect(try await answer(.get, "/pets", at: url) == "404")
        }
    }

    @Test func middlewaresAddedBeforeSeeOperationsAndTheirTemplate() async throws {
        let seen = Seen()
        let router = Router()
        router.add(middleware: Recorder(name: "before", seen: seen))
        let transport = HummingbirdTransport(router)
        router.add(middleware: Recorder(name: "after", seen: seen))
        try transport.registerText("operation", method: .get, path: "/pets/{petId}")
        router.get("other") { _, _ in "other" }

        try await withRunningServer(of: router) { url async throws in
            #expect(try await answer(.get, "/pets/1", at: url) == "200 operation")
            #expect(try await answer(.get, "/other", at: url) == "200 other")
        }
        #expect(seen.lines.withLock { $0 } == ["before /pets/{petId}", "after /other", "before /other"])
    }

    @Test func anErrorOfHummingbirdKeepsItsStatus() async throws {
        let router = Router()
        let transport = HummingbirdTransport(router)
        try transport.register({ _, _, _ in throw HTTPError(.conflict) }, method: .get, path: "/plain")
        try transport.register(
            { request, _, metadata in
                throw ServerError(
                    operationID: "op",
                    request: request,
                    requestBody: nil,
                    requestMetadata: metadata,
                    causeDescription: "the handler failed",
                    underlyingError: HTTPError(.conflict)
                )
            },
            method: .get,
            path: "/wrapped"
        )
        try await withRunningServer(of: router) { url async throws in
            #expect(try await answer(.get, "/plain", at: url) == "409")
            #expect(try await answer(.get, "/wrapped", at: url) == "409")
        }
    }

    @Test func aHandlerMayAnswerBeforeTheRequestHasArrived() async throws {
        let router = Router()
        try HummingbirdTransport(router).registerText("enough", method: .post, path: "/upload")
        try await withRunningServer(of: router) { url async throws in
            let (stream, sender) = AsyncStream<HTTPBody.ByteChunk>.makeStream()
            sender.yield([1, 2, 3])
            let body = HTTPBody(stream, length: .unknown)
            let (response, text) = try await send(.post, "/upload", body: body, at: url)
            #expect(response.status == .ok)
            sender.finish()
            #expect(try await String(collecting: #require(text), upTo: 100) == "enough")
        }
    }

    // MARK: Connections

    /// The statuses of the responses in the text of a connection.
    private func statuses(_ text: String) -> [String] {
        text.components(separatedBy: "HTTP/1.1 ").dropFirst().map { String($0.prefix(3)) }
    }

    @Test func aConnectionServesTheNextRequestWhateverAHandlerLeftUnread() async throws {
        for isWatched in [false, true] {
            func ask(_ url: URL) async throws {
                let upload =
                    "POST /upload HTTP/1.1\r\nhost: h\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nHello"
                let last = "GET /last HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
                let answer = try await rawAnswer(to: upload + upload + last, at: url)
                #expect(statuses(answer) == ["200", "200", "200"])
                #expect(answer.hasSuffix("last"))
            }
            if isWatched {
                let router = Router(context: OperationRequestContext.self)
                let transport = HummingbirdTransport(router)
                try transport.registerText("enough", method: .post, path: "/upload")
                try transport.registerText("last", method: .get, path: "/last")
                try await withRunningServer(of: router) { url async throws in try await ask(url) }
            } else {
                let router = Router()
                let transport = HummingbirdTransport(router)
                try transport.registerText("enough", method: .post, path: "/upload")
                try transport.registerText("last", method: .get, path: "/last")
                try await withRunningServer(of: router) { url async throws in try await ask(url) }
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func aClientThatLeavesWithItsRequestCancelsTheHandler() async throws {
        let router = Router(context: OperationRequestContext.self)
        try HummingbirdTransport(router).register(
            { _, _, _ in
                // Ends only when the client disconnects.
                let (stream, sender) = AsyncStream<Void>.makeStream()
                defer { sender.finish() }
                for await _ in stream {}
                return (HTTPResponse(status: .ok), HTTPBody(Task.isCancelled ? "cancelled" : "not cancelled"))
            },
            method: .get,
            path: "/wait"
        )
        try await withRunningServer(of: router) { url async throws in
            for _ in 0..<20 {
                let request = "GET /wait HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
                let answer = try await rawAnswer(to: request, at: url, endsInput: true)
                // In most cases the request and its end arrive together.
                #expect(answer.isEmpty || answer.hasSuffix("cancelled"))
                #expect(!answer.hasSuffix("not cancelled"))
            }
        }
    }

    @Test func whatIsNoRequestIsAnsweredByBadRequestAndTheEndOfTheConnection() async throws {
        let router = Router()
        try HummingbirdTransport(router).registerText("pet", method: .get, path: "/pet")
        try await withRunningServer(of: router) { url async throws in
            let good = "GET /pet HTTP/1.1\r\nhost: h\r\n\r\n"
            #expect(statuses(try await rawAnswer(to: "nonsense\r\n\r\n", at: url)) == ["400"])
            // Bytes after a request are the next request.
            #expect(statuses(try await rawAnswer(to: good + "trailing\r\n\r\n", at: url)) == ["200", "400"])
            // The server still works.
            #expect(try await answer(.get, "/pet", at: url) == "200 pet")
        }
    }

    @Test func headersMayBeLargeButNotWithoutEnd() async throws {
        let router = Router()
        try HummingbirdTransport(router).register(
            { request, _, _ in
                (HTTPResponse(status: .ok), HTTPBody("\(request.headerFields[.init("x-large")!]?.count ?? 0)"))
            },
            method: .get,
            path: "/pet"
        )
        try await withRunningServer(of: router) { url async throws in
            func request(_ count: Int) -> String {
                let value = String(repeating: "x", count: count)
                return "GET /pet HTTP/1.1\r\nhost: h\r\nconnection: close\r\nx-large: \(value)\r\n\r\n"
            }
            let large = try await rawAnswer(to: request(60_000), at: url)
            #expect(statuses(large) == ["200"])
            #expect(large.hasSuffix("60000"))
            #expect(statuses(try await rawAnswer(to: request(200_000), at: url)) == ["400"])
        }
    }

    @Test func methodsWithoutAHandlerAreToldWhatThereIs() async throws {
        let router = Router()
        let transport = HummingbirdTransport(router)
        try transport.registerText("pet", method: .get, path: "/pet")
        try transport.registerText("options", method: .options, path: "/other")
        try await withRunningServer(of: router) { url async throws in
            #expect(try await answer(.options, "/pet", at: url) == "405 allow: GET")
            #expect(try await answer(.head, "/pet", at: url) == "405 allow: GET")
            #expect(try await answer(.options, "/other", at: url) == "200 options")
        }
    }

    @Test func aBrokenRouteIsRefusedOnRegistration() throws {
        let transport = HummingbirdTransport(Router())
        try transport.registerText("a", method: .get, path: "/pets/{petId}")
        let twice = #expect(throws: RouteError.self) {
            try transport.registerText("b", method: .get, path: "/pets/{id}")
        }
        #expect(twice?.code == .alreadyRegistered)
        let malformed = #expect(throws: RouteError.self) {
            try transport.registerText("b", method: .get, path: "/pets/{id")
        }
        #expect(malformed?.code == .malformedTemplate)
    }

    @Test func theServerStopsWithItsClosureAndCancelsItsHandlers() async throws {
        let (started, start) = AsyncStream<Void>.makeStream()
        let (cancelled, cancellation) = AsyncStream<Void>.makeStream()
        let router = Router()
        try HummingbirdTransport(router).register(
            { _, _, _ in
                start.yield()
                do {
                    // Waits until it is cancelled.
                    try await Task.sleep(for: .seconds(3600))
                } catch {
                    cancellation.yield()
                }
                return (HTTPResponse(status: .ok), nil)
            },
            method: .get,
            path: "/slow"
        )
        let call = try await withRunningServer(of: router, limits: ServerLimits(shutdownTimeout: .zero)) {
            url async throws in
            let call = Task { try await send(.get, "/slow", at: url).0.status }
            var iterator = started.makeAsyncIterator()
            await iterator.next()
            return call
        }
        var iterator = cancelled.makeAsyncIterator()
        #expect(await iterator.next() != nil)
        // The handler's late response may still have found the connection open.
        if case .failure(let error) = await call.result {
            #expect((error as? TransportError)?.code == .connectionLost)
        }
    }

    @Test func aServerThatCannotListenThrows() async throws {
        try await withRunningServer(of: Router()) { url async throws in
            let port = try #require(url.port)
            await #expect(throws: (any Error).self) {
                try await withRunningServer(of: Router(), port: port) { _ in }
            }
        }
    }

    // MARK: Requests

    private func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        body: HTTPBody? = nil,
        at url: URL
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
        return try await AsyncHTTPClientTransport().send(request, body: body, baseURL: url, operationID: "test")
    }

    /// Status, body and `allow` of a response, as far as it has them.
    private func answer(_ method: HTTPRequest.Method, _ path: String, at url: URL) async throws -> String {
        let (response, body) = try await send(method, path, at: url)
        var parts = ["\(response.status.code)"]
        if let body {
            let text = try await String(collecting: body, upTo: 1000)
            if !text.isEmpty { parts.append(text) }
        }
        if let allow = response.headerFields[.allow] { parts.append("allow: \(allow)") }
        return parts.joined(separator: " ")
    }
}

extension HummingbirdTransport {

    fileprivate func registerText(_ text: String, method: HTTPRequest.Method, path: String) throws {
        try register({ _, _, _ in (HTTPResponse(status: .ok), HTTPBody(text)) }, method: method, path: path)
    }
}

private final class Seen: Sendable {
    let lines = Mutex<[String]>([])
}

/// Records the template of the route of each request, as metrics and traces do.
private struct Recorder: RouterMiddleware {

    let name: String
    let seen: Seen

    func handle(
        _ request: Request,
        context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        seen.lines.withLock { $0.append("\(name) \(context.endpointPath ?? "none")") }
        return response
    }
}
