import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import HTTPTypes
import MistTesting
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// The page behind `redirectURL`, as a browser sees it.
@Suite(.serialized)
struct SignInPageTests {
    private static let connections = EmulatorConnection.allCases

    @Test(arguments: connections)
    func thePageListsTheUsersAndNamesTheContainer(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            try emulator.rules.createUser(NameComponents(givenName: "<b>Ann", familyName: "O'Neil & \"Co\""))
            try emulator.rules.createUser(emailAddress: "only@example.com")
            let page = try await emulator.signInPage()
            #expect(page.status == .ok)
            #expect(page.headerFields[.contentType] == "text/html; charset=utf-8")
            #expect(page.headerFields[.cacheControl] == "no-store")
            #expect(page.headerFields[.contentSecurityPolicy]?.hasPrefix("default-src 'none'") == true)
            #expect(page.text.contains("<b>\(emulator.containerIdentifier)</b>"))
            #expect(page.text.contains("value=\"\(emulator.userRecordName)\""))
            #expect(page.text.contains("<b>Mei Chen</b>"))
            #expect(page.text.contains("<small>mei@example.com</small>"))
            #expect(page.text.contains("<b>&lt;b&gt;Ann O&#39;Neil &amp; &quot;Co&quot;</b>"))
            #expect(page.text.contains("<b>only@example.com</b>"))
            #expect(!page.text.contains("<b>Ann"))
        }
    }

    @Test(arguments: connections)
    func aChosenUserIsPostedToTheWindowThatOpenedThePage(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let page = try await emulator.submitSignIn(["user": emulator.userRecordName])
            #expect(page.status == .ok)
            #expect(page.text.contains("<h1>Signed in as Mei Chen</h1>"))
            let outcome = try outcome(of: page)
            let token = try #require(outcome["ckWebAuthToken"]?.stringValue)
            #expect(outcome == ["ckWebAuthToken": .string(token), "ckSession": .string(token)])
            #expect(try await emulator.caller(token)["userRecordName"] == .string(emulator.userRecordName))
        }
    }

    // In process only, because the transport over the socket would follow the redirect.
    @Test func aNewUserIsMadeAndTheBrowserIsSentToTheCallback() async throws {
        try await withCloudKitEmulator { emulator in
            let callbacks = [
                "http://localhost:9/done": "http://localhost:9/done?",
                "https://app.example/done?a=b#end": "https://app.example/done?a=b&",
            ]
            for (callback, prefix) in callbacks.sorted(by: { $0.key < $1.key }) {
                try emulator.rules.setSignInCallback(
                    .redirect(to: callback),
                    ofAPIToken: emulator.apiToken,
                    for: emulator.containerIdentifier
                )
                let reply = try await emulator.submitSignIn(
                    ["user": "new", "given_name": "Zoë Ann", "family_name": "+1", "email_address": "z@example.com"]
                )
                #expect(reply.status == .seeOther)
                #expect(reply.headerFields[.cacheControl] == "no-store")
                let location = try #require(reply.headerFields[.location])
                #expect(location.hasPrefix(prefix + "ckWebAuthToken="))
                #expect(location.hasSuffix("#end") == callback.hasSuffix("#end"))
                let items = try #require(URLComponents(string: location)?.queryItems)
                let token = try #require(items.first { $0.name == "ckWebAuthToken" }?.value)
                #expect(items.first { $0.name == "ckSession" }?.value == token)
                let names: JSONValue = ["givenName": "Zoë Ann", "familyName": "+1"]
                #expect(try await emulator.caller(token)["nameComponents"] == names)
            }
            #expect(try emulator.rules.listUsers().count == 3)
        }
    }

    @Test func theTokenIsForTheContainerAndLivesAsLongAsWasAsked() async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(clock: clock) { emulator in
            let short = try outcome(of: try await emulator.submitSignIn(["user": emulator.userRecordName]))
            let long = try outcome(
                of: try await emulator.submitSignIn(["user": emulator.userRecordName, "keep_signed_in": "1"])
            )
            let tokens = try [short, long].map { try #require($0["ckWebAuthToken"]?.stringValue) }
            let other = try emulator.rules.registerAPIToken(for: "iCloud.test.other")
            #expect(throws: EmulatorError.self) {
                try emulator.rules.authenticate(
                    Credentials(apiToken: other, webAuthToken: tokens[0]),
                    for: "iCloud.test.other",
                    in: .development
                )
            }
            clock.advance(by: 31 * 60)
            #expect(try await emulator.caller(tokens[0])["serverErrorCode"] == "AUTHENTICATION_REQUIRED")
            #expect(try await emulator.caller(tokens[1])["userRecordName"] == .string(emulator.userRecordName))
        }
    }

    @Test func decliningTheSignInGivesAnError() async throws {
        try await withCloudKitEmulator { emulator in
            let page = try await emulator.submitSignIn(["user": "cancel"])
            #expect(try outcome(of: page) == ["errorMessage": "accessError"])
            try emulator.rules.setSignInCallback(
                .redirect(to: "http://localhost:9/"),
                ofAPIToken: emulator.apiToken,
                for: emulator.containerIdentifier
            )
            let reply = try await emulator.submitSignIn(["user": "cancel"])
            #expect(reply.headerFields[.location] == "http://localhost:9/?errorMessage=accessError")
        }
    }

    @Test func addressesThatAreOldOrMadeUpGetAPageThatSaysSo() async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(clock: clock) { emulator in
            let ticket = try await emulator.signInTicket()
            for bad in ["", "x", String(ticket.dropLast()), "B" + ticket.dropFirst(), emulator.webAuthToken] {
                let page = try await emulator.page("/sign-in?oauth_token=\(percentEncoded(bad))")
                #expect(page.status == .badRequest)
                #expect(page.text.contains("out of date"))
            }
            #expect(try await emulator.page("/sign-in").status == .badRequest)
            clock.advance(by: 14 * 60)
            #expect(try await emulator.page("/sign-in?oauth_token=\(ticket)").status == .ok)
            clock.advance(by: 2 * 60)
            #expect(try await emulator.page("/sign-in?oauth_token=\(ticket)").status == .badRequest)
            let unknown = try await emulator.submitSignIn(["user": "_" + String(repeating: "0", count: 32)])
            #expect(unknown.status == .badRequest)
            #expect(unknown.text.contains("There is no such person"))
            #expect(try await emulator.page("/sign-in", method: .put).status == .methodNotAllowed)
        }
    }

    @Test func aCallbackIsAnAddressOfTheWeb() async throws {
        try await withCloudKitEmulator { emulator in
            let refused = [
                "", "nowhere", "http://a b/", "http:", "http://", "http:///path", "//localhost/", "app://done",
                "javascript:alert(1)", "javascript://localhost/%0aalert(1)", "data:text/html,x", "file:///etc/passwd",
            ]
            for address in refused {
                #expect(throws: EmulatorError.self, "\(address)") {
                    try emulator.rules.setSignInCallback(
                        .redirect(to: address),
                        ofAPIToken: emulator.apiToken,
                        for: emulator.containerIdentifier
                    )
                }
            }
            for address in ["http://localhost", "HTTPS://app.example:8443/done", "http://[::1]:8080/?a=b#c"] {
                try emulator.rules.setSignInCallback(
                    .redirect(to: address),
                    ofAPIToken: emulator.apiToken,
                    for: emulator.containerIdentifier
                )
            }
        }
    }

    @Test(arguments: connections)
    func aTicketIsForOneSignIn(_ connection: EmulatorConnection) async throws {
        // Two tickets must differ even if the clock stands still.
        try await withCloudKitEmulator(over: connection, clock: TestClock()) { emulator in
            let tickets = [try await emulator.signInTicket(), try await emulator.signInTicket()]
            let unknown = ["user": "_" + String(repeating: "0", count: 32)]
            #expect(
                try await emulator.submitSignIn(unknown, ticket: tickets[0]).text.contains("There is no such person")
            )
            let user = ["user": emulator.userRecordName]
            #expect(try await emulator.submitSignIn(user, ticket: tickets[0]).status == .ok)
            for values in [user, ["user": "new"], ["user": "cancel"]] {
                let again = try await emulator.submitSignIn(values, ticket: tickets[0])
                #expect(again.status == .badRequest)
                #expect(again.text.contains("out of date"))
            }
            #expect(try await emulator.page("/sign-in?oauth_token=\(tickets[0])").status == .badRequest)
            #expect(try emulator.rules.listUsers() == [emulator.userRecordName])
            #expect(try await emulator.submitSignIn(["user": "cancel"], ticket: tickets[1]).status == .ok)
            #expect(try await emulator.submitSignIn(user, ticket: tickets[1]).status == .badRequest)
        }
    }

    @Test(arguments: connections)
    func theTokenGoesOnlyToTheOriginThatAsked(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let page = "http://localhost:3000"
            let audiences = [
                try await audience(on: emulator, origin: page, referer: nil),
                // Another window has the address. The token still goes to the page that asked for it.
                try await audience(on: emulator, origin: page, referer: "http://localhost:4000/"),
                // A program asked, and its page opened the window.
                try await audience(on: emulator, origin: nil, referer: "http://127.0.0.1:49152/"),
                try await audience(on: emulator, origin: nil, referer: "https://evil.example/localhost"),
                try await audience(on: emulator, origin: nil, referer: nil),
            ]
            #expect(audiences == [page, page, "http://127.0.0.1:49152", nil, nil])
        }
    }

    @Test(arguments: connections)
    func aFormOfAnotherPageSignsNoOneIn(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let site = HTTPField.Name("Sec-Fetch-Site")!
            let user = ["user": emulator.userRecordName]
            let ticket = try await emulator.signInTicket()
            var foreign: [RawResponse] = []
            for fields: HTTPFields in [
                [.origin: "https://evil.example"], [.origin: "null"], [site: "cross-site"], [site: "same-site"],
                // A page of this machine may use the services, but it is not the sign-in page.
                [.origin: "http://localhost:3000"],
            ] {
                for values in [user, ["user": "new"], ["user": "cancel"]] {
                    foreign.append(try await emulator.submitSignIn(values, ticket: ticket, headerFields: fields))
                }
            }
            // A form without the code of the page, and one with the code of another page.
            foreign.append(try await emulator.submit(user.merging(["oauth_token": ticket]) { $1 }))
            let code = emulator.rules.makeSignInFormCode(ticket: ticket, origin: nil)
            let other = ["oauth_token": ticket, "form_code": code, "origin": "https://evil.example"]
            foreign.append(try await emulator.submit(user.merging(other) { $1 }))
            for page in foreign {
                #expect(page.status == .forbidden)
                #expect(page.text.contains("Another page sent it, so no one was signed in."))
                #expect(!page.text.contains("ckWebAuthToken"))
            }
            #expect(try emulator.rules.listUsers() == [emulator.userRecordName])
            // The ticket is still good for the page itself.
            let own = "http://\(emulator.serverURL.host() ?? "")" + (emulator.serverURL.port.map { ":\($0)" } ?? "")
            let fields: HTTPFields = [.origin: own, site: "same-origin"]
            #expect(try await emulator.submitSignIn(user, ticket: ticket, headerFields: fields).status == .ok)
            // Behind a proxy that ends TLS, the browser knows another scheme and host than the server.
            let proxied: HTTPFields = [.origin: "https://emulator.example", site: "same-origin"]
            let another = try await emulator.signInTicket()
            #expect(try await emulator.submitSignIn(user, ticket: another, headerFields: proxied).status == .ok)
        }
    }

    @Test func usersAreListedAndChosenWithTheSignInCode() async throws {
        let rules = try CloudKitEmulator(storage: .memory)
        let server = try CloudKitEmulatorServer(rules)
        let code = try #require(server.configuration.signInCode)
        #expect(code.wholeMatch(of: /[2-9a-z]{4}-[2-9a-z]{4}-[2-9a-z]{4}/) != nil)
        #expect(code != CloudKitEmulatorServer.Configuration().signInCode)
        let apiToken = try rules.registerAPIToken(for: "iCloud.test")
        let user = try rules.createUser(NameComponents(givenName: "Mei"), emailAddress: "mei@example.com")

        func send(_ method: HTTPRequest.Method, _ target: String, _ form: String? = nil) async throws -> RawResponse {
            let request = HTTPRequest(method: method, scheme: "http", authority: "localhost:1", path: target)
            let (response, body) = try await server.respond(to: request, body: form.map { HTTPBody($0) })
            let bytes = if let body { try await [UInt8](collecting: body, upTo: .max) } else { [UInt8]() }
            return RawResponse(status: response.status, headerFields: response.headerFields, body: bytes)
        }
        let ticket = rules.makeSignInTicket(apiToken: apiToken, for: "iCloud.test", in: .development)
        func submit(_ items: String) async throws -> RawResponse {
            let formCode = rules.makeSignInFormCode(ticket: ticket, origin: nil)
            return try await send(.post, "/sign-in", "oauth_token=\(ticket)&form_code=\(formCode)&" + items)
        }
        let first = try await send(.get, "/sign-in?oauth_token=\(ticket)")
        #expect(first.status == .ok)
        for refused in [
            first, try await submit("user=\(user)"), try await submit("user=list"),
            try await submit("user=\(user)&sign_in_code=wrong"), try await submit("user=list&sign_in_code=wrong"),
        ] {
            #expect(!refused.text.contains("Mei") && !refused.text.contains(user) && !refused.text.contains("ckWeb"))
            #expect(refused.text.contains("Sign-in code, which the emulator printed at its start"))
        }
        #expect(try await submit("user=list&sign_in_code=wrong").status == .forbidden)
        #expect(try await submit("user=list&sign_in_code=wrong").text.contains("not the code of the running emulator"))
        let list = try await submit("user=list&sign_in_code=+\(code.uppercased())")
        #expect(list.status == .ok)
        #expect(list.text.contains("<b>Mei</b>") && list.text.contains("mei@example.com"))
        #expect(list.text.contains("name=\"sign_in_code\" value=\" \(code.uppercased())\""))
        #expect(try await submit("user=\(user)&sign_in_code=\(code)").text.contains("Signed in as Mei"))
        #expect(try rules.listUsers() == [user])
    }

    // MARK: - Support

    /// The origin to which the last page posts the token, when a page or a program asks and a page opens the window.
    private func audience(on emulator: RunningEmulator, origin: String?, referer: String?) async throws -> String? {
        var fields: HTTPFields = [:]
        fields[.origin] = origin
        let reply = try await emulator.get("zones/list", in: .private, headerFields: fields)
        let address = try #require(reply.json["redirectURL"]?.stringValue)
        let ticket = String(try #require(address.components(separatedBy: "oauth_token=").last))
        let target = "/sign-in?oauth_token=\(ticket)"
        var request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: target)
        request.headerFields[HTTPField.Name("Referer")!] = referer
        let page = try await emulator.send(request)
        var values = ["user": emulator.userRecordName]
        for name in ["oauth_token", "origin", "form_code"] {
            let rest = page.text.components(separatedBy: "name=\"\(name)\" value=\"").dropFirst().first
            values[name] = rest?.components(separatedBy: "\"").first
        }
        let last = try await emulator.submit(values)
        let line = try #require(last.text.split(separator: "\n").first { $0.hasPrefix("const audience = ") })
        #expect(last.text.contains("window.opener.postMessage(outcome, audience)"))
        return line.dropFirst("const audience = ".count).dropLast() == "null"
            ? nil : String(line.dropFirst("const audience = \"".count).dropLast(2))
    }

    /// The outcome that the script of the last page passes to the opener.
    private func outcome(of page: RawResponse) throws -> JSONValue {
        let line = try #require(page.text.split(separator: "\n").first { $0.contains("const outcome = ") })
        let json = try #require(line.split(separator: "=", maxSplits: 1).last).dropLast()
        return try JSONReader.read(JSONValue.self, from: String(json))
    }
}

extension RunningEmulator {
    /// The token in the address of a sign-in page.
    fileprivate func signInTicket() async throws -> String {
        let reply = try await get("zones/list", in: .private)
        let page = try #require(reply.json["redirectURL"]?.stringValue)
        return String(try #require(page.components(separatedBy: "oauth_token=").last))
    }

    fileprivate func signInPage() async throws -> RawResponse {
        try await page("/sign-in?oauth_token=\(signInTicket())")
    }

    fileprivate func page(_ target: String, method: HTTPRequest.Method = .get) async throws -> RawResponse {
        try await send(HTTPRequest(method: method, scheme: nil, authority: nil, path: target))
    }

    /// Sends the page's form, with the code that the page has.
    fileprivate func submitSignIn(
        _ values: [String: String],
        ticket: String? = nil,
        headerFields: HTTPFields = [:]
    ) async throws -> RawResponse {
        var values = values
        values["oauth_token"] = if let ticket { ticket } else { try await signInTicket() }
        values["form_code"] = rules.makeSignInFormCode(ticket: values["oauth_token"] ?? "", origin: values["origin"])
        return try await submit(values, headerFields: headerFields)
    }

    /// Sends a form, encoded as a browser encodes it.
    fileprivate func submit(_ values: [String: String], headerFields: HTTPFields = [:]) async throws -> RawResponse {
        let form = values.map { name, value in
            name + "=" + percentEncoded(value).replacing("%20", with: "+")
        }.joined(separator: "&")
        var request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/sign-in")
        request.headerFields = headerFields
        request.headerFields[.contentType] = "application/x-www-form-urlencoded"
        return try await send(request, body: Array(form.utf8))
    }

    /// The response of users/caller to a request with the token.
    fileprivate func caller(_ token: String) async throws -> JSONValue {
        let target =
            path("users/caller", in: .public)
            + "?ckAPIToken=\(apiToken)&ckWebAuthToken=\(percentEncoded(token))"
        let response = try await page(target)
        return try JSONReader.read(JSONValue.self, from: response.body)
    }
}
