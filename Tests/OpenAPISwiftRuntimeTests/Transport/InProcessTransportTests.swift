import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Synchronization
import Testing

/// Behaviour of the in-process transport only. The tests of the client transport cover what all transports share.
struct InProcessTransportTests {

    private let baseURL = URL(string: "https://pets.test:8443/v1")

    @Test func theHandlerSeesTheRequestAsASocketWouldBringIt() async throws {
        let transport = InProcessTransport()
        try transport.register(
            { request, _, metadata in
                let parts = ["\(request.method)", request.scheme, request.authority, request.path, "\(metadata)"]
                let text = parts.map { $0 ?? "none" }.joined(separator: " ")
                return (HTTPResponse(status: .ok), HTTPBody(text))
            },
            method: .get,
            path: "/v1/pets/{petId}"
        )
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/pets/a%20b?q=1")
        let (_, body) = try await transport.send(request, body: nil, baseURL: #require(baseURL), operationID: "getPet")
        #expect(
            try await String(collecting: #require(body), upTo: 1000)
                == "GET https pets.test:8443 /v1/pets/a%20b?q=1 path parameters: [petId: a b]"
        )
    }

    @Test func bodiesAreHandedOverAsTheyAre() async throws {
        let transport = InProcessTransport()
        try transport.register(
            { _, body, _ in (HTTPResponse(status: .ok), body) },
            method: .post,
            path: "/v1/echo"
        )
        let request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/echo")
        let body: HTTPBody = "Hello"
        let (_, echo) = try await transport.send(request, body: body, baseURL: #require(baseURL), operationID: "echo")
        #expect(echo == body)
    }

    @Test func anUnhandledErrorIsReportedToTheObserver() async throws {
        struct Broken: Error {}
        let errors = Mutex<[String]>([])
        let transport = InProcessTransport { error in errors.withLock { $0.append("\(error)") } }
        try transport.register({ _, _, _ in throw Broken() }, method: .get, path: "/v1/broken")
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/broken")
        let (response, body) = try await transport.send(
            request,
            body: nil,
            baseURL: #require(baseURL),
            operationID: "x"
        )
        #expect(response == HTTPResponse(status: .internalServerError))
        #expect(body == nil)
        #expect(errors.withLock { $0 } == ["Broken()"])
    }

    @Test func aRouteIsTakenOnce() throws {
        let transport = InProcessTransport()
        try transport.register({ _, _, _ in (HTTPResponse(status: .ok), nil) }, method: .get, path: "/pets/{petId}")
        let error = #expect(throws: RouteError.self) {
            try transport.register({ _, _, _ in (HTTPResponse(status: .ok), nil) }, method: .get, path: "/pets/{id}")
        }
        #expect(error?.code == .alreadyRegistered)
    }

    @Test func aCancelledTaskSendsNothing() async throws {
        let transport = InProcessTransport()
        try transport.register(
            { _, _, _ in
                Issue.record("The handler was called.")
                return (HTTPResponse(status: .ok), nil)
            },
            method: .get,
            path: "/v1/pets"
        )
        let url = try #require(baseURL)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/pets")
            return try await transport.send(request, body: nil, baseURL: url, operationID: "x").0
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
