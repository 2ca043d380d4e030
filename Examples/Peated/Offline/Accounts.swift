import Crypto
import Foundation
import MistMutationQueue
import OpenAPISwiftRuntime
import Peated

/// A user of a service.
public struct Account: Codable, Hashable, Sendable {
    /// The address of the service.
    public var server: URL
    /// The service's identifier of the user.
    public var userID: String
    /// The name that people see.
    public var username: String

    /// Makes an account.
    public init(server: URL, userID: String, username: String) {
        self.server = server
        self.userID = userID
        self.username = username
    }
}

/// The users who have signed in on this machine, each with a folder, and which of them is signed in.
///
/// A user has a file of their own, and not a column in a common one: the queue of another user is never open, so it
/// cannot be sent, and a user's data can be removed with their folder.
public struct Accounts: Sendable {
    /// The folder of all users.
    public let folder: URL

    /// Makes accounts in a folder. It is made when a user signs in.
    public init(folder: URL) { self.folder = folder }

    private var currentFile: URL { folder.appending(path: "account.json") }

    /// The user who signed in last, and has not signed out; `nil` for none.
    public func current() throws -> Account? {
        do {
            return try JSONDecoder().decode(Account.self, from: Data(contentsOf: currentFile))
        } catch CocoaError.fileReadNoSuchFile {
            return nil
        } catch is DecodingError {
            throw NotebookError.file(
                "\(currentFile.path) does not say who is signed in. Remove it, and sign in: what was written stays."
            )
        }
    }

    /// Replaces the user who is signed in.
    public func setCurrent(_ account: Account?) throws {
        guard let account else {
            do { try FileManager.default.removeItem(at: currentFile) } catch CocoaError.fileNoSuchFile {}
            return
        }
        try makeFolder(folder)
        try JSONEncoder().encode(account).write(to: currentFile, options: .atomic)
    }

    /// The folder of a user. Its name has the user's name for people, and is another one for each user and service.
    public func folder(of account: Account) throws -> URL {
        let hash = SHA256.hash(data: Data("\(account.server.absoluteString)\n\(account.userID)".utf8))
        let digits = hash.prefix(6).hexadecimal
        let name = account.username.unicodeScalars.filter { ("a"..."z").contains($0) || ("0"..."9").contains($0) }
        let own = folder.appending(path: "\(String(String.UnicodeScalarView(name)).prefix(32))-\(digits)")
        try makeFolder(own)
        return own
    }

    /// Where the tokens of a user are kept: the keychain where there is one, otherwise a file that only its owner can
    /// read.
    public func credentials(of account: Account) throws -> any CredentialStore {
        let file = FileCredentialStore(file: try folder(of: account).appending(path: "credentials.json"))
        #if canImport(Security)
            return KeychainCredentialStore(account: file.file.deletingLastPathComponent().lastPathComponent)
        #else
            return file
        #endif
    }

    private func makeFolder(_ folder: URL) throws {
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }
}

extension Accounts {
    /// Begins a session with a password. The user's queue goes on where it waited for that.
    ///
    /// - Returns: The notebook of the user.
    public func signIn(
        _ server: URL,
        email: String,
        password: String,
        transport: any ClientTransport,
        settings: Notebook.Settings = Notebook.Settings()
    ) async throws -> Notebook {
        // Whose tokens they are is known after the service has answered.
        let session = MemoryCredentialStore()
        let user = try await PeatedClient(serverURL: server, credentials: session, transport: transport)
            .logIn(email: email, password: password)
        let account = Account(server: server, userID: user.id, username: user.username)
        try await credentials(of: account).save(session.load())
        let notebook = try Notebook(account, in: self, transport: transport, settings: settings)
        try await notebook.resume(.signedOut)
        try setCurrent(account)
        return notebook
    }

    /// Ends the session of a user. What they wrote stays, and waits until they sign in again.
    public func signOut(_ notebook: Notebook) async throws {
        try await credentials(of: notebook.account).save(nil)
        try await notebook.pause(.signedOut, "\(notebook.account.username) has signed out.")
        try setCurrent(nil)
    }
}
