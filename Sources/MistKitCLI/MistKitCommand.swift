import ArgumentParser
import Foundation
import MistKit

@main
struct MistKitCommand: AsyncParsableCommand {
    /// The version that comes next, until the changelog has a heading for it.
    static let version = "0.1.0-dev"

    static let configuration = CommandConfiguration(
        commandName: "mistkit",
        abstract:
            "CloudKit from the terminal: on Apple's service, or on an emulator of it with no account and no network.",
        discussion: """
            With no credentials set, every command works on an embedded emulator that keeps its data in the folder .mistkit. With \
            credentials it works on Apple's service, or on the one that --server-url names.

            Settings come from flags, then from the environment, then from mistkit.json or .mistkit/config.json. A flag such as \
            --api-token is MISTKIT_API_TOKEN in the environment and "apiToken" in the file. MISTKIT_PRIVATE_KEY takes a key's PEM text.

            Exit codes: 0 done, 1 the service refused or an item failed, 64 wrong command line or settings, 65 unreadable data, \
            69 the service cannot be reached or is busy, 77 wrong or missing credentials.
            """,
        version: version,
        subcommands: [
            DemoCommand.self, RecordsCommand.self, ZonesCommand.self, AssetsCommand.self, SchemaCommand.self,
            AuthCommand.self, EmulatorCommand.self,
        ]
    )

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let error as CommandError {
            end(with: error)
        } catch let error as CloudKitError {
            end(with: CommandError(error))
        } catch {
            exit(withError: error)
        }
    }

    private static func end(with error: CommandError) -> Never {
        Terminal.writeError(error.text)
        Foundation.exit(error.code.rawValue)
    }
}

/// `mistkit records`
struct RecordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "records",
        abstract: "Query, look up, create, update and delete records, and follow their changes.",
        subcommands: [
            QueryCommand.self, LookupCommand.self, CreateCommand.self, UpdateCommand.self, DeleteCommand.self,
            ChangesCommand.self,
        ]
    )
}

/// `mistkit zones`
struct ZonesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zones",
        abstract: "List, create and delete zones.",
        subcommands: [ListZonesCommand.self, CreateZoneCommand.self, DeleteZoneCommand.self]
    )
}

/// `mistkit auth`
struct AuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auth",
        abstract: "Sign in and out, make keys, and see who you are to the service.",
        subcommands: [SignInCommand.self, SignOutCommand.self, StatusCommand.self, KeyGenerationCommand.self]
    )
}
