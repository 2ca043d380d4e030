import ArgumentParser

/// `todo`
@main
struct TodoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "todo",
        abstract: "To-dos that are always here, and on all devices after a synchronisation.",
        discussion: """
            A device is a folder: --device phone and --device laptop are two of them. Without settings they synchronise over an \
            emulator of CloudKit inside this program, in the folder .todo-service. With MISTKIT_API_TOKEN, MISTKIT_CONTAINER and \
            MISTKIT_WEB_AUTH_TOKEN they use the private database of that user; MISTKIT_SERVER_URL is the address of another \
            service, such as `mistkit emulator`.
            """,
        subcommands: [
            AddCommand.self, ListCommand.self, DoneCommand.self, ReopenCommand.self, EditCommand.self,
            PhotoCommand.self, RemoveCommand.self, SyncCommand.self, WatchCommand.self, StatusCommand.self,
            LogCommand.self,
            DeletesCommand.self, BackupCommand.self, RestoreCommand.self,
        ],
        defaultSubcommand: ListCommand.self
    )
}
