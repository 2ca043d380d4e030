import HTTPTypes
import OpenAPISwiftRuntime
import Testing

/// What the pages say without Swift.
struct ClaimTests {
    /// The table of "Serving".
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
}
