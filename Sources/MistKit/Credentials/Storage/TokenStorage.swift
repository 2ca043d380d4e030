import Synchronization

/// Keeps the web authentication token of one person between two runs of a program.
///
/// The service sends a new token with every response; a manager that has a storage keeps each there. So the next run
/// goes on where this one ended, and no person has to sign in again as long as the token lives (30 minutes, or two weeks for a
/// person who asked to stay signed in).
///
/// ```swift
/// let manager = AdaptiveTokenManager(apiToken: apiToken, storage: .file("session.json"))
/// let service = CloudKitService(containerIdentifier: "iCloud.com.example", tokenManager: manager)
/// ```
///
/// MistKit has one in memory (``MemoryTokenStorage``), one in a file (``FileTokenStorage``), and on Apple platforms one
/// in the Keychain. Yours needs two methods, for example over a vault or the sessions of a web server. A token belongs
/// to one container and one environment, so each of these needs a storage of its own.
///
/// A manager never calls a storage twice at the same time, and never stores an older token after a newer one.
public protocol TokenStorage: Sendable {
    /// The token that is kept.
    ///
    /// - Returns: The token, not percent-encoded; `nil` where none is kept.
    /// - Throws: Any error, where there is something that cannot be read. A ``CloudKitError`` reaches the caller as it
    ///   is; another becomes the cause of one of code ``CloudKitError/Code-swift.struct/tokenStorage``.
    func webAuthToken() async throws -> String?

    /// Keeps a token in place of the one before.
    ///
    /// - Parameter webAuthToken: The token, not percent-encoded; `nil` forgets the one that is kept.
    /// - Throws: Any error; see ``webAuthToken()``.
    func store(webAuthToken: String?) async throws
}

/// Keeps a token in memory, for tests, and to share one person between two services of a program.
public final class MemoryTokenStorage: TokenStorage {
    private let token: Mutex<Secret?>

    /// Makes a storage.
    ///
    /// - Parameter webAuthToken: The token that is kept at first.
    public init(webAuthToken: String? = nil) {
        token = Mutex(webAuthToken.map(Secret.init))
    }

    /// The token that is kept.
    ///
    /// - Returns: The token; `nil` where none is kept.
    public func webAuthToken() -> String? {
        token.withLock { $0?.revealed }
    }

    /// Keeps a token in place of the one before.
    ///
    /// - Parameter webAuthToken: The token; `nil` forgets the one that is kept.
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
