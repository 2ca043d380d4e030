import ArgumentParser
import Foundation
import MistKit

/// `mistkit demo records`
struct RecordsDemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "records",
        abstract: "Show the main operations: a zone, batches, a query, a conflict, changes, deletion.",
        discussion: """
            Runs on the embedded emulator, or on the service for which a user's credentials are set. It uses the zone MistKitDemo of the \
            private database and deletes the records that it created.

            Examples:
              mistkit demo
              mistkit demo records --count 50
            """
    )

    @Option(help: ArgumentHelp("The number of notes to create.", valueName: "count"))
    var count = 400

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard (10...100_000).contains(count) else {
            throw ValidationError("--count is out of range.\nGive a number from 10 to 100000.")
        }
    }

    func run() async throws {
        let counter = RequestCounter()
        let connection = try ServiceConnection.open(self.connection, counter: counter)
        guard connection.identity == .user else {
            throw CommandError(
                code: .permission,
                message: "The demo needs a user's credentials, since only private databases have custom zones.",
                remedy:
                    "Set MISTKIT_WEB_AUTH_TOKEN and MISTKIT_API_TOKEN, or unset all credentials to use the embedded emulator."
            )
        }
        let demo = RecordsDemo(
            database: connection.service.privateDatabase,
            zone: ZoneID(zoneName: "MistKitDemo"),
            run: String(UInt32.random(in: .min ... .max), radix: 36),
            count: count
        )
        let clock = ContinuousClock()
        let began = clock.now
        Demo.tell("service", connection.title)
        try await demo.run()
        let seconds = Demo.seconds(clock.now - began)
        Demo.tell("done", "\(counter.count) requests in \(Demo.milliseconds(seconds))")
        Demo.tell("next", "`mistkit demo sync`: two stores that work offline and synchronise")
    }
}
