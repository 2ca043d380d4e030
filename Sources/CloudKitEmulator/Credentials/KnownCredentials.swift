import CloudKitModel
import Crypto
import Synchronization

/// The API tokens and public keys that were found registered, so that the next request does not look again.
///
/// Only what was found is kept; registrations are never taken back.
final class KnownCredentials: Sendable {
    /// A token, or the ID of a key, where it is registered.
    struct Credential: Hashable {
        let text: String
        let container: String
        let environment: ContainerEnvironment

        init(_ text: String, _ container: String, _ environment: ContainerEnvironment) {
            self.text = text
            self.container = container
            self.environment = environment
        }
    }

    private let tokens = Mutex<Set<Credential>>([])
    private let keys = Mutex<[Credential: P256.Signing.PublicKey]>([:])

    func contains(token: Credential) -> Bool {
        tokens.withLock { $0.contains(token) }
    }

    func insert(token: Credential) {
        _ = tokens.withLock { $0.insert(token) }
    }

    func publicKey(withID keyID: Credential) -> P256.Signing.PublicKey? {
        keys.withLock { $0[keyID] }
    }

    func insert(_ key: P256.Signing.PublicKey, withID keyID: Credential) {
        keys.withLock { $0[keyID] = key }
    }
}
