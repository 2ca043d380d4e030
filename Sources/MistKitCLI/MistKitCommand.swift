import ArgumentParser
import CloudKitMirror
import Foundation
import MistStore
import Spelling

@main
struct MistKitCommand: AsyncParsableCommand {
    /// The next version, until the changelog has a heading for it.
    static let version = "0.1.0-dev"

    static let configuration = CommandConfiguration(
        commandName: "mistkit",
        abstract:
            "CloudKit in the terminal: on Apple's service, or on an emulator that needs no account and no network.",
        discussion: """
            Without credentials, every command works on an embedded emulator that keeps its data in the folder .mistkit. With credentials, \
            it works on Apple's service, or on the service at --server-url.

            Settings come from options, then from the environment, then from mistkit.json or .mistkit/config.json. An option such as \
            --api-token is MISTKIT_API_TOKEN in the environment and "apiToken" in the file. MISTKIT_PRIVATE_KEY takes a key's PEM text.

            Exit codes, from 64 on as in sysexits.h:
              0 - The command did its work.
            \(CommandError.Code.list)
            """,
        version: version,
        subcommands: [
            DemoCommand.self, RecordsCommand.self, ZonesCommand.self, AssetsCommand.self, SharesCommand.self,
            SubscriptionsCommand.self, UsersCommand.self, SchemaCommand.self, MirrorCommand.self, StoreCommand.self,
            WatchCommand.self, ConsoleCommand.self,
            AuthCommand.self, EmulatorCommand.self, FaultsCommand.self, SnapshotsCommand.self, InitCommand.self,
            DoctorCommand.self,
            OpenCommand.self, CompletionsCommand.self, ManualCommand.self,
        ]
    )

    static func main() async {
        var command: any ParsableCommand
        do {
            command = try await asyncParseAsRoot()
        } catch {
            end(withParserError: error)
        }
        do {
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let error as CommandError {
            end(with: error)
        } catch let error as CloudKitError {
            end(with: CommandError(error))
        } catch let error as MirrorError {
            end(with: CommandError(error))
        } catch let error as StoreError {
            end(with: CommandError(error))
        } catch let code as ExitCode {
            // A command whose exit code is part of its result.
            Foundation.exit(code.rawValue)
        } catch  where exitCode(for: error).isSuccess {
            // A command that is only a group of others prints its help.
            exit(withError: error)
        } catch {
            end(with: CommandError(unexpected: error))
        }
    }

    /// Ends with the two lines of a mistake on the command line; prints help or the version where that was asked for.
    private static func end(withParserError error: any Error) -> Never {
        guard !exitCode(for: error).isSuccess else { exit(withError: error) }
        // The last line of the full text quotes the command that prints the help of the command that was meant.
        let quoted = fullMessage(for: error).split(separator: "\n").last?.split(separator: "'")
        let help = quoted.flatMap { $0.count > 1 ? String($0[1]) : nil } ?? "mistkit --help"
        var problem = CommandError(commandLine: message(for: error), help: help)
        if let word = problem.message.firstMatch(of: /^(?:Unexpected argument|\d+ unexpected arguments:) '([^']+)'/)?.1,
            let suggestion = suggestion(for: String(word), in: Array(CommandLine.arguments.dropFirst()))
        {
            problem.message = "There is no command \(suggestion.group) \(word)."
            problem.remedy = suggestion.remedy
        }
        end(with: problem)
    }

    /// What to do about a word that is not a command of its group.
    ///
    /// - Parameters:
    ///   - word: The word.
    ///   - arguments: The words of the command line, the first of which are the group.
    /// - Returns: The group, and what to do; `nil` where the word is an argument of a command.
    static func suggestion(for word: String, in arguments: [String]) -> (group: String, remedy: String)? {
        var group: any ParsableCommand.Type = MistKitCommand.self
        var path = "mistkit"
        for argument in arguments where !argument.hasPrefix("-") {
            let commands = group.configuration.subcommands
            guard !commands.isEmpty else { return nil }
            if let next = commands.first(where: { names(of: $0).contains(argument) }) {
                group = next
                path += " " + argument
                continue
            }
            guard argument == word else { return nil }
            let shown = commands.filter { $0.configuration.shouldDisplay }.map { names(of: $0)[0] }
            let nearest = NearestName.of(word, among: commands.flatMap { names(of: $0) })
            let help = "`\(path) --help` explains the commands: \(shown.joined(separator: ", "))."
            return (path, (nearest.map { "Did you mean `\(path) \($0)`? " } ?? "") + help)
        }
        return nil
    }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        [command._commandName] + command.configuration.aliases
    }

    private static func end(with error: CommandError) -> Never {
        Terminal.writeError(error)
        Foundation.exit(error.code.rawValue)
    }
}

/// `mistkit demo`
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show what MistKit does, on the embedded emulator.",
        subcommands: [RecordsDemoCommand.self, SyncDemoCommand.self],
        defaultSubcommand: RecordsDemoCommand.self
    )
}

/// `mistkit records`
struct RecordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "records",
        abstract:
            "Query, count, look up, create, update, edit, delete, export and import records, and follow their changes.",
        subcommands: [
            QueryCommand.self, CountCommand.self, LookupCommand.self, CreateCommand.self, UpdateCommand.self,
            EditCommand.self, ResolveConflictCommand.self, DeleteCommand.self, ChangesCommand.self,
            ExportRecordsCommand.self, ImportRecordsCommand.self, RecordTypesCommand.self,
        ]
    )
}

/// `mistkit zones`
struct ZonesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zones",
        abstract: "List, create, share, empty and delete zones, and follow their changes.",
        subcommands: [
            ListZonesCommand.self, CreateZoneCommand.self, ShareZoneCommand.self, PurgeZoneCommand.self,
            DeleteZoneCommand.self, ZoneListChangesCommand.self,
        ]
    )
}

/// `mistkit auth`
struct AuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auth",
        abstract: "Sign in and out, make keys, check credentials, and keep settings under names.",
        subcommands: [
            SignInCommand.self, SignOutCommand.self, StatusCommand.self, KeyGenerationCommand.self,
            ProfilesCommand.self, SaveProfileCommand.self, DeleteProfileCommand.self,
        ]
    )
}
