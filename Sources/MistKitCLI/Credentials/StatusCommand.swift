import ArgumentParser
import MistKit

/// `mistkit auth status`
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Print the service, the database and the credentials of the settings, and check them.",
        discussion: """
            Examples:
              mistkit auth status
              mistkit auth status --database public
            """
    )

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let settings = try Settings.read(flags: connection)
        let connection = try Connection.open(settings, logger: Connection.logger(verbose: connection.verbose))
        func line(_ title: String, _ text: String) {
            Terminal.writeLine(title + String(repeating: " ", count: max(1, 14 - title.count)) + text)
        }
        line("service", connection.title)
        line("container", "\(connection.service.containerIdentifier), \(connection.service.environment.rawValue)")
        line("database", connection.scope.rawValue)
        line("credentials", connection.identity.rawValue)
        if let file = settings.configurationFile { line("settings", file) }
        do {
            if connection.identity == .user {
                let user = try await connection.service.fetchCaller()
                let name = [user.nameComponents?.givenName, user.nameComponents?.familyName].compactMap { $0 }.joined(
                    separator: " "
                )
                line("user", (user.userRecordName ?? "unknown") + (name.isEmpty ? "" : " (\(name))"))
            } else {
                // Neither an API token nor a key is a person; listing the zones shows that they are accepted.
                _ = try await connection.service.publicDatabase.fetchZones()
            }
            line("accepted", "yes")
        } catch {
            line("accepted", "no")
            throw error
        }
    }
}
