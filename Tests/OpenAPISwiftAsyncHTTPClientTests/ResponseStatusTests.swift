import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOHTTP1
import OpenAPISwiftRuntime
import Testing

@testable import OpenAPISwiftAsyncHTTPClient

/// The status of a response, which can be any number over HTTP/2.
struct ResponseStatusTests {

    private func status(of code: Int) throws -> HTTPResponse.Status {
        let url = try #require(URL(string: "https://example.com:8443/v1"))
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        let response = HTTPClientResponse(version: .http2, status: HTTPResponseStatus(statusCode: code))
        return try response.httpResponse(to: request, from: url).0.status
    }

    @Test(arguments: [100, 200, 404, 599, 600, 999])
    func aStatusIsHandedOnAsItIs(code: Int) throws {
        #expect(try status(of: code).code == code)
    }

    @Test(arguments: [0, 99, 1000, Int.max])
    func aNumberThatIsNoStatusThrows(code: Int) {
        let error = #expect(throws: TransportError.self) { try status(of: code) }
        #expect(error?.code == .connectionLost)
        #expect(error?.message == "example.com:8443 responded with \(code), which is not an HTTP status.")
    }
}
