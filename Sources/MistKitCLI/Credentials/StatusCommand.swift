import ArgumentParser
import Foundation
import MistKit

/// `mistkit auth status`
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Print the service, the database and the credentials of the settings, and what they give access to.",
        discussion: """
            The command asks each of the three databases for its zones, and says which of them accept the credentials.

            Examples:
              mistkit auth status
              mistkit auth status --database public
            """
    )

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let settings = try Settings.read(flags: connection)
        let connection = try ServiceConnection.open(
            settings,
            logger: ServiceConnection.logger(verbose: connection.verbose)
        )
        /// A title and a text, in two columns.
        func line(_ title: String, _ text: String) {
            Terminal.writeLine(title + String(repeating: " ", count: max(1, 14 - title.count)) + text)
        }
        line("service", connection.title)
        line("container", "\(connection.service.containerIdentifier), \(connection.service.environment.rawValue)")
        line("database", connection.scope.rawValue)
        line("credentials", connection.identity.rawValue)
        if let file = settings.configurationFile { line("settings", file) }
        if connection.identity == .user {
            let user = try await connection.service.fetchCaller()
            let name = [user.nameComponents?.givenName, user.nameComponents?.familyName].compactMap { $0 }.joined(
                separator: " "
            )
            line("user", (user.userRecordName ?? "unknown") + (name.isEmpty ? "" : " (\(name))"))
        }
        var failure: CloudKitError?
        for scope in [DatabaseScope.public, .private, .shared] {
            do {
                _ = try await connection.service.database(scope).fetchZones()
                line(scope.rawValue, "accepted")
            } catch let error as CloudKitError where !error.isTransient {
                line(scope.rawValue, "refused: " + (error.message.components(separatedBy: ". ").first ?? ""))
                if scope == connection.scope { failure = error }
            }
        }
        if let failure { throw failure }
    }
}
