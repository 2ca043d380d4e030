import GRDB
import Synchronization

/// Wakes what waits for mutations, when this process commits a change of the queue's tables over the same database.
///
/// GRDB does not see commits of other connections, so what waits also looks from time to time.
final class CommitSignal: TransactionObserver, Sendable {
    /// Which commits end a wait.
    enum IsTold {
        case ofAll
        /// Those of the program: what sends knows its own steps.
        case ofOthers
    }

    private struct State {
        /// Who changed the tables in the present transaction.
        var change: Author?
        /// Who changes them now.
        var author = Author.program
        var last = 0
        var waiting: [Int: (isTold: IsTold, continuation: AsyncStream<Void>.Continuation)] = [:]
    }

    private enum Author { case program, step }

    private let state = Mutex(State())

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        ["mist_mutation", "mist_queue"].contains(eventKind.tableName)
    }

    func databaseDidChange(with event: DatabaseEvent) {
        state.withLock { $0.change = $0.author }
        stopObservingDatabaseChangesUntilNextTransaction()
    }

    func databaseDidCommit(_ db: Database) {
        let told: [AsyncStream<Void>.Continuation] = state.withLock { state in
            defer { state.change = nil }
            guard let change = state.change else { return [] }
            return state.waiting.values.filter { change == .program || $0.isTold == .ofAll }.map(\.continuation)
        }
        for continuation in told { continuation.yield() }
    }

    func databaseDidRollback(_ db: Database) { state.withLock { $0.change = nil } }

    /// Runs a step of this process, in its transaction.
    func step<Value>(_ body: () throws -> Value) rethrows -> Value {
        state.withLock { $0.author = .step }
        defer { state.withLock { $0.author = .program } }
        return try body()
    }

    /// Wakes after each commit, until the stream is let go. Commits in between are one.
    func commits(_ isTold: IsTold = .ofAll) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.last += 1
            state.waiting[state.last] = (isTold, continuation)
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
        let (now, end) = (ContinuousClock.now, ContinuousClock.now + time)
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
