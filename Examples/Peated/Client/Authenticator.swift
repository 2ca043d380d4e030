import Foundation
import HTTPTypes
import OpenAPISwiftRuntime

/// Provides the credentials, and renews them once for all requests that need it.
actor Authenticator {
    private let store: any CredentialStore
    private let refresh: @Sendable (_ refreshToken: String) async throws -> Credentials
    /// The renewal that is under way, and the access token that it replaces.
    private var renewal: (rejected: String, task: Task<Credentials, any Error>)?

    init(
        store: any CredentialStore,
        refresh: @escaping @Sendable (_ refreshToken: String) async throws -> Credentials
    ) {
        self.store = store
        self.refresh = refresh
    }

    /// The credentials to send. Throws ``PeatedError`` if no user is logged in.
    func credentials() async throws -> Credentials {
        guard let credentials = try await store.load() else {
            throw PeatedError.unauthorized(message: "No user is logged in.")
        }
        return credentials
    }

    /// Saves the credentials of a new session, or removes those of the old session.
    func set(_ credentials: Credentials?) async throws {
        try await store.save(credentials)
    }

    /// Returns credentials that replace those that the service rejected.
    ///
    /// All callers with the same rejected token wait for one renewal. It runs in a task of its own, so a caller that is
    /// cancelled does not cancel it for the others.
    func replacement(for rejected: Credentials) async throws -> Credentials {
        while let renewal {
            if renewal.rejected == rejected.accessToken { return try await renewal.task.value }
            _ = await renewal.task.result
        }
        let task = Task {
            defer { renewal = nil }
            return try await renew(rejected)
        }
        renewal = (rejected.accessToken, task)
        return try await task.value
    }

    private func renew(_ rejected: Credentials) async throws -> Credentials {
        let current = try await credentials()
        // The token was renewed meanwhile, by an earlier request or by another process with the same store.
        if current.accessToken != rejected.accessToken { return current }
        let result: Result<Credentials, any Error>
        do {
            result = .success(try await refresh(current.refreshToken))
        } catch {
            result = .failure(error)
        }
        // After a logout or login during the request, the renewed tokens are discarded.
        let latest = try await credentials()
        if latest != current { return latest }

        switch result {
        case .success(let renewed):
            try await store.save(renewed)
        case .failure(let error):
            // A refused refresh token is useless from now on. After another failure, it can be used again.
            if case .unauthorized = PeatedError(error) { try await store.save(nil) }
        }
        return try result.get()
    }
}

/// Sends the access token with each request. If the service refuses the token, sends the request again with a new one.
struct BearerTokenMiddleware: ClientMiddleware {
    let authenticator: Authenticator

    /// The operations that need no token.
    private static let openOperations = [
        Operations.Login.id, Operations.LoginWithGoogle.id, Operations.Refresh.id,
    ]

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
        if Self.openOperations.contains(operationID) { return try await next(request, body, baseURL) }

        let credentials = try await authenticator.credentials()
        let (response, responseBody) = try await next(request.authorized(by: credentials), body, baseURL)
        guard response.status == .unauthorized else { return (response, responseBody) }

        let replacement = try await authenticator.replacement(for: credentials)
        try Task.checkCancellation()
        if let body, body.iterationBehavior == .single {
            throw PeatedError.unauthorized(
                message: "The session was renewed, but the body can be read only once. Send the request again."
            )
        }
        // If the service refuses the new token as well, the caller gets that response.
        return try await next(request.authorized(by: replacement), body, baseURL)
    }
}

extension HTTPRequest {
    fileprivate func authorized(by credentials: Credentials) -> HTTPRequest {
        var request = self
        request.headerFields[.authorization] = "Bearer \(credentials.accessToken)"
        return request
    }
}
