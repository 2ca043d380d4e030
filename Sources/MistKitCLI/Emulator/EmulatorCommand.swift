import ArgumentParser
import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitSchema
import Foundation
import Logging
import MistConsole
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

            With --exec, the emulator runs for one command, on a free port unless --port is given. The command finds the emulator through \
            MISTKIT_SERVER_URL, MISTKIT_CONTAINER, MISTKIT_API_TOKEN and MISTKIT_WEB_AUTH_TOKEN, and mistkit ends with its exit code. \
            MISTKIT_SIGN_IN_CODE has the code of the sign-in page, and MISTKIT_DATA_FOLDER the data folder.

            While it runs, `mistkit schema`, `mistkit users create`, `mistkit auth sign-in --user` and `mistkit faults` with the same data \
            folder reach it through its administration, with a secret that is new at each start and in a file that only you can read.

            The address of the console opens a page that shows what is in the emulator: records, schema, requests, faults and snapshots. \
            It has a secret of this start, and other pages of the browser cannot use the console.

            Web pages of this machine, such as http://localhost:3000, may use the emulator. Pages of other origins may not, unless \
            --allow-origin names them. The sign-in page lists the users to a person who gives the sign-in code, which the emulator prints.

            The emulator has no TLS. With a --host that other machines reach, those who can see the network can read the tokens and the \
            records; use it only in a network that you trust, or behind a proxy with TLS.

            Examples:
              mistkit emulator --port 8182
              mistkit emulator --port 0 --schema schema.ckdb
              mistkit emulator --allow-origin https://app.example
              mistkit emulator --reset --seed notes.ndjson --export-on-exit after.ndjson --exec -- mistkit records count Note
            """
    )

    /// The port without --port.
    static let usualPort = 8181

    /// The databases that a file of records can fill.
    private static let databases = [DatabaseScope.private, .public].map(\.rawValue)

    @Option(help: ArgumentHelp("The interface to listen on.", valueName: "host"))
    var host = "127.0.0.1"

    @Option(
        help: ArgumentHelp(
            "The port to listen on; 0 takes a free one. By default 8181, and a free one with --exec.",
            valueName: "number"
        )
    )
    var port: Int?

    @Option(
        help: ArgumentHelp(
            "The container, such as iCloud.com.example.app. Without it, that of the settings.",
            valueName: "identifier"
        )
    )
    var container: String?

    @Option(
        help: ArgumentHelp("The folder of the data. Without it, that of the settings.", valueName: "folder"),
        completion: .directory
    )
    var dataFolder: String?

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
        ),
        completion: .anyFile
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

    @OptionGroup(title: "Who may use the emulator")
    var access: EmulatorAccessOptions

    @Flag(name: .customLong("no-console"), help: "Do not serve the console.")
    var hasNoConsole = false

    @OptionGroup(title: "The console")
    var console: ConsolePageOptions

    @Flag(help: "Begin with empty data: the data in the folder are deleted.")
    var reset = false

    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp(
            "A file of records to save first, as `mistkit records import` does; may be given more than once.",
            valueName: "file"
        ),
        completion: .recordFile
    )
    var seeds: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file for all records when the emulator stops, as `mistkit records export` writes it.",
            valueName: "file"
        ),
        completion: .recordFile
    )
    var exportOnExit: String?

    @OptionGroup var replacement: ReplacementOptions

    @Option(
        help: ArgumentHelp("The database of --seed and --export-on-exit: private or public.", valueName: "name"),
        completion: .list(EmulatorCommand.databases)
    )
    var database = DatabaseScope.private.rawValue

    @Option(
        help: ArgumentHelp(
            "A file of faults for the requests of clients, in JSON.",
            discussion: #"[{"fault":"throttle","retryAfter":3,"on":"records/modify","calls":{"first":2}}]"#,
            valueName: "file"
        ),
        completion: .anyFile
    )
    var faults: String?

    @Flag(name: .customLong("exec"), help: "Run the emulator for the command behind -- only.")
    var executes = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The command of --exec, behind --.", valueName: "command")
    )
    var command: [String] = []

    @OptionGroup(title: "Limits of connections")
    var limits: ServerLimitOptions

    @Flag(name: .shortAndLong, help: "Log each request to standard error.")
    var verbose = false

    func validate() throws {
        guard (0...65535).contains(port ?? 0) else {
            throw ValidationError("--port is out of range.\nGive a number from 0 to 65535; 0 takes a free port.")
        }
        guard executes == !command.isEmpty else {
            throw ValidationError(
                "--exec and the command behind -- belong together.\nWrite them as: mistkit emulator --exec -- swift test"
            )
        }
        guard exportOnExit != nil || !replacement.force else {
            throw ValidationError("--force belongs to --export-on-exit.\nLeave it out.")
        }
        guard Self.databases.contains(database) else {
            throw ValidationError("\"\(database)\" is not a database of --seed.\nGive private or public.")
        }
    }

    func run() async throws {
        // Other commands of the folder find the same container in the embedded emulator.
        let settings = try Settings.read(flags: ConnectionOptions.parse([]))
        let container = container ?? settings.container ?? EmbeddedEmulator.defaultContainer
        let dataFolder = dataFolder ?? settings.emulatorFolder
        var logger = Logger(label: "emulator") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = verbose ? .debug : .error
        var configuration = CloudKitEmulatorServer.Configuration(logger: logger)
        limits.apply(to: &configuration)
        try access.apply(to: &configuration)
        if !hasNoConsole, let access = console.access(listeningOn: host) {
            configuration.page = .console(access: access, isReadOnly: console.readOnly)
        }
        if let faults { configuration.faults = try FaultFile(path: faults).rules }
        if let exportOnExit { try replacement.check(exportOnExit) }
        ServerLimitOptions.raiseFileDescriptorLimit()
        if reset { try EmbeddedEmulator.removeData(in: dataFolder) }
        let embedded = try EmbeddedEmulator(folder: dataFolder, container: container, configuration: configuration)
        if let schema {
            let service = SchemaService(
                administration: EmulatorAdministration(embedded),
                container: container,
                environment: .development
            )
            _ = try await service.importSchema(schema.validDocument().schema)
        }
        let contents = EmulatorContents(folder: dataFolder, container: container, database: database)
        for seed in seeds { try await contents.load(seed, isNew: reset) }
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
            signInCallback: signInCallback,
            signInCode: configuration.signInCode,
            reachableFrom: EmulatorGreeting.Reach(host: host),
            page: configuration.page?.access
        )
        let port = port ?? (executes ? 0 : Self.usualPort)
        var status: Int32 = 0
        let startFile = EmulatorStartFile(folder: embedded.folder)
        defer { startFile.remove() }
        let secret = embedded.administration.secret.revealDigits()
        do {
            if executes {
                let (command, host) = (command, host)
                status = try await embedded.server.withRunningServer(host: host, port: port) { address in
                    try startFile.write(EmulatorStart(address: greeting.localAddress(address), secret: secret))
                    return try await greeting.run(command, at: address)
                }
            } else {
                try await embedded.server.run(host: host, port: port) { address in
                    do throws(CommandError) {
                        try startFile.write(EmulatorStart(address: greeting.localAddress(address), secret: secret))
                    } catch {
                        // CloudKit Web Services work without it.
                        Terminal.writeError(error)
                    }
                    Terminal.writeLine(greeting.text(at: address))
                    if let page = greeting.page { console.openBrowser(page, at: greeting.localAddress(address)) }
                }
            }
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(
                code: .unavailable,
                message: "The emulator cannot listen on \(host):\(port): \(CommandError.reason(of: error)).",
                remedy:
                    "If another program uses the port, choose another with --port; 0 takes a free one. --host has to be an address of this machine."
            )
        }
        if let exportOnExit { try await contents.save(exportOnExit, types: embedded.recordTypes()) }
        if status != 0 { throw ExitCode(status) }
    }
}
