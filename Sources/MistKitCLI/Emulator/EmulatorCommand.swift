import ArgumentParser
import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitSchema
import Foundation
import Logging
import MistKit

/// `mistkit emulator`
struct EmulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "emulator",
        abstract: "Serve CloudKit Web Services on this machine until Ctrl-C.",
        discussion: """
            Ctrl-C and SIGTERM stop the emulator. It first answers the requests that it has received, for at most the time of \
            --shutdown-timeout. A second Ctrl-C stops it at once.

            The data are in the data folder, which other commands use as well when no credentials are set. Any client of CloudKit Web \
            Services can use the emulator, CloudKit JS included.

            The credentials are valid in development and production. As on Apple's service, production accepts only record types and \
            fields that `mistkit schema deploy` copied from development.

            Several emulators can use one data folder, each on its own port, and so can other commands at the same time. All of them work \
            on the same data, and a client of one emulator receives the pushes of changes made through another.

            Examples:
              mistkit emulator --port 8182
              mistkit emulator --port 0 --schema schema.ckdb
            """
    )

    @Option(help: ArgumentHelp("The interface to listen on.", valueName: "host"))
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("The port to listen on; 0 takes a free one.", valueName: "number"))
    var port = 8181

    @Option(help: ArgumentHelp("The container, such as iCloud.com.example.app.", valueName: "identifier"))
    var container = EmbeddedEmulator.defaultContainer

    @Option(help: ArgumentHelp("The folder of the data.", valueName: "folder"))
    var dataFolder = EmbeddedEmulator.defaultFolder

    @Option(
        help: ArgumentHelp(
            "A schema file that becomes the development schema, as with `mistkit schema import`.",
            valueName: "file"
        )
    )
    var schema: SchemaFile?

    @Option(
        name: .customLong("public-key"),
        help: ArgumentHelp(
            "The public key of a server-to-server key in PEM, as `mistkit auth keygen` prints it; may be given more than once.",
            valueName: "file"
        )
    )
    var publicKeys: [String] = []

    @Option(
        name: .customLong("sign-in-callback"),
        help: ArgumentHelp(
            "The http or https address to which the sign-in page sends the token. Without it the page sends a message to the window that opened it.",
            valueName: "url"
        )
    )
    var signInCallback: String?

    @OptionGroup(title: "Limits of connections")
    var limits: ServerLimitOptions

    @Flag(name: .shortAndLong, help: "Log each request to standard error.")
    var verbose = false

    func validate() throws {
        guard (0...65535).contains(port) else {
            throw ValidationError("--port is out of range.\nGive a number from 0 to 65535; 0 takes a free port.")
        }
    }

    func run() async throws {
        var logger = Logger(label: "emulator") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = verbose ? .debug : .error
        var configuration = CloudKitEmulatorServer.Configuration(logger: logger)
        limits.apply(to: &configuration)
        ServerLimitOptions.raiseFileDescriptorLimit()
        let embedded = try EmbeddedEmulator(folder: dataFolder, container: container, configuration: configuration)
        if let schema {
            let service = SchemaService(emulator: embedded.emulator, container: container, environment: .development)
            let imported = try schema.validDocument().schema
            _ = try service.perform("imported") { try embedded.emulator.importSchema(imported, into: container) }
        }
        let keys = try publicKeys.map { path in
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw CommandError.unreadable(path)
            }
            do {
                let key = ServerKey.pem(text)
                try embedded.emulator.registerServerKey(key, for: container, in: .production)
                return (path: path, id: try embedded.emulator.registerServerKey(key, for: container, in: .development))
            } catch {
                throw CommandError(
                    code: .data,
                    message: "\(path) is not a public key on the curve P-256 in PEM.",
                    remedy: "`mistkit auth keygen` prints one; so does `openssl ec -in private.pem -pubout`."
                )
            }
        }
        do {
            try embedded.emulator.setSignInCallback(
                signInCallback.map { .redirect(to: $0) } ?? .postMessage,
                ofAPIToken: embedded.account.apiToken,
                for: container
            )
        } catch let error as EmulatorError {
            throw CommandError(
                code: .usage,
                message: "--sign-in-callback: \(error.reason).",
                remedy: "Give an http or https address, or leave the option out."
            )
        }
        let knownKeys = try embedded.emulator.registeredServerKeyIDs(for: container)
        let greeting = EmulatorGreeting(
            container: embedded.container,
            dataFolder: embedded.folder,
            userRecordName: embedded.account.userRecordName,
            apiToken: embedded.account.apiToken,
            webAuthToken: try embedded.webAuthToken(),
            tokenExpires: Date(
                timeIntervalSinceNow: embedded.emulator.configuration.webAuthTokens.keptSignedInLifetime
            ),
            keys: keys,
            earlierKeyIDs: knownKeys.filter { id in !keys.contains { $0.id == id } },
            signInCallback: signInCallback
        )
        do {
            try await embedded.server.run(host: host, port: port) { address in
                Terminal.writeLine(greeting.text(at: address))
            }
        } catch {
            throw CommandError(
                code: .unavailable,
                message: "The emulator cannot listen on \(host):\(port): \(error)",
                remedy:
                    "If another program uses the port, choose another with --port; 0 takes a free one. --host has to be an address of this machine."
            )
        }
    }
}
