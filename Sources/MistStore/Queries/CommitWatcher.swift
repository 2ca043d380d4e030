import GRDB
import Synchronization

/// Tells the observations of a file of commits of other processes. It asks only while something observes.
///
/// One task asks, on one connection of its own, however many observations there are: the connection that writes is not disturbed.
/// `PRAGMA data_version` changes with every commit of another connection, those of this process included; then the connection that
/// writes is asked the same, which knows its own.
final class CommitWatcher: Sendable {
    private struct State {
        var observers = 0
        var task: Task<Void, Never>?
        /// How many tasks were started.
        var starts = 0
    }

    /// How often the file is asked.
    static let interval = Duration.milliseconds(200)

    private let state = Mutex(State())

    /// How many observations there are, whether a task asks the file, and how many tasks there were.
    var counts: (observers: Int, isRunning: Bool, starts: Int) {
        state.withLock { ($0.observers, $0.task != nil, $0.starts) }
    }

    /// An observation begins; ``remove()`` ends it.
    ///
    /// A database in memory has no other processes.
    func add(_ database: any DatabaseWriter) {
        guard let pool = database as? DatabasePool else { return }
        state.withLock { state in
            state.observers += 1
            guard state.task == nil else { return }
            state.starts += 1
            state.task = Task { await Self.watch(pool) }
        }
    }

    /// An observation has ended.
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
                // The first time, commits since the observations began may have been missed.
                if version != seen {
                    written = try await pool.write { [written] db in
                        let version = try Int64.fetchOne(db, sql: "PRAGMA data_version")
                        if version != written { try db.notifyChanges(in: .fullDatabase) }
                        return version
                    }
                }
                seen = version
            } catch {
                // The file is busy, or closed: asked again, until the observations end.
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
        var configuration = Configuration()
        configuration.label = "MistStore.CommitWatcher"
        configuration.readonly = true
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}
