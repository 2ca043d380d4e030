import GRDB
import MistKit
import Synchronization

/// Whether the user who is signed in was compared with the owner of the file.
///
/// A file belongs to one user: the first one who was signed in. The service is asked for the user before the first
/// request for user data after each opening of the store, and after each sign-in. In the public scope, only changes are
/// user data: they would be sent in the name of the present user. Reading the public database needs no user.
///
/// This is about the session of this process, and another process may have another session. So it is not in the file.
final class UserCheck: Sendable {
    enum State: Hashable {
        /// The user is not known.
        case due
        /// The user is the owner, or the session has no user and needs none.
        case passed
        /// Another user is signed in. Nothing is sent.
        case refused
    }

    private let content: Mutex<State>

    init(_ state: State) {
        content = Mutex(state)
    }

    var state: State {
        get { content.withLock { $0 } }
        set { content.withLock { $0 = newValue } }
    }
}

extension SyncEngine.Transaction {
    /// The step that the check of the user requires before user data are sent or fetched; `nil` for none.
    func userStep(at now: Int64) throws -> SyncEngine.Step? {
        switch userCheck.state {
        case .passed: nil
        case .due: try begin(.caller, zone: nil, at: now)
        case .refused: .blocked(.otherUser)
        }
    }

    /// Whether the scope has changes that were not acknowledged.
    func hasChanges() throws -> Bool {
        try db.value(
            "SELECT EXISTS (SELECT 1 FROM mist_edit) OR EXISTS (SELECT 1 FROM mist_tombstone)",
            as: Bool.self
        ) ?? false
    }

    /// Compares the user who is signed in with the owner of the file. The first user becomes the owner.
    func handle(caller user: String) throws {
        let owner = try db.value("SELECT owner FROM mist_state", as: String.self)
        let isOwner = owner == nil || owner == user
        try db.run(
            "UPDATE mist_state SET owner = coalesce(owner, ?1), visitor = CASE WHEN ?2 THEN NULL ELSE ?1 END",
            [user, isOwner]
        )
        userCheck.state = isOwner ? .passed : .refused
    }

    /// Whether the failure to find out the user is no reason to send nothing: a file of the public database without an
    /// owner may be used without a user, for instance with a server-to-server key.
    func needsNoUser(_ error: CloudKitError) throws -> Bool {
        guard scope == .public, error.condition == .signedOut else { return false }
        return try db.value("SELECT owner IS NULL FROM mist_state", as: Bool.self) ?? false
    }
}

extension StoreError {
    /// The error of a synchronisation while another user is signed in.
    static func otherUser(_ file: StoreFile) throws -> StoreError {
        let row = try file.wrapping {
            try file.database.read { db in try db.row("SELECT owner, visitor FROM mist_state") }
        }
        return StoreError(
            .otherUser,
            otherUserMessage(owner: row?["owner"] ?? "", visitor: row?["visitor"] ?? "")
        )
    }

    static func otherUserMessage(owner: String, visitor: String) -> String {
        """
        The records in this folder are those of the user \(owner), and the user \(visitor) is signed in. Nothing of them was sent or \
        fetched. Open another folder for this user, or sign in as the other one.
        """
    }
}
