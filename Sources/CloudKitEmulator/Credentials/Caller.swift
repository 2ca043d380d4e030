/// The caller of a request, as its credentials show.
package enum Caller: Hashable, Sendable {
    /// A caller with an API token only: the role `_world`.
    case anonymous
    /// A signed-in user, by user record name: the roles `_icloud` and, for records that the user created, `_creator`.
    case user(String)
    /// A server-to-server key, by key ID. It acts as a signed-in developer with a user record name of its own, and
    /// only on public databases.
    case serverKey(keyID: String)

    var isServerKey: Bool {
        if case .serverKey = self { true } else { false }
    }

    /// The user record name in `created` and `modified` of the records that the caller writes.
    package var userRecordName: String? {
        switch self {
        case .anonymous: nil
        case .user(let name): name
        case .serverKey(let keyID): ServerKey.userRecordName(ofKeyID: keyID)
        }
    }
}
