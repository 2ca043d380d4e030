import GRDB
import MistKit

/// Whose private records a store has open, and who is signed in at the service.
public struct StoreAccount: Hashable, Sendable {
    /// The user record name of the user whose records ``MistStore/privateDatabase`` has; `nil` while they belong to
    /// no one: no user was signed in yet, or the user signed out.
    public var owner: String?

    /// The state of the session, as the service reported it last.
    public var session: Session

    /// Makes an account.
    public init(owner: String?, session: Session) {
        self.owner = owner
        self.session = session
    }

    /// The state of a session.
    public enum Session: Hashable, Sendable {
        /// The service was not asked yet, or has not answered.
        case unknown
        /// The owner of the open records is signed in.
        case owner
        /// Another user is signed in. Nothing is sent or fetched until ``MistStore/openSignedInUser()`` is called, or
        /// the owner is signed in again.
        case otherUser(String)
        /// No one is signed in: the service requires it (`AUTHENTICATION_REQUIRED`, `AUTHENTICATION_FAILED`), or
        /// ``MistStore/signOut(_:_:)`` was called. `signInPage` is the address of the sign-in page, where the service
        /// gave one.
        case signedOut(signInPage: String?)
        /// The service cannot be reached, or asked for fewer requests. Whether the session is still valid is unknown;
        /// changes stay here and are sent later.
        case temporarilyUnavailable
    }
}

extension StoreAccount.Session {
    /// Decides the state of the session from what the file has.
    ///
    /// - Parameters:
    ///   - place: The records that are open.
    ///   - owner: The user to whom they belong.
    ///   - visitor: The other user who was signed in when the service was asked last.
    ///   - condition: Why the private database waits.
    ///   - detail: The message of the service, or the address of the sign-in page.
    init(place: UserFile, owner: String?, visitor: String?, condition: SyncCondition?, detail: String?) {
        if place == .signedOut {
            self = .signedOut(signInPage: nil)
        } else if condition == .signedOut {
            self = .signedOut(signInPage: detail.flatMap { $0.hasPrefix("http") ? $0 : nil })
        } else if let visitor {
            self = .otherUser(visitor)
        } else if condition == .offline || condition == .throttled {
            self = .temporarilyUnavailable
        } else {
            self = owner == nil ? .unknown : .owner
        }
    }
}

/// What ``MistStore/signOut(_:_:)`` does with the records of the user who signs out.
public enum SignedOutRecords: Hashable, Sendable {
    /// They stay in the folder, unreachable, with their changes, and continue when the user is back.
    case kept
    /// They are removed from this machine, with the changes that were not sent: exactly those that the program has
    /// seen, and has shown to a person. Get them from ``MistStore/pendingChanges()``.
    case removed(PendingChanges)
}

/// The changes of private records that were not acknowledged by the service.
public struct PendingChanges: Hashable, Sendable {
    /// The changed and added records: the names by record type, each list sorted.
    public var edited: [String: [String]]
    /// The deleted records, in the same form.
    public var deleted: [String: [String]]

    /// The number of records.
    public var count: Int { (Array(edited.values) + Array(deleted.values)).reduce(0) { $0 + $1.count } }

    /// Whether everything was acknowledged.
    public var isEmpty: Bool { edited.isEmpty && deleted.isEmpty }

    /// Makes a list of changes; an empty one allows no removal of changes.
    public init(edited: [String: [String]] = [:], deleted: [String: [String]] = [:]) {
        self.edited = edited
        self.deleted = deleted
    }
}
