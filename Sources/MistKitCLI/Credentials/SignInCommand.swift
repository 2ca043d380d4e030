import ArgumentParser
import Foundation
import MistKit
import MistSignIn

/// `mistkit auth sign-in`
struct SignInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in",
        abstract:
            "Sign a user in with the browser, or as a user of an emulator, and keep the token for later commands.",
        discussion: """
            With --user, a user of the emulator on this machine is signed in without a browser; `mistkit users create` makes users. Without it, \
            the command needs an API token of the container. The web authentication token is kept in the data folder, in a file that only you can read. \
            Each command replaces it with the next one. MISTKIT_WEB_AUTH_TOKEN takes precedence over the file.

            Examples:
              mistkit auth sign-in --container iCloud.com.example.app --api-token 3f1c8e
              mistkit auth sign-in --no-browser
              mistkit auth sign-in --user Mei
            """,
        aliases: ["login"]
    )

    @OptionGroup var connection: ConnectionOptions

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("A user of the emulator on this machine, by name or user record name.", valueName: "user"),
        completion: .localUser
    )
    var localUser: String?

    @Option(
        help: ArgumentHelp(
            "The callback of the API token if the console has URL Redirect: an address of this machine.",
            discussion: "Without it, the console needs Post Message and every domain allowed.",
            valueName: "url"
        )
    )
    var callback: String?

    @Option(help: ArgumentHelp("The port that receives the message; 0 takes a free one.", valueName: "number"))
    var port = 0

    @Option(help: ArgumentHelp("How long to wait for the user.", valueName: "seconds"))
    var timeout = 300

    @Flag(name: .customLong("no-browser"), help: "Print the address instead of opening it.")
    var opensNoBrowser = false

    func validate() throws {
        guard (0...65535).contains(port) else {
            throw ValidationError("--port is out of range.\nGive a number from 0 to 65535; 0 takes a free port.")
        }
        guard timeout > 0 else { throw ValidationError("--timeout is out of range.\nGive a number of seconds from 1.") }
    }

    func run() async throws {
        let settings = try Settings.read(flags: connection)
        if let localUser { return try await signIn(localUser, settings) }
        guard let apiToken = settings.apiToken, let container = settings.container,
            let session = try settings.sessionFile()
        else {
            throw CommandError(
                code: .permission,
                message: "Signing in needs a container and one of its API tokens.",
                remedy: settings.hasCredentials
                    ? "Set MISTKIT_API_TOKEN and MISTKIT_CONTAINER; a server-to-server key has no user."
                    : "Set MISTKIT_API_TOKEN and MISTKIT_CONTAINER. The user of the embedded emulator is signed in already."
            )
        }
        let manager = AdaptiveTokenManager(apiToken: apiToken, storage: session.storage)
        let service = CloudKitService(
            containerIdentifier: container,
            environment: try settings.containerEnvironment(),
            tokenManager: manager,
            configuration: .init(
                serverURL: try settings.address(),
                logger: ServiceConnection.logger(verbose: connection.verbose)
            )
        )
        let authenticator = WebAuthenticator(
            callback: try tokenCallback(),
            timeout: .seconds(timeout)
        ) { [opensNoBrowser] url in
            Terminal.writeError("Open this page to sign in: \(url.absoluteString)")
            // If no browser opens, the user has the address.
            if !opensNoBrowser { try? WebAuthenticator.openInBrowser(url) }
        }
        let person = try await authenticator.signIn(manager, to: service)
        let name = [person.nameComponents?.givenName, person.nameComponents?.familyName].compactMap { $0 }
            .joined(separator: " ")
        Terminal.writeLine("Signed in as \(person.userRecordName ?? "unknown")" + (name.isEmpty ? "" : " (\(name))"))
        Terminal.writeLine("The token is in \(session.path).")
    }

    /// Signs a user of the emulator on this machine in.
    private func signIn(_ name: String, _ settings: Settings) async throws {
        let administration = try await EmulatorAdministration.of(settings)
        let recordName = try LocalUser.recordName(of: name, among: await administration.users())
        if settings.hasCredentials, let session = try settings.sessionFile() {
            guard settings.webAuthToken == nil else {
                throw CommandError(
                    code: .usage,
                    message: "A web authentication token is set, which takes precedence over the user who signs in.",
                    remedy: "Leave out MISTKIT_WEB_AUTH_TOKEN, or name the user of a single command with --as."
                )
            }
            try await session.storage.store(webAuthToken: administration.webAuthToken(for: recordName))
            Terminal.writeLine("Signed in as \(recordName). The token is in \(session.path).")
        } else {
            var local = try EmbeddedEmulator.ofThisMachine(settings)
            try local.signIn(recordName)
            Terminal.writeLine("Signed in as \(recordName), in \(local.folder) until `mistkit auth sign-out`.")
        }
    }

    private func tokenCallback() throws -> WebAuthenticator.Callback {
        guard let callback else { return .postMessage(port: port) }
        guard let url = URL(string: callback) else {
            throw CommandError(
                code: .usage,
                message: "--callback: \"\(callback)\" is not an address.",
                remedy: "Give the address of the CloudKit console, such as http://127.0.0.1:8642/signed-in."
            )
        }
        return .redirect(to: url)
    }
}

/// `mistkit auth sign-out`
struct SignOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "Forget the token of the user who signed in.",
        discussion: """
            Examples:
              mistkit auth sign-out
              mistkit auth sign-out --data-folder other
            """,
        aliases: ["logout"]
    )

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let settings = try Settings.read(flags: connection)
        if !settings.hasCredentials, FileManager.default.fileExists(atPath: settings.emulatorFolder + "/account.json") {
            var local = try EmbeddedEmulator.ofThisMachine(settings)
            if let user = local.account.signedInUser {
                try local.signIn(nil)
                return Terminal.writeLine("Signed out \(user); the user is \(local.account.userRecordName) again.")
            }
        }
        guard let session = try settings.sessionFile(), session.exists else {
            Terminal.writeLine("No user was signed in.")
            return
        }
        try await session.storage.store(webAuthToken: nil)
        Terminal.writeLine("Signed out; \(session.path) is deleted.")
    }
}

/// The file with the token of the user who signed in to one environment of one container at one service.
struct SessionFile {
    let path: String

    var storage: FileTokenStorage { FileTokenStorage(path) }

    var exists: Bool { FileManager.default.fileExists(atPath: path) }
}

extension Settings {
    /// The session file that belongs to the settings; nil without a container.
    ///
    /// Its name has the host of the service, so that a token is sent only to the service that issued it.
    func sessionFile() throws(CommandError) -> SessionFile? {
        guard let container else { return nil }
        let address = try address()
        let hostAndPort = [address.host, address.port.map { "\($0)" }].compactMap { $0 }.joined(separator: "-")
        let name = "\(hostAndPort)-\(container)-\(try containerEnvironment().rawValue)".map { character in
            character.isASCII && (character.isLetter || character.isNumber || "-._".contains(character))
                ? character : "_"
        }
        return SessionFile(path: "\(dataFolder ?? EmbeddedEmulator.defaultFolder)/session-\(String(name)).json")
    }
}
