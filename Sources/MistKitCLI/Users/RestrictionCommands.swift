import ArgumentParser
import MistKit

/// `mistkit users restrict`
struct RestrictUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restrict",
        abstract: "Restrict the access to the data of the signed-in person.",
        discussion: """
            People have this right by data protection laws. Afterwards the service answers the requests of this person to the container and \
            environment with errors, until `users unrestrict`. It asks first.

            Examples:
              mistkit users restrict
              mistkit users restrict --yes --environment production
            """
    )

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let service = try ServiceConnection.open(connection).service
        let container = "\(service.containerIdentifier), \(service.environment.rawValue)"
        let user = try await service.fetchCaller().userRecordName ?? "the signed-in person"
        guard try confirmation.confirms("Refuse all requests of \(user) to \(container)?") else { return }
        try await service.restrictUser()
        Terminal.writeLine("The data of \(user) in \(container) are restricted. `mistkit users unrestrict` ends it.")
    }
}

/// `mistkit users unrestrict`
struct UnrestrictUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unrestrict",
        abstract: "End the restriction of the signed-in person's data.",
        discussion: """
            Examples:
              mistkit users unrestrict
              mistkit users unrestrict --environment production
            """
    )

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let service = try ServiceConnection.open(connection).service
        try await service.unrestrictUser()
        Terminal.writeLine(
            "The restriction in \(service.containerIdentifier), \(service.environment.rawValue) has ended."
        )
    }
}
