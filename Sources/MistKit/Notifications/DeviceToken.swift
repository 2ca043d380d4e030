import CloudKitWebServices
public import OpenAPISwiftRuntime
public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Which of the two environments of Apple's push service a token is for: `development` or `production`.
public struct APNsEnvironment: OpenStringEnumeration {
    /// The spelling on the wire.
    public var rawValue: String

    /// Makes the environment spelled `rawValue`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Makes the environment spelled `value`.
    public init(stringLiteral value: String) {
        self.rawValue = value
    }

    /// `development`
    public static let development: APNsEnvironment = "development"
    /// `production`
    public static let production: APNsEnvironment = "production"
    /// The two that are known.
    public static let allCases: [APNsEnvironment] = [.development, .production]

    /// The one that goes with a container's environment.
    ///
    /// - Parameter environment: The container's environment.
    public init(for environment: ContainerEnvironment) {
        self = environment == .production ? .production : .development
    }
}

/// A push token, and where to wait for its pushes.
///
/// A program that has the address can take the pushes, so neither is printed.
public struct DeviceToken: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    /// The environment of the push service that the token is for.
    public var apnsEnvironment: APNsEnvironment
    /// The token, base64 as other clients have it.
    public var token: String
    /// Where the web courier holds a request until there is a push; `nil` for a token that Apple's push service gave.
    public var courierURL: URL?
    /// The name that the client chose for itself.
    public var clientID: String

    /// Makes a token that was kept.
    ///
    /// - Parameters:
    ///   - apnsEnvironment: The environment of the push service.
    ///   - token: The token.
    ///   - courierURL: The address of the web courier.
    ///   - clientID: The name that the client chose for itself.
    public init(apnsEnvironment: APNsEnvironment, token: String, courierURL: URL?, clientID: String) {
        self.apnsEnvironment = apnsEnvironment
        self.token = token
        self.courierURL = courierURL
        self.clientID = clientID
    }

    /// The environment and the client's name; no secret.
    public var description: String { "DeviceToken(\(apnsEnvironment), clientID: \(clientID))" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// The environment and the client's name; no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["apnsEnvironment": apnsEnvironment.rawValue, "clientID": clientID])
    }
}

extension CloudKitService {
    /// Makes a push token for a program that has none of Apple's push service, with an address to wait for pushes.
    ///
    /// ```swift
    /// let token = try await service.createDeviceToken()
    /// // POST /device/1/iCloud.com.example/development/tokens/create
    /// // {"apnsEnvironment":"development","clientId":"0F5F1A70-7B6E-4C39-8A0E-3D0D7F6A2F11"}
    /// ```
    ///
    /// ``notifications(apnsEnvironment:clientID:)`` makes one itself. Apple's page has the endpoint below `/database`, where the
    /// service does not answer; CloudKit JS uses this one.
    ///
    /// - Parameters:
    ///   - apnsEnvironment: The environment of the push service; the one of the container's environment when `nil`.
    ///   - clientID: A UUID by which the service knows this client; a new one when `nil`.
    /// - Returns: The token.
    /// - Throws: ``CloudKitError``.
    public func createDeviceToken(
        apnsEnvironment: APNsEnvironment? = nil,
        clientID: String? = nil
    ) async throws -> DeviceToken {
        let apnsEnvironment = apnsEnvironment ?? APNsEnvironment(for: environment)
        let clientID = clientID ?? UUID().uuidString
        let reply = try await reply(to: Operations.CreateDeviceToken.id) { client in
            let response = try await client.createDeviceToken(
                path: .init(version: "1", container: containerIdentifier, environment: environment),
                body: .json(.init(apnsEnvironment: apnsEnvironment.rawValue, clientId: clientID))
            ).ok
            return (try response.body.json, response.headers.xAppleRequestUUID)
        }
        guard let token = reply.body.apnsToken, !token.isEmpty else {
            throw CloudKitError(code: .unexpectedResponse, message: "The response has no push token.")
                .from(reply.origin)
        }
        return DeviceToken(
            apnsEnvironment: reply.body.apnsEnvironment.map { APNsEnvironment(rawValue: $0) } ?? apnsEnvironment,
            token: token,
            courierURL: reply.body.webcourierURL.flatMap { URL(string: $0) },
            clientID: clientID
        )
    }

    /// Registers a push token: from now on the device receives the pushes of the caller's subscriptions.
    ///
    /// ```swift
    /// try await service.registerDeviceToken(token)
    /// // POST /device/1/iCloud.com.example/development/tokens/register
    /// // {"apnsEnvironment":"development","apnsToken":"…","clientId":"…"}
    /// ```
    ///
    /// - Parameter token: A token of ``createDeviceToken(apnsEnvironment:clientID:)``.
    /// - Throws: A ``CloudKitError``.
    public func registerDeviceToken(_ token: DeviceToken) async throws {
        // The reply may have no body, and nothing of it is needed.
        _ = try await call(Operations.RegisterDeviceToken.id) { client in
            try await client.registerDeviceToken(
                buffering: .init(
                    path: .init(version: "1", container: containerIdentifier, environment: environment),
                    body: .json(
                        .init(
                            apnsEnvironment: token.apnsEnvironment.rawValue,
                            apnsToken: token.token,
                            clientId: token.clientID
                        )
                    )
                )
            ).ok
        }
    }

    /// Registers the token that Apple's push service gave to an app.
    ///
    /// - Parameters:
    ///   - token: The token's bytes, as `didRegisterForRemoteNotificationsWithDeviceToken` has them.
    ///   - apnsEnvironment: The environment of the push service, by the app's entitlement; the one of the container's
    ///     environment when `nil`.
    ///   - clientID: A UUID by which the service knows this client; a new one when `nil`.
    /// - Returns: The token as it was registered.
    /// - Throws: ``CloudKitError``.
    @discardableResult
    public func registerDeviceToken(
        _ token: Data,
        apnsEnvironment: APNsEnvironment? = nil,
        clientID: String? = nil
    ) async throws -> DeviceToken {
        let deviceToken = DeviceToken(
            apnsEnvironment: apnsEnvironment ?? APNsEnvironment(for: environment),
            token: token.base64EncodedString(),
            courierURL: nil,
            clientID: clientID ?? UUID().uuidString
        )
        try await registerDeviceToken(deviceToken)
        return deviceToken
    }
}
