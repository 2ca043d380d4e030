import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import Synchronization
import Testing

/// The order of the middlewares of both sides during a call.
struct MiddlewareOrderTests {

    @Test func theFirstMiddlewareIsTheOutermostOnBothSides() async throws {
        let journal = Journal()
        let transport = InProcessTransport()
        let server = UniversalServer(
            serverURL: .defaultOpenAPIServerURL,
            handler: journal,
            configuration: .init(),
            middlewares: [Noting(name: "server 1", journal: journal), Noting(name: "server 2", journal: journal)]
        )
        try server.register(
            on: transport,
            operationID: "op",
            method: .get,
            path: "/moved/pets",
            decode: { _ in },
            handle: { journal, _ in journal.note("handler") },
            encode: { _, response in response.setStatus(204) }
        )
        let client = UniversalClient(
            serverURL: try #require(URL(string: "https://pets.test")),
            configuration: .init(),
            transport: transport,
            middlewares: [
                Noting(name: "client 1", journal: journal), Moving(path: "moved"),
                Noting(name: "client 2", journal: journal),
            ]
        )
        let status = try await client.send(
            (),
            operationID: "op",
            method: .get,
            encode: { _, request in request.addPath("/pets") },
            decode: { $0.statusCode }
        )
        #expect(status == 204)
        #expect(
            journal.lines.withLock { $0 } == [
                "client 1 sends op /pets to https://pets.test", "client 2 sends op /pets to https://pets.test/moved",
                "server 1 receives op /moved/pets", "server 2 receives op /moved/pets", "handler",
                "server 2 answers 204",
                "server 1 answers 204", "client 2 receives 204", "client 1 receives 204",
            ]
        )
    }
}

private final class Journal: Sendable {

    let lines = Mutex<[String]>([])

    func note(_ line: String) { lines.withLock { $0.append(line) } }
}

/// Records the requests and responses.
private struct Noting: ClientMiddleware, ServerMiddleware {

    let name: String
    let journal: Journal

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: @concurrent @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
        journal.note("\(name) sends \(operationID) \(request.path ?? "") to \(baseURL)")
        let (response, body) = try await next(request, body, baseURL)
        journal.note("\(name) receives \(response.status.code)")
        return (response, body)
    }

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        operationID: String,
        next:
            @concurrent @Sendable (HTTPRequest, HTTPBody?, ServerRequestMetadata) async throws -> (
                HTTPResponse, HTTPBody?
            )
    ) async throws -> (HTTPResponse, HTTPBody?) {
        journal.note("\(name) receives \(operationID) \(request.path ?? "")")
        let (response, body) = try await next(request, body, metadata)
        journal.note("\(name) answers \(response.status.code)")
        return (response, body)
    }
}

/// Sends requests to a path below the base URL.
private struct Moving: ClientMiddleware {

    let path: String

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await next(request, body, baseURL.appending(path: path))
    }
}
