public import CloudKitEmulator
public import CloudKitEmulatorServer
public import CloudKitModel
public import HTTPTypes
import Logging
import MistKit
import OpenAPISwiftAsyncHTTPClient
public import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How a test reaches its emulator.
public enum EmulatorConnection: Hashable, Sendable, CaseIterable {
    /// By function calls, without a socket or a port. This is the fastest way.
    case inProcess
    /// Over HTTP on a free port of the loopback interface.
    case socket
}

/// Runs an emulator of CloudKit Web Services while a closure runs, with a user and credentials that are ready to use.
///
/// ```swift
/// @Test func savedNotesAreFound() async throws {
///     try await withCloudKitEmulator { emulator in
///         let database = emulator.service(as: .user).privateDatabase
///         _ = try await database.create(Record(recordType: "Note", fields: ["title": "Milk"]))
///         // POST http://cloudkit.test/database/1/iCloud.test.mistkit/development/private/records/modify
///     }
/// }
/// ```
///
/// Each call has an emulator of its own, so tests can run at the same time. When the closure ends, the emulator and its
/// data are removed; data in a file stay. Over a socket, requests that are still under way then have one second to end.
///
/// - Parameters:
///   - connection: In process, or over a socket.
///   - storage: Where the data are kept.
///   - configuration: The limits and switches of the emulator's behaviour.
///   - environment: The environment of the container that the credentials are for, and that services use.
///   - faults: The faults from the beginning; see also ``RunningEmulator/faults``.
///   - clock: The clock of the emulator, of its signatures and of the waits of its web courier; the system's clock when
///     `nil`.
///   - seed: Makes record names, tokens and keys the same in each run; they are random when `nil`.
///   - body: The test.
/// - Returns: The result of the closure.
/// - Throws: The errors of the closure; an `EmulatorError` when the storage cannot be opened or closed.
public func withCloudKitEmulator<Result>(
    over connection: EmulatorConnection = .inProcess,
    storage: EmulatorStorage = .memory,
    configuration: EmulatorConfiguration = EmulatorConfiguration(),
    environment: ContainerEnvironment = .development,
    faults: [FaultRule] = [],
    clock: TestClock? = nil,
    seed: UInt64? = nil,
    _ body: (RunningEmulator) async throws -> Result
) async throws -> Result {
    let randomness = seed.map(SeededBytes.init)
    let now: @Sendable () -> Date = if let clock { { clock.now } } else { { Date() } }
    let rules = try CloudKitEmulator(
        storage: storage,
        configuration: configuration,
        identifiers: randomness.map { source in IdentifierSource { source.next($0) } } ?? .random,
        clock: now
    )
    let quiet = Logger(label: "MistTesting") { _ in SwiftLogNoOpLogHandler() }
    var serverConfiguration = CloudKitEmulatorServer.Configuration(logger: quiet)
    serverConfiguration.faults = faults
    // A test signs in as any user.
    serverConfiguration.signInCode = nil
    // No one reads the responses of requests that are under way when the closure ends.
    serverConfiguration.shutdownTimeout = .seconds(1)
    if let clock { serverConfiguration.clock = clock.timer }
    let server = try CloudKitEmulatorServer(rules, configuration: serverConfiguration)
    let key = try randomness.map { try ServerToServerKey(rawRepresentation: $0.next(32)) } ?? .generate()
    func running(at serverURL: URL, through transport: any ClientTransport) throws -> RunningEmulator {
        try RunningEmulator(
            server: server,
            serverURL: serverURL,
            transport: transport,
            environment: environment,
            key: key,
            now: now
        )
    }

    let result: Result
    do {
        switch connection {
        case .inProcess:
            result = try await body(running(at: RunningEmulator.addressInProcess, through: server))
        case .socket:
            result = try await server.withRunningServer { address in
                try await body(running(at: address, through: AsyncHTTPClientTransport()))
            }
        }
    } catch {
        try? rules.close()
        throw error
    }
    try rules.close()
    return result
}

/// An emulator that runs during a test: its address, and one credential of each kind that it accepts.
///
/// ## Topics
///
/// ### Using MistKit on it
/// - ``service(as:configure:)``
/// - ``service(asUser:)``
/// - ``serviceConfiguration``
/// - ``Identity``
///
/// ### Using any other client on it
/// - ``serverURL``
/// - ``transport``
/// - ``send(_:body:)``
/// - ``path(_:in:)``
///
/// ### What the emulator knows
/// - ``containerIdentifier``
/// - ``environment``
/// - ``apiToken``
/// - ``userRecordName``
/// - ``webAuthToken``
/// - ``serverKeyID``
/// - ``serverKeyPEM``
///
/// ### Faults
/// - ``faults``
///
/// ### Behind the wire
/// - ``rules``
public struct RunningEmulator: Sendable {
    /// The address of the emulator.
    ///
    /// In process it is a name without a DNS entry.
    public let serverURL: URL
    /// The transport that carries requests to the emulator.
    public let transport: any ClientTransport
    /// The container that the credentials are for.
    public let containerIdentifier = "iCloud.test.mistkit"
    /// The environment that ``service(as:configure:)`` uses, and in which the API token and the
    /// server-to-server key are valid. `rules.registerAPIToken(emulator.apiToken, for: emulator.containerIdentifier,
    /// in: .production)` makes the token valid in the other environment as well.
    public let environment: ContainerEnvironment
    /// The registered API token.
    public let apiToken: String
    /// The user record name of the one user, Mei Chen.
    public let userRecordName: String
    /// A web authentication token of the user, not percent-encoded. It is valid for 30 minutes.
    public let webAuthToken: String
    /// The identifier of the registered server-to-server key.
    public let serverKeyID: String
    /// The private half of the server-to-server key, as PEM (PKCS #8).
    public let serverKeyPEM: String
    /// The faults that the test orders, and a list of the requests so far.
    public let faults: EmulatorFaults
    /// The rules, for setup and checks that are not possible with requests.
    public let rules: CloudKitEmulator
    let key: ServerToServerKey
    let now: @Sendable () -> Date

    static let addressInProcess = URL(string: "http://cloudkit.test")!

    init(
        server: CloudKitEmulatorServer,
        serverURL: URL,
        transport: any ClientTransport,
        environment: ContainerEnvironment,
        key: ServerToServerKey,
        now: @escaping @Sendable () -> Date
    ) throws {
        self.rules = server.emulator
        faults = server.faults
        self.serverURL = serverURL
        self.transport = transport
        self.environment = environment
        self.key = key
        self.now = now
        try rules.registerContainer(containerIdentifier)
        apiToken = try rules.registerAPIToken(for: containerIdentifier, in: environment)
        userRecordName = try rules.createUser(
            NameComponents(givenName: "Mei", familyName: "Chen"),
            emailAddress: "mei@example.com"
        )
        webAuthToken = try rules.issueWebAuthToken(for: userRecordName)
        serverKeyID = try rules.registerServerKey(.pem(key.publicKeyPEM), for: containerIdentifier, in: environment)
        serverKeyPEM = key.revealPrivateKeyPEM()
    }

    /// Sends a request as it is, and reads the whole response.
    ///
    /// ```swift
    /// let response = try await emulator.send(
    ///     HTTPRequest(method: .get, path: emulator.path("zones/list", in: .private) + "?ckAPIToken=\(emulator.apiToken)")
    /// )
    /// // GET /database/1/iCloud.test.mistkit/development/private/zones/list?ckAPIToken=…
    /// // 421, {"uuid":…,"serverErrorCode":"AUTHENTICATION_REQUIRED",…}
    /// ```
    ///
    /// - Parameters:
    ///   - request: Method, path with query, and header fields. Only the address is added.
    ///   - body: The bytes of the body; a request without bytes has no body.
    /// - Returns: The response, whatever its status.
    /// - Throws: The errors of the transport.
    public func send(_ request: HTTPRequest, body: [UInt8] = []) async throws -> RawResponse {
        let (response, responseBody) = try await transport.send(
            request,
            body: body.isEmpty ? nil : HTTPBody(body),
            baseURL: serverURL,
            operationID: "raw"
        )
        let bytes = if let responseBody { try await [UInt8](collecting: responseBody, upTo: .max) } else { [UInt8]() }
        return RawResponse(status: response.status, headerFields: response.headerFields, body: bytes)
    }

    /// The path of an endpoint in the container.
    ///
    /// ```swift
    /// emulator.path("records/query", in: .public)
    /// // "/database/1/iCloud.test.mistkit/development/public/records/query"
    /// ```
    public func path(_ endpoint: String, in scope: DatabaseScope) -> String {
        "/database/1/\(containerIdentifier)/\(environment.rawValue)/\(scope.rawValue)/\(endpoint)"
    }
}

/// A response, before anything decodes it.
public struct RawResponse: Hashable, Sendable {
    /// The status.
    public var status: HTTPResponse.Status
    /// The header fields.
    public var headerFields: HTTPFields
    /// All bytes of the body.
    public var body: [UInt8]

    /// Makes a response.
    public init(status: HTTPResponse.Status, headerFields: HTTPFields, body: [UInt8]) {
        self.status = status
        self.headerFields = headerFields
        self.body = body
    }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
}
