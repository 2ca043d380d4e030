import Foundation
import LambdaRuntime
import MistModels

/// The settings of the function, from its environment. The variables have the names that Celestra and `mistkit` use.
struct FunctionSettings: Sendable, Hashable {
    /// Where the private key is.
    enum PrivateKey: Sendable, Hashable {
        /// In the environment.
        case pem(String)
        /// In Systems Manager Parameter Store, under a name.
        case parameter(String)
    }

    var container: String
    var environment: ContainerEnvironment
    var keyID: String
    var privateKey: PrivateKey
    var serverURL: URL
    /// The header field User-Agent of requests for feeds.
    var userAgent: String

    /// Reads the settings.
    ///
    /// - Parameter variables: The environment of the process.
    /// - Throws: A ``FunctionError`` of the type `Celestra.Settings` that names the setting that is wrong.
    init(_ variables: [String: String]) throws {
        func setting(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        func required(_ name: String, _ what: String) throws -> String {
            guard let value = setting(name) else {
                throw FunctionSettings.error("\(name) is not set. It is \(what).")
            }
            return value
        }
        container = try required("MISTKIT_CONTAINER", "the container, such as iCloud.com.example.app")
        keyID = try required("MISTKIT_KEY_ID", "the ID of the server-to-server key")
        switch (setting("MISTKIT_PRIVATE_KEY"), setting("MISTKIT_PRIVATE_KEY_PARAMETER")) {
        case (let pem?, nil): privateKey = .pem(pem)
        case (nil, let name?): privateKey = .parameter(name)
        case (nil, nil):
            throw FunctionSettings.error(
                "There is no private key. Set MISTKIT_PRIVATE_KEY_PARAMETER to its name in Parameter Store, or "
                    + "MISTKIT_PRIVATE_KEY to its text."
            )
        case (_?, _?):
            throw FunctionSettings.error(
                "There are two private keys. Set MISTKIT_PRIVATE_KEY or MISTKIT_PRIVATE_KEY_PARAMETER, not both."
            )
        }
        let name = setting("MISTKIT_ENVIRONMENT") ?? "development"
        guard let environment = ContainerEnvironment(rawValue: name.lowercased()) else {
            throw FunctionSettings.error(
                "MISTKIT_ENVIRONMENT is \"\(name)\". Set it to development or production."
            )
        }
        self.environment = environment
        if let text = setting("MISTKIT_SERVER_URL") {
            guard let url = URL(string: text), url.scheme == "http" || url.scheme == "https", url.host() != nil else {
                throw FunctionSettings.error("MISTKIT_SERVER_URL is \"\(text)\". Write it as https://host.")
            }
            serverURL = url
        } else {
            serverURL = CloudKitService.appleServerURL
        }
        userAgent = setting("CELESTRA_USER_AGENT") ?? "celestra/1.0"
        guard userAgent.unicodeScalars.allSatisfy({ (0x20...0x7E).contains($0.value) }) else {
            throw FunctionSettings.error("CELESTRA_USER_AGENT is not one line of ASCII characters. Set it to one.")
        }
    }

    private static func error(_ message: String) -> FunctionError { FunctionError("Celestra.Settings", message) }
}
