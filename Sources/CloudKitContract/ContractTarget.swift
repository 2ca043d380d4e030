public import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The address that a run of the contract suite checks, and the credentials for it.
///
/// ```swift
/// var target = ContractTarget(
///     serverURL: URL(string: "https://api.apple-cloudkit.com")!,
///     transport: AsyncHTTPClientTransport(),
///     containerIdentifier: "iCloud.com.example.contract",
///     apiToken: apiToken
/// )
/// target.user = ContractTarget.User(webAuthToken: webAuthToken)
/// ```
///
/// Rules that need credentials or features which the target lacks are skipped, so a target with only an API token still
/// checks some rules. A web authentication token must be valid for many uses: the suite sends the same token with every
/// request.
public struct ContractTarget: Sendable {
    /// A signed-in person.
    public struct User: Hashable, Sendable {
        /// The person's web authentication token, without percent-encoding.
        ///
        /// The suite encodes it.
        public var webAuthToken: String
        /// The e-mail address by which other users can discover the person; `nil` when there is no such address.
        public var emailAddress: String?

        /// Makes a user from a web authentication token.
        public init(webAuthToken: String, emailAddress: String? = nil) {
            self.webAuthToken = webAuthToken
            self.emailAddress = emailAddress
        }
    }

    /// A server-to-server key.
    public struct ServerKey: Hashable, Sendable {
        /// The key's ID, 64 hexadecimal digits.
        public var keyID: String
        /// The private half as PEM, in SEC1 ("EC PRIVATE KEY") or PKCS#8 form ("PRIVATE KEY").
        public var privateKeyPEM: String

        /// Makes a key from its ID and its private half.
        public init(keyID: String, privateKeyPEM: String) {
            self.keyID = keyID
            self.privateKeyPEM = privateKeyPEM
        }
    }

    /// Credentials for the production environment of the container.
    ///
    /// The record types of the suite must not be deployed there.
    public struct Production: Hashable, Sendable {
        /// An API token of the environment.
        public var apiToken: String
        /// A web authentication token of a person who signed in there, without percent-encoding.
        public var webAuthToken: String

        /// Makes credentials.
        public init(apiToken: String, webAuthToken: String) {
            self.apiToken = apiToken
            self.webAuthToken = webAuthToken
        }
    }

    /// The root of the service: the part of an address before `/database/1/…`.
    public var serverURL: URL
    /// The transport that carries the requests.
    public var transport: any ClientTransport
    /// The container.
    ///
    /// Use a container for this purpose only: the suite creates and deletes its records.
    public var containerIdentifier: String
    /// The environment, `development` or `production`.
    public var environment: String
    /// An API token of the container.
    public var apiToken: String
    /// The user who owns the private database of most rules.
    public var user: User?
    /// Another user, for rules about permissions.
    public var secondUser: User?
    /// A server-to-server key of the container.
    public var serverKey: ServerKey?
    /// Credentials for production, where ``environment`` is `development`.
    public var production: Production?
    /// Whether a save can create new record types and fields. Otherwise the container needs ``CloudKitContract/schema``
    /// before the suite runs.
    public var hasOpenSchema = true
    /// How long the suite waits before each query, so that the query finds records that were saved before.
    ///
    /// Zero is enough for the emulator; the service needs some seconds.
    public var indexDelay = Duration.zero
    /// Whether the target serves users/discover.
    public var servesUserDiscovery = true
    /// Whether the target serves device tokens and a web courier.
    public var servesDeviceTokens = true
    /// Whether the texts of reasons are compared, where a rule knows one.
    ///
    /// Otherwise only the codes are compared.
    public var comparesReasons = true

    /// Makes a target without users and keys.
    ///
    /// - Parameters:
    ///   - serverURL: The root of the service.
    ///   - transport: The transport that carries the requests.
    ///   - containerIdentifier: The container.
    ///   - environment: The environment.
    ///   - apiToken: An API token of the container.
    public init(
        serverURL: URL,
        transport: any ClientTransport,
        containerIdentifier: String,
        environment: String = "development",
        apiToken: String
    ) {
        self.serverURL = serverURL
        self.transport = transport
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.apiToken = apiToken
    }
}
