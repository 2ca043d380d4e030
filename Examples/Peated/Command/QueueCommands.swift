import ArgumentParser
import Foundation
import MistMutationQueue
import PeatedOffline

/// `peated queue`
struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Show what is not sent, and why."
    )

    @Flag(help: "Send what can be sent now.")
    var send = false

    @Flag(help: "Show it while it changes, with the feed. The same as `peated feed --watch`.")
    var watch = false

    @OptionGroup(title: "This machine")
    var options: NotebookOptions

    func run() async throws {
        try await options.withNotebook { notebook in
            if watch { return try await NotebookWatch(notebook: notebook).run() }
            if send { return try await notebook.sendAndReport(isAsked: true) }
            let lines = NotebookLines.queue(try await notebook.mutations(), try await notebook.status(), now: Date())
            print(lines.joined(separator: "\n"))
        }
    }
}

/// `peated retry`
struct RetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Send changes again that failed, or at once that wait for their time."
    )

    @Argument(help: ArgumentHelp("The changes, or the beginnings of their identifiers.", valueName: "id"))
    var identifiers: [String] = []

    @Flag(help: "All that failed.")
    var all = false

    @OptionGroup(title: "This machine")
    var options: NotebookOptions

    func validate() throws {
        guard all != !identifiers.isEmpty else {
            throw ValidationError("Write the changes that `peated queue` shows, or --all.")
        }
    }

    func run() async throws {
        try await options.withNotebook { notebook in
            if all {
                print("\(try await notebook.retryAll()) to be sent again")
            } else {
                for identifier in identifiers { try await notebook.retry(identifier) }
            }
            try await notebook.sendAndReport(isAsked: true)
        }
    }
}

/// `peated discard`
struct DiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Remove changes that are not sent, with those that depend on them."
    )

    @Argument(help: ArgumentHelp("The changes, or the beginnings of their identifiers.", valueName: "id"))
    var identifiers: [String]

    @OptionGroup(title: "This machine")
    var options: NotebookOptions

    func run() async throws {
        try await options.withNotebook { notebook in
            for identifier in identifiers {
                for mutation in try await notebook.discard(identifier) {
                    let may = mutation.hasBeenSent ? " (the service may have it)" : ""
                    print("discarded: \(NotebookLines.name(mutation.mutation))\(may)")
                }
            }
        }
    }
}
