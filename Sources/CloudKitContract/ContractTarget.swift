public import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The address that a run of the contract suite asks, and the credentials it has there.
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
/// Rules that need credentials or features which the target lacks are skipped, so a target with an API token alone
/// still checks something. A web token must be good for many uses: the suite sends the same one all along.
public struct ContractTarget: Sendable {
    /// A signed-in person.
    public struct User: Hashable, Sendable {
        /// The person's web token, raw: it is percent-encoded where it is sent.
        public var webAuthToken: String
        /// The address by which others can discover the person, when there is one.
        public var emailAddress: String?

        /// Makes a user of a web token.
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

        /// Makes a key of its ID and its private half.
        public init(keyID: String, privateKeyPEM: String) {
            self.keyID = keyID
            self.privateKeyPEM = privateKeyPEM
        }
    }

    /// Credentials for the production environment of the container, to which no schema was deployed that has the record
    /// types of the suite.
    public struct Production: Hashable, Sendable {
        /// An API token of the environment.
        public var apiToken: String
        /// A web token of a person who signed in there, raw.
        public var webAuthToken: String

        /// Makes credentials.
        public init(apiToken: String, webAuthToken: String) {
            self.apiToken = apiToken
            self.webAuthToken = webAuthToken
        }
    }

    /// The root of the service: the part of an address before `/database/1/…`.
    public var serverURL: URL
    /// What carries the requests.
    public var transport: any ClientTransport
    /// The container: one made for the purpose, whose record types the suite may use as it likes.
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
    /// Whether a save may bring new record types and fields into being. Otherwise the container needs
    /// ``CloudKitContract/schema`` before the suite runs.
    public var hasOpenSchema = true
    /// How long a query has to wait until it finds what was saved before: nothing here, some seconds on the service.
    public var indexDelay = Duration.zero
    /// Whether there is users/discover.
    public var servesUserDiscovery = true
    /// Whether there are device tokens and a web courier.
    public var servesDeviceTokens = true
    /// Whether the texts of reasons are compared where a rule knows one, or the codes alone.
    public var comparesReasons = true

    /// Makes a target without users and keys.
    ///
    /// - Parameters:
    ///   - serverURL: The root of the service.
    ///   - transport: What carries the requests.
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
