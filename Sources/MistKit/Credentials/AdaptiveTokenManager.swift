public import HTTPTypes

/// Starts with an API token and goes on as a person once there is one.
///
/// ```swift
/// let manager = AdaptiveTokenManager(apiToken: apiToken)
/// let service = CloudKitService(containerIdentifier: "iCloud.com.example", tokenManager: manager)
/// do {
///     _ = try await service.privateDatabase.fetchZones()
/// } catch {
///     guard error.code == .authenticationRequired else { throw error }
///     manager.signIn(webAuthToken: try await askThePerson(error.redirectURL))
/// }
/// // before: GET /database/1/iCloud.com.example/development/private/zones/list?ckAPIToken=...
/// // after:  GET /database/1/iCloud.com.example/development/private/zones/list?ckAPIToken=...&ckWebAuthToken=...
/// ```
///
/// From then on it does what ``WebAuthTokenManager`` does, rotation included, until ``signOut()``.
public final class AdaptiveTokenManager: TokenManager {
    private let apiToken: Secret
    private let rotation: TokenRotation

    /// Makes a manager that acts for nobody yet.
    ///
    /// - Parameters:
    ///   - apiToken: The token from the console, 64 hexadecimal digits.
    ///   - webAuthToken: The token of a person who signed in before, if there is one.
    public init(apiToken: String, webAuthToken: String? = nil) {
        self.apiToken = Secret(apiToken)
        rotation = TokenRotation(webAuthToken.map(Secret.init))
    }

    /// Adds the API token to the query, and the person's where there is one.
    ///
    /// - Parameter request: The attempt.
    /// - Throws: ``CloudKitError/Code-swift.struct/invalidCredentials`` where a token cannot be one.
    public func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
        try request.addAPIToken(apiToken)
        let (token, session) = rotation.current
        if let token { try request.addWebAuthToken(token) }
        request.session = session
    }

    /// Adopts the next token, where the request was sent for a person who is still signed in.
    ///
    /// - Parameters:
    ///   - response: Status and header fields.
    ///   - request: The attempt that was answered.
    public func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async {
        rotation.adopt(from: response, session: request.session)
    }

    /// One request after the other while there is a person, as each response brings the next token.
    public var sendsOneAtATime: Bool { isSignedIn }

    /// Whether requests go out for a person.
    public var isSignedIn: Bool { rotation.current.token != nil }

    /// Goes on as a person.
    ///
    /// - Parameter webAuthToken: The token from the sign-in page, not percent-encoded.
    public func signIn(webAuthToken: String) {
        rotation.replace(with: Secret(webAuthToken))
    }

    /// Forgets the person; the API token stays. The service is not told, as it has no endpoint for it.
    public func signOut() {
        rotation.replace(with: nil)
    }

    /// The person's token to send next, to keep it for the next run of the program; `nil` where nobody signed in.
    ///
    /// It is a credential: whoever holds it acts as the person.
    ///
    /// - Returns: The token, not percent-encoded.
    public func revealWebAuthToken() -> String? {
        rotation.current.token?.revealed
    }
}
