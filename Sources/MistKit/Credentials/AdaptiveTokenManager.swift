public import HTTPTypes
public import Logging

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Starts with an API token, continues as a person who signs in, and falls back when the session of the person is over.
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
/// When the service requires a person to sign in, the manager calls the closure once for all requests that wait for a
/// person. It then sends the requests again. Without a closure these requests fail with
/// ``CloudKitError/Code-swift.struct/authenticationRequired``, whose ``CloudKitError/redirectURL`` is the address of
/// the sign-in page. Pass the token of the page to ``signIn(webAuthToken:)``.
///
/// If the closure itself sends requests through the same manager, they must not wait for the closure: send them through
/// a service whose ``CloudKitService/allowsSignIn`` is `false`.
///
/// While a person is signed in, it works like ``WebAuthTokenManager``: next tokens, storage and requests at the same
/// time.
///
/// ## Fallback
///
/// When the service refuses the newest token, the session is over. The manager forgets the token, in the storage too,
/// and sends requests with only the API token again. It does not repeat the refused request without a person, because a
/// record that it writes would not belong to that person. The request fails, or starts the next sign-in.
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
    /// Lets a person sign in at an address of the service, and returns the web authentication token.
    public typealias SignIn = @Sendable (_ url: URL) async throws -> String

    private let apiToken: Secret
    private let rotation: TokenRotation
    private let askPerson: SignIn?
    private let asking = AsyncMutex()

    /// Makes a manager that has the person's token only in memory.
    ///
    /// - Parameters:
    ///   - apiToken: The token from the console, 64 hexadecimal digits.
    ///   - webAuthToken: The token of a person who signed in before, if there is one.
    ///   - usesTokensOnce: Whether the requests of a person are sent one after the other from the start, each with the
    ///     token of the response before; see ``WebAuthTokenManager``.
    ///   - signIn: Lets a person sign in when the service requires it.
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

    /// Makes a manager that continues as the person whose token is stored, if there is a stored token.
    ///
    /// - Parameters:
    ///   - apiToken: The token from the console, 64 hexadecimal digits.
    ///   - storage: The storage of the person's token. The first request reads the token, and each next token is stored
    ///     there, too.
    ///   - usesTokensOnce: Whether the requests of a person are sent one after the other from the start.
    ///   - logger: Gets a warning when a next token could not be stored.
    ///   - signIn: Lets a person sign in when the service requires it.
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

    /// Adds the API token to the query, and the person's token if a person is signed in.
    ///
    /// - Parameter request: The attempt.
    /// - Throws: ``CloudKitError/Code-swift.struct/invalidCredentials`` where a string cannot be a token,
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

    /// Adopts the next token and stores it, if the request was sent for a person who is still signed in.
    ///
    /// - Parameters:
    ///   - response: Status and header fields.
    ///   - request: The attempt that was answered.
    public func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async {
        await rotation.adopt(from: response, number: request.session)
    }

    /// `true` while a person is signed in, because each response then brings the next token.
    public var sendsOneAtATime: Bool { rotation.mayHavePerson }

    /// A number that changes with each sign-in and sign-out.
    public var signIns: UInt64 { rotation.personNumber }

    /// Allows another attempt if the token was refused only because another request had used it, or if a person signed
    /// in meanwhile; falls back to the API token if the session is over.
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
        switch try await rotation.refusalReason(of: request.session, operation: request.operationID) {
        case .superseded, .signedInSince: return true
        case .formerPerson: return false
        case .noPerson: break
        case .sessionOver:
            // A 401 can also be about the API token, unless the service accepted it before, together with a token of
            // this person.
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
            // One sign-in is enough for all requests that waited.
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

    /// Whether requests are sent for a person, as far as the client knows.
    ///
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where the storage cannot be
    ///   read.
    public var isSignedIn: Bool {
        get async throws { try await rotation.current != nil }
    }

    /// Continues as a person.
    ///
    /// - Parameter webAuthToken: The token from the sign-in page, not percent-encoded.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where the token could not be
    ///   stored. The manager uses it nevertheless.
    public func signIn(webAuthToken: String) async throws {
        try await rotation.replace(with: Secret(webAuthToken))
    }

    /// Forgets the person, in the storage too; the API token stays. No request is sent, as the service has no endpoint
    /// for signing out.
    ///
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where the storage still has the
    ///   token. The manager does not use it any more.
    public func signOut() async throws {
        try await rotation.replace(with: nil)
    }

    /// The person's token for the next request; `nil` where no person is signed in. If the manager has a
    /// ``TokenStorage``, it stores this token itself.
    ///
    /// The token is a credential: a program that has it can act as the person.
    ///
    /// - Returns: The token, not percent-encoded.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/tokenStorage`` where the storage cannot be
    ///   read.
    public func revealWebAuthToken() async throws -> String? {
        try await rotation.current?.revealed
    }
}
