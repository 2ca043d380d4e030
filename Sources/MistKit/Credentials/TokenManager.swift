public import HTTPTypes

/// Puts credentials on requests, and looks at responses for new ones.
///
/// Four come with MistKit: ``APITokenManager``, ``WebAuthTokenManager``, ``AdaptiveTokenManager`` and
/// ``ServerToServerAuthManager``. They use this protocol alone, so a manager of your own can do
/// everything that they do. This one asks a vault for its tokens:
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
/// Requests run at the same time, so all methods are called at the same time. What happens to one attempt is always the
/// same: ``authenticate(_:)``; ``didReceive(_:to:)`` if a response came; ``recover(from:request:)`` if the attempt
/// failed.
public protocol TokenManager: Sendable {
    /// Puts credentials on one attempt of a request.
    ///
    /// Called for every attempt, repeated ones included, with the request as it will go on the wire: what this method
    /// adds is the last change to it.
    ///
    /// - Parameter request: The attempt.
    /// - Throws: A ``CloudKitError``, which ends the request; ``CloudKitError/Code-swift.struct/invalidCredentials``
    ///   and ``CloudKitError/Code-swift.struct/signing`` are made for this.
    func authenticate(_ request: inout OutgoingRequest) async throws(CloudKitError)

    /// Looks at the head of a response, whatever its status; does nothing unless you implement it.
    ///
    /// - Parameters:
    ///   - response: Status and header fields.
    ///   - request: The attempt that ``authenticate(_:)`` left, its ``OutgoingRequest/session`` included.
    func didReceive(_ response: HTTPResponse, to request: OutgoingRequest) async

    /// Whether a call about many items sends its requests one after the other, because each response brings the
    /// credential for the next one; `false` unless you implement it.
    ///
    /// Apple's page calls web authentication tokens good for a single use. The service was seen to take old ones too,
    /// so calls that you make at the same time are not held up by this.
    var sendsOneAtATime: Bool { get }

    /// Decides whether an attempt that failed is made again with other credentials; never, unless you implement it.
    ///
    /// It is called for every failure: a refusal, a lost connection, a cancelled task. So it is also the place to give
    /// back what ``authenticate(_:)`` took. Only say `true` where the service did nothing, as when it refuses
    /// credentials.
    ///
    /// - Parameters:
    ///   - error: Why the attempt failed.
    ///   - request: The attempt that ``authenticate(_:)`` left.
    /// - Returns: Whether the attempt is made again, beginning with ``authenticate(_:)``; three times at most.
    /// - Throws: A ``CloudKitError`` that takes the place of `error`.
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
