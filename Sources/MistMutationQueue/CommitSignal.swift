import GRDB
import Synchronization

/// Wakes what waits for mutations, when this process commits a change of the queue's tables over the same database.
///
/// GRDB does not see commits of other connections, so what waits also looks from time to time.
final class CommitSignal: TransactionObserver, Sendable {
    /// What a change of the tables comes from.
    enum Source {
        case program
        /// A step of this process that sends mutations.
        case step
    }

    private struct State {
        /// The source of the statements that run at present.
        var source = Source.program
        /// The source of the present transaction's changes; `nil` where it has none.
        var changed: Source?
        var last = 0
        var waiting: [Int: (sources: Set<Source>, continuation: AsyncStream<Void>.Continuation)] = [:]
    }

    private let state = Mutex(State())

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        ["mist_mutation", "mist_queue"].contains(eventKind.tableName)
    }

    func databaseDidChange(with event: DatabaseEvent) {
        state.withLock { $0.changed = $0.source }
        stopObservingDatabaseChangesUntilNextTransaction()
    }

    func databaseDidCommit(_ db: Database) {
        let told: [AsyncStream<Void>.Continuation] = state.withLock { state in
            defer { state.changed = nil }
            guard let source = state.changed else { return [] }
            return state.waiting.values.filter { $0.sources.contains(source) }.map(\.continuation)
        }
        for continuation in told { continuation.yield() }
    }

    func databaseDidRollback(_ db: Database) { state.withLock { $0.changed = nil } }

    /// Runs a step of this process, in its transaction.
    func step<Value>(_ body: () throws -> Value) rethrows -> Value {
        state.withLock { $0.source = .step }
        defer { state.withLock { $0.source = .program } }
        return try body()
    }

    /// Wakes after each commit, until the stream is let go. Commits in between are one.
    func commits(of sources: Set<Source> = [.program, .step]) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.last += 1
            state.waiting[state.last] = (sources, continuation)
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
    /// The timer that goes off first. It stays for the next wait, since most waits end early.
    private let timer = Mutex<(end: ContinuousClock.Instant, task: Task<Void, Never>)?>(nil)

    init() { (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    deinit { timer.withLock { $0?.task.cancel() } }

    /// Ends the present wait, or the next one.
    func wake() { continuation.yield() }

    /// Waits until something happens, at most for some time; less where an earlier wait would have ended now. The end
    /// of the task ends the wait.
    func wait(_ time: Duration) async {
        let now = ContinuousClock.now
        let end = now + time
        timer.withLock { timer in
            if let timer, timer.end > now, timer.end <= end { return }
            timer?.task.cancel()
            let task = Task { [continuation] in
                guard (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return }
                continuation.yield()
            }
            timer = (end, task)
        }
        var iterator = stream.makeAsyncIterator()
        _ = await iterator.next(isolation: nil)
    }
}
