import ArgumentParser

/// `peated`
@main
struct PeatedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peated",
        abstract: "Whiskies, and what people found in their glasses, with and without a connection.",
        discussion: """
            What you write is kept on this machine at once, and sent when there is a connection. `peated stub` is the \
            service, for this machine alone.
            """,
        subcommands: [
            SignInCommand.self, SignOutCommand.self, FeedCommand.self, TasteCommand.self, ToastCommand.self,
            PictureCommand.self, QueueCommand.self, RetryCommand.self, DiscardCommand.self, StubCommand.self,
        ]
    )
}
