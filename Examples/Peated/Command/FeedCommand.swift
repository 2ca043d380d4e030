import ArgumentParser
import Foundation
import MistMutationQueue
import Peated
import PeatedOffline

extension FeedFilter: ExpressibleByArgument {}

/// `peated feed`
struct FeedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feed",
        abstract: "Show tastings, the newest first. Without a connection, those that are on this machine."
    )

    @Argument(help: "Whose tastings: global, friends or own.")
    var filter = FeedFilter.global

    @Option(help: ArgumentHelp("The most tastings that are shown.", valueName: "number"))
    var count = 10

    @Option(help: ArgumentHelp("The most tastings that are fetched at once.", valueName: "number"))
    var page = 10

    @Flag(help: "Fetch a page of older tastings, too.")
    var more = false

    @Flag(help: "Fetch the tastings that are missing between pages.")
    var fill = false

    @Flag(help: "Do not ask the service.")
    var offline = false

    @Flag(help: "Show feed and queue while they change, and send and fetch meanwhile. Control-C ends it.")
    var watch = false

    @Option(help: ArgumentHelp("The time between two looks at the service with --watch.", valueName: "seconds"))
    var every = 5.0

    @OptionGroup(title: "This machine")
    var options: NotebookOptions

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count is at least 1.") }
        guard (1...100).contains(page) else { throw ValidationError("--page is from 1 to 100.") }
        guard (0.1...86_400).contains(every) else { throw ValidationError("--every is from 0.1 to 86400 seconds.") }
        guard !offline || !(more || fill || watch) else { throw ValidationError("--offline fetches nothing.") }
    }

    func run() async throws {
        try await options.withNotebook { notebook in
            if watch {
                var watch = NotebookWatch(notebook: notebook)
                (watch.filter, watch.count, watch.interval) = (filter, count, .seconds(every))
                return try await watch.run()
            }
            var failure: (any Error)?
            if !offline {
                do {
                    try await notebook.sendShowingProgress()
                    try await fetch(notebook)
                } catch let error as PeatedError {
                    // What is on this machine is shown, and then why it may be old.
                    failure = error
                }
            }
            let lines = NotebookLines.feed(try await notebook.feed(filter), count: more ? .max : count)
            print(lines.isEmpty ? "There are no tastings on this machine." : lines.joined(separator: "\n"))
            let status = try await notebook.status()
            if !status.isEmpty { print(NotebookLines.summary(status, now: Date())) }
            if let failure { throw failure }
        }
    }

    private func fetch(_ notebook: Notebook) async throws {
        var count = try await notebook.refresh(filter, pageSize: page)
        if fill {
            while let gap = try await notebook.list(filter).firstInnerGap {
                count += try await notebook.fill(gap, of: filter, pageSize: page)
                printError("\(count) fetched")
            }
        }
        if more, let gap = try await notebook.list(filter).gaps.last {
            try await notebook.fill(gap, of: filter, pageSize: page)
        }
        for case .tasting(let shown) in try await notebook.feed(filter).prefix(self.count) {
            do {
                _ = try await notebook.picture(of: shown)
            } catch PeatedError.server(let status, _, _) where status < 500 {
                // A picture that is gone does not hide the tastings.
                continue
            }
        }
    }
}
