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
    /// By function calls: no socket, no port, the fastest.
    case inProcess
    /// Over HTTP on a free port of the loopback interface.
    case socket
}

/// Runs an emulator of CloudKit Web Services for the length of a closure, with everything ready to talk to it.
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
/// Each call has an emulator of its own, so tests may run side by side. When the closure ends, the emulator and its data are
/// gone, unless they are in a file. Over a socket, requests that are still under way then have one second to end.
///
/// - Parameters:
///   - connection: In process, or over a socket.
///   - storage: Where the data are kept.
///   - configuration: How the emulator behaves where that is a choice.
///   - environment: The environment of the container that the credentials are for, and that services use.
///   - faults: What goes wrong, and when; see also ``RunningEmulator/faults``.
///   - clock: What time it is in the emulator and for its signatures, and how long its web courier waits; the system's time
///     when `nil`.
///   - seed: Makes record names, tokens and keys the same in each run; they are random when `nil`.
///   - body: The test.
/// - Returns: What the closure returns.
/// - Throws: What the closure throws; an `EmulatorError` when the storage cannot be opened.
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
    // What is under way when the closure ends has no reader any more.
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
    switch connection {
    case .inProcess:
        result = try await body(running(at: RunningEmulator.addressInProcess, through: server))
    case .socket:
        result = try await server.withRunningServer { address in
            try await body(running(at: address, through: AsyncHTTPClientTransport()))
        }
    }
    try rules.close()
    return result
}

/// An emulator for the length of a test: its address, and one credential of each kind that it accepts.
///
/// ## Topics
///
/// ### Using MistKit on it
/// - ``service(as:retryPolicy:clock:random:)``
/// - ``service(asUser:)``
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
    /// The address of the emulator; in process a name that nothing resolves.
    public let serverURL: URL
    /// What carries requests to the emulator.
    public let transport: any ClientTransport
    /// The container that the credentials are for.
    public let containerIdentifier = "iCloud.test.mistkit"
    /// The environment that ``service(as:retryPolicy:clock:random:)`` uses, and in which the API token and the
    /// server-to-server key hold. `rules.registerAPIToken(emulator.apiToken, for: emulator.containerIdentifier, in: .production)`
    /// lets the token into the other one as well.
    public let environment: ContainerEnvironment
    /// The registered API token.
    public let apiToken: String
    /// The user record name of the one user, Mei Chen.
    public let userRecordName: String
    /// A web authentication token of the user, not percent-encoded. It lives as long as a session: 30 minutes.
    public let webAuthToken: String
    /// The identifier of the registered server-to-server key.
    public let serverKeyID: String
    /// The private half of the server-to-server key, as PEM (PKCS #8).
    public let serverKeyPEM: String
    /// What goes wrong at the emulator, and the requests that it had.
    public let faults: EmulatorFaults
    /// The rules, to arrange or look at things that the wire does not show.
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
    ///   - request: Method, path with query, and header fields. The address is added; nothing else is.
    ///   - body: The bytes of the body; a request without bytes has no body.
    /// - Returns: The response, whatever its status.
    /// - Throws: What the transport throws.
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

/// A response as it came over the wire.
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
