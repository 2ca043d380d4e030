import ArgumentParser
import Foundation
import MistStore

/// `mistkit store`
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Look after the store of a program, while the program runs.",
        subcommands: [
            StoreStatusCommand.self, StoreSyncCommand.self, StoreVerifyCommand.self, StoreLogCommand.self,
            StoreBackupCommand.self, StoreRestoreCommand.self, StoreSQLCommand.self, StoreDiagnosticsCommand.self,
        ]
    )
}

/// `mistkit store diagnostics`
struct StoreDiagnosticsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnostics",
        abstract: "Print a report about a store for support, without what is in its records.",
        discussion: """
            The folder is that of a MistStore, with the files user.sqlite and public.sqlite. Nothing is written, no service is asked, and the \
            program of the store may run meanwhile. The types of the program are not needed.

            A store that several people used has a file of private records for each of them, and one for no one: the report has all of them, \
            and says which one is open. Files of further users are numbered, because their names are those of the users. --user chooses one.

            The report has the schema, the condition of each database, what waits and for how long, the codes of errors, the sizes of tables, \
            and the process that synchronises. It has no values of fields, no names of records, zones and users, and no tokens.

            Examples:
              mistkit store diagnostics notes
              mistkit store diagnostics notes > report.txt

            The user record name of --user is the one that `mistkit users me` prints.
            """
    )

    @Argument(help: "The folder of the store.", completion: .directory)
    var folder: String

    @Option(help: ArgumentHelp("Report on the private records of this user alone.", valueName: "name"))
    var user: String?

    func run() async throws {
        Terminal.writeLine(try StoreDiagnostics.text(ofStoreAt: URL(fileURLWithPath: folder), user: user, at: Date()))
    }
}
