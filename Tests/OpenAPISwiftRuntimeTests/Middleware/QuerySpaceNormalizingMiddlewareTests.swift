import HTTPTypes
import OpenAPISwiftRuntime
import Testing

struct QuerySpaceNormalizingMiddlewareTests {

    @Test(arguments: [
        ("/a+b?q=c+d&e+f=%2B#g+h", "/a+b?q=c%20d&e%20f=%2B#g+h"),
        ("/a?q=c%20d", "/a?q=c%20d"),
        ("/a+b", "/a+b"),
        ("/a#b?c+d", "/a#b?c+d"),
        ("/a?+", "/a?%20"),
    ])
    func onlyPlusesInTheQueryChange(path: String, expected: String) async throws {
        let (response, _) = try await QuerySpaceNormalizingMiddleware().intercept(
            HTTPRequest(method: .get, scheme: nil, authority: nil, path: path),
            body: nil,
            metadata: .init(),
            operationID: "op"
        ) { request, _, _ in (HTTPResponse(status: .ok, headerFields: [.location: request.path ?? ""]), nil) }
        #expect(response.headerFields[.location] == expected)
    }
}
