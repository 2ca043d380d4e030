import ProcessLeases
import Synchronization

/// Runs the attempts of one call that sends, each in a task, as an ``AttemptSchedule`` decides.
final class SentAttempts<Mutation: Codable & Sendable>: Sendable {
    typealias Attempt = MutationEngine<Mutation>.Attempt
    typealias End = MutationEngine<Mutation>.End

    private struct State {
        var schedule: AttemptSchedule<Mutation>
        var tasks: [MutationNumber: (task: Task<Void, Never>, token: Int)] = [:]
        /// Tells an attempt from an earlier one at the same mutation, whose closure may return late.
        var lastToken = 0
    }

    private let state: Mutex<State>
    private let send: @Sendable (OutgoingMutation<Mutation>) async throws -> MutationEffects
    private let observer: QueueObserver
    let wakes = Wakes()

    init(
        _ send: @escaping @Sendable (OutgoingMutation<Mutation>) async throws -> MutationEffects,
        concurrency: Int,
        _ observer: QueueObserver
    ) {
        state = Mutex(State(schedule: AttemptSchedule(concurrency: concurrency)))
        (self.send, self.observer) = (send, observer)
    }

    /// The schedule at present.
    var schedule: AttemptSchedule<Mutation> { state.withLock { $0.schedule } }

    /// Adds what a step has noted in the file.
    func add(_ step: MutationEngine<Mutation>.Step) {
        state.withLock { state in
            for attempt in state.schedule.add(step, at: FileLease.present) { begin(attempt, &state) }
        }
    }

    /// Lets no attempt begin before the next step.
    func hold() {
        state.withLock { $0.schedule.hold() }
        wakes.wake()
    }

    func take() -> AttemptSchedule<Mutation>.Taken { state.withLock { $0.schedule.take(at: FileLease.present) } }

    /// Ends the attempts that take longer than they may. A closure that never returns is left alone: it cannot be ended
    /// from outside. One timer for all is enough, and a timer for each would outlive its attempt.
    func endOverdue(after deadline: Duration) {
        state.withLock { state in
            for attempt in state.schedule.begun(by: FileLease.present - deadline) {
                state.tasks[attempt.number]?.task.cancel()
                end(attempt.number, .deadline, &state)
            }
        }
    }

    /// Ends everything. Returns the attempts in the file, with their ends.
    func cancel() -> [(attempt: Attempt, end: End)] {
        state.withLock { state in
            cancelTasks(&state)
            return state.schedule.cancel()
        }
    }

    /// Ends everything: another process sends.
    func drop() {
        state.withLock { state in
            cancelTasks(&state)
            state.schedule.drop()
        }
    }

    private func cancelTasks(_ state: inout State) {
        for (task, _) in state.tasks.values { task.cancel() }
        state.tasks = [:]
    }

    private func end(_ number: MutationNumber, _ end: End, _ state: inout State) {
        state.tasks[number] = nil
        if let next = state.schedule.end(number, end, at: FileLease.present) { begin(next, &state) }
    }

    private func begin(_ attempt: Attempt, _ state: inout State) {
        state.lastToken += 1
        let token = state.lastToken
        // The task cannot end the attempt before it is noted, as that needs the lock.
        let task = Task { [self] in
            let end: End = await observer.attempt(number: attempt.mutation.attempt) {
                do {
                    return .answer(try await send(attempt.mutation))
                } catch {
                    return Task.isCancelled && error is CancellationError ? .cancelled : .error(error)
                }
            }
            let needsStep = self.state.withLock { state in
                guard state.tasks[attempt.number]?.token == token else { return false }
                self.end(attempt.number, end, &state)
                return state.schedule.needsStep
            }
            if needsStep { wakes.wake() }
        }
        state.tasks[attempt.number] = (task, token)
    }
}
