import CloudKitEmulatorServer
import Foundation
import Testing

@testable import MistKitCLI

struct EmulatorGreetingTests {
    private let address = URL(fileURLWithPath: "/").deletingLastPathComponent()
    private var greeting: EmulatorGreeting {
        EmulatorGreeting(
            container: "iCloud.com.example",
            dataFolder: ".mistkit",
            userRecordName: "_u",
            apiToken: "api",
            webAuthToken: "w+t",
            tokenExpires: Date(timeIntervalSince1970: 86400)
        )
    }

    @Test func namesTheSettingsOfAUserAndWhenTheTokenExpires() {
        let text = greeting.text(at: address)
        #expect(text.contains("as the user, until 1970-01-02T00:00:00Z:\n"))
        #expect(text.contains("export MISTKIT_WEB_AUTH_TOKEN='w+t'\n"))
        #expect(text.contains("mistkit auth keygen > key.pub && mistkit emulator --public-key key.pub"))
        #expect(!text.contains("MISTKIT_KEY_ID"))
    }

    @Test func theConsoleIsShownWithItsSecretUnlessItNeedsAPassword() throws {
        var greeting = greeting
        let address = try #require(URL(string: "http://0.0.0.0:8181"))
        #expect(!greeting.text(at: address).contains("  console "))
        let access = PageAccess()
        greeting.page = access
        let secret = access.secret.revealDigits()
        #expect(greeting.text(at: address).contains("  console     http://127.0.0.1:8181/?secret=\(secret)\n"))
        greeting.page = PageAccess(password: "open sesame")
        let text = greeting.text(at: address)
        #expect(text.contains("  console     http://127.0.0.1:8181/\n") && !text.contains("open sesame"))
    }

    @Test func theSignInCodeIsShownToTheDeveloperOnly() {
        var greeting = greeting
        greeting.signInCode = "k7fm-29qx-pw4t"
        let line = "  code        k7fm-29qx-pw4t  (for the sign-in page, until the emulator stops)\n"
        #expect(greeting.text(at: address).contains(line))
        greeting.signInCode = nil
        #expect(!greeting.text(at: address).contains("  code "))
    }

    @Test(arguments: [
        ("127.0.0.1", "http://127.0.0.1:8181", nil), ("localhost", "http://localhost:8181", nil),
        ("::1", "http://[::1]:8181", nil), ("0.0.0.0", "http://0.0.0.0:8181", "http://127.0.0.1:8181"),
        ("::", "http://[::]:8181", "http://[::1]:8181"),
        ("192.168.1.5", "http://192.168.1.5:8181", "http://192.168.1.5:8181"),
    ])
    func aHostThatOthersReachIsExplained(_ host: String, _ address: String, _ local: String?) throws {
        var greeting = greeting
        greeting.reachableFrom = EmulatorGreeting.Reach(host: host)
        let text = greeting.text(at: try #require(URL(string: address)))
        let isExplained = text.contains("Every machine that reaches \(address) can use this emulator. There is no TLS")
        #expect(isExplained == (local != nil))
        #expect(text.contains("export MISTKIT_SERVER_URL=\(local ?? address)\n"))
    }

    @Test func namesTheKeysOfThisStartBeforeThoseOfEarlierOnes() {
        var greeting = greeting
        greeting.earlierKeyIDs = ["old"]
        #expect(greeting.text(at: address).contains("export MISTKIT_KEY_ID=old\n"))
        greeting.keys = [(path: "key.pub", id: "new")]
        let text = greeting.text(at: address)
        #expect(text.contains("  key         new  (key.pub)\n  key         old  (registered at an earlier start)\n"))
        #expect(text.contains("export MISTKIT_KEY_ID=new\n"))
        #expect(text.contains("export MISTKIT_PRIVATE_KEY_FILE=<file with the private key of key.pub>"))
    }
}
