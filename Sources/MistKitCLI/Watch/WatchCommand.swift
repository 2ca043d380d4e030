import ArgumentParser
import Dispatch
import Foundation
import MistKit

/// `mistkit watch`
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print the changes of a database or a zone as they happen, until Ctrl-C.",
        discussion: """
            Each change is one line: a record that was created, changed or deleted, or a zone that was deleted. With --format ndjson, it is \
            one JSON object: {"change":"created","record":{…}}.

            Changes of custom zones in a private or shared database are printed; public databases and default zones have no change feed. \
            Where the service can push, a subscription of the name mistkit-watch wakes the command, and is removed at the end. \
            Elsewhere it asks every --interval seconds, and less and less often while nothing changes.

            Examples:
              mistkit watch
              mistkit watch --zone Notes --format ndjson
            """
    )

    /// How changes are printed.
    enum Format: String, CaseIterable, ExpressibleByArgument, Sendable {
        /// For people.
        case text
        /// For programs: one JSON object a line.
        case ndjson
    }

    @Option(name: .shortAndLong, help: "How changes are printed.")
    var format = Format.text

    @Option(help: ArgumentHelp("The seconds between two requests while nothing is pushed.", valueName: "seconds"))
    var interval = 5.0

    @Option(help: ArgumentHelp("End after this number of changes.", valueName: "number"))
    var count: Int?

    @Flag(help: "Do not ask the service for pushes.")
    var noPush = false

    @OptionGroup var zone: ZoneOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard (0.1...86_400).contains(interval) else {
            throw ValidationError("--interval is out of range.\nGive a number of seconds from 0.1 to 86400.")
        }
        guard count ?? 1 > 0 else { throw ValidationError("--count is out of range.\nGive a number from 1.") }
    }

    func run() async throws {
        let connection = try Connection.open(connection)
        guard connection.scope != .public else {
            throw CommandError(
                code: .usage,
                message: "The public database has no change feed.",
                remedy: "Use --database private or shared; `mistkit records query` reads the public one."
            )
        }
        let start = ChangeWatcher(
            connection.service,
            connection.scope,
            zone: zone.zoneID,
            output: WatchOutput(format, limit: count)
        )
        let (interval, usesPushes) = (Duration.seconds(interval), !noPush)
        let watch = Task {
            var watcher = start
            try await watcher.run(interval: interval, usesPushes: usesPushes)
        }
        let interrupt = Interrupt { watch.cancel() }
        defer { interrupt.cancel() }
        do {
            try await watch.value
        } catch  where watch.isCancelled {
            // Ctrl-C is how the command is meant to end.
        }
    }
}

/// Calls a closure at the first Ctrl-C. The second one ends the process.
private final class Interrupt {
    private let source: any DispatchSourceSignal

    init(_ action: @escaping @Sendable () -> Void) {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT)
        source.setEventHandler {
            signal(SIGINT, SIG_DFL)
            action()
        }
        source.resume()
        self.source = source
    }

    func cancel() { source.cancel() }
}
