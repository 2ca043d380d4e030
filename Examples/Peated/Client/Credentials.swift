import Foundation
import Synchronization

/// The right to act for a user.
public struct Credentials: Codable, Hashable, Sendable {
    /// What goes with each request, for some minutes.
    public var accessToken: String
    /// What a new access token is requested with, once.
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

/// Printing credentials, on purpose or as part of something else, shows no token.
extension Credentials: CustomStringConvertible, CustomReflectable {
    /// That there are tokens, without them.
    public var description: String { "Credentials(accessToken: …, refreshToken: …)" }
    /// Nothing: a mirror would show the tokens.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Where credentials are kept. A keychain is another one to write.
public protocol CredentialStore: Sendable {
    /// What was saved last; `nil` if no user is logged in.
    func load() async throws -> Credentials?
    /// Keeps credentials in place of others; `nil` forgets them.
    func save(_ credentials: Credentials?) async throws
}

/// Credentials that end with the process.
public final class MemoryCredentialStore: CredentialStore {
    private let credentials: Mutex<Credentials?>

    /// Creates a store, of a session that exists already or of none.
    public init(_ credentials: Credentials? = nil) {
        self.credentials = Mutex(credentials)
    }

    /// What was saved last.
    public func load() -> Credentials? {
        credentials.withLock { $0 }
    }

    /// Keeps credentials for as long as the store is there.
    public func save(_ credentials: Credentials?) {
        self.credentials.withLock { $0 = credentials }
    }
}

/// Credentials in a file that only its owner can read.
///
/// The file is replaced, never changed: a reader finds the old credentials or the new ones, also when the machine stops
/// in between. Several processes can share it.
public struct FileCredentialStore: CredentialStore {
    /// The file; it and its folder are made when they are needed.
    public let file: URL

    /// Creates a store.
    public init(file: URL) {
        self.file = file
    }

    /// Reads the file; without a file, no user is logged in.
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

        // The mode is given when the file is made: setting it afterwards would leave a moment in which others can open it.
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
