import ArgumentParser
import CelestraServing
import Foundation
import Hummingbird
import Logging
import ProgramSupport

/// `celestra serve`
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve feeds and articles to browsers, until SIGTERM or Ctrl-C.",
        discussion: """
            Each page is fetched from CloudKit once for all browsers that ask for it within --lifetime. Requests that are under way \
            when the program is told to end are answered first.
            """
    )

    @Option(
        help: ArgumentHelp("The address to listen at. 0.0.0.0 means all addresses of this machine.", valueName: "host")
    )
    var host = "127.0.0.1"

    @Option(help: "The port; 0 for a free one.")
    var port = 8080

    @Option(help: ArgumentHelp("How long a page is kept before CloudKit is asked again.", valueName: "time"))
    var lifetime = TimeSpan(seconds: 60)

    @OptionGroup(title: "Service")
    var service: ServiceOptions<Celestra>

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is from 0 to 65535.") }
    }

    func run() async throws {
        try await Celestra.explainingFailures {
            var logger = Logger(label: "celestra") { StreamLogHandler.standardError(label: $0) }
            logger.logLevel = .warning
            let routes = CelestraRouter(try service.database(), lifetime: lifetime.seconds, logger: logger)
            let app = Application(
                router: routes.router(),
                configuration: .init(address: .hostname(host, port: port), serverName: "celestra"),
                onServerRunning: { channel in
                    // A pipe is flushed at once, so that a program that starts this one learns the port.
                    let line = "Serving at http://\(host):\(channel.localAddress?.port ?? port)/\n"
                    FileHandle.standardOutput.write(Data(line.utf8))
                },
                logger: logger
            )
            do {
                try await app.runService()
            } catch {
                throw CommandFailure(
                    .unavailable,
                    "\(host):\(port) cannot be served: \(error). Is another program listening there? --port chooses another port."
                )
            }
        }
    }
}
