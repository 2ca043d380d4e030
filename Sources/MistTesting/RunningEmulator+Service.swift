import CloudKitEmulator
public import MistKit

extension RunningEmulator {
    /// As whom a service speaks to the emulator.
    public enum Identity: Hashable, Sendable, CaseIterable {
        /// As a caller without a user: with the API token alone, on the public database.
        case apiToken
        /// As the user: with the API token and a web authentication token, on all databases.
        case user
        /// As the developer: with the server-to-server key, on the public database.
        case serverKey
    }

    /// Makes a service of MistKit that talks to the emulator.
    ///
    /// - Parameters:
    ///   - identity: As whom it speaks.
    ///   - retryPolicy: When a failed request is sent again. By default never, so that a test sees the failure.
    ///   - clock: What the waits of the policy are measured with.
    ///   - random: Gives a number from 0 up to 1 for each wait of the policy.
    /// - Returns: The service.
    public func service(
        as identity: Identity,
        retryPolicy: RetryPolicy = .never,
        clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) -> CloudKitService {
        let tokenManager: any TokenManager =
            switch identity {
            case .apiToken: APITokenManager(apiToken: apiToken)
            case .user: AdaptiveTokenManager(apiToken: apiToken, webAuthToken: webAuthToken)
            case .serverKey: ServerToServerAuthManager(keyID: serverKeyID, privateKey: key, now: now)
            }
        return CloudKitService(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: tokenManager,
            serverURL: serverURL,
            transport: transport,
            assetTransport: transport,
            retryPolicy: retryPolicy,
            clock: clock,
            random: random
        )
    }

    /// Makes a service of MistKit for another person, who is signed in.
    ///
    /// ```swift
    /// let ben = try emulator.rules.createUser(emailAddress: "ben@example.com")
    /// try await emulator.service(asUser: ben).accept(link)
    /// ```
    ///
    /// It does not repeat failed requests, so that a test sees the failure.
    ///
    /// - Parameter userRecordName: The person, whom ``rules`` know.
    /// - Returns: The service, with a web authentication token of its own.
    /// - Throws: An `EmulatorError` when there is no such person.
    public func service(asUser userRecordName: String) throws -> CloudKitService {
        CloudKitService(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: AdaptiveTokenManager(
                apiToken: apiToken,
                webAuthToken: try rules.issueWebAuthToken(for: userRecordName)
            ),
            serverURL: serverURL,
            transport: transport,
            assetTransport: transport,
            retryPolicy: .never
        )
    }
}
