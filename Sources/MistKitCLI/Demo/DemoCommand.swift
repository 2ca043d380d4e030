import ArgumentParser
import Foundation
import MistKit

/// `mistkit demo`
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Go once around: zone, batches, query, conflict, change feed, delete.",
        discussion: """
            Works on the embedded emulator, or with a user's credentials on the service that they belong to. It keeps to the zone \
            MistKitDemo of the private database and deletes the records that it wrote.
            """
    )

    @Option(help: ArgumentHelp("How many notes to write.", valueName: "count"))
    var count = 400

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard (10...100_000).contains(count) else { throw ValidationError("--count is from 10 to 100000.") }
    }

    func run() async throws {
        let counter = RequestCounter()
        let connection = try Connection.open(self.connection, counter: counter)
        guard connection.identity == .user else {
            throw CommandError(
                code: .permission,
                message: "The demo needs a user, since only private databases have zones of one's own.",
                remedy: "Set MISTKIT_WEB_AUTH_TOKEN beside the API token, or unset all to use the embedded emulator."
            )
        }
        let demo = Demo(
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
    }
}
