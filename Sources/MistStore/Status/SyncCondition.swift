/// The reason why a scope waits.
///
/// Later versions may add reasons, so a `switch` over them has a `default`. A reason that a later version wrote into
/// the file is kept as it is.
public struct SyncCondition: RawRepresentable, Hashable, Sendable {
    /// The name of the reason, as the file, log lines and metrics have it.
    public let rawValue: String

    /// Makes the reason with a name, known to this version or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The service cannot be reached.
    public static let offline = Self(rawValue: "offline")

    /// The service asked for fewer requests.
    public static let throttled = Self(rawValue: "throttled")

    /// The storage at the service is full. Changes are still fetched; single records are sent from time to time, to
    /// find out whether there is space again.
    public static let quotaExceeded = Self(rawValue: "quotaExceeded")

    /// A user must sign in.
    public static let signedOut = Self(rawValue: "signedOut")

    /// Another user is signed in than the one whose records the folder has. Nothing of them is sent or fetched.
    public static let otherUser = Self(rawValue: "otherUser")

    /// The service's schema lacks a record type, a field or an index. The records or the query that need it wait.
    public static let schema = Self(rawValue: "schema")

    /// The deletes are more than ``StoreConfiguration/massDeletionLimit``. They wait for
    /// ``LocalDatabase/allowMassDeletion()``; everything else is sent.
    public static let massDeletion = Self(rawValue: "massDeletion")

    /// The service reported an error in place of a record, or of the changes of a zone. They are fetched again;
    /// everything else goes on.
    public static let undelivered = Self(rawValue: "undelivered")
}

extension SyncCondition: CustomStringConvertible {
    /// The name of the reason.
    public var description: String { rawValue }
}
