import Synchronization

/// A lock that one task holds at a time, also while the task is suspended. Tasks get the lock in the order of their
/// calls.
package final class AsyncMutex: Sendable {
    private struct State {
        var isLocked = false
        var waiters: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
        var nextNumber: UInt64 = 0
        /// Tasks that were cancelled before they could be put among the waiters.
        var cancelled: Set<UInt64> = []
    }

    private let state = Mutex(State())

    /// Makes a lock that no task holds.
    package init() {}

    /// Waits for the lock. A task that is cancelled while it waits throws a `CancellationError`.
    package func lock() async throws(CancellationError) {
        let number = state.withLock {
            $0.nextNumber += 1
            return $0.nextNumber
        }
        let isHeld = await withTaskCancellationHandler {
            await wait(number)
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                guard let index = state.waiters.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return nil
                }
                return state.waiters.remove(at: index).continuation
            }
            waiter?.resume(returning: false)
        }
        state.withLock { _ = $0.cancelled.remove(number) }
        guard isHeld else { throw CancellationError() }
    }

    /// Waits for the lock, even in a cancelled task, for work that must not be skipped.
    package func lockDespiteCancellation() async {
        _ = await wait(0)
    }

    /// Passes the lock on to the next task.
    package func unlock() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst().continuation }
            state.isLocked = false
            return nil
        }
        next?.resume(returning: true)
    }

    private func wait(_ number: UInt64) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                if state.cancelled.contains(number) { return false }
                if state.isLocked {
                    state.waiters.append((number, continuation))
                    return nil
                }
                state.isLocked = true
                return true
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}
