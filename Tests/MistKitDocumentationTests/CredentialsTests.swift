import Foundation
import MistKit
import MistTesting
import OpenAPISwiftRuntime
import Testing

/// The Swift of "Credentials" that shows how a program authenticates.
enum Identities {
    static func anonymous(apiToken: String) -> CloudKitService {
        let service = CloudKitService(
            containerIdentifier: "iCloud.com.example.app",
            environment: .production,
            apiToken: apiToken
        )
        return service
    }

    static func person(apiToken: String, webAuthToken: String) -> CloudKitDatabase {
        let service = CloudKitService(
            containerIdentifier: "iCloud.com.example.app",
            apiToken: apiToken,
            webAuthToken: webAuthToken
        )
        let database = service.privateDatabase
        return database
    }

    static func developer(keyID: String) throws -> CloudKitDatabase {
        let pem = try String(contentsOfFile: "/etc/notes/cloudkit.pem", encoding: .utf8)
        let service = try CloudKitService(
            containerIdentifier: "iCloud.com.example.app",
            environment: .production,
            keyID: keyID,
            privateKeyPEM: pem
        )
        let database = service.publicDatabase
        return database
    }

    /// The two lines of the README.
    static func inTheReadme(_ token: String, _ userToken: String, id: String, pem: String) throws -> [CloudKitService] {
        let container = "iCloud.com.example.app"
        // As a person, on all three databases:
        let service = CloudKitService(containerIdentifier: container, apiToken: token, webAuthToken: userToken)
        // As the developer, on the public one:
        let server = try CloudKitService(containerIdentifier: container, keyID: id, privateKeyPEM: pem)
        return [service, server]
    }
}

extension CloudKitService {
    /// The service of this program: key ID and private key are in the environment.
    static func fromEnvironment() throws -> CloudKitService {
        let environment = ProcessInfo.processInfo.environment
        guard let keyID = environment["CLOUDKIT_KEY_ID"], let key = environment["CLOUDKIT_PRIVATE_KEY"] else {
            throw CloudKitError(
                code: .invalidCredentials,
                message: "Set CLOUDKIT_KEY_ID and CLOUDKIT_PRIVATE_KEY."
            )
        }
        return try CloudKitService(
            containerIdentifier: "iCloud.com.example.app",
            environment: .production,
            keyID: keyID,
            privateKeyPEM: key
        )
    }
}

/// The tokens in a secret store.
actor Vault {
    private var tokens: [String: String]

    init(_ tokens: [String: String]) { self.tokens = tokens }

    func token(named name: String) -> String? { tokens[name] }
}

struct VaultTokenManager: TokenManager {
    let vault: Vault

    func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
        guard let token = await vault.token(named: "cloudkit") else {
            throw CloudKitError(code: .invalidCredentials, message: "The vault has no token named cloudkit.")
        }
        request.addCredential(queryItem: "ckAPIToken", value: token)
    }
}

@Suite(.serialized)
struct CredentialsTests {
    @Test func aKeyIsMade() throws {
        let key = ServerToServerKey.generate()
        print(key.publicKeyPEM)  // register this one in the console, which answers with the key ID
        let secret = key.revealPrivateKeyPEM()  // keep this one where only the server reads it

        let again = try ServerToServerKey(secret)
        #expect(again.publicKeyPEM == key.publicKeyPEM)
        // The form for an environment variable.
        let oneLine = secret.replacing("\n", with: #"\n"#)
        #expect(try ServerToServerKey(oneLine).publicKeyPEM == key.publicKeyPEM)
    }

    @Test func theServiceSaysWhereToSignIn() async throws {
        try await withCloudKitEmulator { emulator in
            let person = try await signIn(to: emulator)
            #expect(person.userRecordName == emulator.userRecordName)
        }
    }

    private func signIn(to emulator: RunningEmulator) async throws -> UserIdentity {
        let apiToken = emulator.apiToken
        func askThePerson(_ address: String?) async -> String { emulator.webAuthToken }

        let manager = AdaptiveTokenManager(apiToken: apiToken)
        let service = CloudKitService(
            containerIdentifier: emulator.containerIdentifier,
            tokenManager: manager,
            configuration: emulator.serviceConfiguration
        )
        do {
            let zones = try await service.privateDatabase.fetchZones()
            print(zones.count)
        } catch let error as CloudKitError where error.code == .authenticationRequired {
            try await manager.signIn(webAuthToken: await askThePerson(error.redirectURL))
        }
        let person = try await service.fetchCaller()
        return person
    }

    @Test func aCustomTokenManager() async throws {
        try await withCloudKitEmulator { emulator in
            let vault = Vault(["cloudkit": emulator.apiToken])
            let service = CloudKitService(
                containerIdentifier: emulator.containerIdentifier,
                tokenManager: VaultTokenManager(vault: vault),
                configuration: emulator.serviceConfiguration
            )
            let zones = try await service.publicDatabase.fetchZones()
            #expect(zones.count == 1)
        }
    }

    @Test func aBadKeyIsNamed() throws {
        do {
            _ = try ServerToServerKey("-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----")
            Issue.record("A public key was taken for a private one.")
        } catch let error as CloudKitError {
            #expect(error.code == .invalidCredentials)
        }
    }
}
