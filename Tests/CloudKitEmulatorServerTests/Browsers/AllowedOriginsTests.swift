import HTTPTypes
import Testing

@testable import CloudKitEmulatorServer

/// The decisions about origins and hosts, without a server.
struct AllowedOriginsTests {
    @Test(arguments: [
        "http://localhost", "http://localhost:3000", "https://LOCALHOST:3000", "http://app.localhost:1",
        "http://127.0.0.1:8181", "http://127.1.2.3", "http://[::1]:8080",
    ])
    func pagesOfThisMachineAreAllowed(_ origin: String) {
        #expect(AllowedOrigins.loopback.allows(origin))
    }

    @Test(arguments: [
        "https://example.com", "http://localhost.example.com", "http://127.0.0.1.example.com", "http://evillocalhost",
        "http://192.168.1.5:3000", "http://[::2]", "http://128.0.0.1", "http://127.0.0.1:99999", "http://0.0.0.0:3000",
        "null", "", "localhost:3000", "http://", "http://localhost/path", "http://localhost@example.com",
        "http://localhost, http://example.com", "file://", "app://localhost", "http://127.0.0",
        "http://[::1].example.com",
    ])
    func pagesOfOtherHostsAreNotAllowed(_ origin: String) {
        #expect(!AllowedOrigins.loopback.allows(origin))
    }

    @Test func originsAreAddedByName() throws {
        let origins = try AllowedOrigins(["https://App.example:443", "http://192.168.1.5:3000"])
        #expect(origins.allows("https://app.example"))
        #expect(origins.allows("http://192.168.1.5:3000"))
        #expect(origins.allows("http://localhost:3000"))
        for other in ["http://app.example", "https://app.example:444", "https://sub.app.example", "null"] {
            #expect(!origins.allows(other), "\(other)")
        }
        #expect(try AllowedOrigins(["null"]).allows("null"))
        #expect(try AllowedOrigins(["*"]).allows("https://other.example"))
        #expect(try AllowedOrigins(["*"]).allows("capacitor://localhost"))
        for text in ["app.example", "https://app.example/", "https://", "", "ftp://app.example", "https://a b"] {
            #expect(throws: OriginError(text: text)) { try AllowedOrigins([text]) }
        }
    }

    @Test func aRequestComesFromAProgramAnAllowedPageOrAForeignOne() {
        func origin(_ fields: HTTPFields) -> RequestOrigin {
            var request = HTTPRequest(method: .get, scheme: "http", authority: "10.0.0.1:8181", path: "/")
            request.headerFields = fields
            return RequestOrigin(of: request, allowing: .loopback)
        }
        #expect(origin([:]) == .program)
        #expect(origin([.secFetchSite: "none"]) == .program)
        #expect(origin([.secFetchSite: "same-origin"]) == .program)
        #expect(origin([.secFetchSite: "cross-site"]) == .foreignSite)
        #expect(origin([.origin: "http://10.0.0.1:8181"]) == .allowed("http://10.0.0.1:8181"))
        #expect(origin([.origin: "http://10.0.0.1:3000"]) == .foreign("http://10.0.0.1:3000"))
        #expect(origin([.origin: "http://localhost:1", .secFetchSite: "cross-site"]) == .allowed("http://localhost:1"))
        #expect(origin([.origin: "null"]) == .foreign("null"))
    }
}
