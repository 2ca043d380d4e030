import CloudKitWebServices
public import Logging
public import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A CloudKit container, used over CloudKit Web Services with one set of credentials.
///
/// ```swift
/// let service = try CloudKitService(
///     containerIdentifier: "iCloud.com.example.app",
///     environment: .production,
///     keyID: keyID,
///     privateKeyPEM: pem
/// )
/// let note = try await service.publicDatabase.fetch("note-1")
/// // POST https://api.apple-cloudkit.com/database/1/iCloud.com.example.app/production/public/records/lookup
/// // {"records":[{"recordName":"note-1"}]}
/// ```
///
/// A service may be used from many tasks at a time, and is cheap to copy. The service does the same for every request:
/// it sends the request again where that is safe (``RetryPolicy``), adds the credentials (``TokenManager``), and logs
/// the request without them. Every failure is a ``CloudKitError``.
///
/// ## Topics
///
/// ### Making a service
/// - ``init(containerIdentifier:environment:apiToken:webAuthToken:configuration:)``
/// - ``init(containerIdentifier:environment:keyID:privateKeyPEM:configuration:)``
/// - ``init(containerIdentifier:environment:tokenManager:configuration:)``
/// - ``Configuration``
/// - ``appleServerURL``
/// - ``defaultTransport``
/// - ``defaultAssetTransport``
///
/// ### What requests may do
/// - ``maximumConcurrentRequests``
/// - ``allowsSignIn``
///
/// ### Databases
/// - ``publicDatabase``
/// - ``privateDatabase``
/// - ``sharedDatabase``
/// - ``database(_:)``
///
/// ### People
/// - ``fetchCaller()``
/// - ``restrictUser()``
/// - ``unrestrictUser()``
/// - ``discoverUser(_:)``
/// - ``discoverUsers(_:)``
/// - ``discoverAllUsers()``
///
/// ### Sharing
/// - ``resolve(_:fetchingRootRecord:rootRecordDesiredKeys:)-(ShareLink,_,_)``
/// - ``resolve(_:fetchingRootRecord:rootRecordDesiredKeys:)-([ShareLink],_,_)``
/// - ``accept(_:)-(ShareLink)``
/// - ``accept(_:)-([ShareLink])``
/// - ``ShareLink``
///
/// ### Pushes
/// - ``notifications(apnsEnvironment:clientID:)``
/// - ``notifications(of:)``
/// - ``createDeviceToken(apnsEnvironment:clientID:)``
/// - ``registerDeviceToken(_:)``
/// - ``registerDeviceToken(_:apnsEnvironment:clientID:)``
public struct CloudKitService: Sendable {
    /// The container's identifier, such as `iCloud.com.example.app`.
    public var containerIdentifier: String { connection.containerIdentifier }

    /// The environment, development or production.
    public var environment: ContainerEnvironment { connection.environment }

    /// The most requests that a call about many items sends at a time; less than 1 means 1.
    ///
    /// With a web authentication token, which every response replaces, requests are sent one at a time; see
    /// ``TokenManager/sendsOneAtATime``.
    public var maximumConcurrentRequests = 4

    /// Whether requests of this service may ask a person to sign in; `true` unless you change it.
    ///
    /// An ``AdaptiveTokenManager`` asks a person when the service requires one. Set this to `false` for a task in the
    /// background, and in the closure that signs a person in: requests that need a sign-in then fail with
    /// ``CloudKitError/Code-swift.struct/authenticationRequired``.
    ///
    /// ```swift
    /// var background = service
    /// background.allowsSignIn = false
    /// ```
    public var allowsSignIn = true

    /// The parts that all copies of the service share.
    var connection: ServiceConnection

    /// Decides whether a request is sent again.
    var retrier: Retrier { connection.pipeline.retrier }

    /// The number of requests that may be under way for one call.
    var concurrency: Int { connection.pipeline.tokenManager.sendsOneAtATime ? 1 : max(maximumConcurrentRequests, 1) }

    /// The path parameters of every operation on a database.
    func path(to scope: DatabaseScope) -> Components.Parameters.DatabasePath {
        // "1" is the version of the protocol; there is no other.
        .init(
            version: "1",
            container: containerIdentifier,
            environment: environment,
            database: scope
        )
    }

    /// Where Apple serves CloudKit Web Services.
    public static let appleServerURL = URL(string: "https://api.apple-cloudkit.com")!

    /// Whether the requests go to Apple, and not to an emulator or another service with the same protocol.
    package var isApple: Bool { connection.configuration.serverURL.host == Self.appleServerURL.host }

    /// Makes a service with credentials of any kind.
    ///
    /// - Parameters:
    ///   - containerIdentifier: The container's identifier, such as `iCloud.com.example.app`.
    ///   - environment: The environment. Each environment has its own schema and data.
    ///   - tokenManager: The credentials.
    ///   - configuration: The server, the transports, when a failed request is sent again, and so on.
    public init(
        containerIdentifier: String,
        environment: ContainerEnvironment = .development,
        tokenManager: any TokenManager,
        configuration: Configuration = Configuration()
    ) {
        connection = ServiceConnection(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: tokenManager,
            configuration: configuration
        )
    }

    /// Makes a service with an API token and, if you have one, the web authentication token of a person.
    ///
    /// - Parameters:
    ///   - containerIdentifier: The container's identifier, such as `iCloud.com.example.app`.
    ///   - environment: The environment.
    ///   - apiToken: The token from the console, 64 hexadecimal digits.
    ///   - webAuthToken: The token from the sign-in page, not percent-encoded. The service sends a new token with every
    ///     response, and requests use the newest. To keep it for the next run, make an ``AdaptiveTokenManager``
    ///     yourself.
    ///   - configuration: The server, the transports, when a failed request is sent again, and so on.
    public init(
        containerIdentifier: String,
        environment: ContainerEnvironment = .development,
        apiToken: String,
        webAuthToken: String? = nil,
        configuration: Configuration = Configuration()
    ) {
        self.init(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: AdaptiveTokenManager(apiToken: apiToken, webAuthToken: webAuthToken),
            configuration: configuration
        )
    }

    /// Makes a service with a server-to-server key, for the public database.
    ///
    /// - Parameters:
    ///   - containerIdentifier: The container's identifier, such as `iCloud.com.example.app`.
    ///   - environment: The environment.
    ///   - keyID: The identifier that the console shows for the key.
    ///   - privateKeyPEM: The private key, in any form that ``ServerToServerKey/init(_:)`` reads.
    ///   - configuration: The server, the transports, when a failed request is sent again, and so on.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidCredentials``, saying what is wrong with
    ///   the key.
    public init(
        containerIdentifier: String,
        environment: ContainerEnvironment = .development,
        keyID: String,
        privateKeyPEM: String,
        configuration: Configuration = Configuration()
    ) throws {
        self.init(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: ServerToServerAuthManager(keyID: keyID, privateKey: try ServerToServerKey(privateKeyPEM)),
            configuration: configuration
        )
    }

    // MARK: Missing credentials

    /// The service knows no caller without credentials.
    @available(
        *,
        unavailable,
        message: "Give credentials: apiToken: and webAuthToken:, or keyID: and privateKeyPEM:, or tokenManager:."
    )
    @_disfavoredOverload
    public init(
        containerIdentifier: String,
        environment: ContainerEnvironment = .development,
        configuration: Configuration = Configuration()
    ) {
        self.init(containerIdentifier: containerIdentifier, environment: environment, apiToken: "")
    }

    /// A web authentication token belongs to an API token.
    @available(
        *,
        unavailable,
        message: "A web authentication token needs the API token with which it was made: apiToken:."
    )
    @_disfavoredOverload
    public init(
        containerIdentifier: String,
        environment: ContainerEnvironment = .development,
        webAuthToken: String?,
        configuration: Configuration = Configuration()
    ) {
        self.init(containerIdentifier: containerIdentifier, environment: environment, apiToken: "")
    }

    /// A key has two parts.
    @available(
        *,
        unavailable,
        message: "A key ID needs its private key: privateKeyPEM:."
    )
    @_disfavoredOverload
    public init(
        containerIdentifier: String,
        environment: ContainerEnvironment = .development,
        keyID: String,
        configuration: Configuration = Configuration()
    ) {
        self.init(containerIdentifier: containerIdentifier, environment: environment, apiToken: "")
    }

    // MARK: Databases

    /// The database that all users of the app share. Any client may read the record types that the schema opens to it.
    public var publicDatabase: CloudKitDatabase { database(.public) }

    /// The private database of the user of the credentials.
    public var privateDatabase: CloudKitDatabase { database(.private) }

    /// The database of records that other people share with the user of the credentials. Its zones carry their owner's name.
    public var sharedDatabase: CloudKitDatabase { database(.shared) }

    /// A database by its scope.
    ///
    /// - Parameter scope: Which of the three.
    /// - Returns: A handle; nothing is sent.
    public func database(_ scope: DatabaseScope) -> CloudKitDatabase {
        CloudKitDatabase(service: self, scope: scope)
    }

    /// Begins a call of an operation.
    package func begin() -> CallContext {
        CallContext(connection: connection, budget: retrier.begin(), allowsSignIn: allowsSignIn)
    }

    /// Calls the generated client once; see ``CallContext/call(_:through:_:)``.
    func call<Output>(
        _ operation: String,
        _ body: (Client) async throws -> Output
    ) async throws(CloudKitError) -> Output {
        try await begin().call(operation, body)
    }

    /// Calls the generated client once; see ``CallContext/reply(to:_:)``.
    func reply<Body>(
        to operation: String,
        _ body: (Client) async throws -> (Body, requestUUID: String?)
    ) async throws(CloudKitError) -> Reply<Body> {
        try await begin().reply(to: operation, body)
    }
}

extension CloudKitService {
    /// The settings of a service: where requests go, how they are sent, and when a failed one is sent again.
    ///
    /// ```swift
    /// var configuration = CloudKitService.Configuration(logger: logger)
    /// configuration.retryPolicy = .never
    /// let service = CloudKitService(containerIdentifier: container, apiToken: token, configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The server's address: Apple's, an emulator's, or that of the partition where Apple keeps a person's account.
        public var serverURL: URL

        /// The transport that sends the requests.
        public var transport: any ClientTransport

        /// The transport for files, to and from the asset host, with connections of its own. It gets no credentials.
        public var assetTransport: any ClientTransport = CloudKitService.defaultAssetTransport

        /// Your middlewares, outermost first.
        ///
        /// They are outside of MistKit's own stages. So they see each request once, without credentials, and each
        /// failure as a ``CloudKitError``.
        public var middlewares: [any ClientMiddleware] = []

        /// When a failed request is sent again.
        public var retryPolicy = RetryPolicy()

        /// Gets a line for each outcome of an attempt and for each retry (debug), and for each request (trace).
        ///
        /// The lines never contain credentials or the content of records.
        public var logger: Logger

        /// Measures the waits of the retry policy.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Returns a number from 0 up to, but not including, 1 for each wait of the retry policy.
        public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// Makes the default settings, with the values that programs set most often.
        ///
        /// - Parameters:
        ///   - serverURL: The server's address.
        ///   - transport: The transport that sends the requests.
        ///   - logger: Gets lines about attempts and retries.
        public init(
            serverURL: URL = CloudKitService.appleServerURL,
            transport: any ClientTransport = CloudKitService.defaultTransport,
            logger: Logger = Logger(label: "MistKit")
        ) {
            self.serverURL = serverURL
            self.transport = transport
            self.logger = logger
        }
    }
}

/// What a service was made with, and the stages that its requests pass. All copies of the service share it, so that
/// copies are cheap.
final class ServiceConnection: Sendable {
    let containerIdentifier: String
    let environment: ContainerEnvironment
    let configuration: CloudKitService.Configuration
    /// Sends every request to the service.
    let pipeline: RequestPipeline
    /// Sends requests to the host of files.
    let assets: AssetHostClient
    /// The user in whose name this client writes.
    let lastWriter = LastWriter()

    init(
        containerIdentifier: String,
        environment: ContainerEnvironment,
        configuration: CloudKitService.Configuration,
        pipeline: RequestPipeline,
        assets: AssetHostClient
    ) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.configuration = configuration
        self.pipeline = pipeline
        self.assets = assets
    }

    /// Makes the stages of a configuration.
    convenience init(
        containerIdentifier: String,
        environment: ContainerEnvironment,
        tokenManager: any TokenManager,
        configuration: CloudKitService.Configuration
    ) {
        let retrier = Retrier(
            policy: configuration.retryPolicy,
            clock: configuration.clock,
            random: configuration.random,
            logger: configuration.logger,
            throttle: .shared(
                for: ContainerThrottle.Key(
                    serverURL: configuration.serverURL,
                    containerIdentifier: containerIdentifier,
                    environment: environment.rawValue
                ),
                clock: configuration.clock
            )
        )
        self.init(
            containerIdentifier: containerIdentifier,
            environment: environment,
            configuration: configuration,
            pipeline: RequestPipeline(
                transport: configuration.transport,
                tokenManager: tokenManager,
                retrier: retrier,
                logger: configuration.logger
            ),
            assets: AssetHostClient(transport: configuration.assetTransport, retrier: retrier.withoutThrottle)
        )
    }

    /// The same connection, which sends requests for one session only.
    func inSession(_ session: UInt64) -> ServiceConnection {
        replacing(
            transport: pipeline.transport,
            tokenManager: SessionTokenManager(manager: pipeline.tokenManager, session: session),
            retrier: pipeline.retrier
        )
    }

    /// The same connection, which sends each request only once, and notes the times of the responses.
    func withoutRepetition(noteDate: @escaping @Sendable (Int) -> Void) -> ServiceConnection {
        replacing(
            transport: DateNotingTransport(transport: pipeline.transport, noteDate: noteDate),
            tokenManager: pipeline.tokenManager,
            retrier: pipeline.retrier.withoutRepetition
        )
    }

    private func replacing(
        transport: any ClientTransport,
        tokenManager: any TokenManager,
        retrier: Retrier
    ) -> ServiceConnection {
        ServiceConnection(
            containerIdentifier: containerIdentifier,
            environment: environment,
            configuration: configuration,
            pipeline: RequestPipeline(
                transport: transport,
                tokenManager: tokenManager,
                retrier: retrier,
                logger: pipeline.logger
            ),
            assets: assets
        )
    }
}
