package import CloudKitModel

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The credentials that a request carries.
package struct Credentials: Hashable, Sendable {
    /// The query item `ckAPIToken`.
    package var apiToken: String?
    /// The query item `ckWebAuthToken`, percent-decoded.
    package var webAuthToken: String?
    /// The three headers of a request signed by a server-to-server key.
    package var signature: ServerKeySignature?

    /// Makes credentials.
    package init(apiToken: String? = nil, webAuthToken: String? = nil, signature: ServerKeySignature? = nil) {
        self.apiToken = apiToken
        self.webAuthToken = webAuthToken
        self.signature = signature
    }
}

/// The result of valid credentials.
package struct Authentication: Hashable, Sendable {
    /// The caller of the request.
    package var caller: Caller
    /// The token for the next request, for the response header `X-Apple-CloudKit-Web-Auth-Token`; `nil` when the
    /// request had no web authentication token.
    package var nextWebAuthToken: String?
}

extension CloudKitEmulator {
    /// Checks a request's credentials.
    ///
    /// Where there is a signature, nothing else is looked at. Otherwise the API token must be registered for the
    /// environment of the container; a web authentication token beside it must be issued by this emulator and not be
    /// expired. Tokens and keys of one environment are not valid in the other.
    ///
    /// - Parameters:
    ///   - credentials: The credentials that the request carries.
    ///   - container: The container's identifier.
    ///   - environment: The environment of the request.
    ///   - time: When the request is made; now when `nil`.
    /// - Returns: The caller, and the next web authentication token.
    /// - Throws: An ``EmulatorError``: `AUTHENTICATION_FAILED`, "Authentication failed", with no hint which part was
    ///   wrong. For an invalid web authentication token, the code is ``EmulatorConfiguration/WebAuthTokens/rejection``.
    ///   A `BAD_REQUEST` for a container identifier that is longer than ``EmulatorConfiguration/Limits/nameLength``.
    package func authenticate(
        _ credentials: Credentials,
        for container: String,
        in environment: ContainerEnvironment,
        at time: Date? = nil
    ) throws -> Authentication {
        let now = time?.milliseconds ?? now
        // The first request creates a container, so its identifier is checked before anything is looked up or stored.
        let limit = configuration.limits.nameLength
        guard container.utf8.count <= limit else {
            throw EmulatorError.badRequest("a container identifier has at most \(limit) characters")
        }
        let keys = [credentials.apiToken, credentials.signature?.keyID].compactMap(\.self)
        guard keys.allSatisfy({ $0.utf8.count <= limit }) else { throw EmulatorError.authenticationFailed }
        if let signature = credentials.signature {
            return Authentication(
                caller: .serverKey(keyID: try verify(signature, for: container, in: environment, now: now))
            )
        }
        guard let apiToken = credentials.apiToken, try isRegistered(apiToken, for: container, in: environment) else {
            throw EmulatorError.authenticationFailed
        }
        guard let webAuthToken = credentials.webAuthToken else {
            return Authentication(caller: .anonymous)
        }
        return try redeem(webAuthToken, for: container, in: environment, now: now)
    }
}
