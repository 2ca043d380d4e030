import ArgumentParser
import Foundation
import MistKit
import MistSignIn

/// `mistkit open`
struct OpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open the page of the service in the browser: where users sign in, or the CloudKit console.",
        discussion: """
            With an API token it is the page on which a user of the container signs in, without one Apple's CloudKit console. The address is \
            printed as well.

            Examples:
              mistkit open
              mistkit open --no-browser
            """
    )

    /// Apple's page for the containers of a developer.
    private static let console = "https://icloud.developer.apple.com/dashboard/"

    @Flag(name: .customLong("no-browser"), help: "Print the address instead of opening it.")
    var opensNoBrowser = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let settings = try Settings.read(flags: connection)
        guard settings.hasCredentials || settings.serverURL != nil else {
            throw CommandError(
                code: .usage,
                message: "The embedded emulator has no page.",
                remedy: "`mistkit emulator` serves one; set the address and the API token that it prints."
            )
        }
        let text = try await signInAddress(settings) ?? Self.console
        Terminal.writeLine(text)
        if !opensNoBrowser, let url = URL(string: text) { try? WebAuthenticator.openInBrowser(url) }
    }

    /// The address of the page on which users sign in; `nil` without an API token.
    private func signInAddress(_ settings: Settings) async throws -> String? {
        guard let apiToken = settings.apiToken, let container = settings.container else {
            guard try settings.address() == CloudKitService.appleServerURL else {
                throw CommandError(
                    code: .usage,
                    message: "The page of \(try settings.address().absoluteString) needs a container and an API token.",
                    remedy: "Set MISTKIT_CONTAINER and MISTKIT_API_TOKEN, which `mistkit emulator` prints."
                )
            }
            return nil
        }
        let service = CloudKitService(
            containerIdentifier: container,
            environment: try settings.containerEnvironment(),
            tokenManager: APITokenManager(apiToken: apiToken),
            configuration: .init(
                serverURL: try settings.address(),
                logger: ServiceConnection.logger(verbose: connection.verbose)
            )
        )
        do {
            _ = try await service.fetchCaller()
            return nil
        } catch let error as CloudKitError {
            guard let url = error.redirectURL else { throw error }
            return url
        }
    }
}
