import MistModels

func missingCredentials(_ pem: String) throws -> [CloudKitService] {
    [
        // error: Give credentials: apiToken: and webAuthToken:, or keyID: and privateKeyPEM:, or tokenManager:.
        CloudKitService(containerIdentifier: "iCloud.com.example.app"),
        // error: Give credentials: apiToken: and webAuthToken:, or keyID: and privateKeyPEM:, or tokenManager:.
        CloudKitService(containerIdentifier: "iCloud.com.example.app", environment: .production),
        // error: A web authentication token needs the API token with which it was made: apiToken:.
        CloudKitService(containerIdentifier: "iCloud.com.example.app", webAuthToken: "t"),
        // error: A key ID needs its private key: privateKeyPEM:.
        CloudKitService(containerIdentifier: "iCloud.com.example.app", keyID: "8f2c"),
    ]
}
