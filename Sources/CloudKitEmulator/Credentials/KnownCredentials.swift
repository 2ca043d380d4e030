import Crypto
import Synchronization

/// The API tokens and public keys that were found registered, so that the next request need not look.
///
/// Only what was found is kept; registrations are never taken back.
final class KnownCredentials: Sendable {
    private struct Pair: Hashable {
        let secret: String
        let container: String
    }

    private let tokens = Mutex<Set<Pair>>([])
    private let keys = Mutex<[Pair: P256.Signing.PublicKey]>([:])

    func contains(_ token: String, _ container: String) -> Bool {
        tokens.withLock { $0.contains(Pair(secret: token, container: container)) }
    }

    func insert(_ token: String, _ container: String) {
        _ = tokens.withLock { $0.insert(Pair(secret: token, container: container)) }
    }

    func publicKey(_ keyID: String, _ container: String) -> P256.Signing.PublicKey? {
        keys.withLock { $0[Pair(secret: keyID, container: container)] }
    }

    func insert(_ key: P256.Signing.PublicKey, _ keyID: String, _ container: String) {
        keys.withLock { $0[Pair(secret: keyID, container: container)] = key }
    }
}
