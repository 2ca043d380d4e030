import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitEmulatorServer
import Foundation
import HTTPTypes
import MistKit
import OpenAPISwiftRuntime
import StreamingJSON

/// The administration of an emulator, through which commands see and change what CloudKit Web Services has no requests
/// for: schemas, users and faults.
///
/// An emulator that runs is asked over its address with the secret of its start. Where none runs, the same requests go
/// to the embedded emulator in this process.
struct EmulatorAdministration {
    typealias Schemas = Components.Schemas

    /// The emulator in messages.
    let title: String
    private let client: Client

    /// The administration of the embedded emulator.
    init(_ embedded: EmbeddedEmulator) {
        title = "the embedded emulator in \(embedded.folder)"
        client = Self.client(
            serverURL: Self.inProcess,
            transport: embedded.server,
            secret: embedded.administration.secret.revealDigits()
        )
    }

    private init(_ start: EmulatorStart, at address: URL) {
        title = "the emulator at \(start.address)"
        client = Self.client(serverURL: address, transport: CloudKitService.defaultTransport, secret: start.secret)
    }

    private static let inProcess = URL(fileURLWithPath: "/")

    private static func client(serverURL: URL, transport: any ClientTransport, secret: String) -> Client {
        Client(serverURL: serverURL, transport: transport, middlewares: [SecretAndProblems(secret: secret)])
    }

    /// The administration of the emulator of the settings: the one at their address, or the one that runs with its data
    /// in the data folder, or else the embedded one.
    ///
    /// - Throws: ``CommandError`` for a service elsewhere, for an emulator with its data in another folder, and for an
    ///   emulator of an older version.
    static func of(_ settings: Settings) async throws -> EmulatorAdministration {
        if let running = try await ofRunning(settings) { return running }
        return EmulatorAdministration(
            try EmbeddedEmulator(
                folder: settings.emulatorFolder,
                container: settings.container ?? EmbeddedEmulator.defaultContainer,
                configuration: .init(logger: ServiceConnection.logger(verbose: false))
            )
        )
    }

    /// The administration of an emulator that runs; `nil` where the settings name no address and none runs.
    ///
    /// - Throws: The errors of ``of(_:)``.
    static func ofRunning(_ settings: Settings) async throws -> EmulatorAdministration? {
        let starts = EmulatorStart.running(in: settings.emulatorFolder)
        guard settings.namesService else {
            return starts.first.flatMap { start in
                URL(string: start.address).map { EmulatorAdministration(start, at: $0) }
            }
        }
        let address = try settings.localAddress()
        guard let start = starts.first(where: { $0.isAt(address) }) else {
            throw await missing(at: address, folder: settings.emulatorFolder)
        }
        return EmulatorAdministration(start, at: address)
    }

    /// Why there is no secret for an address of this machine.
    private static func missing(at address: URL, folder: String) async -> CommandError {
        let request = HTTPRequest(
            method: .get,
            scheme: nil,
            authority: nil,
            path: CloudKitEmulatorServer.Administration.path + "/start"
        )
        let response = try? await CloudKitService.defaultTransport.send(
            request,
            body: nil,
            baseURL: address,
            operationID: Operations.FetchStart.id
        )
        let text = address.absoluteString
        guard let (head, _) = response else {
            return CommandError(
                code: .tryAgain,
                message: "Nothing answers at \(text).",
                remedy: "Start an emulator with `mistkit emulator`, or leave the address out."
            )
        }
        guard head.status == .unauthorized else {
            return CommandError(
                code: .usage,
                message: """
                    The service at \(text) has no administration: it is an emulator of an older version, or no emulator.
                    """,
                remedy: "Stop it, and start it again with this version: `mistkit emulator`."
            )
        }
        return .otherFolder(address, folder)
    }

    // MARK: Calls

    /// Calls an operation.
    ///
    /// - Throws: An ``AdministrationProblem`` where the emulator refuses, and a ``CommandError`` where it does not
    ///   answer.
    func call<Result>(_ body: (Client) async throws -> Result) async throws -> Result {
        do {
            return try await body(client)
        } catch let error as ClientError {
            switch error.underlyingError {
            case let problem as AdministrationProblem: throw problem
            case let error as TransportError:
                throw CommandError(
                    code: .tryAgain,
                    message: "\(title.capitalizedFirst) does not answer: \(error.message)",
                    remedy: "Run the command again; if it stopped, start it with `mistkit emulator`."
                )
            default:
                throw CommandError(
                    code: .failure,
                    message:
                        "\(title.capitalizedFirst) has another version than this command: \(error.underlyingError)",
                    remedy: "Stop it, and start it again with this version: `mistkit emulator`."
                )
            }
        }
    }
}

/// Why an emulator refused a request of its administration.
struct AdministrationProblem: Error {
    var code: Components.Schemas.ProblemCode
    /// The emulator's words, without a full stop.
    var reason: String
}

extension CommandError {
    /// The refusal in the words of the command line.
    init(_ problem: AdministrationProblem) {
        let code: Code =
            switch problem.code {
            case .unauthorized, .foreignPage, .foreignHost, .readOnly, .wrongPassword, .tooManyAttempts: .permission
            case .invalidRequest, .invalidSchema, .invalidRule, .tooLong, .unsupportedType: .data
            case .unconfirmed, .notFound, .methodNotAllowed: .usage
            case .refused, .internalError: .failure
            }
        self.init(
            code: code,
            message: "The emulator refuses it: \(problem.reason).",
            remedy: problem.code == .unauthorized
                ? "The emulator was started again meanwhile; run the command again."
                : "`mistkit doctor` prints the settings of the command."
        )
    }

    /// An emulator of this machine with its data in a folder that is not known.
    static func otherFolder(_ address: URL, _ folder: String) -> CommandError {
        CommandError(
            code: .usage,
            message: "The emulator at \(address.absoluteString) does not have its data in \(folder).",
            remedy: """
                Name its data folder with --data-folder, as it was given to `mistkit emulator`. An emulator of an older version has to be \
                started again.
                """
        )
    }
}

extension Settings {
    /// Whether a service at an address is meant, and not the data folder.
    var namesService: Bool { hasCredentials || serverURL != nil }

    /// The address of the service, which has to be on this machine.
    ///
    /// - Throws: ``CommandError`` for a service elsewhere.
    func localAddress() throws(CommandError) -> URL {
        let address = try address()
        guard let host = address.host, HostName.isLocal(listeningOn: host) else {
            throw CommandError(
                code: .usage,
                message:
                    "\(address.absoluteString) is not an emulator on this machine, so its users sign in themselves.",
                remedy: "Leave the user out, and run `mistkit auth sign-in`."
            )
        }
        return address
    }
}

/// Adds the secret to requests, and turns refusals into errors.
private struct SecretAndProblems: ClientMiddleware {
    let secret: String
    /// Problems are short.
    private static let limit = 1 << 20

    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: Next
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var request = request
        request.headerFields[.authorization] = "Bearer \(secret)"
        let (response, body) = try await next(request, body, baseURL)
        guard response.status.kind != .successful else { return (response, body) }
        let bytes = if let body { try await [UInt8](collecting: body, upTo: Self.limit) } else { [] as [UInt8] }
        let problem = try JSONReader.read(Components.Schemas.Problem.self, from: bytes)
        let message = problem.message
        throw AdministrationProblem(
            code: problem.code,
            reason: message.hasSuffix(".") ? String(message.dropLast()) : message
        )
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
