import CloudKitWebServices
public import OpenAPISwiftRuntime
public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The environment of Apple's push service that a token is for: `development` or `production`.
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
    /// The two known environments.
    public static let allCases: [APNsEnvironment] = [.development, .production]

    /// Makes the environment that belongs to a container's environment: `production` for `production`, and otherwise
    /// `development`.
    ///
    /// - Parameter environment: The container's environment.
    public init(for environment: ContainerEnvironment) {
        self = environment == .production ? .production : .development
    }
}

/// A push token, and the address to wait for its pushes.
///
/// A program that has the address can receive the pushes, so descriptions show neither the token nor the address.
public struct DeviceToken: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    /// The environment of the push service that the token is for.
    public var apnsEnvironment: APNsEnvironment
    /// The token, in base64 like in other clients.
    public var token: String
    /// The address of the web courier, which holds a request until there is a push; `nil` for a token of Apple's push
    /// service.
    public var courierURL: URL?
    /// The name that the client chose for itself.
    public var clientID: String

    /// Makes a token from its stored parts.
    ///
    /// - Parameters:
    ///   - apnsEnvironment: The environment of the push service.
    ///   - token: The token.
    ///   - courierURL: The address of the web courier; `nil` for a token of Apple's push service.
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
    /// Makes a push token, with an address to wait for pushes, for a program without a token of Apple's push service.
    ///
    /// ```swift
    /// let token = try await service.createDeviceToken()
    /// // POST /device/1/iCloud.com.example/development/tokens/create
    /// // {"apnsEnvironment":"development","clientId":"0F5F1A70-7B6E-4C39-8A0E-3D0D7F6A2F11"}
    /// ```
    ///
    /// ``notifications(apnsEnvironment:clientID:)`` makes a token itself. On Apple's page the endpoint is below
    /// `/database`, where the service does not answer; CloudKit JS uses the endpoint below `/device`.
    ///
    /// - Parameters:
    ///   - apnsEnvironment: The environment of the push service; with `nil`, the one of the container's environment.
    ///   - clientID: A UUID that identifies this client; with `nil`, a new UUID.
    /// - Returns: The token.
    /// - Throws: A ``CloudKitError``.
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

    /// Registers a push token. From then on the device receives the pushes of the caller's subscriptions.
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
        // The response may have no body, and the client does not need it.
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
    ///   - token: The token's bytes, as `didRegisterForRemoteNotificationsWithDeviceToken` gets them.
    ///   - apnsEnvironment: The environment of the push service in the app's entitlement; with `nil`, the one of the
    ///     container's environment.
    ///   - clientID: A UUID that identifies this client; with `nil`, a new UUID.
    /// - Returns: The registered token.
    /// - Throws: A ``CloudKitError``.
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
