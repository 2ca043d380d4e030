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
/// - ``init(containerIdentifier:environment:tokenManager:serverURL:transport:assetTransport:middlewares:retryPolicy:logger:clock:random:)``
/// - ``init(containerIdentifier:environment:apiToken:webAuthToken:serverURL:transport:assetTransport:retryPolicy:logger:)``
/// - ``init(containerIdentifier:environment:keyID:privateKeyPEM:serverURL:transport:assetTransport:retryPolicy:logger:)``
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

    /// Makes a service with credentials of any kind.
    ///
    /// - Parameters:
    ///   - containerIdentifier: The container's identifier, such as `iCloud.com.example.app`.
    ///   - environment: The environment. Each environment has its own schema and data.
    ///   - tokenManager: The credentials.
    ///   - serverURL: The server's address: Apple's, an emulator's, or that of the partition where Apple keeps a
    ///     person's account.
    ///   - transport: The transport that sends the requests.
    ///   - assetTransport: The transport for files, to and from the asset host, with connections of its own. It gets no
    ///     credentials.
    ///   - middlewares: Your middlewares, outermost first. They are outside of MistKit's own stages. So they see each
    ///     request once, without credentials, and each failure as a ``CloudKitError``.
    ///   - retryPolicy: When a failed request is sent again.
    ///   - logger: Gets a line for each outcome of an attempt and for each retry (debug), and for each request (trace).
    ///     The lines never contain credentials or the content of records.
    ///   - clock: Measures the waits of the retry policy.
    ///   - random: Returns a number from 0 up to, but not including, 1 for each wait of the retry policy.
    public init(
        containerIdentifier: String,
        environment: ContainerEnvironment = .development,
        tokenManager: any TokenManager,
        serverURL: URL = CloudKitService.appleServerURL,
        transport: any ClientTransport = CloudKitService.defaultTransport,
        assetTransport: any ClientTransport = CloudKitService.defaultAssetTransport,
        middlewares: [any ClientMiddleware] = [],
        retryPolicy: RetryPolicy = RetryPolicy(),
        logger: Logger = Logger(label: "MistKit"),
        clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        let retrier = Retrier(
            policy: retryPolicy,
            clock: clock,
            random: random,
            logger: logger,
            throttle: .shared(
                for: ContainerThrottle.Key(
                    serverURL: serverURL,
                    containerIdentifier: containerIdentifier,
                    environment: environment.rawValue
                ),
                clock: clock
            )
        )
        connection = ServiceConnection(
            containerIdentifier: containerIdentifier,
            environment: environment,
            serverURL: serverURL,
            middlewares: middlewares,
            pipeline: RequestPipeline(
                transport: transport,
                tokenManager: tokenManager,
                retrier: retrier,
                logger: logger
            ),
            assets: AssetHost(transport: assetTransport, retrier: retrier.withoutThrottle)
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
    ///   - serverURL: The server.
    ///   - transport: The transport that sends the requests.
    ///   - assetTransport: The transport for files, to and from the asset host, with connections of its own. It gets no
    ///     credentials.
    ///   - retryPolicy: When a failed request is sent again.
    ///   - logger: Gets lines about attempts and retries.
    public init(
        containerIdentifier: String,
        environment: ContainerEnvironment = .development,
        apiToken: String,
        webAuthToken: String? = nil,
        serverURL: URL = CloudKitService.appleServerURL,
        transport: any ClientTransport = CloudKitService.defaultTransport,
        assetTransport: any ClientTransport = CloudKitService.defaultAssetTransport,
        retryPolicy: RetryPolicy = RetryPolicy(),
        logger: Logger = Logger(label: "MistKit")
    ) {
        self.init(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: AdaptiveTokenManager(apiToken: apiToken, webAuthToken: webAuthToken),
            serverURL: serverURL,
            transport: transport,
            assetTransport: assetTransport,
            retryPolicy: retryPolicy,
            logger: logger
        )
    }

    /// Makes a service with a server-to-server key, for the public database.
    ///
    /// - Parameters:
    ///   - containerIdentifier: The container's identifier, such as `iCloud.com.example.app`.
    ///   - environment: The environment.
    ///   - keyID: The identifier that the console shows for the key.
    ///   - privateKeyPEM: The private key, in any form that ``ServerToServerKey/init(_:)`` reads.
    ///   - serverURL: The server.
    ///   - transport: The transport that sends the requests.
    ///   - assetTransport: The transport for files, to and from the asset host, with connections of its own. It gets no
    ///     credentials.
    ///   - retryPolicy: When a failed request is sent again.
    ///   - logger: Gets lines about attempts and retries.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/invalidCredentials``, saying what is wrong with
    ///   the key.
    public init(
        containerIdentifier: String,
        environment: ContainerEnvironment = .development,
        keyID: String,
        privateKeyPEM: String,
        serverURL: URL = CloudKitService.appleServerURL,
        transport: any ClientTransport = CloudKitService.defaultTransport,
        assetTransport: any ClientTransport = CloudKitService.defaultAssetTransport,
        retryPolicy: RetryPolicy = RetryPolicy(),
        logger: Logger = Logger(label: "MistKit")
    ) throws {
        self.init(
            containerIdentifier: containerIdentifier,
            environment: environment,
            tokenManager: ServerToServerAuthManager(keyID: keyID, privateKey: try ServerToServerKey(privateKeyPEM)),
            serverURL: serverURL,
            transport: transport,
            assetTransport: assetTransport,
            retryPolicy: retryPolicy,
            logger: logger
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
        serverURL: URL = CloudKitService.appleServerURL,
        transport: any ClientTransport = CloudKitService.defaultTransport,
        assetTransport: any ClientTransport = CloudKitService.defaultAssetTransport,
        retryPolicy: RetryPolicy = RetryPolicy(),
        logger: Logger = Logger(label: "MistKit")
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
        serverURL: URL = CloudKitService.appleServerURL,
        transport: any ClientTransport = CloudKitService.defaultTransport,
        assetTransport: any ClientTransport = CloudKitService.defaultAssetTransport,
        retryPolicy: RetryPolicy = RetryPolicy(),
        logger: Logger = Logger(label: "MistKit")
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
        serverURL: URL = CloudKitService.appleServerURL,
        transport: any ClientTransport = CloudKitService.defaultTransport,
        assetTransport: any ClientTransport = CloudKitService.defaultAssetTransport,
        retryPolicy: RetryPolicy = RetryPolicy(),
        logger: Logger = Logger(label: "MistKit")
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
    func begin() -> CallContext {
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

/// The values that a service was made with. All copies of the service share them, so that copies are cheap.
final class ServiceConnection: Sendable {
    let containerIdentifier: String
    let environment: ContainerEnvironment
    let serverURL: URL
    /// The caller's middlewares, outermost first.
    let middlewares: [any ClientMiddleware]
    /// Sends every request to the service.
    let pipeline: RequestPipeline
    /// Sends requests to the host of files.
    let assets: AssetHost
    /// The user in whose name this client writes.
    let lastWriter = LastWriter()

    /// The same connection, which sends each request only once, and notes the times of the responses.
    func withoutRepetition(noteDate: @escaping @Sendable (Int) -> Void) -> ServiceConnection {
        ServiceConnection(
            containerIdentifier: containerIdentifier,
            environment: environment,
            serverURL: serverURL,
            middlewares: middlewares,
            pipeline: RequestPipeline(
                transport: DateNotingTransport(transport: pipeline.transport, noteDate: noteDate),
                tokenManager: pipeline.tokenManager,
                retrier: pipeline.retrier.withoutRepetition,
                logger: pipeline.logger
            ),
            assets: assets
        )
    }

    init(
        containerIdentifier: String,
        environment: ContainerEnvironment,
        serverURL: URL,
        middlewares: [any ClientMiddleware],
        pipeline: RequestPipeline,
        assets: AssetHost
    ) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.serverURL = serverURL
        self.middlewares = middlewares
        self.pipeline = pipeline
        self.assets = assets
    }
}
