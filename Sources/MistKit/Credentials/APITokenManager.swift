/// Sends an API token of the CloudKit console, which can read the public database as far as anyone may read it.
///
/// ```swift
/// let manager = APITokenManager(apiToken: token)
/// // GET /database/1/iCloud.com.example/development/public/zones/list?ckAPIToken=...
/// ```
///
/// The private and shared databases, and most writes, need a person. Without one the service answers
/// ``CloudKitError/Code-swift.struct/authenticationRequired``, with the address of the sign-in page. Use
/// ``AdaptiveTokenManager`` to continue as a person who signed in.
public struct APITokenManager: TokenManager {
    private let apiToken: Secret

    /// Makes a manager for one token.
    ///
    /// - Parameter apiToken: The token from the console, 64 hexadecimal digits.
    public init(apiToken: String) {
        self.apiToken = Secret(apiToken)
    }

    /// Adds the token to the query.
    ///
    /// - Parameter request: The attempt.
    /// - Throws: ``CloudKitError/Code-swift.struct/invalidCredentials`` where the string cannot be a token.
    public func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
        try request.addAPIToken(apiToken)
    }
}

extension OutgoingRequest {
    mutating func addAPIToken(_ token: Secret) throws(CloudKitError) {
        try token.checkToken("API token", source: "the CloudKit console (Tokens & Keys)")
        addCredential(queryItem: "ckAPIToken", value: token.revealed)
    }

    mutating func addWebAuthToken(_ token: Secret) throws(CloudKitError) {
        try token.checkToken("web authentication token", source: "the sign-in page that redirectURL leads to")
        addCredential(queryItem: "ckWebAuthToken", value: token.revealed)
    }
}

extension Secret {
    /// Refuses a string that cannot be a token, before it is sent.
    func checkToken(_ kind: String, source: String) throws(CloudKitError) {
        // A fast check, since each request makes it: nearly all tokens consist of letters and digits.
        if !revealed.isEmpty, revealed.utf8.allSatisfy({ (0x2F...0x7E).contains($0) }) { return }
        let problem: String? =
            if revealed.isEmpty {
                "is empty"
            } else if revealed.contains("-----BEGIN") {
                "is a PEM file; a key belongs to ServerToServerAuthManager"
            } else if revealed.contains(where: \.isWhitespace) {
                "contains white space"
            } else if !revealed.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
                "holds characters that are not printable ASCII"
            } else {
                nil
            }
        guard let problem else { return }
        throw CloudKitError(
            code: .invalidCredentials,
            message: "The \(kind) \(problem). Take a new one from \(source)."
        )
    }
}
