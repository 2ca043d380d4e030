public import HTTPTypes
public import Logging

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Starts with an API token, goes on as a person once one signs in, and falls back when the person's session is over.
///
/// ```swift
/// let manager = AdaptiveTokenManager(apiToken: apiToken, storage: .file("session.json")) { url in
///     try await WebAuthenticator().webAuthToken(from: url)  // of the module MistSignIn
/// }
/// let service = CloudKitService(containerIdentifier: "iCloud.com.example", tokenManager: manager)
/// let zones = try await service.privateDatabase.fetchZones()
/// // GET /database/1/iCloud.com.example/development/private/zones/list?ckAPIToken=...
/// //   421 AUTHENTICATION_REQUIRED, so a browser opens, and the person signs in
/// // GET /database/1/iCloud.com.example/development/private/zones/list?ckAPIToken=...&ckWebAuthToken=...
/// ```
///
/// ## Upgrade
///
/// The closure is called when the service requires a person to sign in, once for all requests that wait for it. The requests are then
/// sent again. Without a closure such requests fail with ``CloudKitError/Code-swift.struct/authenticationRequired``, whose
/// ``CloudKitError/redirectURL`` is where to sign in, and ``signIn(webAuthToken:)`` takes the token.
///
/// Requests that the closure itself sends through the same manager must not wait for it: send them through a service whose
/// ``CloudKitService/allowsSignIn`` is `false`.
///
/// As a person it does what ``WebAuthTokenManager`` does, rotation, storage and requests at the same time included.
///
/// ## Fallback
///
/// When the service refuses the newest token, the session is over: the token is forgotten, in the storage too, and
/// requests go out with the API token alone again. The request that was refused is not repeated without a person, since what a
/// person was to write would then have no owner; it fails, or starts the next sign-in.
///
/// ## Topics
///
/// ### Making a manager
/// - ``init(apiToken:webAuthToken:usesTokensOnce:signIn:)``
/// - ``init(apiToken:storage:usesTokensOnce:logger:signIn:)``
///
/// ### The person
/// - ``isSignedIn``
/// - ``signIn(webAuthToken:)``
/// - ``signOut()``
/// - ``revealWebAuthToken()``
public final class AdaptiveTokenManager: TokenManager {
    /// Gets a person to sign in at an address of the service, and returns the web authentication token.
    public typealias SignIn = @Sendable (_ url: URL) async throws -> String

    private let apiToken: Secret
    private let rotation: TokenRotation
    private let askPerson: SignIn?
    private let asking = AsyncMutex()

    /// Makes a manager that forgets the person when it goes away.
    ///
    /// - Parameters:
    ///   - apiToken: The token from the console, 64 hexadecimal digits.
    ///   - webAuthToken: The token of a person who signed in before, if there is one.
    ///   - usesTokensOnce: Whether requests as a person go one after the other from the start, each with the token that
    ///     the one before brought; see ``WebAuthTokenManager``.
    ///   - signIn: Gets a person to sign in, when the service asks for one.
    public init(
        apiToken: String,
        webAuthToken: String? = nil,
        usesTokensOnce: Bool = false,
        signIn: SignIn? = nil
    ) {
        self.apiToken = Secret(apiToken)
        rotation = TokenRotation(
            webAuthToken.map(Secret.init),
            usesTokensOnce: usesTokensOnce,
            logger: Logger(label: "MistKit")
        )
        askPerson = signIn
    }

    /// Makes a manager that goes on as the person whose token is stored, if one is.
    ///
    /// - Parameters:
    ///   - apiToken: The token from the console, 64 hexadecimal digits.
    ///   - storage: Where the person's token is, and where each next one goes. It is read with the first request.
    ///   - usesTokensOnce: Whether requests as a person go one after the other from the start.
    ///   - logger: Where it is written that a next token could not be stored.
    ///   - signIn: Gets a person to sign in, when the service asks for one.
    public init(
        apiToken: String,
        storage: some TokenStorage,
        usesTokensOnce: Bool = false,
        logger: Logger = Logger(label: "MistKit"),
        signIn: SignIn? = nil
    ) {
        self.apiToken = Secret(apiToken)
        rotation = TokenRotation(storage, usesTokensOnce: usesTokensOnce, logger: logger)
        askPerson = signIn
    }

    /// Adds the API token to the query, and the person's where there is one.
    ///
    /// - Parameter request: The attempt.
    /// - Throws: ``CloudKitError/Code-swift.struct/invalidCredentials`` where a token cannot be one,
    ///   ``CloudKitError/Code-swift.struct/tokenStorage`` where the storage cannot be read.
    public func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
        let (token, number) = try await rotation.begin(operation: request.operationID)
        request.session = number
        do {
            try request.addAPIToken(apiToken)
            if let token { try request.addWebAuthToken(token) }
        } catch {
            rotation.end(number)
            throw error
        }
    }

    /// Adopts the next token and stores it, where the request was sent for a person who is still signed in.
    ///
    /// - Parameters:
    ///   - response: Status and header fields.
    ///   - request: The attempt that was answered.
    public func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async {
        await rotation.adopt(from: response, number: request.session)
    }

    /// One request after the other while there is a person, as each response brings the next token.
    public var sendsOneAtATime: Bool { rotation.mayHavePerson }

    /// Asks for another attempt where the token was refused only because another request had used it, and where a
    /// person signed in meanwhile; falls back where the session is over.
    ///
    /// - Parameters:
    ///   - error: Why the attempt failed.
    ///   - request: The attempt.
    /// - Returns: Whether the attempt can be made again, as a person.
    /// - Throws: ``CloudKitError/Code-swift.struct/signInFailed`` when the person did not sign in, or the error that
    ///   the sign-in closure threw, where that is a ``CloudKitError``.
    public func recover(
        from error: CloudKitError,
        request: OutgoingRequest
    ) async throws(CloudKitError) -> Bool {
        rotation.end(request.session)
        guard error.isAboutCredentials else { return false }
        switch try await rotation.refusal(of: request.session, operation: request.operationID) {
        case .superseded, .signedInSince: return true
        case .formerPerson: return false
        case .noPerson: break
        case .sessionOver:
            // A 401 can be about the API token as well, unless it was taken before with this person's.
            guard error.code == .authenticationRequired || rotation.wasAccepted else { return false }
            try await rotation.forget(ifNotSince: request.session)
        }
        guard error.code == .authenticationRequired else { return false }
        return request.allowsSignIn ? try await askPerson(at: error) : false
    }

    private func askPerson(at error: CloudKitError) async throws(CloudKitError) -> Bool {
        guard let askPerson, let url = error.redirectURL.flatMap({ URL(string: $0) }) else { return false }
        do {
            try await asking.lock()
            defer { asking.unlock() }
            // One sign-in is enough for all that waited.
            if try await rotation.current == nil {
                let token = try await askPerson(url)
                guard !Secret(token).revealed.isEmpty else {
                    throw CloudKitError(code: .signInFailed, message: "Signing in gave an empty token.")
                }
                try await rotation.replace(with: Secret(token))
            }
            return true
        } catch {
            switch error {
            case let error as CloudKitError: throw error
            case is CancellationError:
                throw CloudKitError(code: .cancelled, message: "The task was cancelled while a person was to sign in.")
            default: throw CloudKitError(code: .signInFailed, message: "The person did not sign in.", cause: error)
            }
        }
    }

    /// Whether requests go out for a person, as far as this side knows.
    ///
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where the storage cannot be
    ///   read.
    public var isSignedIn: Bool {
        get async throws { try await rotation.current != nil }
    }

    /// Goes on as a person.
    ///
    /// - Parameter webAuthToken: The token from the sign-in page, not percent-encoded.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where it could not be stored; it
    ///   is used all the same.
    public func signIn(webAuthToken: String) async throws {
        try await rotation.replace(with: Secret(webAuthToken))
    }

    /// Forgets the person, in the storage too; the API token stays. No request is sent, as the service has no endpoint for
    /// signing out.
    ///
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where the storage still has the
    ///   token; it is used no more all the same.
    public func signOut() async throws {
        try await rotation.replace(with: nil)
    }

    /// The person's token to send next; `nil` where no person is signed in. A ``TokenStorage`` keeps it without your
    /// doing.
    ///
    /// It is a credential: a program that has it acts as the person.
    ///
    /// - Returns: The token, not percent-encoded.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where the storage cannot be
    ///   read.
    public func revealWebAuthToken() async throws -> String? {
        try await rotation.current?.revealed
    }
}
