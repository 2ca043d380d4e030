public import CloudKitEmulator
import CloudKitModel
public import HTTPTypes
public import Logging
import OpenAPISwiftHummingbird
public import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// CloudKit Web Services over HTTP, with the rules of an emulator behind it.
///
/// A client cannot tell it from the service but by its address: the same paths, credentials, JSON, header fields and
/// errors. It can be called in process, or listen on a socket; it answers the same either way.
///
/// ```swift
/// let emulator = try CloudKitEmulator(storage: .memory)
/// let server = try CloudKitEmulatorServer(emulator)
/// try await server.withRunningServer { address in
///     // http://127.0.0.1:49152/database/1/iCloud.com.example.app/development/public/records/query?ckAPIToken=…
/// }
/// ```
///
/// ## What it takes from a request
///
/// The query items `ckAPIToken` and `ckWebAuthToken`, or the three header fields of a server-to-server key, whose signature
/// is verified over the request's target as it was sent and the bytes of its body. Any content type will do, unknown
/// query items and unknown keys are ignored, and an endpoint of GET answers POST as well.
///
/// ## The web courier
///
/// The `webcourierURL` of `tokens/create` is an address of this server. A GET there waits until there is a push for the device,
/// and answers with its JSON; when none comes for a while (``Configuration/courierTimeout``), it answers with no bytes. The
/// address itself is the credential.
///
/// ## The sign-in page
///
/// A request that needs a person and has none is answered with the address of a page, `redirectURL`. There a person chooses
/// one of the emulator's users or makes a new one, without a password. The web token then goes where the API token's
/// callback says: in a message to the window that opened the page, or in the query of an address.
///
/// ## Topics
///
/// ### Making a server
/// - ``init(_:configuration:)``
/// - ``Configuration``
///
/// ### Listening on a socket
/// - ``withRunningServer(host:port:_:)``
/// - ``run(host:port:onReady:)``
///
/// ### Answering in process
/// - ``send(_:body:baseURL:operationID:)``
/// - ``respond(to:body:)``
///
/// ### Going wrong on purpose
/// - ``faults``
/// - ``EmulatorFaults``
/// - ``FaultRule``
/// - ``Fault``
///
/// ### Joining another server
/// - ``register(on:)``
public struct CloudKitEmulatorServer: Sendable {
    /// What is the server's own choice; how the service behaves is `EmulatorConfiguration`.
    public struct Configuration: Sendable {
        /// The number of bytes of a request's body above which it is refused: 64 MiB. The service's figure is unknown.
        public var maximumBodySize = 64 * 1024 * 1024
        /// Where a user can sign in, the `redirectURL` of `AUTHENTICATION_REQUIRED`; `nil` makes it `/sign-in` at the
        /// address that the request was sent to.
        public var signInURL: String?
        /// How long the web courier waits for a push before it answers with none: 30 seconds. The service's figure is unknown.
        public var courierTimeout: Duration = .seconds(30)
        /// Where files are uploaded to and downloaded from, without a slash at the end, such as `http://127.0.0.1:8081`; `nil` makes
        /// it the address that the request was sent to.
        ///
        /// Every address at which the server listens serves files: to have a host for files alone, as the service has, let the same
        /// server run on a second port and name that here.
        public var assetHostURL: String?
        /// What the header field `X-Responding-Instance` says.
        public var respondingInstance = "ckdatabasews:mistkit-emulator"
        /// What goes wrong, and when, for tests of clients. By default nothing does.
        public var faults: [FaultRule] = []
        /// What ``courierTimeout`` and the times of ``faults`` are measured with. The timeouts of connections are in real time.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// How long a connection can be open without a request, before the first one and between two: 75 seconds. Then it is closed.
        ///
        /// Clients that keep connections for reuse, such as AsyncHTTPClient, do so for 60 seconds. A server that closes first breaks the
        /// request that is sent at that moment.
        public var idleTimeout: Duration {
            get { limits.idleTimeout }
            set { limits.idleTimeout = newValue }
        }
        /// How long the head of a request may take, from its first byte to its last: 30 seconds. Then the connection is closed.
        public var headTimeout: Duration {
            get { limits.headTimeout }
            set { limits.headTimeout = newValue }
        }
        /// How long a body may stand still, that of a request or of a response: 60 seconds. Then the connection is closed.
        ///
        /// A transfer that makes progress can last for any time, and so can a request that the server has not answered, such as one
        /// to the web courier.
        public var transferTimeout: Duration {
            get { limits.transferTimeout }
            set { limits.transferTimeout = newValue }
        }
        /// The number of connections above which new ones wait until another is closed.
        ///
        /// `nil` makes it three quarters of the file descriptors that the process can open when the server starts, at most 10,000.
        public var maximumConnections: Int? {
            get { limits.maximumConnections }
            set { limits.maximumConnections = newValue }
        }
        /// How long a server that stops waits for requests under way: 5 seconds. Then it closes their connections.
        public var shutdownTimeout: Duration {
            get { limits.shutdownTimeout }
            set { limits.shutdownTimeout = newValue }
        }
        /// What the five properties above set, in the form that the server's connections take.
        var limits = ServerLimits()
        /// Where requests are logged, at the level `debug`: method and path with no query, status, request uuid.
        public var logger: Logger

        /// Makes a configuration.
        ///
        /// - Parameter logger: Where requests are logged.
        public init(logger: Logger = Logger(label: "CloudKitEmulatorServer")) {
            self.logger = logger
        }
    }

    /// The rules behind the server.
    public let emulator: CloudKitEmulator
    /// What is the server's own choice.
    public let configuration: Configuration
    /// What goes wrong, and when; to be changed while the server runs.
    public let faults: EmulatorFaults
    let routes: ServerRoutes

    /// Makes a server. It does nothing until it is called or runs.
    ///
    /// - Parameters:
    ///   - emulator: The rules.
    ///   - configuration: What is the server's own choice.
    /// - Throws: `RouteError` should two endpoints have the same path, which they do not.
    public init(_ emulator: CloudKitEmulator, configuration: Configuration = Configuration()) throws {
        self.emulator = emulator
        self.configuration = configuration
        faults = EmulatorFaults(configuration.faults)
        routes = try ServerRoutes()
    }

    /// Answers one request, whatever it is.
    ///
    /// - Parameters:
    ///   - request: The request; its path is the target of the request line, query included.
    ///   - body: The body of the request, or nil if it has none.
    /// - Returns: The response and its body. That of a file is read as it is asked for; any other holds all its bytes.
    /// - Throws: Only what reading the request's body throws, `CancellationError`, and a `TransportError` where a rule of ``faults``
    ///   breaks the connection. Every other error becomes a response.
    public func respond(to request: HTTPRequest, body: HTTPBody?) async throws -> (HTTPResponse, HTTPBody?) {
        try await respond(to: request, body: body, at: routes.match(request))
    }

    /// Answers a request to a destination that is known already.
    func respond(
        to request: HTTPRequest,
        body: HTTPBody?,
        at route: ServerRoutes.Match
    ) async throws -> (HTTPResponse, HTTPBody?) {
        guard let fault = faults.next(for: request) else { return try await serve(request, body: body, at: route) }
        return try await respond(to: request, body: body, at: route, with: fault)
    }

    /// Serves a request. The clock may be ahead by some seconds for it, and single records of it may fail on purpose.
    func serve(
        _ request: HTTPRequest,
        body: HTTPBody?,
        at route: ServerRoutes.Match,
        clockSkew: Double = 0,
        itemFault: ItemFault? = nil
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let time = clockSkew == 0 ? nil : emulator.present + clockSkew
        var builder = ResponseBuilder(request, with: self)
        do {
            switch route.destination {
            case .assetUpload, .assetDownload:
                return try await AssetHost(emulator: emulator, logger: configuration.logger)
                    .respond(to: request, body: body, uploadToken: route.parameters["token"], at: time)
            case .signInPage:
                let (response, body) = try SignInPage(emulator).respond(to: request, form: try await collect(body))
                return builder.reply(page: response, body: body)
            case .courier:
                if let allowed = route.allowedMethods { throw RequestFailure.methodNotAllowed(allowed: allowed) }
                let courierID = String(route.parameters["courier"] ?? "")
                let (response, body) = try await Courier(emulator, configuration).answer(courierID: courierID)
                return builder.reply(response, body: body)
            case .operation, .misplacedToken:
                if request.method == .options { return builder.reply(builder.preflightResponse, body: nil) }
                if let allowed = route.allowedMethods { throw RequestFailure.methodNotAllowed(allowed: allowed) }
                guard case .operation(let operation) = route.destination else { throw EmulatorError.noHandler }
                let bytes = try await collect(body)
                var context = try makeContext(of: request, body: bytes, at: time, route, &builder)
                context.itemFault = itemFault
                let (response, body) = try await operation.respond(
                    to: request.relaxedForGeneratedCode(method: operation.method),
                    body: operation.method == .get ? nil : HTTPBody(bytes),
                    metadata: ServerRequestMetadata(pathParameters: route.parameters),
                    context: context
                )
                return builder.reply(response, body: body)
            case nil:
                throw EmulatorError.noHandler
            }
        } catch let error as UnreadableBody {
            throw error.underlyingError
        } catch let error as CancellationError {
            throw error
        } catch {
            return builder.reply(RequestFailure(error))
        }
    }

    /// Finds out who makes a request, and makes the context in which the rules answer it.
    private func makeContext(
        of request: HTTPRequest,
        body: ArraySlice<UInt8>,
        at time: Date?,
        _ route: ServerRoutes.Match,
        _ builder: inout ResponseBuilder
    ) throws -> RequestContext {
        guard let database = DatabaseAddress(route.parameters) else { throw EmulatorError.unexpectedInput }
        let credentials = Credentials(of: request, body: body)
        builder.applicant = credentials.apiToken.map { ($0, database.container, database.environment) }
        let authentication = try emulator.authenticate(
            credentials,
            for: database.container,
            in: database.environment,
            at: time
        )
        builder.nextWebAuthToken = authentication.nextWebAuthToken
        var context = try emulator.request(in: database, as: authentication.caller)
        context.time = time
        context.assetHostAddress = builder.assetHostURL
        context.serverAddress = builder.serverAddress
        context.replyForm = .written
        return context
    }

    /// The bytes of a request's body. They are needed at once: the signature is over all of them.
    private func collect(_ body: HTTPBody?) async throws -> ArraySlice<UInt8> {
        guard let body else { return [] }
        do {
            return try await ArraySlice(collecting: body, upTo: configuration.maximumBodySize)
        } catch let error as HTTPBodyError where error.code == .tooManyBytes {
            throw RequestFailure.tooLong(limit: configuration.maximumBodySize)
        } catch {
            throw UnreadableBody(underlyingError: error)
        }
    }

    /// Registers all endpoints of the emulator on a transport, to add the emulator to your own server.
    ///
    /// The transport answers requests to other paths. So the service's 404, and its response to preflight requests to
    /// unknown paths, are missing.
    ///
    /// - Parameter transport: Where the paths are registered.
    /// - Throws: What the transport throws.
    public func register(on transport: some ServerTransport) throws {
        for route in routes.all {
            try transport.register(
                { request, body, _ in try await respond(to: request, body: body) },
                method: route.method,
                path: route.path
            )
        }
    }
}

/// The request's body broke off: the client is gone.
struct UnreadableBody: Error {
    let underlyingError: any Error
}

extension CloudKitEmulatorServer: ClientTransport {
    /// Answers the request of a client in the same process, with no socket.
    ///
    /// - Parameters:
    ///   - request: The request; its path is relative to the path of the base URL.
    ///   - body: The body of the request, or nil if it has none.
    ///   - baseURL: The address that the client believes in; only its path matters, and the host for `redirectURL`.
    ///   - operationID: The operation of the document; it has no influence.
    /// - Returns: The response and its body.
    /// - Throws: What reading the request's body throws, and `CancellationError`.
    public func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try Task.checkCancellation()
        return try await respond(to: request.addressed(to: baseURL), body: body)
    }
}
