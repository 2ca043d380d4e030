import CloudKitEmulator
import CloudKitEmulatorServer
import MistKit
import MistTesting

@testable import MistStore

/// The session of a program at a service: people sign in and out.
struct UserSession: Sendable {
    let service: CloudKitService
    private let manager: AdaptiveTokenManager
    private let emulator: RunningEmulator

    /// Makes the session of no one, or of the emulator's user.
    init(_ emulator: RunningEmulator, webAuthToken: String? = nil) {
        manager = AdaptiveTokenManager(apiToken: emulator.apiToken, webAuthToken: webAuthToken)
        service = CloudKitService(
            containerIdentifier: emulator.containerIdentifier,
            environment: emulator.environment,
            tokenManager: manager,
            configuration: emulator.serviceConfiguration
        )
        self.emulator = emulator
    }

    /// Gives the service the token of a user. No store is told.
    func begin(_ user: String) async throws {
        try await manager.signIn(webAuthToken: emulator.rules.issueWebAuthToken(for: user))
    }

    /// Takes the token of the user away. No store is told.
    func end() async throws { try await manager.signOut() }

    @discardableResult
    func signIn(_ user: String, to store: MistStore) async throws -> StoreAccount {
        try await store.signIn { try await begin(user) }
    }

    func signOut(of store: MistStore, _ records: SignedOutRecords = .kept) async throws {
        try await store.signOut(records) { try await end() }
    }
}
