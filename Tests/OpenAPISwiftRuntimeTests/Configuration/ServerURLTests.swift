import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Testing

struct ServerURLTests {

    @Test func theDefaultIsTheRoot() {
        #expect(URL.defaultOpenAPIServerURL.absoluteString == "/")
    }

    @Test(arguments: ["https://example.com/v1", "/api", "http://[::1]:8080/"])
    func serverURLsStayAsTheyAre(text: String) throws {
        #expect(try URL(validatingOpenAPIServerURL: text).absoluteString == text)
    }

    @Test func textThatIsNoURLStandsFor404() {
        let error = #expect(throws: InvalidServerURLError.self) { try URL(validatingOpenAPIServerURL: "") }
        #expect(error?.text == "")
        #expect(error?.httpStatus == .notFound)
    }

    @Test(
        arguments: [
            ("https://example.com", "/pets?a=%2F", "/pets?a=%2F"),
            ("https://example.com/", "/pets", "/pets"),
            ("https://example.com/v1", "/pets/a%2Fb", "/v1/pets/a%2Fb"),
            ("https://example.com/v1/", "/pets", "/v1/pets"),
            ("https://example.com/a%20b", "/pets", "/a%20b/pets"),
            ("https://example.com/v1", "?q=1", "/v1?q=1"),
            ("https://example.com/v1", nil, "/v1"),
            ("https://example.com", nil, "/"),
            ("https://example.com", "pets", "/pets"),
            ("/", "/pets", "/pets"),
        ] as [(String, String?, String)]
    )
    func pathsAreJoinedAsTheyAre(base: String, path: String?, expected: String) throws {
        let url = try #require(URL(string: base))
        #expect(url.requestTarget(appending: path) == expected)
    }

    @Test(
        arguments: [
            ("https://example.com/v1", "example.com"), ("http://127.0.0.1:80/", "127.0.0.1:80"),
            ("http://[::1]:8080/", "[::1]:8080"), ("/v1", nil),
        ] as [(String, String?)]
    )
    func theAuthorityIsHostAndPort(url: String, expected: String?) throws {
        #expect(try #require(URL(string: url)).authority == expected)
    }
}
