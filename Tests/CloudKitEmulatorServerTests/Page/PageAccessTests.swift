import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import Foundation
import HTTPTypes
import StreamingJSON
import Testing

@testable import CloudKitEmulatorServer

/// Who may use the console's page, and as whom it acts.
struct PageAccessTests {
    // MARK: The files

    @Test func theFilesAreServedToEveryoneWithAStrictPolicy() async throws {
        let page = try await PageServer()
        let paths = [
            "/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8",
            "/records/table.js": "text/javascript; charset=utf-8", "/style.css?v=1": "text/css; charset=utf-8",
        ]
        for (path, type) in paths {
            let reply = try await page.send(.get, path, page: nil)
            #expect(reply.status == .ok && reply.headerFields[.contentType] == type, "\(path)")
            let policy = try #require(reply.headerFields[.contentSecurityPolicy])
            for part in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
                #expect(policy.contains(part))
            }
            #expect(!policy.contains("unsafe") && !policy.contains("http"))
            #expect(reply.headerFields[.xContentTypeOptions] == "nosniff")
            #expect(reply.headerFields[.accessControlAllowOrigin] == nil)
            #expect(reply.headerFields[.setCookie] == nil)
        }
        #expect(try await page.send(.get, "/records/../index.html", page: nil).status == .notFound)
        #expect(try await page.send(.get, "/records/table", page: nil).status == .notFound)
    }

    @Test(
        arguments: [
            ("gzip, br", "gzip"), ("gzip, deflate, br", "deflate"), ("deflate;q=0.5, gzip", "gzip"), ("gzip;q=0", nil),
            ("br", nil), ("identity", nil), (nil, nil),
        ] as [(String?, String?)]
    )
    func theFilesAreCompressedAsTheBrowserAcceptsIt(accepted: String?, encoding: String?) async throws {
        let page = try await PageServer()
        var fields = HTTPFields()
        fields[.acceptEncoding] = accepted
        let reply = try await page.send(.get, "/records/table.js", page: fields)
        #expect(reply.headerFields[.contentEncoding] == encoding)
        #expect(reply.headerFields[.vary] == "Accept-Encoding")
        #expect(reply.headerFields[.contentLength] == "\(reply.bytes.count)")
        if encoding == "gzip" { #expect(reply.bytes.prefix(2) == [0x1f, 0x8b]) }
        if encoding == nil { #expect(String(decoding: reply.bytes, as: UTF8.self) == "export {}") }
    }

    // MARK: The session

    @Test func thePrintedAddressSetsACookieThatNoScriptReads() async throws {
        let page = try await PageServer()
        let secret = page.access.secret.revealDigits()
        let reply = try await page.send(.get, "/?secret=\(secret)", page: nil)
        let cookie = try #require(reply.headerFields[.setCookie])
        #expect(
            cookie.wholeMatch(of: /mistkit-console-8181=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict/) != nil
        )
        #expect(!cookie.contains(secret))
        #expect(reply.headerFields[.location] == "/" && reply.bytes.isEmpty)
        for wrong in ["", "0", String(secret.dropLast()), StartSecret().revealDigits()] {
            let reply = try await page.send(.get, "/?secret=\(wrong)", page: nil)
            #expect(reply.headerFields[.setCookie] == nil && reply.status == .seeOther)
        }
    }

    @Test func aSecretForOneUseWorksOnce() async throws {
        let page = try await PageServer()
        let secret = page.access.makeSingleUseSecret().revealDigits()
        #expect(try await page.send(.get, "/?secret=\(secret)", page: nil).headerFields[.setCookie] != nil)
        #expect(try await page.send(.get, "/?secret=\(secret)", page: nil).headerFields[.setCookie] == nil)
    }

    @Test func aPasswordTakesThePlaceOfTheSecret() async throws {
        let page = try await PageServer(password: "correct horse")
        let secret = page.access.secret.revealDigits()
        #expect(try await page.send(.get, "/?secret=\(secret)", page: nil).headerFields[.setCookie] == nil)
        let origin: HTTPFields = [.origin: PageServer.address]
        let session = try await page.send(.get, "/_emulator/page/session", page: nil)
        #expect(session.json == ["isOpen": false, "needsPassword": true])
        let path = "/_emulator/page/session"
        let wrong = try await page.send(.post, path, #"{"password":"correct"}"#, page: origin)
        #expect(wrong.status == .unauthorized && wrong.json["code"]?.stringValue == "wrongPassword")
        let right = try await page.send(.post, path, #"{"password":"correct horse"}"#, page: origin)
        #expect(right.status == .noContent)
        let cookie = try #require(right.headerFields[.setCookie]?.split(separator: ";").first.map(String.init))
        let own: HTTPFields = [.cookie: cookie, .secFetchSite: "same-origin"]
        #expect(try await page.send(.get, "/_emulator/users", page: own).status == .ok)
        // The first mistake counts, too.
        for _ in 0..<9 {
            let reply = try await page.send(.post, path, #"{"password":"x"}"#, page: origin)
            #expect(reply.status == .unauthorized)
        }
        let late = try await page.send(.post, path, #"{"password":"correct horse"}"#, page: origin)
        #expect(late.status == .tooManyRequests && late.json["code"]?.stringValue == "tooManyAttempts")
    }

    @Test func anEndedSessionIsOfNoUse() async throws {
        let page = try await PageServer()
        #expect(try await page.administer(.get, "/users").status == .ok)
        #expect(try await page.administer(.delete, "/page/session").status == .noContent)
        #expect(try await page.administer(.get, "/users").status == .unauthorized)
    }

    // MARK: Other pages

    /// What browsers send with requests of other pages, each with the cookie: it goes along where the page is of the
    /// same site, which other ports of this machine are.
    private static let foreignPages: [HTTPFields] = [
        [.origin: "http://127.0.0.1:3000", .secFetchSite: "same-site"],
        [.origin: "http://localhost:8181", .secFetchSite: "cross-site"],
        [.origin: "https://evil.example", .secFetchSite: "cross-site"],
        [.origin: "null", .secFetchSite: "cross-site"],
        [.secFetchSite: "cross-site"], [.secFetchSite: "same-site"],
        [.origin: "https://evil.example"], [.origin: "http://127.0.0.1:8181.evil.example"],
    ]

    @Test(arguments: foreignPages.indices, [HTTPRequest.Method.get, .post, .delete])
    func noOtherPageUsesTheSession(_ index: Int, _ method: HTTPRequest.Method) async throws {
        let page = try await PageServer { $0.allowedOrigins = .any }
        var fields = Self.foreignPages[index]
        fields[.cookie] = page.cookie
        let body = method == .get ? nil : "{}"
        let administration = try await page.send(method, "/_emulator/faults", body, page: fields)
        #expect(administration.status == .forbidden)
        #expect(administration.headerFields[.accessControlAllowOrigin] == nil)
        let path = "/database/1/\(PageServer.container)/development/private/zones/list"
        let records = try await page.send(.post, path, "{}", page: fields, as: "user")
        #expect(records.status == .unauthorized || records.status == .forbidden, "\(records.text)")
        #expect(!records.text.contains("_defaultZone"))
    }

    @Test func aWriteHasToSayThatItComesFromThePage() async throws {
        let page = try await PageServer()
        let onlyCookie: HTTPFields = [.cookie: page.cookie]
        #expect(try await page.send(.get, "/_emulator/users", page: onlyCookie).status == .ok)
        #expect(try await page.send(.post, "/_emulator/users", "{}", page: onlyCookie).status == .unauthorized)
        #expect(try page.emulator.listUsers().count == 1)
        let typed: HTTPFields = [.cookie: page.cookie, .secFetchSite: "none"]
        #expect(try await page.send(.get, "/_emulator/users", page: typed).status == .ok)
        #expect(try await page.send(.post, "/_emulator/users", "{}", page: typed).status == .unauthorized)
        #expect(try await page.send(.post, "/_emulator/users", "{}", page: page.ownPage).status == .ok)
    }

    @Test func theCookieOfAnotherPortIsNotTaken() async throws {
        let page = try await PageServer()
        let value = page.cookie.split(separator: "=")[1]
        for cookie in [
            "mistkit-console-8182=\(value)", "mistkit-console=\(value)", "mistkit-console-8181=", "\(value)",
        ] {
            let fields: HTTPFields = [.cookie: cookie, .secFetchSite: "same-origin"]
            #expect(try await page.send(.get, "/_emulator/users", page: fields).status == .unauthorized, "\(cookie)")
        }
        let many: HTTPFields = [.cookie: "a=b; \(page.cookie); c=d", .secFetchSite: "same-origin"]
        #expect(try await page.send(.get, "/_emulator/users", page: many).status == .ok)
    }

    @Test func onlyHealthAndTheSessionNeedNothing() async throws {
        let page = try await PageServer()
        let health = try await page.send(.get, "/_emulator/health", page: nil)
        #expect(health.json == ["status": "ok", "version": "1.2.3"])
        #expect(try await page.send(.get, "/_emulator/page/session", page: nil).json["isOpen"] == .bool(false))
        #expect(try await page.send(.get, "/_emulator/page", page: nil).status == .unauthorized)
        #expect(try await page.send(.get, "/_emulator/metrics", page: nil).status == .unauthorized)
    }

    // MARK: Acting as someone

    @Test func thePageActsAsEveryone() async throws {
        let page = try await PageServer()
        let other = try page.emulator.createUser()
        func caller(_ identity: String) async throws -> PageReply {
            try await page.ask("users/caller", in: .public, as: identity)
        }
        #expect(try await caller("user").json["userRecordName"]?.stringValue == page.user)
        #expect(try await caller(other).json["userRecordName"]?.stringValue == other)
        #expect(try await caller("nobody").json["serverErrorCode"]?.stringValue == "AUTHENTICATION_REQUIRED")
        let record = #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"n"}}]}"#
        let saved = try await page.ask("records/modify", in: .public, as: "server", record)
        #expect(saved.json["records"]?[0]?["recordName"]?.stringValue == "n", "\(saved.text)")
        for unknown in ["", "_0", "everyone", "_" + String(repeating: "0", count: 32)] {
            let reply = try await caller(unknown)
            #expect(
                reply.status == .unauthorized && reply.json["serverErrorCode"]?.stringValue == "AUTHENTICATION_FAILED"
            )
        }
    }

    @Test func withoutTheFieldTokensAreNeeded() async throws {
        let page = try await PageServer()
        let path = "/database/1/\(PageServer.container)/development/private/zones/list"
        let reply = try await page.send(.post, path, "{}", page: page.ownPage)
        #expect(reply.status == .unauthorized)
    }

    @Test func theSecretOfTheAdministrationActsAsEveryoneToo() async throws {
        let page = try await PageServer()
        let secret = try #require(page.server.configuration.administration).secret.revealDigits()
        let path = "/database/1/\(PageServer.container)/development/private/zones/list"
        let right: HTTPFields = [.authorization: "Bearer \(secret)"]
        #expect(try await page.send(.post, path, "{}", page: right, as: "user").status == .ok)
        let wrong: HTTPFields = [.authorization: "Bearer \(StartSecret().revealDigits())"]
        #expect(try await page.send(.post, path, "{}", page: wrong, as: "user").status == .unauthorized)
    }

    @Test func aPageThatOnlyReadsWritesNothing() async throws {
        let page = try await PageServer(isReadOnly: true)
        let described = try await page.administer(.get, "/page").read(Components.Schemas.Page.self)
        #expect(described.readOnlyEnvironments == [.development, .production])
        #expect(try await page.ask("zones/list").status == .ok)
        #expect(try await page.ask("records/query", #"{"query":{"recordType":"Note"}}"#).status == .badRequest)
        let record = #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"n"}}]}"#
        for endpoint in [
            "records/modify", "zones/modify", "subscriptions/modify", "assets/upload", "records/accept",
            "users/restrict", "assets/rereference",
        ] {
            let reply = try await page.ask(endpoint, record)
            #expect(reply.status == .forbidden, "\(endpoint) \(reply.text)")
            #expect(reply.json["serverErrorCode"]?.stringValue == "ACCESS_DENIED")
        }
        let created = try await page.administer(.post, "/users", "{}")
        #expect(created.status == .forbidden && created.json["code"]?.stringValue == "readOnly")
        #expect(try page.emulator.recordCounts().isEmpty && page.emulator.listUsers().count == 1)
    }
}
