import ArgumentParser
import Foundation
import MistModels
import MistStore
import TodoLists

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// `todo watch`
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the lists while they change, here and on other devices, and synchronise meanwhile.",
        discussion: """
            In a terminal the view is drawn in place; otherwise each new view is printed below the last. Control-C ends it. \
            Other commands may change the same device meanwhile.
            """
    )

    @Flag(help: "Show what is done, too.")
    var all = false

    @Option(
        help: ArgumentHelp(
            "The time between two looks at the service while there are changes; without, it grows to a minute.",
            valueName: "seconds"
        )
    )
    var every = 5.0

    @OptionGroup(title: "Device")
    var device: DeviceOptions

    func validate() throws {
        guard (0.1...86_400).contains(every) else { throw ValidationError("--every is from 0.1 to 86400 seconds.") }
    }

    func run() async throws {
        var device = device
        device.syncInterval = .seconds(every)
        try await device.withBoard { board in
            let database = board.store.privateDatabase
            let (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await board.store.run() }
                // Each is called at once, and after every commit that changes it, of this process and of others.
                group.addTask {
                    for try await _ in database.recordUpdates(of: Query<Todo>()) { continuation.yield() }
                }
                group.addTask {
                    for try await _ in database.recordUpdates(of: Query<TodoList>()) { continuation.yield() }
                }
                group.addTask {
                    for try await _ in database.recordUpdates(of: Query<Person>()) { continuation.yield() }
                }
                group.addTask { for try await _ in database.statusUpdates() { continuation.yield() } }
                group.addTask { try await draw(board, changes) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    private func draw(_ board: TodoBoard, _ changes: AsyncStream<Void>) async throws {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        var shown = ""
        for await _ in changes {
            let lines = try await board.contents().lines(showsDone: all, today: .now)
            let status = try await board.store.privateDatabase.status().lines
            let view = ((lines.isEmpty ? ["There are no to-dos."] : lines) + [""] + status).joined(separator: "\n")
            guard view != shown else { continue }
            shown = view
            // The cursor goes to the first line, each line is cleared before it is drawn, and so is what is below.
            print(isTerminal ? "\u{1B}[H\u{1B}[2J" + view : view + "\n")
            fflush(nil)
        }
    }
}
