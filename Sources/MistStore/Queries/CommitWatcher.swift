import GRDB
import Synchronization

/// Notifies the observations of a file when other processes commit. It polls the file only while there are
/// observations.
///
/// One task polls, on a connection of its own, for any number of observations, and does not disturb the connection that
/// writes. `PRAGMA data_version` changes with every commit of another connection, including those of this process. When
/// it has changed, the watcher reads it on the connection that writes, too: there it does not change with this
/// process's own commits.
final class CommitWatcher: Sendable {
    private struct State {
        var observers = 0
        var task: Task<Void, Never>?
        /// The number of tasks that were started.
        var starts = 0
    }

    /// The time between two polls of the file.
    static let interval = Duration.milliseconds(200)

    private let state = Mutex(State())

    /// The number of observations, whether a task polls the file, and the number of tasks that were started, for tests.
    var counts: (observers: Int, isRunning: Bool, starts: Int) {
        state.withLock { ($0.observers, $0.task != nil, $0.starts) }
    }

    /// Waits for commits of other processes to a file that was opened for reading, whose connections do not report
    /// them: calls a closure at once, and after each commit.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - body: Reads the file.
    /// - Throws: A `DatabaseError`, the error of `body`, or a `CancellationError`.
    static func forEachCommit(toFileAtPath path: String, _ body: () async throws -> Void) async throws {
        let connection = try open(path)
        var seen: Int64?
        while true {
            // The number is read first, so that a commit in between is seen in the next round.
            let version = try await connection.read { try Int64.fetchOne($0, sql: "PRAGMA data_version") }
            if version != seen { try await body() }
            seen = version
            try await Task.sleep(for: interval)
        }
    }

    /// Begins to watch the file for an observation; ``remove(_:)`` ends it.
    ///
    /// No other process can use a database in memory, so it is not watched.
    func add(_ database: any DatabaseWriter) {
        guard let pool = database as? DatabasePool else { return }
        state.withLock { state in
            state.observers += 1
            guard state.task == nil else { return }
            state.starts += 1
            state.task = Task { await Self.watch(pool) }
        }
    }

    /// Ends the watch for an observation.
    func remove(_ database: any DatabaseWriter) {
        guard database is DatabasePool else { return }
        state.withLock { state in
            state.observers -= 1
            guard state.observers == 0 else { return }
            state.task?.cancel()
            state.task = nil
        }
    }

    private static func watch(_ pool: DatabasePool) async {
        var reader: DatabaseQueue?
        var seen: Int64?
        var written: Int64?
        while !Task.isCancelled {
            do {
                let connection = try reader ?? open(pool.path)
                reader = connection
                let version = try await connection.read { try Int64.fetchOne($0, sql: "PRAGMA data_version") }
                // In the first round, commits since the observations began may have been missed.
                if version != seen {
                    written = try await pool.write { [written] db in
                        let version = try Int64.fetchOne(db, sql: "PRAGMA data_version")
                        if version != written { try db.notifyChanges(in: .fullDatabase) }
                        return version
                    }
                }
                seen = version
            } catch {
                // The file is busy or closed. The loop polls again, until the observations end.
                reader = nil
            }
            do {
                try await Task.sleep(for: interval)
            } catch {
                return
            }
        }
    }

    private static func open(_ path: String) throws -> DatabaseQueue {
        try StoreFile.readOnlyConnection(toPath: path, label: "MistStore.CommitWatcher")
    }
}
