import GRDB
import Synchronization

/// Wakes what waits for mutations, when this process commits a change of the queue's tables over the same database.
///
/// GRDB does not see commits of other connections, so what waits also looks from time to time.
final class CommitSignal: TransactionObserver, Sendable {
    private struct State {
        var hasChanged = false
        var last = 0
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let state = Mutex(State())

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        ["mist_mutation", "mist_queue"].contains(eventKind.tableName)
    }

    func databaseDidChange(with event: DatabaseEvent) {
        state.withLock { $0.hasChanged = true }
        stopObservingDatabaseChangesUntilNextTransaction()
    }

    func databaseDidCommit(_ db: Database) {
        let waiting = state.withLock { state in
            defer { state.hasChanged = false }
            return state.hasChanged ? Array(state.waiting.values) : []
        }
        for continuation in waiting { continuation.yield() }
    }

    func databaseDidRollback(_ db: Database) { state.withLock { $0.hasChanged = false } }

    /// Wakes after each commit, until the stream is let go. Commits in between are one.
    func commits() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.last += 1
            state.waiting[state.last] = continuation
            return state.last
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.waiting.removeValue(forKey: number) }
        }
        return stream
    }
}

/// Waits that end early when something happens.
final class Wakes: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// Ends the present wait, or the next one.
    func wake() { continuation.yield() }

    /// Waits until something happens, at most for some time. The end of the task ends the wait.
    func wait(_ time: Duration) async {
        let timer = Task { [continuation] in
            try? await Task.sleep(for: time)
            continuation.yield()
        }
        var iterator = stream.makeAsyncIterator()
        _ = await iterator.next(isolation: nil)
        timer.cancel()
    }
}
