import ArgumentParser
import Foundation
import MistStore

/// `mistkit demo sync`
struct SyncDemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Show two stores that synchronise, through conflicts, a lost reply and a killed process.",
        discussion: """
            Two folders stand for the phone and the laptop of one person, and the embedded emulator for the service. Both change \
            records offline, then synchronise. At the end both stores are compared with the service, field by field; the exit code is 1 \
            if they differ. The process that is killed is a real one: this command runs itself, and the second process gets SIGKILL when \
            the service has stored its changes and before it reads the reply. The network that is cut, and the reply that is lost, are \
            simulated between the store and the emulator. Any SQLite tool opens the stores.

            Examples:
              mistkit demo sync --folder stores
              mistkit demo sync --count 50
            """
    )

    @Option(help: ArgumentHelp("The number of to-dos to begin with.", valueName: "count"))
    var count = 200

    @Option(
        help: ArgumentHelp(
            "A new folder for the stores and the emulator, which is kept.",
            discussion: "Without it, a temporary folder is used and removed.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var folder: String?

    /// The flag with which the command runs itself: the new process synchronises the laptop's store, and dies while it
    /// does.
    @Flag(help: .private)
    var diesWhileSending = false

    func validate() throws {
        guard (10...100_000).contains(count) else {
            throw ValidationError("--count is out of range.\nGive a number from 10 to 100000.")
        }
    }

    func run() async throws {
        if diesWhileSending, let folder {
            let demo = try SyncDemo(in: URL(fileURLWithPath: folder), count: count)
            try await demo.dieWhileSending()
            return
        }
        let storeFolder: URL
        if let folder {
            storeFolder = URL(fileURLWithPath: folder)
            guard !FileManager.default.fileExists(atPath: storeFolder.path) else {
                throw CommandError(
                    code: .usage,
                    message: "The folder \(folder) exists already.",
                    remedy: "Name one that does not exist with --folder, or leave the option out."
                )
            }
        } else {
            storeFolder = FileManager.default.temporaryDirectory.appendingPathComponent(
                "mistkit-demo-\(UUID().uuidString)"
            )
        }
        defer { if folder == nil { try? FileManager.default.removeItem(at: storeFolder) } }
        let began = ContinuousClock.now
        var demo = try SyncDemo(in: storeFolder, count: count)
        try await demo.run()
        let seconds = Demo.seconds(ContinuousClock.now - began)
        let kept = folder.map { "; the stores are in \($0)/" } ?? ""
        Demo.tell("done", "\(demo.requests) requests in \(Demo.milliseconds(seconds))\(kept)")
    }
}
