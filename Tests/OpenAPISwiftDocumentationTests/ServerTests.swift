import Foundation
import HTTPTypes
import Hummingbird
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import Testing

/// A server with the generated protocol.
struct ServerTests {
    private func serve() async throws {
        let router = Router()
        let transport = HummingbirdTransport(router)
        try Observatory().registerHandlers(
            on: transport,
            serverURL: Servers.Server1.url(),
            middlewares: [ErrorHandlingMiddleware()]
        )
        router.get("health") { _, _ in HTTPResponse.Status.ok }

        let app = Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 8080)))
        try await app.runService()
        // GET /v1/sightings is answered by Observatory, GET /health by Hummingbird
    }

    @Test func errorsBecomeResponses() async throws {
        let transport = InProcessTransport()
        try Observatory().registerHandlers(on: transport, middlewares: [ErrorHandlingMiddleware()])

        func status(_ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields = [:], body: HTTPBody? = nil)
            async throws -> Int
        {
            var request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
            request.headerFields = fields
            let (response, _) = try await transport.send(
                request,
                body: body,
                baseURL: .defaultOpenAPIServerURL,
                operationID: ""
            )
            return response.status.code
        }

        #expect(try await status(.get, "/sightings?limit=many") == 400)
        #expect(try await status(.get, "/sightings/17", [.accept: "text/html"]) == 404)
        #expect(try await status(.get, "/sightings", [.accept: "text/html"]) == 406)
        #expect(try await status(.post, "/sightings", [.contentType: "text/html"], body: "<p>") == 415)
        #expect(try await status(.post, "/sightings", [.contentType: "application/json"], body: "[") == 400)
        #expect(try await status(.put, "/sightings") == 405)
        #expect(try await status(.get, "/nothing") == 404)
        let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        #expect(try await status(.post, "/logins", form, body: "name=Ada&password=guess") == 403)
    }

    @Test func aServerCanAcceptMoreThanTheDocument() async throws {
        let transport = InProcessTransport()
        try Observatory().registerHandlers(on: transport, configuration: Configuration(lenientReading: .all))
        // GET /sightings?limit=   is answered as GET /sightings; by default, it is answered by 400
        let (response, _) = try await transport.send(
            HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/sightings?limit="),
            body: nil,
            baseURL: .defaultOpenAPIServerURL,
            operationID: ""
        )
        #expect(response.status == .ok)
    }

    @Test func handlersAreGivenTheCaller() async throws {
        let keys = Keys(names: ["Bearer 2": "Ada"])
        let transport = InProcessTransport()

        try Archive().registerHandlers(
            on: transport,
            middlewares: [ErrorHandlingMiddleware()],
            context: { call in try keys.caller(of: call.request) }
        )
        // GET /sightings/17 without a key is answered by 401

        let client = Client(serverURL: .defaultOpenAPIServerURL, transport: transport)
        let refused = try await client.getSighting(path: .init(id: "17"))
        guard case .undocumented(401, let payload) = refused else {
            Issue.record("The answer is \(refused)")
            return
        }
        #expect(payload.headerFields[.wwwAuthenticate] == "Bearer")
    }

    @Test func operationsAreCalledWithAContext() async throws {
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/sightings/17")
        let caller = Caller(name: "Ada")

        let operations = try Archive().operations(middlewares: [ErrorHandlingMiddleware()])
        var router = PathRouter<ServerOperation<Caller>>()
        for operation in operations {
            try router.add(operation, method: operation.method, template: operation.path)
        }
        guard case .found(let operation, _, let parameters) = router.match(request.method, request.path ?? "/") else {
            throw Refusal(reason: "There is nothing at that path.")
        }
        let (response, _) = try await operation.respond(
            to: request,
            body: nil,
            metadata: ServerRequestMetadata(pathParameters: parameters),
            context: caller
        )

        #expect(response.status == .ok)
    }
}
