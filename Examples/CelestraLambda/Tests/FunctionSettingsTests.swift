import Foundation
import LambdaRuntime
import MistModels
import Testing

@testable import CelestraLambda

struct FunctionSettingsTests {
    private static let complete = [
        "MISTKIT_CONTAINER": "iCloud.com.example.feeds", "MISTKIT_KEY_ID": "1", "MISTKIT_PRIVATE_KEY": "PEM",
    ]

    @Test func theKeyIsInTheEnvironmentOrInAParameter() throws {
        let inEnvironment = try FunctionSettings(FunctionSettingsTests.complete)
        #expect(inEnvironment.privateKey == .pem("PEM"))
        #expect(inEnvironment.environment == .development)
        #expect(inEnvironment.serverURL == CloudKitService.appleServerURL)
        #expect(inEnvironment.userAgent == "celestra/1.0")
        let inParameter = try FunctionSettings([
            "MISTKIT_CONTAINER": "iCloud.com.example.feeds", "MISTKIT_KEY_ID": "1", "MISTKIT_ENVIRONMENT": "Production",
            "MISTKIT_PRIVATE_KEY_PARAMETER": "/celestra/key", "MISTKIT_SERVER_URL": "http://127.0.0.1:8181",
            "CELESTRA_USER_AGENT": "feeds.example/2 (+https://feeds.example)",
        ])
        #expect(inParameter.privateKey == .parameter("/celestra/key"))
        #expect(inParameter.environment == .production)
        #expect(inParameter.serverURL.absoluteString == "http://127.0.0.1:8181")
        #expect(inParameter.userAgent == "feeds.example/2 (+https://feeds.example)")
    }

    /// The changes of the settings, and the beginning of the error.
    @Test(
        arguments: [
            (["MISTKIT_CONTAINER": ""], "MISTKIT_CONTAINER is not set."),
            (["MISTKIT_KEY_ID": ""], "MISTKIT_KEY_ID is not set."),
            (["MISTKIT_PRIVATE_KEY": ""], "There is no private key."),
            (["MISTKIT_PRIVATE_KEY_PARAMETER": "/celestra/key"], "There are two private keys."),
            (["MISTKIT_ENVIRONMENT": "test"], "MISTKIT_ENVIRONMENT is \"test\"."),
            (["MISTKIT_SERVER_URL": "localhost"], "MISTKIT_SERVER_URL is \"localhost\"."),
            (["MISTKIT_SERVER_URL": "https:/path"], "MISTKIT_SERVER_URL is \"https:/path\"."),
            (["CELESTRA_USER_AGENT": "a\nb"], "CELESTRA_USER_AGENT is not one line of ASCII characters."),
        ]
    )
    func aSettingThatIsWrongIsNamed(changes: [String: String], beginning: String) {
        let variables = FunctionSettingsTests.complete.merging(changes) { $1 }
        let error = #expect(throws: FunctionError.self) { try FunctionSettings(variables) }
        #expect(error?.type == "Celestra.Settings")
        #expect(error?.message.hasPrefix(beginning) == true)
    }
}
