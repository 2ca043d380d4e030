public import HTTPTypes
public import Logging

/// Acts as one person, with an API token and the web authentication token of a sign-in.
///
/// ```swift
/// let manager = WebAuthTokenManager(apiToken: apiToken, webAuthToken: token)
/// // GET /database/1/iCloud.com.example/development/private/zones/list?ckAPIToken=...&ckWebAuthToken=...
/// ```
///
/// The service sends the next web authentication token with every response, failures included; the manager uses that
/// token from then on, and keeps it in a ``TokenStorage`` if it has one. Use ``AdaptiveTokenManager`` if it is possible
/// that no person has signed in yet.
///
/// ## Requests at the same time
///
/// Requests may run at the same time, because the live service also accepts earlier tokens of the same person. A
/// service that accepts each token only once refuses all of these requests except the first. The manager then sends the
/// others again, and from then on sends one request after the other. After ``replace(webAuthToken:)``, responses to
/// earlier requests do not bring the old person's token back.
///
/// ## Topics
///
/// ### Making a manager
/// - ``init(apiToken:webAuthToken:usesTokensOnce:)``
/// - ``init(apiToken:storage:usesTokensOnce:logger:)``
///
/// ### The person
/// - ``replace(webAuthToken:)``
/// - ``revealWebAuthToken()``
public final class WebAuthTokenManager: TokenManager {
    private let apiToken: Secret
    private let rotation: TokenRotation

    /// Makes a manager for one person, whose token is only in memory.
    ///
    /// - Parameters:
    ///   - apiToken: The token from the console, 64 hexadecimal digits.
    ///   - webAuthToken: The token from the sign-in page, not percent-encoded.
    ///   - usesTokensOnce: Whether requests are sent one after the other from the start, each with the token of the
    ///     response before.
    public init(apiToken: String, webAuthToken: String, usesTokensOnce: Bool = false) {
        self.apiToken = Secret(apiToken)
        rotation = TokenRotation(
            Secret(webAuthToken),
            usesTokensOnce: usesTokensOnce,
            logger: Logger(label: "MistKit")
        )
    }

    /// Makes a manager for the person whose token is stored. The first request reads the token.
    ///
    /// - Parameters:
    ///   - apiToken: The token from the console, 64 hexadecimal digits.
    ///   - storage: The storage of the token. Each next token is stored there, too.
    ///   - usesTokensOnce: Whether requests are sent one after the other from the start.
    ///   - logger: Gets a warning when a next token could not be stored.
    public init(
        apiToken: String,
        storage: some TokenStorage,
        usesTokensOnce: Bool = false,
        logger: Logger = Logger(label: "MistKit")
    ) {
        self.apiToken = Secret(apiToken)
        rotation = TokenRotation(storage, usesTokensOnce: usesTokensOnce, logger: logger)
    }

    /// Adds both tokens to the query.
    ///
    /// - Parameter request: The attempt.
    /// - Throws: ``CloudKitError/Code-swift.struct/invalidCredentials`` where a string cannot be a token,
    ///   ``CloudKitError/Code-swift.struct/tokenStorage`` where the storage cannot be read.
    public func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
        let (token, number) = try await rotation.begin(operation: request.operationID)
        request.session = number
        do {
            try request.addAPIToken(apiToken)
            try request.addWebAuthToken(token ?? Secret(""))
        } catch {
            rotation.end(number)
            throw error
        }
    }

    /// Adopts the next token, and stores it.
    ///
    /// - Parameters:
    ///   - response: Status and header fields.
    ///   - request: The attempt that was answered.
    public func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async {
        await rotation.adopt(from: response, number: request.session)
    }

    /// Allows another attempt if the token was refused only because another request had used it.
    ///
    /// - Parameters:
    ///   - error: Why the attempt failed.
    ///   - request: The attempt.
    /// - Returns: Whether there is a newer token.
    /// - Throws: ``CloudKitError/Code-swift.struct/cancelled``.
    public func recover(
        from error: CloudKitError,
        request: OutgoingRequest
    ) async throws(CloudKitError) -> Bool {
        rotation.end(request.session)
        guard error.isAboutCredentials else { return false }
        let reason = try await rotation.refusalReason(of: request.session, operation: request.operationID)
        return reason == .superseded
    }

    /// `true`: each response brings the next token.
    public var sendsOneAtATime: Bool { true }

    /// A number that changes with each token that ``replace(webAuthToken:)`` sets.
    public var signIns: UInt64 { rotation.personNumber }

    /// Continues with another token, after the person signed in again.
    ///
    /// - Parameter webAuthToken: The token from the sign-in page, not percent-encoded.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where the token could not be
    ///   stored. The manager uses it nevertheless.
    public func replace(webAuthToken: String) async throws {
        try await rotation.replace(with: Secret(webAuthToken))
    }

    /// The token of the next request. If the manager has a ``TokenStorage``, it stores this token itself.
    ///
    /// The token is a credential: a program that has it can act as the person.
    ///
    /// - Returns: The token, not percent-encoded; empty where the storage has none.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where the storage cannot be
    ///   read.
    public func revealWebAuthToken() async throws -> String {
        try await rotation.current?.revealed ?? ""
    }
}

extension CloudKitError {
    /// Whether the service refused the credentials, not the request. Other clients report both codes for an expired
    /// token.
    var isAboutCredentials: Bool { code == .authenticationRequired || code == .authenticationFailed }
}
