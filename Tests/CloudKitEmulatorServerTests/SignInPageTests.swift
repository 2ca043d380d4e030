import CloudKitEmulator
import CloudKitModel
import Foundation
import HTTPTypes
import MistTesting
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

    // MARK: - Support

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

    /// Sends the page's form, encoded as a browser encodes it.
    fileprivate func submitSignIn(_ values: [String: String], ticket: String? = nil) async throws -> RawResponse {
        var values = values
        values["oauth_token"] = if let ticket { ticket } else { try await signInTicket() }
        let form = values.map { name, value in
            name + "=" + percentEncoded(value).replacing("%20", with: "+")
        }.joined(separator: "&")
        var request = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/sign-in")
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
