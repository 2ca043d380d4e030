public import HTTPTypes

/// Acts as one person, with an API token and the web authentication token that signing in gave.
///
/// ```swift
/// let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: token)
/// // GET /database/1/iCloud.com.example/development/private/zones/list?ckAPIToken=...&ckWebAuthToken=...
/// ```
///
/// The service sends the next web authentication token with every response, failures included; the manager adopts it.
/// Requests may run at the same time. A response to a request that was sent before ``replace(webAuthToken:)`` does not
/// bring the old person back.
public final class WebAuthTokenManager: TokenManager {
    private let apiToken: Secret
    private let rotation: TokenRotation

    /// Makes a manager for one person.
    ///
    /// - Parameters:
    ///   - apiToken: The token from the console, 64 hexadecimal digits.
    ///   - webAuthToken: The token from the sign-in page, not percent-encoded.
    public init(apiToken: String, webAuthToken: String) {
        self.apiToken = Secret(apiToken)
        rotation = TokenRotation(Secret(webAuthToken))
    }

    /// Adds both tokens to the query.
    ///
    /// - Parameter request: The attempt.
    /// - Throws: ``CloudKitError/Code-swift.struct/invalidCredentials`` where a token cannot be one.
    public func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
        try request.addAPIToken(apiToken)
        let (token, session) = rotation.current
        try request.addWebAuthToken(token ?? Secret(""))
        request.session = session
    }

    /// Adopts the next token.
    ///
    /// - Parameters:
    ///   - response: Status and header fields.
    ///   - request: The attempt that was answered.
    public func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async {
        rotation.adopt(from: response, session: request.session)
    }

    /// One request after the other, as each response brings the next token.
    public var sendsOneAtATime: Bool { true }

    /// Goes on with another token, after the person signed in again.
    ///
    /// - Parameter webAuthToken: The token from the sign-in page, not percent-encoded.
    public func replace(webAuthToken: String) {
        rotation.replace(with: Secret(webAuthToken))
    }

    /// The token to send next, to keep it for the next run of the program.
    ///
    /// It is a credential: whoever holds it acts as the person.
    ///
    /// - Returns: The token, not percent-encoded.
    public func revealWebAuthToken() -> String {
        rotation.current.token?.revealed ?? ""
    }
}
