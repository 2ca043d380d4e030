import ArgumentParser
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import MistConsole
import MistKit

/// `mistkit console`
struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Show what is in CloudKit in a browser until Ctrl-C.",
        discussion: """
            The console shows records, zones, changes, files, shares and subscriptions of the service that the other commands talk to: \
            without credentials those of the embedded emulator, with them those of Apple's service or of the one at --server-url. An \
            emulator on this machine with the same data folder shows users, schema, requests, faults and snapshots, too.

            Requests are signed in this process: keys and tokens never reach the browser. The printed address has a secret of this start, \
            and other pages of the browser cannot use the console.

            Against the production environment of a service that is no emulator the console only reads, unless --allow-writes is given.

            Examples:
              mistkit console
              mistkit console --open --read-only
              mistkit console --profile production --environment production
            """
    )

    /// The port without --port.
    static let usualPort = 8182

    @Option(help: ArgumentHelp("The interface to listen on.", valueName: "host"))
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("The port to listen on; 0 takes a free one.", valueName: "number"))
    var port = ConsoleCommand.usualPort

    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp(
            "A further host name under which the console is reached; may be given more than once.",
            valueName: "name"
        )
    )
    var hostNames: [String] = []

    @Flag(help: "Let the console write to the production environment of Apple's service.")
    var allowWrites = false

    @OptionGroup var page: ConsolePageOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard (0...65535).contains(port) else {
            throw ValidationError("--port is out of range.\nGive a number from 0 to 65535; 0 takes a free port.")
        }
        guard !allowWrites || !page.readOnly else {
            throw ValidationError("--allow-writes and --read-only contradict each other.\nGive one of them.")
        }
    }

    func run() async throws {
        let settings = try Settings.read(flags: connection)
        guard let access = page.access(listeningOn: host) else {
            throw CommandError(
                code: .usage,
                message: "Other machines reach \(host), so the console needs a password.",
                remedy:
                    "Give it with \(ConsolePageOptions.passwordVariable) or --console-password, or leave --host out."
            )
        }
        do {
            guard settings.namesService else { return try await serveEmbedded(settings, access) }
            try await serve(ConsoleProxy(settings, access, readOnly: readOnly(settings)))
        } catch let error as CommandError {
            throw error
        } catch let error as CloudKitError {
            throw error
        } catch {
            throw CommandError(
                code: .unavailable,
                message: "The console cannot listen on \(host):\(port): \(CommandError.reason(of: error)).",
                remedy: "If another program uses the port, choose another with --port; 0 takes a free one."
            )
        }
    }

    private func readOnly(_ settings: Settings) throws -> Set<ContainerEnvironment> {
        if page.readOnly { return Set(ContainerEnvironment.allCases) }
        return allowWrites ? [] : [.production]
    }

    /// Serves the page with the embedded emulator behind it.
    private func serveEmbedded(_ settings: Settings, _ access: PageAccess) async throws {
        var configuration = CloudKitEmulatorServer.Configuration(
            logger: ServiceConnection.logger(verbose: connection.verbose)
        )
        configuration.hostNames = hostNames
        configuration.page = .console(access: access, isReadOnly: page.readOnly)
        let embedded = try EmbeddedEmulator(
            folder: settings.emulatorFolder,
            container: settings.container ?? EmbeddedEmulator.defaultContainer,
            configuration: configuration
        )
        try await embedded.server.run(host: host, port: port) { address in
            greet(access, "the embedded emulator, data in \(embedded.folder)/", at: address, onlyReads: page.readOnly)
        }
    }

    private func serve(_ proxy: ConsoleProxy) async throws {
        let logger = ServiceConnection.logger(verbose: connection.verbose)
        try await proxy.run(host: host, port: port, hostNames: hostNames, logger: logger) { address in
            greet(proxy.access, proxy.service.title, at: address, onlyReads: page.readOnly)
        }
    }

    private func greet(_ access: PageAccess, _ title: String, at address: URL, onlyReads: Bool) {
        let local = EmulatorGreeting.localAddress(address)
        var lines = [
            "Console at \(ConsolePageOptions.address(of: access, at: local))",
            "  shows       \(title)",
        ]
        if onlyReads { lines.append("  only reads  (--read-only)") }
        if !HostName.isLocal(listeningOn: host) {
            lines += [
                "",
                "Every machine that reaches \(address.absoluteString) can ask for the console, which needs the password.",
                "There is no TLS, so those who see the network can read the password and the records.",
            ]
        }
        Terminal.writeLine((lines + ["", "Ctrl-C stops it."]).joined(separator: "\n"))
        page.openBrowser(access, at: local)
    }
}

extension ConsoleProxy {
    /// Makes the console of the service that the settings name.
    ///
    /// - Throws: ``CommandError`` where a setting is missing or not valid.
    fileprivate init(_ settings: Settings, _ access: PageAccess, readOnly: Set<ContainerEnvironment>) throws {
        guard let container = settings.container else {
            throw CommandError(
                code: .usage,
                message: "A service is set, but no container.",
                remedy: "Name it with --container or MISTKIT_CONTAINER, such as iCloud.com.example.app."
            )
        }
        let address = try settings.address()
        let start = EmulatorStart.running(in: settings.emulatorFolder).first { $0.isAt(address) }
        let identities = try settings.consoleIdentities()
        guard start != nil || !identities.isEmpty else {
            throw CommandError(
                code: .permission,
                message: "The address of a service is set, but no credentials for it.",
                remedy:
                    "Set MISTKIT_API_TOKEN, or MISTKIT_KEY_ID and MISTKIT_PRIVATE_KEY_FILE; an emulator prints its own."
            )
        }
        self.init(
            .init(
                address: address,
                isCloudKit: start == nil,
                container: container,
                environment: try settings.containerEnvironment(),
                identities: identities,
                administrationSecret: start?.secret,
                transport: CloudKitService.defaultTransport
            ),
            access: access,
            // An emulator's production has only test data.
            readOnly: start == nil || readOnly.contains(.development) ? readOnly : [],
            version: MistKitCommand.version
        )
    }
}

extension Settings {
    /// Whom the console can act as, with the credentials that are set.
    fileprivate func consoleIdentities() throws -> [ConsoleProxy.Identity] {
        var identities: [ConsoleProxy.Identity] = []
        if let apiToken {
            // Without the key, which would be preferred.
            let keys: Set<Key> = [.keyID, .privateKey, .privateKeyFile]
            let (manager, identity) = try Settings(values.filter { !keys.contains($0.key) }).tokenManager()
            if identity == .user {
                identities.append(
                    .init("user", title: "User of the profile", databases: DatabaseScope.allCases, credentials: manager)
                )
            }
            identities.append(
                .init(
                    "nobody",
                    title: "Nobody",
                    databases: [.public],
                    credentials: APITokenManager(apiToken: apiToken)
                )
            )
        }
        if keyID != nil {
            let (manager, _) = try tokenManager()
            identities.append(.init("server", title: "Server key", databases: [.public], credentials: manager))
        }
        return identities
    }
}
