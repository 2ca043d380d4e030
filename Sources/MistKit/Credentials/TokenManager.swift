public import HTTPTypes

/// Adds credentials to requests, and takes new credentials from responses.
///
/// MistKit has four token managers: ``APITokenManager``, ``WebAuthTokenManager``, ``AdaptiveTokenManager`` and
/// ``ServerToServerAuthManager``. They use only this protocol, so your own manager can do everything that they do. This
/// manager asks a vault for its tokens:
///
/// ```swift
/// struct VaultTokenManager: TokenManager {
///     let vault: Vault
///
///     func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError) {
///         guard let token = await vault.token(named: "cloudkit") else {
///             throw CloudKitError(code: .invalidCredentials, message: "The vault has no token named cloudkit.")
///         }
///         request.addCredential(queryItem: "ckAPIToken", value: token)
///     }
/// }
/// // POST /database/1/iCloud.com.example/development/public/records/query?ckAPIToken=...
/// ```
///
/// Requests run at the same time, so the methods are called at the same time for different attempts. For one attempt
/// the order is always the same: ``authenticate(_:)``; ``didReceive(_:to:)`` if a response arrived;
/// ``recover(from:request:)`` if the attempt failed.
public protocol TokenManager: Sendable {
    /// Adds credentials to one attempt of a request.
    ///
    /// It is called for every attempt, retries included. The request is complete: after this method nothing else
    /// changes it.
    ///
    /// - Parameter request: The attempt.
    /// - Throws: A ``CloudKitError``, which ends the request. Its usual codes are
    ///   ``CloudKitError/Code-swift.struct/invalidCredentials`` and ``CloudKitError/Code-swift.struct/signing``.
    func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError)

    /// Receives the head of a response, of any status; does nothing unless you implement it.
    ///
    /// - Parameters:
    ///   - response: Status and header fields.
    ///   - request: The attempt with the changes that ``authenticate(_:)`` made, also to ``OutgoingRequest/session``.
    func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async

    /// Whether a call about many items sends its requests one after the other, because each response brings the
    /// credential for the next one; `false` unless you implement it.
    ///
    /// Apple's page says that a web authentication token is good for a single use. The service was observed to accept
    /// old tokens as well, so separate calls do not wait for each other.
    var sendsOneAtATime: Bool { get }

    /// A number that changes with each sign-in and sign-out; 0 unless you implement it.
    ///
    /// A local store asks the service for the user after each change, before it sends the changes of its user.
    var signIns: UInt64 { get }

    /// Decides whether a failed attempt is retried with other credentials; returns `false` unless you implement it.
    ///
    /// It is called for every failure: a refusal, a lost connection, a cancelled task. So it can also release what
    /// ``authenticate(_:)`` reserved for the attempt. Return `true` only where the service did nothing, as when it
    /// refuses credentials.
    ///
    /// - Parameters:
    ///   - error: Why the attempt failed.
    ///   - request: The attempt with the changes that ``authenticate(_:)`` made.
    /// - Returns: Whether the request is tried again, beginning with ``authenticate(_:)``; three times at most.
    /// - Throws: A ``CloudKitError`` that the caller gets instead of `error`.
    func recover(from error: CloudKitError, request: OutgoingRequest) async throws(CloudKitError) -> Bool
}

extension TokenManager {
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - response: Status and header fields.
    ///   - request: The attempt that was answered.
    public func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async {}

    /// Any number of requests at a time.
    public var sendsOneAtATime: Bool { false }

    /// The same user all the time.
    public var signIns: UInt64 { 0 }

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - error: Why the attempt failed.
    ///   - request: The attempt.
    /// - Returns: `false`.
    /// - Throws: Nothing.
    public func recover(
        from error: CloudKitError,
        request: OutgoingRequest
    ) async throws(CloudKitError) -> Bool {
        false
    }
}
