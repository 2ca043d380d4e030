import ArgumentParser

@main
struct MistKitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mistkit",
        abstract:
            "CloudKit from the terminal: on the real service, or on an emulator of it with no account and no network."
    )
}
