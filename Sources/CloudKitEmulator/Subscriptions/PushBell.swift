import Synchronization

/// Wakes those who wait for a push whenever one was queued, for whomever it is.
///
/// A change and a look at the queue can cross: whoever waits says how many rings there were before the look, and is not put
/// to sleep when there were more since.
final class PushBell: Sendable {
    private struct State {
        var rings = 0
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Those who wait for so many to wait.
        mutating func takeContentWatchers() -> [CheckedContinuation<Void, Never>] {
            let count = waiters.count
            defer { watchers.removeAll { $0.count == count } }
            return watchers.filter { $0.count == count }.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    /// How often it rang.
    var rings: Int { state.withLock { $0.rings } }

    /// Waits until exactly so many wait: for tests, which would have to sleep otherwise.
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

    /// Wakes all who wait.
    func ring() {
        let (waiters, watchers) = state.withLock { state in
            state.rings += 1
            let waiters = state.waiters.values
            state.waiters = [:]
            return (waiters, state.takeContentWatchers())
        }
        for waiter in waiters { waiter.resume() }
        for watcher in watchers { watcher.resume() }
    }

    /// Waits until it has rung more often than `rings`.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func wait(after rings: Int) async throws {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, watchers): (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) =
                    state.withLock { state in
                        // A cancellation that came before this finds nobody to wake.
                        if Task.isCancelled { return (.failure(CancellationError()), []) }
                        if state.rings > rings { return (.success(()), []) }
                        state.waiters[id] = continuation
                        return (nil, state.takeContentWatchers())
                    }
                if let isOver { continuation.resume(with: isOver) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let (waiter, watchers) = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                return (waiter, state.takeContentWatchers())
            }
            waiter?.resume(throwing: CancellationError())
            for watcher in watchers { watcher.resume() }
        }
    }
}
