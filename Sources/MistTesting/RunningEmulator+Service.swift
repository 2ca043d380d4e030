public import MistKit

extension RunningEmulator {
    /// As whom a service speaks to the emulator.
    public enum Identity: Hashable, Sendable, CaseIterable {
        /// As nobody in particular: with the API token alone, on the public database.
        case apiToken
        /// As the user: with the API token and a web authentication token, on all databases.
        case user
        /// As the developer: with the server-to-server key, on the public database.
        case serverKey
    }

    /// Makes a service of MistKit that talks to the emulator.
    ///
    /// It does not repeat failed requests: a test wants to see the failure.
    ///
    /// - Parameter identity: As whom it speaks.
    /// - Returns: The service.
    public func service(as identity: Identity) -> CloudKitService {
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
            retryPolicy: .never
        )
    }
}
