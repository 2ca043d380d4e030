import ArgumentParser
import CloudKitEmulator
import CloudKitEmulatorServer
import Foundation
import Logging
import MistModels
import MistStore
import ProgramSupport
import TodoLists

/// The folder of the device and the service that it synchronises with.
struct DeviceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The folder of this device.", valueName: "folder"))
    var device = ".todo"

    @Option(
        help: ArgumentHelp(
            "The folder of the emulator inside this program, which stands for CloudKit.",
            valueName: "folder"
        )
    )
    var service = ".todo-service"

    /// The time between two synchronisations of `todo watch`.
    var syncInterval = Duration.seconds(30)

    private static let container = "iCloud.example.todo"

    private enum CodingKeys: CodingKey {
        case device, service
    }

    /// Runs a command with the device's board. A failure is a line on standard error, and an exit code.
    func withBoard(_ body: (TodoBoard) async throws -> Void) async throws {
        let failure: CommandFailure
        do {
            let board = try TodoBoard(at: URL(filePath: device), service: try syncService(), syncInterval: syncInterval)
            let result: Result<Void, any Error>
            do { result = .success(try await body(board)) } catch { result = .failure(error) }
            // The lease of this process ends, so that another one goes on at once.
            try? board.store.close()
            return try result.get()
        } catch let error as CommandFailure {
            failure = error
        } catch let error as CloudKitError {
            failure = CommandFailure(error)
        } catch let error as StoreError {
            failure = CommandFailure(error)
        } catch let error as BoardError {
            failure = CommandFailure(.usage, "\(error)")
        }
        FileHandle.standardError.write(Data("todo: \(failure)\n".utf8))
        throw ExitCode(failure.kind.rawValue)
    }

    /// The service: that of the settings, or the emulator inside this program.
    ///
    /// - Throws: A ``CommandFailure`` that names the setting that is wrong or missing.
    private func syncService() throws -> CloudKitService {
        let variables = ProcessInfo.processInfo.environment
        func setting(_ name: String) -> String? { variables["MISTKIT_" + name].flatMap { $0.isEmpty ? nil : $0 } }
        guard let apiToken = setting("API_TOKEN") else {
            guard setting("SERVER_URL") == nil else {
                throw CommandFailure(.permission, "A service is set, but no API token. Set MISTKIT_API_TOKEN.")
            }
            return try embeddedService()
        }
        guard let container = setting("CONTAINER") else {
            throw CommandFailure(.usage, "An API token is set, but no container. Set MISTKIT_CONTAINER.")
        }
        var configuration = CloudKitService.Configuration(logger: Self.quietLogger)
        if let text = setting("SERVER_URL") {
            guard let address = URL(string: text), address.host() != nil else {
                throw CommandFailure(.usage, "\"\(text)\" is not an address. Write it as http://127.0.0.1:8181.")
            }
            configuration.serverURL = address
        }
        return CloudKitService(
            containerIdentifier: container,
            apiToken: apiToken,
            webAuthToken: setting("WEB_AUTH_TOKEN"),
            configuration: configuration
        )
    }

    /// The emulator inside this program, with one user. It opens no socket, so its credentials are no secret. All devices
    /// of the same folder share its records.
    private func embeddedService() throws -> CloudKitService {
        do {
            try FileManager.default.createDirectory(
                atPath: service,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            let emulator = try CloudKitEmulator(storage: .file(path: service + "/emulator.sqlite"))
            try emulator.registerContainer(Self.container)
            let apiToken = try emulator.registerAPIToken(String(repeating: "0", count: 64), for: Self.container)
            let user = try emulator.createUser(
                NameComponents(givenName: "Mei", familyName: "Chen"),
                userRecordName: "_" + String(repeating: "0", count: 32)
            )
            let server = try CloudKitEmulatorServer(emulator, configuration: .init(logger: Self.quietLogger))
            var configuration = CloudKitService.Configuration(transport: server, logger: Self.quietLogger)
            configuration.assetTransport = server
            return CloudKitService(
                containerIdentifier: Self.container,
                apiToken: apiToken,
                webAuthToken: try emulator.issueWebAuthToken(for: user, keepsSignedIn: true),
                configuration: configuration
            )
        } catch {
            throw CommandFailure(
                .failure,
                "\(service) cannot be used: \(error). Check its permissions, or name another folder with --service."
            )
        }
    }

    private static var quietLogger: Logger { Logger(label: "todo") { _ in SwiftLogNoOpLogHandler() } }
}

extension CommandFailure {
    /// Explains an error of the store. Its message tells the author of a program what to call; a person is told which
    /// folder to name.
    fileprivate init(_ error: StoreError) {
        if error.code == .otherUser {
            self.init(.permission, ScopeStatus.otherUserAdvice)
        } else {
            self.init(.failure, error.message.oneLine)
        }
    }
}
