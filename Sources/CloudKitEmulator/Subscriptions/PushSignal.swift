import Synchronization

/// Wakes the calls that wait for a push when a push is queued for any device.
///
/// A push can be queued after a call looks at the queue and before it waits. So the call passes the count of signals
/// from before its look, and does not wait when there were more signals since.
final class PushSignal: Sendable {
    private struct State {
        var count = 0
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// The continuations that wait for the present number of waiters.
        mutating func takeSatisfiedWatchers() -> [CheckedContinuation<Void, Never>] {
            let count = waiters.count
            defer { watchers.removeAll { $0.count == count } }
            return watchers.filter { $0.count == count }.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    /// The number of signals so far.
    var count: Int { state.withLock { $0.count } }

    /// Waits until exactly `count` calls wait. Tests use it instead of sleeping.
    func wait(forWaiters count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.waiters.count == count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Wakes all calls that wait.
    func send() {
        let (waiters, watchers) = state.withLock { state in
            state.count += 1
            let waiters = state.waiters.values
            state.waiters = [:]
            return (waiters, state.takeSatisfiedWatchers())
        }
        for waiter in waiters { waiter.resume() }
        for watcher in watchers { watcher.resume() }
    }

    /// Waits until there were more than `count` signals.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func wait(after count: Int) async throws {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, watchers): (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) =
                    state.withLock { state in
                        // A cancellation that came before this finds no waiter.
                        if Task.isCancelled { return (.failure(CancellationError()), []) }
                        if state.count > count { return (.success(()), []) }
                        state.waiters[id] = continuation
                        return (nil, state.takeSatisfiedWatchers())
                    }
                if let isOver { continuation.resume(with: isOver) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let (waiter, watchers) = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                return (waiter, state.takeSatisfiedWatchers())
            }
            waiter?.resume(throwing: CancellationError())
            for watcher in watchers { watcher.resume() }
        }
    }
}
