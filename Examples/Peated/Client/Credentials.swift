import Foundation
import Synchronization

/// The tokens with which the client acts for a user.
public struct Credentials: Codable, Hashable, Sendable {
    /// The token that is sent with each request. It is valid for some minutes.
    public var accessToken: String
    /// The token with which a new access token is requested. It can be used once.
    public var refreshToken: String

    /// Creates credentials from their tokens.
    public init(accessToken: String, refreshToken: String) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
    }

    init(_ session: Components.Schemas.Session) {
        self.init(accessToken: session.accessToken, refreshToken: session.refreshToken)
    }
}

/// Printing credentials, directly or as a part of another value, shows no token.
extension Credentials: CustomStringConvertible, CustomReflectable {
    /// A text without the tokens.
    public var description: String { "Credentials(accessToken: …, refreshToken: …)" }
    /// A mirror without children, because the children would be the tokens.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A store for credentials. An app can implement it with the keychain.
public protocol CredentialStore: Sendable {
    /// The credentials that were saved last, or `nil` if no user is logged in.
    func load() async throws -> Credentials?
    /// Replaces the credentials, or removes them with `nil`.
    func save(_ credentials: Credentials?) async throws
}

/// A store in memory; the credentials are lost when the process ends.
public final class MemoryCredentialStore: CredentialStore {
    private let credentials: Mutex<Credentials?>

    /// Creates a store, with the credentials of an existing session or without any.
    public init(_ credentials: Credentials? = nil) {
        self.credentials = Mutex(credentials)
    }

    /// The credentials that were saved last.
    public func load() -> Credentials? {
        credentials.withLock { $0 }
    }

    /// Keeps credentials during the lifetime of the store.
    public func save(_ credentials: Credentials?) {
        self.credentials.withLock { $0 = credentials }
    }
}

/// A store in a file that only its owner can read.
///
/// The file is replaced, never changed: a reader finds the old credentials or the new ones, even if the machine crashes
/// during the replacement. Several processes can share it.
public struct FileCredentialStore: CredentialStore {
    /// The file. It and its folder are created when credentials are saved.
    public let file: URL

    /// Creates a store.
    public init(file: URL) {
        self.file = file
    }

    /// Reads the file. If there is no file, no user is logged in.
    public func load() throws -> Credentials? {
        do {
            return try JSONDecoder().decode(Credentials.self, from: Data(contentsOf: file))
        } catch CocoaError.fileReadNoSuchFile {
            return nil
        }
    }

    /// Replaces the file, or removes it.
    public func save(_ credentials: Credentials?) throws {
        guard let credentials else {
            do { try FileManager.default.removeItem(at: file) } catch CocoaError.fileNoSuchFile {}
            return
        }
        let data = try JSONEncoder().encode(credentials)
        let folder = file.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

        // The mode is set when the file is created: otherwise, other users could open the file for a moment.
        let new = folder.appending(path: ".\(file.lastPathComponent).\(UUID().uuidString)")
        let descriptor = open(new.path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: data)
            try handle.synchronize()
            try handle.close()
            guard rename(new.path, file.path) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        } catch {
            try? FileManager.default.removeItem(at: new)
            throw error
        }
    }
}
