import CloudKitEmulator
public import MistKit

extension RunningEmulator {
    /// The identity with which a service uses the emulator.
    public enum Identity: Hashable, Sendable, CaseIterable {
        /// A caller without a user: the API token alone, for the public database.
        case apiToken
        /// The user: the API token and a web authentication token, for all databases.
        case user
        /// The developer: the server-to-server key, for the public database.
        case serverKey
    }

    /// The settings of services that use the emulator: its address and its transport.
    ///
    /// Failed requests are not retried, so that a test sees the failure.
    ///
    /// ```swift
    /// var configuration = emulator.serviceConfiguration
    /// configuration.middlewares = [counter]
    /// ```
    public var serviceConfiguration: CloudKitService.Configuration {
        var configuration = CloudKitService.Configuration(serverURL: serverURL, transport: transport)
        configuration.assetTransport = transport
        configuration.retryPolicy = .never
        return configuration
    }

    /// Makes a `CloudKitService` that uses the emulator.
    ///
    /// ```swift
    /// let service = emulator.service(as: .user) {
    ///     $0.retryPolicy = RetryPolicy()
    ///     $0.clock = clock.timer
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - identity: The credentials that it uses.
    ///   - configure: Changes the settings, which are ``serviceConfiguration`` before.
    /// - Returns: The service.
    public func service(
        as identity: Identity,
        configure: (inout CloudKitService.Configuration) -> Void = { _ in }
    ) -> CloudKitService {
        let tokenManager: any TokenManager =
            switch identity {
            case .apiToken: APITokenManager(apiToken: apiToken)
            case .user: AdaptiveTokenManager(apiToken: apiToken, webAuthToken: webAuthToken)
            case .serverKey: ServerToServerAuthManager(keyID: serverKeyID, privateKey: key, now: now)
            }
        var configuration = serviceConfiguration
        configure(&configuration)
        return CloudKitService(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: tokenManager,
            configuration: configuration
        )
    }

    /// Makes a `CloudKitService` for another user, who is signed in.
    ///
    /// ```swift
    /// let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
    /// try await emulator.service(asUser: ben).accept(link)
    /// ```
    ///
    /// It does not retry failed requests, so that a test sees the failure.
    ///
    /// - Parameter userRecordName: The user, who must be a user of ``rules``.
    /// - Returns: The service, with a web authentication token of its own.
    /// - Throws: An `EmulatorError` when there is no such user.
    public func service(asUser userRecordName: String) throws -> CloudKitService {
        CloudKitService(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: AdaptiveTokenManager(
                apiToken: apiToken,
                webAuthToken: try rules.issueWebAuthToken(for: userRecordName)
            ),
            configuration: serviceConfiguration
        )
    }
}
