/// Who makes a request, as far as its credentials tell.
public enum Caller: Hashable, Sendable {
    /// A caller with an API token only: the role `_world`.
    case anonymous
    /// A signed-in user, by user record name: the roles `_icloud` and, for what the user made, `_creator`.
    case user(String)
    /// A server-to-server key, by key ID. It acts as a signed-in developer with a user record name of its own, and
    /// only on public databases.
    case serverKey(keyID: String)

    /// The user record name in `created` and `modified` of what the caller writes.
    public var userRecordName: String? {
        switch self {
        case .anonymous: nil
        case .user(let name): name
        case .serverKey(let keyID): ServerKey.userRecordName(ofKeyID: keyID)
        }
    }
}
