import ArgumentParser
import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitSchema
import Foundation
import Logging
import MistModels

/// The options of the service that a command uses. Flags take precedence over the environment, whose variables have the
/// names of `mistkit`'s.
package struct ServiceOptions<Program: DatabaseProgram>: ParsableArguments {
    @Option(help: ArgumentHelp("The container, such as iCloud.com.example.app.", valueName: "identifier"))
    package var container: String?

    @Option(help: ArgumentHelp("development or production.", valueName: "name"))
    package var environment: String?

    @Option(help: ArgumentHelp("The address of the service, such as that of an emulator.", valueName: "url"))
    package var serverURL: String?

    @Option(name: .customLong("key-id"), help: ArgumentHelp("The ID of a server-to-server key.", valueName: "id"))
    package var keyID: String?

    @Option(help: ArgumentHelp("The PEM file of the private key.", valueName: "file"))
    package var privateKeyFile: String?

    @Option(help: ArgumentHelp("The folder of the emulator inside this program.", valueName: "folder"))
    package var dataFolder: String?

    package init() {}

    /// Opens the public database.
    ///
    /// - Parameter variables: The environment of the process.
    /// - Returns: The database.
    /// - Throws: A ``CommandFailure`` that names the setting that is wrong or missing.
    package func database(_ variables: [String: String] = ProcessInfo.processInfo.environment) throws
        -> CloudKitDatabase
    {
        func setting(_ flag: String?, _ name: String) -> String? {
            (flag ?? variables["MISTKIT_" + name]).flatMap { $0.isEmpty ? nil : $0 }
        }
        let environment = try containerEnvironment(setting(environment, "ENVIRONMENT"))
        let container = setting(container, "CONTAINER")
        let serverURL = setting(serverURL, "SERVER_URL")
        let privateKey = setting(nil, "PRIVATE_KEY")
        let privateKeyFile = setting(privateKeyFile, "PRIVATE_KEY_FILE")
        guard let keyID = setting(keyID, "KEY_ID") else {
            guard serverURL == nil, privateKey == nil, privateKeyFile == nil else {
                throw CommandFailure(
                    .permission,
                    "A service or a private key is set, but no key ID. Set MISTKIT_KEY_ID, or set none of them to use "
                        + "the emulator inside this program."
                )
            }
            let folder = setting(dataFolder, "DATA_FOLDER") ?? ".\(Program.programName)"
            return try EmbeddedEmulator.publicDatabase(
                folder: folder,
                container: container ?? "iCloud.example.\(Program.programName)",
                environment: environment,
                program: Program.self
            )
        }
        guard let container else {
            throw CommandFailure(.usage, "A key is set, but no container. Set MISTKIT_CONTAINER.")
        }
        let address = try serverURL.map(address) ?? CloudKitService.appleServerURL
        return try CloudKitService(
            containerIdentifier: container,
            environment: environment,
            keyID: keyID,
            privateKeyPEM: try privateKey ?? pem(privateKeyFile),
            configuration: .init(serverURL: address, logger: Self.logger)
        ).publicDatabase
    }

    /// Log lines go to standard error, since standard output may be JSON.
    private static var logger: Logger {
        var logger = Logger(label: Program.programName) { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        return logger
    }

    private func containerEnvironment(_ name: String?) throws -> ContainerEnvironment {
        guard let name else { return .development }
        guard let environment = ContainerEnvironment(rawValue: name.lowercased()) else {
            throw CommandFailure(.usage, "\"\(name)\" is not an environment. Write development or production.")
        }
        return environment
    }

    private func address(_ text: String) throws -> URL {
        guard let url = URL(string: text), url.scheme == "http" || url.scheme == "https", url.host() != nil else {
            throw CommandFailure(
                .usage,
                "\"\(text)\" is not the address of a service. Write it as http://127.0.0.1:8181 or https://host."
            )
        }
        return url
    }

    private func pem(_ path: String?) throws -> String {
        guard let path else {
            throw CommandFailure(.permission, "A key ID is set, but no private key. Set MISTKIT_PRIVATE_KEY_FILE.")
        }
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw CommandFailure(.permission, "The private key file \(path) cannot be read. Check its permissions.")
        }
    }
}

/// The emulator inside this program. Its data and its key are in a folder, and it opens no socket.
enum EmbeddedEmulator {
    /// Opens the folder's public database. Creates the folder and the key if they are missing.
    static func publicDatabase(
        folder: String,
        container: String,
        environment: ContainerEnvironment,
        program: (some DatabaseProgram).Type
    ) throws -> CloudKitDatabase {
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            let emulator = try CloudKitEmulator(storage: .file(path: folder + "/emulator.sqlite"))
            try emulator.registerContainer(container)
            try emulator.importSchema(program.schema(), into: container)
            if environment == .production { try emulator.deploySchema(of: container) }
            let key = try key(in: folder)
            let keyID = try emulator.registerServerKey(.pem(key.publicKeyPEM), for: container, in: environment)
            let quiet = Logger(label: program.programName) { _ in SwiftLogNoOpLogHandler() }
            return CloudKitService(
                containerIdentifier: container,
                environment: environment,
                tokenManager: ServerToServerAuthManager(keyID: keyID, privateKey: key),
                configuration: .init(
                    transport: try CloudKitEmulatorServer(emulator, configuration: .init(logger: quiet))
                )
            ).publicDatabase
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(
                .failure,
                "\(folder) cannot be used: \(error). Check its permissions, or name another folder with --data-folder."
            )
        }
    }

    /// The folder's server-to-server key. If several processes find no key, one of them creates it, and the others read
    /// that key.
    private static func key(in folder: String) throws -> ServerToServerKey {
        let path = folder + "/key.pem"
        let files = FileManager.default
        if !files.fileExists(atPath: path) {
            // A hard link to a complete file is atomic: another process never reads a part of the key.
            let draft = path + ".\(UUID().uuidString)"
            defer { try? files.removeItem(atPath: draft) }
            let pem = Data(ServerToServerKey.generate().revealPrivateKeyPEM().utf8)
            guard files.createFile(atPath: draft, contents: pem, attributes: [.posixPermissions: 0o600]) else {
                throw CommandFailure(
                    .failure,
                    "\(path) cannot be written. Name another folder with --data-folder."
                )
            }
            do {
                try files.linkItem(atPath: draft, toPath: path)
            } catch {
                guard files.fileExists(atPath: path) else { throw error }
            }
        }
        return try ServerToServerKey(String(contentsOfFile: path, encoding: .utf8))
    }
}
