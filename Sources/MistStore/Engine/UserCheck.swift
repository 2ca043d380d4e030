import GRDB
import MistKit
import SQLiteTables
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
        /// This user is signed in, and was the owner; `nil` where the session has no user and needs none. The file of
        /// the public database may be another user's since.
        case passed(String?)
        /// Another user is signed in. Nothing is sent.
        case refused
    }

    private let content: Mutex<(state: State, recordAsked: MachineTime?)>

    init(_ state: State) {
        content = Mutex((state, nil))
    }

    var state: State {
        get { content.withLock { $0.state } }
        set { content.withLock { $0.state = newValue } }
    }

    /// When this process last asked for the record of the user.
    var recordAsked: MachineTime? {
        get { content.withLock { $0.recordAsked } }
        set { content.withLock { $0.recordAsked = newValue } }
    }
}

extension EngineProcedure {
    /// Whether the user who is signed in was compared with the owner of the file, and is the owner.
    func ownerIsSignedIn() throws -> Bool {
        guard case .passed(let user) = transaction.userCheck.state else { return false }
        return try user == nil || user == fileState.owner
    }
}

extension StoreError {
    /// The error of a synchronisation while another user is signed in.
    static func otherUser(_ file: StoreFile) throws -> StoreError {
        try file.wrapping { try file.database.read { db in try otherUser(db) } }
    }

    /// The error, in a transaction of the file.
    static func otherUser(_ db: Database) throws -> StoreError {
        let visit = try FileState(db).visit
        return StoreError(.otherUser, otherUserMessage(owner: visit?.owner ?? "", visitor: visit?.visitor ?? ""))
    }

    static func otherUserMessage(owner: String, visitor: String) -> String {
        """
        The records in this folder are those of the user \(owner), and the user \(visitor) is signed in. Nothing of them was sent or \
        fetched. Open those of the user who is signed in (openSignedInUser()), or sign in as the other one.
        """
    }
}
