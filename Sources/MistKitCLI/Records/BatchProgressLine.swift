import Foundation
import MistKit
import Synchronization

/// How many records of a large batch are done: a line that changes on a terminal, and what Ctrl-C says.
final class BatchProgressLine {
    /// The number of records below which a command ends before a person could read a number.
    private static let threshold = 400

    /// What the client reported last.
    private final class Latest: Sendable {
        let progress: Mutex<BatchProgress>

        init(total: Int) {
            progress = Mutex(BatchProgress(completed: 0, failed: 0, total: total))
        }
    }

    private let verb: String
    private let total: Int
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let latest: Latest
    private var interrupt: SignalHandler?

    /// Begins to show progress.
    ///
    /// - Parameters:
    ///   - verb: The verb in the past, such as "deleted".
    ///   - total: The number of records.
    init(_ verb: String, of total: Int) {
        self.verb = verb
        self.total = total
        let latest = Latest(total: total)
        self.latest = latest
        guard total >= Self.threshold else { return }
        interrupt = SignalHandler(SIGINT) {
            Terminal.writeError("\n" + Self.interruption(latest.progress.withLock { $0 }, verb))
            exit(128 + SIGINT)
        }
    }

    /// What the client reports to; `nil` where the batch is small.
    var handler: ProgressHandler<BatchProgress>? {
        guard total >= Self.threshold else { return nil }
        return { [latest, verb, isTerminal] progress in
            latest.progress.withLock { $0 = progress }
            if isTerminal { Terminal.writeError("\r\u{1B}[K" + Self.bar(progress, verb), terminator: "") }
        }
    }

    /// What Ctrl-C says.
    static func interruption(_ progress: BatchProgress, _ verb: String) -> String {
        let done = progress.completed - progress.failed
        return "Stopped: \(done) of \(String.counting(progress.total, "record")) are \(verb), and "
            + "those of the requests under way may be. The same command goes on with the others."
    }

    /// `[#####---------------] 1000 of 4000 records deleted, 2 failed`
    static func bar(_ progress: BatchProgress, _ verb: String) -> String {
        let width = 20
        let filled = progress.total > 0 ? progress.completed * width / progress.total : width
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        let failed = progress.failed > 0 ? ", \(progress.failed) failed" : ""
        return
            "[\(bar)] \(progress.completed - progress.failed) of \(String.counting(progress.total, "record")) \(verb)\(failed)"
    }

    /// Removes the line, and gives Ctrl-C its usual effect.
    func end() {
        guard let interrupt else { return }
        interrupt.cancel()
        self.interrupt = nil
        if isTerminal { Terminal.writeError("\r\u{1B}[K", terminator: "") }
    }
}
