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
