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
/// To a client it differs from the service only by its address: it has the same paths, credentials, JSON, header fields
/// and errors. You can call it in process, or let it listen on a socket. It answers the same either way.
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
/// The query items `ckAPIToken` and `ckWebAuthToken`, or the three header fields of a server-to-server key, whose
/// signature is verified over the request's target as it was sent and the bytes of its body. Every content type is
/// accepted, and unknown query items and keys are ignored. An endpoint for GET answers POST as well, except where
/// another endpoint has POST. The environment of a path can be in upper case, and `ckSession` is another name of
/// `ckWebAuthToken`, because other clients send them so. A path with a control character is not found.
///
/// ## The web courier
///
/// The `webcourierURL` of `tokens/create` is an address of this server. The response to a GET there waits until there
/// is a push for the device, and holds the push as JSON. When no push comes within ``Configuration/courierTimeout``,
/// the response has no bytes. The address itself is the credential.
///
/// ## The sign-in page
///
/// The response to a request without a user, where one is needed, has the address of a page, `redirectURL`. There a
/// person creates a user, or gives the ``Configuration/signInCode`` and chooses one of the emulator's users. The
/// callback of the API token decides where the web authentication token then goes: in a message to the window that
/// opened the page, or in the query of an address. A message goes only to the origin of the page that sent the request,
/// or that opened the window.
///
/// ## Web pages
///
/// A page that the user visits can send requests to this machine. So the server answers only pages whose origin is
/// among the ``Configuration/allowedOrigins``, and a server that listens on a socket answers only requests for its own
/// hosts (``Configuration/hostNames``).
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
/// ### Web pages
/// - ``AllowedOrigins``
/// - ``OriginError``
///
/// ### Joining another server
/// - ``register(on:)``
public struct CloudKitEmulatorServer: Sendable {
    /// The limits and addresses of the server.
    ///
    /// The behaviour of the service is configured with `EmulatorConfiguration`.
    public struct Configuration: Sendable {
        /// The number of bytes of a request's body above which it is refused: 64 MiB. The service's figure is unknown.
        public var maximumBodySize = 64 * 1024 * 1024
        /// Where a user can sign in, the `redirectURL` of `AUTHENTICATION_REQUIRED`; `nil` makes it `/sign-in` at the
        /// address that the request was sent to.
        public var signInURL: String?
        /// The web pages that may use the server: those of this machine unless set otherwise.
        public var allowedOrigins = AllowedOrigins.loopback
        /// Further names under which a server on a socket is reached, such as the name of a container.
        ///
        /// Requests for another host are refused, because a page can give its own host name the address of this
        /// machine. The server knows its own names without this property: that on which it listens, `localhost`, and
        /// the addresses and the name of the machine if it listens on another interface than the loopback one.
        /// Requests in process, and those of another server's transport, are not checked.
        public var hostNames: [String] = []
        /// What a person has to know to sign in as an existing user on the sign-in page; `nil` lets everyone do so who
        /// has an API token, for tests.
        ///
        /// By default each configuration has its own code of about 59 random bits, such as `k7fm-29qx-pw4t`. Show it to the
        /// developer only: API tokens are part of web pages and apps.
        public var signInCode: String? = Self.makeSignInCode()
        /// How long the web courier waits for a push before it responds without one: 30 seconds. The service's figure
        /// is unknown.
        public var courierTimeout: Duration = .seconds(30)
        /// Where files are uploaded to and downloaded from, without a slash at the end, such as
        /// `http://127.0.0.1:8081`; `nil` makes it the address that the request was sent to.
        ///
        /// The server serves files at every address where it listens. To have a separate host for files, as the service
        /// has, let the same server run on a second port as well, and set this property to that address.
        public var assetHostURL: String?
        /// The value of the header field `X-Responding-Instance`.
        public var respondingInstance = "ckdatabasews:mistkit-emulator"
        /// The faults that a test orders, and the requests that they affect. By default there are none.
        public var faults: [FaultRule] = []
        /// The clock that measures ``courierTimeout`` and the times of ``faults``. The timeouts of connections are in
        /// real time.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// How long a connection can be open without a request, before the first request and between two requests: 75
        /// seconds. Then it is closed.
        ///
        /// Clients that keep connections for reuse, such as AsyncHTTPClient, keep them for 60 seconds. If the server
        /// closes a connection first, a request that the client sends at that moment fails.
        public var idleTimeout: Duration {
            get { limits.idleTimeout }
            set { limits.idleTimeout = newValue }
        }
        /// How long the head of a request may take, from its first byte to its last: 30 seconds. Then the connection is
        /// closed.
        public var headTimeout: Duration {
            get { limits.headTimeout }
            set { limits.headTimeout = newValue }
        }
        /// How long the body of a request or of a response may make no progress: 60 seconds. Then the connection is
        /// closed.
        ///
        /// A transfer that makes progress can last for any time. So can a request whose response the server has not
        /// begun, such as a request to the web courier.
        public var transferTimeout: Duration {
            get { limits.transferTimeout }
            set { limits.transferTimeout = newValue }
        }
        /// The maximum number of open connections.
        ///
        /// Further connections wait until another is closed.
        ///
        /// `nil` stands for three quarters of the file descriptors that the process can open when the server starts, at
        /// most 10,000.
        public var maximumConnections: Int? {
            get { limits.maximumConnections }
            set { limits.maximumConnections = newValue }
        }
        /// How long a stopping server waits for requests under way: 5 seconds. Then it closes their connections.
        public var shutdownTimeout: Duration {
            get { limits.shutdownTimeout }
            set { limits.shutdownTimeout = newValue }
        }
        /// The values of the five properties above, in the form that the server's connections need.
        var limits = ServerLimits()
        /// The administration of the emulator; `nil` serves none, which is the default.
        package var administration: Administration?
        /// The console's page; `nil` serves none, which is the default. It needs an ``administration``.
        package var page: ServedPage?
        /// Where requests are logged, at the level `debug`: method and path with no query, status, request uuid.
        public var logger: Logger

        private static func makeSignInCode() -> String {
            // Without the digits and letters that look alike.
            let characters = Array("23456789abcdefghjkmnpqrstuvwxyz")
            let groups = (0..<3).map { _ in String((0..<4).compactMap { _ in characters.randomElement() }) }
            return groups.joined(separator: "-")
        }

        /// Makes a configuration.
        ///
        /// - Parameter logger: Where requests are logged.
        public init(logger: Logger = Logger(label: "CloudKitEmulatorServer")) {
            self.logger = logger
        }
    }

    /// The rules behind the server.
    public let emulator: CloudKitEmulator
    /// The limits and addresses of the server.
    public let configuration: Configuration
    /// The faults that a test orders.
    ///
    /// They can be changed while the server runs.
    public let faults: EmulatorFaults
    let routes: ServerRoutes
    /// The latest requests; `nil` without an administration, which is the only one to show them.
    let requestLog: RequestLog?
    /// The numbers of answered requests.
    let metrics = RequestMetrics()
    /// Those who listen to the event stream of the administration.
    let events = EventHub()
    /// The snapshots of the emulator.
    let snapshots: EmulatorSnapshots
    /// When the server was made.
    let started: Date

    /// Makes a server. It does nothing until it is called or runs.
    ///
    /// - Parameters:
    ///   - emulator: The rules.
    ///   - configuration: The limits and addresses of the server.
    /// - Throws: `RouteError` if two endpoints had the same method and path, which is not the case.
    public init(_ emulator: CloudKitEmulator, configuration: Configuration = Configuration()) throws {
        self.emulator = emulator
        self.configuration = configuration
        faults = EmulatorFaults(configuration.faults)
        routes = try ServerRoutes(
            servesAdministration: configuration.administration != nil,
            page: configuration.page?.files.paths ?? []
        )
        requestLog = configuration.administration.map { RequestLog(capacity: $0.keptRequests) }
        started = emulator.present
        snapshots = EmulatorSnapshots(emulator)
    }

    /// Answers one request to any path.
    ///
    /// - Parameters:
    ///   - request: The request; its path is the target of the request line, query included.
    ///   - body: The body of the request, or nil if it has none.
    /// - Returns: The response and its body. The body of a download is read from the storage as you read it; every
    ///   other body holds all its bytes.
    /// - Throws: Only the errors of reading the request's body, `CancellationError`, and a `TransportError` where a
    ///   rule of ``faults`` breaks the connection. Every other error becomes a response.
    public func respond(to request: HTTPRequest, body: HTTPBody?) async throws -> (HTTPResponse, HTTPBody?) {
        try await respond(to: request, body: body, at: routes.match(request))
    }

    /// Answers a request whose route is known already.
    func respond(
        to request: HTTPRequest,
        body: HTTPBody?,
        at route: ServerRoutes.Match
    ) async throws -> (HTTPResponse, HTTPBody?) {
        try await logged(request, at: route) { trace in
            // With a fault in the way of the administration, no one could remove the fault.
            guard !route.isAdministration, !route.isPage, let fault = faults.next(for: request, by: identity(of:))
            else {
                return try await serve(request, body: body, at: route, trace: trace)
            }
            trace?.note { $0.fault = fault }
            return try await respond(to: request, body: body, at: route, with: fault, trace: trace)
        }
    }

    /// Serves a request. A fault can move the clock for the request, ahead by `clockSkew` seconds, or make single
    /// records of it fail, or not be delivered.
    func serve(
        _ request: HTTPRequest,
        body: HTTPBody?,
        at route: ServerRoutes.Match,
        trace: RequestTrace?,
        clockSkew: Double = 0,
        itemFault: ItemFault? = nil,
        deliveryFault: ItemFault? = nil
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let time = clockSkew == 0 ? nil : emulator.present + clockSkew
        var builder = ResponseBuilder(request, with: self)
        do {
            switch route.destination {
            case .assetUpload, .assetDownload:
                return try await AssetHost(emulator: emulator, logger: configuration.logger, origin: builder.origin)
                    .respond(to: request, body: body, uploadToken: route.parameters["token"], at: time)
            case .signInPage:
                let page = SignInPage(emulator, configuration)
                let (response, body) = try page.respond(to: request, form: try await collect(body))
                return builder.reply(page: response, body: body)
            case .courier:
                try builder.origin.check()
                if request.method == .options { return builder.preflight(allowing: Courier.methods) }
                if let allowed = route.allowedMethods { throw RequestFailure.methodNotAllowed(allowed: allowed) }
                let courierID = String(route.parameters["courier"] ?? "")
                let (response, body) = try await Courier(emulator, configuration).answer(courierID: courierID)
                return builder.reply(response, body: body)
            case .administration(let operation):
                guard let administration = configuration.administration else { throw EmulatorError.noHandler }
                return try await AdministrationHost(
                    server: self,
                    administration: administration,
                    request: request
                ).respond(body: { try await collect(body) }, operation: operation, at: route)
            case .page:
                guard let page = configuration.page, let (response, body) = page.files.respond(to: request, page.access)
                else { throw EmulatorError.noHandler }
                return builder.reply(page: response, body: body)
            case .misplacedToken:
                try builder.origin.check()
                guard request.method == .options else { throw RequestFailure.methodNotAllowed(allowed: [.options]) }
                return builder.preflight(allowing: [.options])
            case .operation(let operation):
                try builder.origin.check()
                // Observed live: the same four methods, whatever the path.
                if request.method == .options { return builder.preflight(allowing: [.get, .post, .put, .delete]) }
                if let allowed = route.allowedMethods { throw RequestFailure.methodNotAllowed(allowed: allowed) }
                let bytes = try await collect(body)
                trace?.note { $0.body = bytes }
                var context = try makeContext(of: request, body: bytes, at: time, route, &builder)
                trace?.note { [caller = context.caller] in $0.caller = caller }
                context.refusals = trace?.refusals
                context.itemFault = itemFault
                context.deliveryFault = deliveryFault
                let interruption = ReadInterruption()
                context.interruption = interruption
                let (response, body) = try await withTaskCancellationHandler {
                    try await operation.respond(
                        to: request,
                        body: operation.method == .get ? nil : HTTPBody(bytes),
                        metadata: ServerRequestMetadata(pathParameters: route.parameters),
                        context: context
                    )
                } onCancel: {
                    interruption.interrupt()
                }
                return builder.reply(response, body: body)
            case nil:
                throw EmulatorError.noHandler
            }
        } catch let error as UnreadableBody {
            throw error.underlyingError
        } catch let error as CancellationError {
            throw error
        } catch {
            // The error of a read that was interrupted is no response.
            try Task.checkCancellation()
            let failure = RequestFailure(error)
            trace?.refusals.add(EmulatorError(answering: error, as: failure), of: nil)
            if let error = failure.unexpected {
                configuration.logger.error("a request failed unexpectedly", metadata: ["error": "\(error)"])
            }
            return builder.reply(failure)
        }
    }

    /// Authenticates a request, and makes the context in which the rules answer it.
    private func makeContext(
        of request: HTTPRequest,
        body: ArraySlice<UInt8>,
        at time: Date?,
        _ route: ServerRoutes.Match,
        _ builder: inout ResponseBuilder
    ) throws -> RequestContext {
        guard let database = DatabaseAddress(route.parameters) else { throw EmulatorError.unexpectedInput }
        if let identity = request.headerFields[.actAs] {
            let caller = try caller(actingAs: identity, in: request, at: route)
            return try makeContext(of: request, in: database, as: caller, at: time, route, builder)
        }
        let credentials = Credentials(of: request, body: body)
        builder.applicant = credentials.apiToken.map { ($0, database.container, database.environment) }
        let authentication = try emulator.authenticate(
            credentials,
            for: database.container,
            in: database.environment,
            at: time
        )
        builder.nextWebAuthToken = authentication.nextWebAuthToken
        return try makeContext(of: request, in: database, as: authentication.caller, at: time, route, builder)
    }

    /// Makes the context in which the rules answer a request of a known caller.
    private func makeContext(
        of request: HTTPRequest,
        in database: DatabaseAddress,
        as caller: Caller,
        at time: Date?,
        _ route: ServerRoutes.Match,
        _ builder: ResponseBuilder
    ) throws -> RequestContext {
        var context =
            try route.isForRestrictedUsers
            ? emulator.unrestrictingRequest(in: database, as: caller)
            : emulator.request(in: database, as: caller)
        context.time = time
        context.assetHostAddress = builder.assetHostURL
        context.serverAddress = request.serverAddress
        context.replyForm = .written
        return context
    }

    /// The bytes of a request's body. All of them are needed before anything else, because a signature covers them.
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
    /// - Throws: The errors of the transport.
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

/// The request's body ended early, because the client closed the connection.
struct UnreadableBody: Error {
    let underlyingError: any Error
}

extension CloudKitEmulatorServer: ClientTransport {
    /// Answers the request of a client in the same process, with no socket.
    ///
    /// - Parameters:
    ///   - request: The request; its path is relative to the path of the base URL.
    ///   - body: The body of the request, or nil if it has none.
    ///   - baseURL: The address of the server in the client's view. Its path is put before that of the request, and
    ///     addresses in responses, such as `redirectURL`, begin with its scheme and host.
    ///   - operationID: The operation of the document. It has no effect.
    /// - Returns: The response and its body.
    /// - Throws: As ``respond(to:body:)``.
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
