import CloudKitEmulator
import Foundation
import HTTPTypes
import Logging
import MistKit
import MistTesting
import NIOCore
import NIOPosix
import OpenAPISwiftRuntime
import Synchronization
import TestSupport
import Testing

@testable import MistSignIn

/// Signing in from a program, with the emulator's page and a browser without a window.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct WebAuthenticatorTests {
    @Test func aPersonSignsInByARedirectAndStaysSignedIn() async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            try await inTemporaryFolder { folder in
                let storage = FileTokenStorage(folder.path + "/session.json")
                let opened = Mutex<[URL]>([])
                let authenticator = WebAuthenticator(callback: anyRedirect) { url in
                    opened.withLock { $0.append(url) }
                    try emulator.redirect(to: url)
                    let browser = TinyBrowser()
                    let page = try await browser.get(url)
                    #expect(page.text.contains("Mei Chen"))
                    let last = try await browser.choose(emulator.userRecordName, on: page)
                    #expect(last.status == 200)
                    #expect(last.text.contains("You are signed in"))
                }
                let manager = AdaptiveTokenManager(apiToken: emulator.apiToken, storage: storage)
                let service = emulator.service(manager)
                let person = try await authenticator.signIn(manager, to: service)
                #expect(person.userRecordName == emulator.userRecordName)
                #expect(person.nameComponents?.givenName == "Mei")
                #expect(try await storage.webAuthToken() == manager.revealWebAuthToken())
                // The next run of the program reads the token from the file, and opens no browser.
                let nextManager = AdaptiveTokenManager(apiToken: emulator.apiToken, storage: storage)
                let again = try await authenticator.signIn(nextManager, to: emulator.service(nextManager))
                #expect(again.userRecordName == emulator.userRecordName)
                #expect(opened.withLock { $0.count } == 1)
                // The local server has stopped.
                let address = try #require(opened.withLock { $0.first })
                await #expect(throws: TransportError.self) { try await TinyBrowser().get(address) }
            }
        }
    }

    @Test func aPersonSignsInByAMessageWhenARequestNeedsOne() async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            let storage = MemoryTokenStorage()
            let manager = AdaptiveTokenManager(apiToken: emulator.apiToken, storage: storage) { signInURL in
                try await WebAuthenticator { url in
                    let browser = TinyBrowser()
                    let opener = try await browser.get(url)
                    let address = try #require(opener.text(after: "const address = \"", before: "\""))
                    #expect(URL(string: address) == signInURL)
                    let popup = try await browser.choose(
                        emulator.userRecordName,
                        on: try await browser.get(signInURL, referer: "http://127.0.0.1:\(url.port ?? 0)/")
                    )
                    #expect(popup.text.contains("const audience = \"http://127.0.0.1:\(url.port ?? 0)\";"))
                    let token = try #require(popup.text(after: "\"ckWebAuthToken\":\"", before: "\""))
                    let last = try await browser.post(
                        url,
                        ["ckWebAuthToken": token, "ckSession": token],
                        origin: "http://127.0.0.1:\(url.port ?? 0)"
                    )
                    #expect(last.text.contains("You are signed in"))
                }.webAuthToken(from: signInURL)
            }
            let database = emulator.service(manager).privateDatabase
            try await database.create(Record(recordType: "Note", recordName: "a"))
            #expect(try await database.fetch("a").created?.userRecordName == emulator.userRecordName)
            #expect(storage.webAuthToken() != nil)
        }
    }

    @Test func whatDoesNotBringTheStateIsRefusedAndTheWaitGoesOn() async throws {
        let token = try await WebAuthenticator(callback: anyRedirect) { url in
            let port = try #require(url.port)
            let callback = try #require(URL(string: "http://127.0.0.1:\(port)/signed-in?ckWebAuthToken=evil"))
            let browser = TinyBrowser()
            // Without the cookie; with another name for this machine; at a guessed path; with a message from another
            // origin.
            #expect(try await browser.get(callback).status == 403)
            #expect(try await browser.get(url, host: "evil.example:\(port)").status == 403)
            let guess = try #require(URL(string: "http://127.0.0.1:\(port)/0123456789abcdef0123456789abcdef"))
            #expect(try await browser.get(guess).status == 404)
            #expect(try await browser.post(guess, ["ckWebAuthToken": "evil"]).status == 405)
            let evilPost = try await browser.post(url, ["ckWebAuthToken": "evil"], origin: "http://evil.example")
            #expect(evilPost.status == 403)
            // The user's own browser gets the cookie. No server listens at the address of the sign-in page.
            _ = try? await browser.get(url)
            let empty = try #require(URL(string: "http://127.0.0.1:\(port)/signed-in?ckWebAuthToken="))
            #expect(try await browser.get(empty).status == 400)
            let real = try #require(
                URL(
                    string:
                        "http://127.0.0.1:\(port)/signed-in?ckWebAuthToken=54__a%2Bb%2Fc%3D&ckSession=54__a%2Bb%2Fc%3D"
                )
            )
            #expect(try await browser.get(real).status == 200)
        }.webAuthToken(from: nowhere)
        #expect(token == "54__a+b/c=")
    }

    @Test func decliningTheSignInIsAnError() async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            let authenticator = WebAuthenticator(callback: anyRedirect) { url in
                try emulator.redirect(to: url)
                let browser = TinyBrowser()
                _ = try await browser.choose("cancel", on: try await browser.get(url))
            }
            let manager = AdaptiveTokenManager(apiToken: emulator.apiToken)
            let error = try await #require(throws: CloudKitError.self) {
                try await authenticator.signIn(manager, to: emulator.service(manager))
            }
            #expect(error.code == .signInFailed)
            #expect(
                error.message
                    == "The user declined, or may not use this container. Its error is accessError."
            )
            #expect(try await !manager.isSignedIn)
        }
    }

    @Test func theWaitEndsWithTheTimeTheTaskOrAClosureThatFails() async throws {
        let clock = TestClock()
        let late = try await #require(throws: CloudKitError.self) {
            async let token = WebAuthenticator(timeout: .seconds(90), clock: clock.timer) { _ in }
                .webAuthToken(from: nowhere)
            await clock.waitForSleepers()
            clock.advance(by: 90)
            return try await token
        }
        #expect(late.code == .signInFailed)
        #expect(late.message.hasPrefix("The user did not sign in within 90.0 seconds."))

        let (openings, opened) = AsyncStream<Void>.makeStream()
        let waiting = Task { () async throws -> CloudKitError in
            try await #require(throws: CloudKitError.self) {
                try await WebAuthenticator { _ in opened.yield() }.webAuthToken(from: nowhere)
            }
        }
        for await _ in openings { break }
        waiting.cancel()
        #expect(try await waiting.value.code == .cancelled)

        struct NoBrowser: Error {}
        let broken = try await #require(throws: CloudKitError.self) {
            try await WebAuthenticator { _ in throw NoBrowser() }.webAuthToken(from: nowhere)
        }
        #expect(broken.code == .signInFailed)
        #expect(broken.cause is NoBrowser)
    }

    @Test func aPortThatIsTakenIsAnError() async throws {
        let error = try await #require(throws: CloudKitError.self) {
            try await WebAuthenticator { url in
                _ = try await WebAuthenticator(callback: .postMessage(port: url.port ?? 0)) { _ in }
                    .webAuthToken(from: nowhere)
            }.webAuthToken(from: nowhere)
        }
        #expect(error.code == .signInFailed)
        #expect(error.message.contains("cannot listen on port"))
    }

    /// A browser that tries IPv6 first would bring the token to the other program.
    @Test func aPortThatAnotherProgramHasOverIPv6IsAnError() async throws {
        guard
            let other = try? await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(
                host: "::1",
                port: 0
            ).get()
        else { return }
        let port = other.localAddress?.port ?? 0
        let callback = try #require(URL(string: "http://localhost:\(port)/signed-in"))
        let error = try await #require(throws: CloudKitError.self) {
            try await WebAuthenticator(callback: .redirect(to: callback)) { _ in }.webAuthToken(from: nowhere)
        }
        #expect(error.code == .signInFailed)
        #expect(error.message.contains("cannot listen on port \(port)"))
        try await other.close().get()
    }

    @Test func callbacksThatCannotReachThisMachineAreRefused() async throws {
        for address in ["https://localhost:8642/", "http://example.com:8642/", "http://localhost/", "app://done"] {
            let url = try #require(URL(string: address))
            let error = try await #require(throws: CloudKitError.self) {
                try await WebAuthenticator(callback: .redirect(to: url)) { _ in }.webAuthToken(from: nowhere)
            }
            #expect(error.code == .invalidArgument)
            #expect(error.message.contains(address))
        }
    }

    @Test func aWrongAPITokenDoesNotOpenABrowser() async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            let manager = AdaptiveTokenManager(apiToken: String(repeating: "0", count: 64))
            let error = try await #require(throws: CloudKitError.self) {
                try await WebAuthenticator { _ in Issue.record("a browser opened") }
                    .signIn(manager, to: emulator.service(manager))
            }
            #expect(error.code == .authenticationFailed)
        }
    }

    @Test func theSignInURLIsEscapedInTheScript() throws {
        let conversation = SignInConversation(
            signInURL: "https://example.com/\"</script><script>&'\\\n\u{2028}😀",
            callback: try SignInCallbackAddress(host: "127.0.0.1", port: 5, path: "/signed-in", opensPopup: true),
            state: "s"
        )
        let (page, _) = conversation.respond(to: .init(method: "GET", target: "/s", host: "127.0.0.1:5"))
        let expected =
            #""https://example.com/\u0022\u003c/script\u003e\u003cscript\u003e\u0026\u0027\u005c\u000a\u2028\ud83d\ude00""#
        #expect(page.body.contains("const address = \(expected);"))
        // The emulator learns which page opens its own.
        #expect(page.fields.filter { $0.name == "Referrer-Policy" }.map(\.value) == ["origin"])
        #expect(page.fields.contains { $0.value == "mistkit-sign-in-5=s; Path=/; HttpOnly; SameSite=Lax" })
    }

    // MARK: - Support

    private let nowhere = URL(string: "http://127.0.0.1:9/sign-in")!
    private let anyRedirect = WebAuthenticator.Callback.redirect(to: URL(string: "http://127.0.0.1:0/signed-in")!)
}

extension SignInCallbackAddress {
    fileprivate init(host: String, port: Int, path: String, opensPopup: Bool) throws {
        try self.init(.postMessage())
        (self.host, self.port, self.path, self.opensPopup) = (host, port, path, opensPopup)
    }
}

extension TinyBrowser {
    /// Clicks the button of a user on the emulator's page.
    fileprivate func choose(_ user: String, on page: Page) async throws -> Page {
        let ticket = try #require(page.value(ofField: "oauth_token"))
        var form = ["oauth_token": ticket, "user": user]
        form["form_code"] = page.value(ofField: "form_code")
        form["origin"] = page.value(ofField: "origin")
        var address = URLComponents()
        (address.scheme, address.host, address.port) = (page.url.scheme, page.url.host(), page.url.port)
        address.path = "/sign-in"
        return try await post(try #require(address.url), form)
    }
}

extension RunningEmulator {
    /// Sets the console's callback to the address at which a program waits.
    fileprivate func redirect(to url: URL) throws {
        try rules.setSignInCallback(
            .redirect(to: "http://127.0.0.1:\(url.port ?? 0)/signed-in"),
            ofAPIToken: apiToken,
            for: containerIdentifier
        )
    }

    fileprivate func service(_ manager: any TokenManager) -> CloudKitService {
        var configuration = CloudKitService.Configuration(
            serverURL: serverURL,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        configuration.retryPolicy = .never
        return CloudKitService(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: manager,
            configuration: configuration
        )
    }
}
