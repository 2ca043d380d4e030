import GRDB
import Synchronization

/// Waits for commits to a file, of this process and of others.
final class QueueWatch: Sendable {
    private let database: any DatabaseWriter
    private let interval: Duration
    private let wakes = Wakes()
    /// Passes the commits of this process on.
    private let relay: Task<Void, Never>
    /// Whether the file is to be read without a commit: at first, or because there may be more.
    private let isDue = Mutex(true)
    private let version = Mutex<Int64?>(nil)

    init(_ database: any DatabaseWriter, _ signal: CommitSignal, every interval: Duration) {
        self.database = database
        self.interval = interval
        let commits = signal.commits()
        let wakes = wakes
        relay = Task {
            for await _ in commits { wakes.wake() }
        }
    }

    deinit { relay.cancel() }

    /// Lets the next call of ``next()`` return at once.
    func lookAgain() { isDue.withLock { $0 = true } }

    /// Waits until the file may have changed.
    ///
    /// - Returns: Whether it may have; `false` when the task is cancelled.
    func next() async -> Bool {
        while !Task.isCancelled {
            let wasDue = isDue.withLock { isDue in
                defer { isDue = false }
                return isDue
            }
            if wasDue { return true }
            let began = ContinuousClock.now
            await wakes.wait(interval)
            if Task.isCancelled { return false }
            // A commit of this process woke it early.
            if ContinuousClock.now - began < interval { return true }
            // On the connection that writes, the number changes with commits of other processes only. A file that is
            // busy is looked at again.
            let present = try? await database.writeWithoutTransaction { db in
                try Int64.fetchOne(db, sql: "PRAGMA data_version")
            }
            let hasChanged = version.withLock { version in
                defer { version = present ?? version }
                return present != nil && present != version
            }
            if hasChanged { return true }
        }
        return false
    }
}
