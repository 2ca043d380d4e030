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

            Changes of custom zones in a private or shared database are printed. Where the service can push, a subscription of the name \
            mistkit-watch wakes the command, and is removed at the end. Elsewhere it asks every --interval seconds, and less and less often \
            while nothing changes.

            Public databases and default zones have no change feed: name record types, which the command queries for modified records every \
            --interval seconds, and less often while nothing changes. Queries do not find deleted records, and @modified needs indexes for \
            queries and sorts.

            Examples:
              mistkit watch
              mistkit watch Article --database public
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

    @Argument(help: "Record types to query, where there is no change feed.", completion: .recordType)
    var types: [String] = []

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
        let connection = try ServiceConnection.open(connection)
        guard connection.scope != .public || !types.isEmpty else {
            throw CommandError(
                code: .usage,
                message: "The public database has no change feed.",
                remedy: "Name the record types to query: mistkit watch Article --database public."
            )
        }
        let output = WatchOutput(format, limit: count)
        let zoneID = try await zone.zoneID(in: connection.database)
        let byQueries = QueryWatcher(connection.database, zone: zoneID, types: types, output: output)
        let byChanges = ChangeWatcher(connection.service, connection.scope, zone: zoneID, output: output)
        let (interval, usesPushes, types) = (Duration.seconds(interval), !noPush, types)
        let watch = Task {
            if types.isEmpty {
                var watcher = byChanges
                try await watcher.run(interval: interval, usesPushes: usesPushes)
            } else {
                var watcher = byQueries
                try await watcher.run(interval: interval)
            }
        }
        // The reader of a pipe may end, as in `mistkit watch | head -1`.
        signal(SIGPIPE, SIG_IGN)
        // Ctrl-C, `kill`, and a terminal that is closed. A shell starts a background command with SIGINT ignored, but
        // `kill -INT` ends this one, too.
        let handlers = [SIGINT, SIGTERM, SIGHUP].map { number in
            SignalHandler(number, evenIfIgnored: number == SIGINT) { watch.cancel() }
        }
        defer { for handler in handlers { handler.cancel() } }
        do {
            try await watch.value
        } catch  where watch.isCancelled {
            // A signal is how the command is meant to end.
        }
    }
}
