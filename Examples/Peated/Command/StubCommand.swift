import ArgumentParser
import Foundation
import Hummingbird
import Logging
import OpenAPISwiftHummingbird
import Peated
import PeatedStub

/// `peated stub`
struct StubCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stub",
        abstract: "Serve Peated on this machine, with what can go wrong.",
        discussion: """
            The users ada@example.com and bob@example.com have the password peat. Kill the stub and start it again: it \
            has everything that it has acknowledged.
            """
    )

    @Option(help: ArgumentHelp("The port; 0 for a free one, which is printed.", valueName: "number"))
    var port = 8080

    @Option(help: ArgumentHelp("The file with its state; without it, the state ends with the stub.", valueName: "file"))
    var file: String?

    @Option(help: ArgumentHelp("How long each response takes.", valueName: "seconds"))
    var delay = 0.0

    @Option(help: ArgumentHelp("How many changes are made, and their responses then lost.", valueName: "number"))
    var loseReplies = 0

    @Option(help: ArgumentHelp("How many changes get the status 503.", valueName: "number"))
    var fail = 0

    @Flag(help: "Let each change arrive twice.")
    var twice = false

    @Option(help: ArgumentHelp("How long an access token is valid.", valueName: "seconds"))
    var tokenLifetime: Double?

    @Flag(help: "Renew no token.")
    var refuseRenewals = false

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is from 0 to 65535.") }
        guard (0...3600).contains(delay) else { throw ValidationError("--delay is from 0 to 3600 seconds.") }
        guard loseReplies >= 0, fail >= 0 else { throw ValidationError("--lose-replies and --fail are not negative.") }
    }

    func run() async throws {
        try await explainingFailures {
            var faults = StubFaults()
            faults.delay = .seconds(delay)
            faults.lostReplies = loseReplies
            faults.failures = fail
            faults.repeatsChanges = twice
            faults.tokenLifetime = tokenLifetime
            faults.refusesRenewals = refuseRenewals
            let stub = try file.map { try PeatedStub(file: URL(filePath: $0), faults: faults) } ?? PeatedStub()
            await stub.setFaults { $0 = faults }
            let router = Router()
            try stub.register(on: HummingbirdTransport(router), serverURL: Servers.Server1.url())
            var logger = Logger(label: "peated stub")
            logger.logLevel = .warning
            let application = Application(
                router: router,
                configuration: .init(address: .hostname("127.0.0.1", port: port)),
                onServerRunning: { channel in
                    print("Peated is at http://127.0.0.1:\(channel.localAddress?.port ?? 0)/v1")
                    fflush(nil)
                },
                logger: logger
            )
            try await application.runService()
        }
    }
}
