import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import HTTPTypes
import Logging
import MistConsole
import MistKit
import MistTesting
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftRuntime
import StreamingJSON
import Synchronization
import Testing

/// The console in front of a service that does not serve it, over HTTP: an emulator that behaves like Apple's service.
@Suite(.timeLimit(.minutes(5)))
struct ConsoleProxyTests {
    /// A browser that keeps everything that it receives.
    private final class Browser: Sendable {
        struct Reply: Sendable {
            var status: Int
            var headerFields: HTTPFields
            var bytes: [UInt8]

            var text: String { String(decoding: bytes, as: UTF8.self) }
            var json: JSONValue { (try? JSONReader.read(JSONValue.self, from: bytes)) ?? .null }
        }

        let address: URL
        private let state = Mutex((cookie: "", received: ""))

        init(_ address: URL) {
            self.address = address
        }

        /// Everything received so far: heads and bodies.
        var received: String { state.withLock { $0.received } }

        func send(
            _ method: HTTPRequest.Method,
            _ path: String,
            _ body: [UInt8]? = nil,
            as identity: String? = nil,
            origin: String? = nil,
            host: String? = nil
        ) async throws -> Reply {
            var request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
            let cookie = state.withLock { $0.cookie }
            if !cookie.isEmpty { request.headerFields[.cookie] = cookie }
            request.headerFields[.origin] = origin ?? address.absoluteString
            request.headerFields[HTTPField.Name("X-MistKit-Act-As")!] = identity
            if body != nil { request.headerFields[.contentType] = "application/json" }
            let (response, reply) = try await AsyncHTTPClientTransport().send(
                request,
                body: body.map { HTTPBody($0) },
                baseURL: address,
                operationID: "browser"
            )
            let bytes = if let reply { try await [UInt8](collecting: reply, upTo: .max) } else { [] as [UInt8] }
            state.withLock { state in
                state.received +=
                    "\(response.status)\n\(response.headerFields)\n\(String(decoding: bytes, as: UTF8.self))\n"
                if let cookie = response.headerFields[.setCookie]?.split(separator: ";").first {
                    state.cookie = String(cookie)
                }
            }
            return Reply(status: response.status.code, headerFields: response.headerFields, bytes: bytes)
        }

        func ask(
            _ endpoint: String,
            in scope: String = "private",
            environment: String = "development",
            as identity: String = "user",
            _ body: String = "{}"
        ) async throws -> Reply {
            let path = "/database/1/\(ConsoleProxyTests.container)/\(environment)/\(scope)/\(endpoint)"
            return try await send(.post, path, Array(body.utf8), as: identity)
        }
    }

    fileprivate static let container = "iCloud.test.mistkit"

    private func withConsole(
        readOnly: Set<ContainerEnvironment> = [.production],
        password: String? = nil,
        _ body: (Browser, RunningEmulator, PageAccess, _ secrets: [String]) async throws -> Void
    ) async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            #expect(emulator.containerIdentifier == Self.container)
            let key = ServerToServerKey.generate()
            let keyID = try emulator.rules.registerServerKey(
                .pem(key.publicKeyPEM),
                for: Self.container,
                in: .development
            )
            let proxy = ConsoleProxy(
                .init(
                    address: emulator.serverURL,
                    isCloudKit: true,
                    container: Self.container,
                    environment: .development,
                    identities: [
                        .init(
                            "user",
                            title: "User",
                            databases: DatabaseScope.allCases,
                            credentials: WebAuthTokenManager(
                                apiToken: emulator.apiToken,
                                webAuthToken: emulator.webAuthToken
                            )
                        ),
                        .init(
                            "nobody",
                            title: "Nobody",
                            databases: [.public],
                            credentials: APITokenManager(apiToken: emulator.apiToken)
                        ),
                        .init(
                            "server",
                            title: "Server",
                            databases: [.public],
                            credentials: ServerToServerAuthManager(keyID: keyID, privateKey: key)
                        ),
                    ],
                    transport: AsyncHTTPClientTransport()
                ),
                access: PageAccess(password: password),
                readOnly: readOnly,
                version: "1.2.3"
            )
            let secrets = [
                emulator.apiToken, emulator.webAuthToken, emulator.serverKeyPEM,
                PercentEncoding.encode(emulator.webAuthToken), keyID,
                emulator.serverURL.absoluteString + "/assets", "/upload/",
            ]
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            try await proxy.withRunningServer(logger: logger) { address in
                try await body(Browser(address), emulator, proxy.access, secrets)
            }
        }
    }

    private static let create =
        #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"n","fields":{"title":{"value":"Milk"}}}}]}"#

    @Test func whatTheServiceHasIsShownAndTheCredentialsStay() async throws {
        try await withConsole { browser, emulator, access, secrets in
            #expect(try await browser.send(.get, "/").text.contains("<!doctype html>"))
            #expect(try await browser.ask("zones/list").status == 401)
            #expect(try await browser.send(.get, "/?secret=\(access.secret.revealDigits())").status == 303)
            let page = try await browser.send(.get, "/_emulator/page").json
            #expect(page["service"]?.stringValue == "cloudKit" && page["administration"] == .bool(false))
            #expect(page["readOnlyEnvironments"] == ["production"])
            // Records, as each identity.
            let saved = try await browser.ask("records/modify", Self.create)
            #expect(saved.json["records"]?[0]?["recordChangeTag"]?.stringValue != nil, "\(saved.text)")
            let found = try await browser.ask("records/query", #"{"query":{"recordType":"Note"}}"#)
            #expect(found.json["records"]?[0]?["fields"]?["title"]?["value"]?.stringValue == "Milk")
            let server = try await browser.ask("records/modify", in: "public", as: "server", Self.create)
            #expect(server.json["records"]?[0]?["recordChangeTag"]?.stringValue != nil, "\(server.text)")
            let anonymous = try await browser.ask(
                "records/query",
                in: "public",
                as: "nobody",
                #"{"query":{"recordType":"Note"}}"#
            )
            #expect(anonymous.json["records"]?.arrayValue?.count == 1)
            // Zones, changes, subscriptions.
            for endpoint in ["zones/list", "changes/database", "subscriptions/list"] {
                #expect(try await browser.ask(endpoint).status == 200, "\(endpoint)")
            }
            // A file, up and down, through addresses of the console.
            let ticket = try await browser.ask(
                "assets/upload",
                #"{"tokens":[{"recordType":"Note","recordName":"n","fieldName":"file"}]}"#
            )
            let upload = try #require(ticket.json["tokens"]?[0]?["url"]?.stringValue)
            #expect(upload.hasPrefix(browser.address.absoluteString + "/files/"))
            let bytes: [UInt8] = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let receipt = try await browser.send(
                .post,
                String(upload.dropFirst(browser.address.absoluteString.count)),
                bytes
            )
            let file = try #require(receipt.json["singleFile"])
            let text = String(decoding: try JSONWriter.bytes(of: file), as: UTF8.self)
            let attached = try await browser.ask(
                "records/modify",
                #"{"operations":[{"operationType":"forceUpdate","record":{"recordType":"Note","recordName":"n","fields":{"file":{"value":\#(text)}}}}]}"#
            )
            let download = try #require(
                attached.json["records"]?[0]?["fields"]?["file"]?["value"]?["downloadURL"]?.stringValue
            )
            #expect(download.hasPrefix(browser.address.absoluteString + "/files/"), "\(attached.text)")
            let path = String(download.dropFirst(browser.address.absoluteString.count)).replacing("${f}", with: "a.bin")
            let fetched = try await browser.send(.get, path)
            #expect(
                fetched.bytes == bytes && fetched.headerFields[.contentSecurityPolicy]?.hasPrefix("sandbox") == true
            )
            // What needs the administration is not there.
            #expect(try await browser.send(.get, "/_emulator/users").status == 404)
            #expect(try await browser.send(.post, "/_emulator/snapshots", Array(#"{"name":"x"}"#.utf8)).status == 404)
            // The failure of the service in its own words.
            let refused = try await browser.ask("records/modify", in: "private", as: "server", Self.create)
            #expect(refused.status == 401 && refused.json["serverErrorCode"]?.stringValue == "AUTHENTICATION_FAILED")
            _ = emulator
            let received = browser.received
            #expect(received.contains("Milk"))
            for secret in secrets { #expect(!received.contains(secret), "\(secret)") }
            #expect(!received.lowercased().contains("web-auth-token"))
        }
    }

    @Test func productionIsOnlyReadUnlessItIsAllowed() async throws {
        try await withConsole { browser, _, access, _ in
            _ = try await browser.send(.get, "/?secret=\(access.secret.revealDigits())")
            let refused = try await browser.ask("records/modify", in: "public", environment: "production", Self.create)
            #expect(refused.status == 403 && refused.json["serverErrorCode"]?.stringValue == "ACCESS_DENIED")
            #expect(refused.text.contains("--allow-writes"))
            #expect(
                try await browser.ask("zones/list", in: "public", environment: "production", as: "nobody").status != 403
            )
            #expect(try await browser.ask("records/modify", Self.create).status == 200)
            // Other spellings of the path are no way around it.
            for path in [
                "/database/1/\(Self.container)/PRODUCTION/public/records/modify",
                "/database/1/\(Self.container)/production/public/records/modify/",
                "/database/1/\(Self.container)/development/../production/public/records/modify",
                "/database/1/\(Self.container)/production/public/records/modify/records/query",
                "/database//1/\(Self.container)/production/public/records/modify?x=/records/query",
                "/database/1/\(Self.container)/%70roduction/public/records/modify",
            ] {
                let reply = try await browser.send(.post, path, Array(Self.create.utf8), as: "user")
                #expect(reply.json["records"] == nil, "\(path) \(reply.text)")
            }
        }
        try await withConsole(readOnly: []) { browser, emulator, access, _ in
            _ = try await browser.ask("records/modify", Self.create)
            _ = try await browser.send(.get, "/?secret=\(access.secret.revealDigits())")
            _ = try await browser.ask("records/modify", Self.create)
            _ = try emulator.rules.deploySchema(of: Self.container)
            try emulator.rules.registerAPIToken(emulator.apiToken, for: Self.container, in: .production)
            #expect(
                try await browser.ask("records/modify", in: "private", environment: "production", Self.create).status
                    == 200
            )
        }
    }

    @Test func otherPagesAndOtherHostsGetNothing() async throws {
        try await withConsole { browser, _, access, _ in
            _ = try await browser.send(.get, "/?secret=\(access.secret.revealDigits())")
            #expect(try await browser.ask("zones/list").status == 200)
            for origin in ["http://127.0.0.1:1", "http://localhost", "https://evil.example", "null"] {
                let path = "/database/1/\(Self.container)/development/private/zones/list"
                let records = try await browser.send(.post, path, Array("{}".utf8), as: "user", origin: origin)
                #expect(records.status == 401 && !records.text.contains("_defaultZone"), "\(origin)")
                let page = try await browser.send(.get, "/_emulator/page", origin: origin)
                #expect(page.status == 401 && page.headerFields[.accessControlAllowOrigin] == nil, "\(origin)")
            }
            #expect(try await browser.ask("zones/list", as: "someone").status == 401)
            #expect(try await browser.send(.get, "/files/0123456789abcdef0123456789abcdef").status == 404)
            #expect(try await browser.send(.delete, "/_emulator/page/session").status == 204)
            #expect(try await browser.ask("zones/list").status == 401)
        }
    }

    @Test func aPasswordIsAskedFor() async throws {
        try await withConsole(password: "open sesame") { browser, _, access, _ in
            _ = try await browser.send(.get, "/?secret=\(access.secret.revealDigits())")
            #expect(try await browser.send(.get, "/_emulator/page").status == 401)
            let path = "/_emulator/page/session"
            #expect(try await browser.send(.get, path).json == ["isOpen": false, "needsPassword": true])
            #expect(try await browser.send(.post, path, Array(#"{"password":"x"}"#.utf8)).status == 401)
            let foreign = try await browser.send(
                .post,
                path,
                Array(#"{"password":"open sesame"}"#.utf8),
                origin: "https://evil.example"
            )
            #expect(foreign.status == 403)
            #expect(try await browser.send(.post, path, Array(#"{"password":"open sesame"}"#.utf8)).status == 204)
            #expect(try await browser.send(.get, "/_emulator/page").status == 200)
        }
    }
}
