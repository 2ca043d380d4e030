import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import HTTPTypes
import Logging
import MistKit
import OpenAPISwiftRuntime
import Synchronization

/// The service that a command talks to.
///
/// With credentials, it is the service at an address: Apple's or an emulator. Without credentials, it is the embedded
/// emulator.
struct ServiceConnection {
    enum Destination {
        case embedded(EmbeddedEmulator)
        case address(URL)
    }

    /// The kind of credentials, as messages show it.
    enum Identity: String {
        case apiToken = "API token"
        case user = "web authentication token of a user"
        case serverKey = "server-to-server key"
    }

    let service: CloudKitService
    let scope: DatabaseScope
    let destination: Destination
    let identity: Identity

    var database: CloudKitDatabase { service.database(scope) }

    /// The database, in which custom zones can be created and deleted.
    ///
    /// - Throws: ``CommandError`` when it is not the private one.
    func databaseOfZones() throws(CommandError) -> CloudKitDatabase {
        guard scope == .private else {
            throw CommandError(
                code: .usage,
                message: "Zones cannot be created or deleted in the \(scope.rawValue) database.",
                remedy: "Use --database private with a user's web authentication token."
            )
        }
        return database
    }

    /// What distinguishes the service from others: its address, or the folder of the embedded emulator.
    var address: String {
        switch destination {
        case .embedded(let embedded): URL(fileURLWithPath: embedded.folder).standardizedFileURL.path
        case .address(let url): url.absoluteString
        }
    }

    /// The destination on one line, for people.
    var title: String {
        switch destination {
        case .embedded(let embedded): "embedded emulator, data in \(embedded.folder)/"
        case .address(let url): url.absoluteString
        }
    }

    /// Opens the connection that flags, environment and configuration file describe.
    ///
    /// - Throws: ``CommandError`` that names the setting that is wrong.
    static func open(_ options: ConnectionOptions, counter: RequestCounter? = nil) throws -> ServiceConnection {
        try open(Settings.read(flags: options), logger: logger(verbose: options.verbose), counter: counter)
    }

    /// Opens a connection.
    ///
    /// - Parameters:
    ///   - settings: The service and the credentials; without credentials, the embedded emulator.
    ///   - logger: Where requests are logged.
    ///   - counter: Counts the requests.
    ///   - rules: The rules of the embedded emulator.
    /// - Returns: The connection.
    /// - Throws: A ``CommandError`` where a setting is missing or not valid.
    static func open(
        _ settings: Settings,
        logger: Logger,
        counter: RequestCounter? = nil,
        rules: EmulatorConfiguration = EmulatorConfiguration()
    ) throws -> ServiceConnection {
        let environment = try settings.containerEnvironment()
        let scope = try settings.databaseScope()
        guard settings.hasCredentials else {
            guard settings.serverURL == nil else {
                throw CommandError(
                    code: .permission,
                    message: "The address of a service is set, but no credentials for it.",
                    remedy:
                        "Set MISTKIT_API_TOKEN, or MISTKIT_KEY_ID and MISTKIT_PRIVATE_KEY_FILE; an emulator prints its own."
                )
            }
            return try embedded(
                settings,
                environment: environment,
                scope: scope,
                logger: logger,
                counter: counter,
                rules: rules
            )
        }
        guard let container = settings.container else {
            throw CommandError(
                code: .usage,
                message: "Credentials are set, but no container.",
                remedy: "Name it with --container or MISTKIT_CONTAINER, such as iCloud.com.example.app."
            )
        }
        let address = try settings.address()
        let (manager, identity): (any TokenManager, Identity)
        if let user = settings.user {
            let local = try EmbeddedEmulator.ofThisMachine(settings)
            let token = try local.webAuthToken(for: local.user(named: user))
            (manager, identity) = (WebAuthTokenManager(apiToken: local.account.apiToken, webAuthToken: token), .user)
        } else {
            (manager, identity) = try settings.tokenManager()
        }
        var configuration = CloudKitService.Configuration(serverURL: address, logger: logger)
        configuration.middlewares = counter.map { [$0] } ?? []
        let service = CloudKitService(
            containerIdentifier: container,
            environment: environment,
            tokenManager: manager,
            configuration: configuration
        )
        return ServiceConnection(
            service: service,
            scope: scope ?? (identity == .user ? .private : .public),
            destination: .address(address),
            identity: identity
        )
    }

    private static func embedded(
        _ settings: Settings,
        environment: ContainerEnvironment,
        scope: DatabaseScope?,
        logger: Logger,
        counter: RequestCounter?,
        rules: EmulatorConfiguration
    ) throws -> ServiceConnection {
        let embedded = try EmbeddedEmulator(
            folder: settings.emulatorFolder,
            container: settings.container ?? EmbeddedEmulator.defaultContainer,
            configuration: .init(logger: logger),
            rules: rules
        )
        let user = try settings.user.map { try embedded.user(named: $0) } ?? embedded.account.currentUser
        var configuration = CloudKitService.Configuration(transport: embedded.server, logger: logger)
        configuration.assetTransport = embedded.server
        configuration.middlewares = counter.map { [$0] } ?? []
        let service = CloudKitService(
            containerIdentifier: embedded.container,
            environment: environment,
            tokenManager: WebAuthTokenManager(
                apiToken: embedded.account.apiToken,
                webAuthToken: try embedded.webAuthToken(for: user)
            ),
            configuration: configuration
        )
        return ServiceConnection(
            service: service,
            scope: scope ?? .private,
            destination: .embedded(embedded),
            identity: .user
        )
    }

    static func logger(verbose: Bool) -> Logger {
        var logger = Logger(label: "mistkit") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = verbose ? .debug : .error
        return logger
    }
}

extension Settings {
    /// Whether any credential is set. The embedded emulator is used only without credentials.
    var hasCredentials: Bool {
        apiToken != nil || webAuthToken != nil || keyID != nil || privateKey != nil || privateKeyFile != nil
    }

    func containerEnvironment() throws(CommandError) -> ContainerEnvironment {
        guard let environment else { return .development }
        guard let known = ContainerEnvironment(rawValue: environment.lowercased()) else {
            throw CommandError(
                code: .usage,
                message: "\"\(environment)\" is not an environment.",
                remedy: "Write development or production."
            )
        }
        return known
    }

    func databaseScope() throws(CommandError) -> DatabaseScope? {
        guard let database else { return nil }
        guard let known = DatabaseScope(rawValue: database.lowercased()) else {
            throw CommandError(
                code: .usage,
                message: "\"\(database)\" is not a database.",
                remedy: "Write public, private or shared."
            )
        }
        return known
    }

    func address() throws(CommandError) -> URL {
        guard let serverURL else { return CloudKitService.appleServerURL }
        guard let url = URL(string: serverURL), url.scheme == "http" || url.scheme == "https", url.host != nil else {
            throw CommandError(
                code: .usage,
                message: "\"\(serverURL)\" is not the address of a service.",
                remedy: "Write it as http://127.0.0.1:8080 or https://host."
            )
        }
        return url
    }

    func tokenManager() throws -> (any TokenManager, ServiceConnection.Identity) {
        if let keyID {
            return (ServerToServerAuthManager(keyID: keyID, privateKey: try serverKey()), .serverKey)
        }
        guard privateKey == nil, privateKeyFile == nil else {
            throw CommandError(
                code: .permission,
                message: "A private key is set, but no key ID.",
                remedy: "Set MISTKIT_KEY_ID to the ID that the CloudKit console shows for the key."
            )
        }
        guard let apiToken else {
            throw CommandError(
                code: .permission,
                message: "A web authentication token is set, but no API token.",
                remedy: "Set MISTKIT_API_TOKEN to the token of the container with which the user signed in."
            )
        }
        guard let webAuthToken else {
            guard let session = try sessionFile(), session.exists else {
                return (APITokenManager(apiToken: apiToken), .apiToken)
            }
            return (AdaptiveTokenManager(apiToken: apiToken, storage: session.storage), .user)
        }
        return (WebAuthTokenManager(apiToken: apiToken, webAuthToken: webAuthToken), .user)
    }

    private func serverKey() throws -> ServerToServerKey {
        if let privateKey { return try ServerToServerKey(privateKey) }
        guard let privateKeyFile else {
            throw CommandError(
                code: .permission,
                message: "A key ID is set, but no private key.",
                remedy: "Set MISTKIT_PRIVATE_KEY_FILE to its PEM file, or MISTKIT_PRIVATE_KEY to its text."
            )
        }
        do {
            return try ServerToServerKey(String(contentsOfFile: privateKeyFile, encoding: .utf8))
        } catch let error as CloudKitError {
            throw CommandError(
                code: .permission,
                message: "\(privateKeyFile): \(error.message)",
                remedy: "`mistkit auth keygen` makes a key pair."
            )
        } catch {
            throw CommandError(
                code: .permission,
                message: "The private key file \(privateKeyFile) cannot be read.",
                remedy: "Check the path and its permissions."
            )
        }
    }
}

/// Counts the requests that are sent.
final class RequestCounter: ClientMiddleware {
    private let state = Mutex(0)

    var count: Int { state.withLock { $0 } }

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        state.withLock { $0 += 1 }
        return try await next(request, body, baseURL)
    }
}
