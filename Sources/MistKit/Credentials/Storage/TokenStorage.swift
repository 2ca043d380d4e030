import Synchronization

/// Keeps the web authentication token of a person between two runs of a program.
///
/// The service sends a new token with every response; a manager that has a storage keeps each token there. So the next
/// run of the program continues with the last token, and no person has to sign in again while the token is valid: 30
/// minutes, or two weeks for a person who asked to stay signed in (Apple's archived reference).
///
/// ```swift
/// let manager = AdaptiveTokenManager(apiToken: apiToken, storage: .file("session.json"))
/// let service = CloudKitService(containerIdentifier: "iCloud.com.example", tokenManager: manager)
/// ```
///
/// MistKit has a storage in memory (``MemoryTokenStorage``), one in a file (``FileTokenStorage``), and on Apple
/// platforms one in the Keychain. Your own storage needs two methods; it could use a vault or the sessions of a web
/// server. A token is valid for one container and one environment, so each container and each environment needs its own
/// storage.
///
/// A manager never calls a storage twice at the same time, and never stores an older token after a newer one.
public protocol TokenStorage: Sendable {
    /// The stored token.
    ///
    /// - Returns: The token, not percent-encoded; `nil` where no token is stored.
    /// - Throws: Any error, where the stored token cannot be read. The caller gets a ``CloudKitError`` as it is;
    ///   another error becomes the cause of a ``CloudKitError`` of code
    ///   ``CloudKitError/Code-swift.struct/tokenStorage``.
    func webAuthToken() async throws -> String?

    /// Replaces the stored token.
    ///
    /// - Parameter webAuthToken: The token, not percent-encoded; `nil` removes the stored token.
    /// - Throws: Any error; see ``webAuthToken()``.
    func store(webAuthToken: String?) async throws
}

/// Keeps a token in memory, for tests, or for two services of a program that act as the same person.
public final class MemoryTokenStorage: TokenStorage {
    private let token: Mutex<Secret?>

    /// Makes a storage.
    ///
    /// - Parameter webAuthToken: The token that is stored at first; `nil` for no token.
    public init(webAuthToken: String? = nil) {
        token = Mutex(webAuthToken.map(Secret.init))
    }

    /// The stored token.
    ///
    /// - Returns: The token; `nil` where no token is stored.
    public func webAuthToken() -> String? {
        token.withLock { $0?.revealed }
    }

    /// Replaces the stored token.
    ///
    /// - Parameter webAuthToken: The token; `nil` removes the stored token.
    public func store(webAuthToken: String?) {
        token.withLock { $0 = webAuthToken.map(Secret.init) }
    }
}

extension TokenStorage where Self == MemoryTokenStorage {
    /// A storage in memory.
    public static var memory: MemoryTokenStorage { MemoryTokenStorage() }
}

extension CloudKitError {
    static func tokenStorage(_ problem: String, cause: (any Error)? = nil) -> CloudKitError {
        CloudKitError(code: .tokenStorage, message: problem, cause: cause)
    }
}
