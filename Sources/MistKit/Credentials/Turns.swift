import Synchronization

/// A place that one task has at a time, handed on in the order of asking.
final class Turns: Sendable {
    private struct State {
        var isTaken = false
        var waiters: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
        var nextNumber: UInt64 = 0
        /// Tasks that were cancelled before they could be put among the waiters.
        var cancelled: Set<UInt64> = []
    }

    private let state = Mutex(State())

    /// Waits for the place. A task that is cancelled meanwhile gives up waiting.
    func take() async throws(CancellationError) {
        let number = state.withLock {
            $0.nextNumber += 1
            return $0.nextNumber
        }
        let hasTurn = await withTaskCancellationHandler {
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
        guard hasTurn else { throw CancellationError() }
    }

    /// Waits for the place, cancelled or not: for work that has to be done all the same.
    func takeInAnyCase() async {
        _ = await wait(0)
    }

    /// Hands the place on.
    func release() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst().continuation }
            state.isTaken = false
            return nil
        }
        next?.resume(returning: true)
    }

    private func wait(_ number: UInt64) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                if state.cancelled.contains(number) { return false }
                if state.isTaken {
                    state.waiters.append((number, continuation))
                    return nil
                }
                state.isTaken = true
                return true
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}
