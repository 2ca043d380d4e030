import GRDB
import ProcessLeases
import SQLiteTables
import Synchronization

extension MutationQueue {
    /// Sends what can be sent now, and returns.
    ///
    /// The call ends when no mutation is due: the queue is empty, or pauses, or what is left waits for the time of its
    /// next attempt or for a mutation that failed. While another process sends, the call waits until that process has
    /// done the work, or until this one takes over.
    ///
    /// When the task is cancelled, the attempts that are under way are cancelled, too. They are made again later, under
    /// the same keys.
    ///
    /// - Returns: What was sent, and what is left.
    /// - Throws: A ``MutationQueueError`` about the file, or a `CancellationError`.
    @discardableResult
    public func drain() async throws -> MutationDrain {
        var drain = MutationDrain()
        try await send(untilIdle: true, &drain)
        drain.status = try await read { [self] db in try status(in: db) }
        return drain
    }

    /// Sends mutations whenever there are any, until the task is cancelled.
    ///
    /// It begins to send at once when this process adds a mutation, and within
    /// ``MutationQueueConfiguration/pollInterval`` when another one does. A file that is busy or full is tried again.
    ///
    /// - Throws: A `CancellationError` when the task is cancelled, or a ``MutationQueueError`` about the file.
    public func run() async throws {
        var failures = 0
        while true {
            var drain = MutationDrain()
            do {
                try await send(untilIdle: false, &drain)
            } catch let error as MutationQueueError where [.busy, .full].contains(error.code) {
                // A file that has taken a step in between has recovered.
                failures = drain.attempts == 0 ? failures + 1 : 1
                observer.storageFailed(error)
                let wait = BackOff().wait(after: failures, random: configuration.random())
                try await Task.sleep(for: .milliseconds(wait + 100))
            }
        }
    }

    // MARK: - The driver

    private func send(untilIdle: Bool, _ drain: inout MutationDrain) async throws {
        let attempts = SentAttempts(engine.handlers.send, concurrency: configuration.concurrency, observer)
        // Two calls in one process would each take the attempts of the other one for those of a process that has ended.
        while !sender.withLock({ sender in
            if sender != nil { return false }
            sender = attempts
            return true
        }) {
            try await Task.sleep(for: engine.lease.timing.look)
        }
        defer { sender.withLock { $0 = nil } }
        // What a step does is known here, and need not end a wait.
        let commits = signal.commits(of: [.program])
        let relay = Task { [wakes = attempts.wakes] in
            for await _ in commits { wakes.wake() }
        }
        defer { relay.cancel() }
        do {
            try await withTaskCancellationHandler {
                try await loop(attempts, untilIdle: untilIdle, &drain)
            } onCancel: {
                attempts.wakes.wake()
            }
        } catch {
            await release(attempts.cancel(), isDone: false)
            throw error
        }
    }

    /// Gives up the lease, also in a task that was cancelled. Where the file fails, other processes see that the lease
    /// is not kept, and take it over.
    private func release(
        _ ends: [(attempt: MutationEngine<Mutation>.Attempt, end: MutationEngine<Mutation>.End)] = [],
        isDone: Bool
    ) async {
        let (engine, database) = (engine, database)
        let now = MachineTime(configuration.clock())
        await Task {
            try? await database.write { db in try engine.end(db, ends: ends, isDone: isDone, at: now) }
        }.value
    }

    private func loop(_ attempts: SentAttempts<Mutation>, untilIdle: Bool, _ drain: inout MutationDrain) async throws {
        let engine = engine
        let timing = engine.lease.timing
        var lastBeat = ContinuousClock.now
        while true {
            try Task.checkCancellation()
            let now = MachineTime(configuration.clock())
            if try await isWaitingForOtherProcess() {
                if untilIdle, try await !isDue(at: now) { return }
                try await Task.sleep(for: timing.look)
                continue
            }
            attempts.endOverdue(after: configuration.deadline)
            let taken = attempts.take()
            var canBegin = false
            if taken.ends.isEmpty, attempts.schedule.hasRoom { canBegin = try await isDue(at: now) }
            var next = MutationEngine<Mutation>.Next.busy
            if !taken.ends.isEmpty || canBegin {
                let step = try await write { [signal] db in
                    try signal.step {
                        try engine.step(
                            db,
                            ends: taken.ends,
                            underWay: taken.underWay,
                            ahead: taken.ahead,
                            isForProgram: untilIdle,
                            at: now
                        )
                    }
                }
                note(step, in: &drain)
                attempts.add(step)
                next = step.next
            } else if attempts.schedule.isDone {
                next = .wait(until: try await read { db in try engine.nextTime(db) })
            }
            switch next {
            case .otherProcess:
                attempts.drop()
                continue
            case .wait(let time) where attempts.schedule.isDone:
                if engine.lease.isHeld {
                    await release(isDone: true)
                    observer.note(try await read { [self] db in try status(in: db) })
                }
                if untilIdle, time.map({ $0 > now }) ?? true { return }
                await attempts.wakes.wait(wait(until: time, now))
            case .wait, .busy:
                if ContinuousClock.now - lastBeat >= timing.beat {
                    lastBeat = .now
                    if try await write({ db in try engine.lease.beat(db, at: now) }) != .keep { attempts.drop() }
                }
                await attempts.wakes.wait(
                    attempts.schedule.isAhead ? Self.aheadPoll : min(timing.beat, configuration.pollInterval)
                )
            }
        }
    }

    /// The longest that an attempt which has ended waits for others, so that one transaction takes their ends.
    private static var aheadPoll: Duration { .milliseconds(10) }

    /// How long to wait for mutations: not longer than a poll.
    private func wait(until time: MachineTime?, _ now: MachineTime) -> Duration {
        let poll = configuration.pollInterval
        return time.map { min(.milliseconds(max($0 - now, 1)), poll) } ?? poll
    }

    private func isWaitingForOtherProcess() async throws -> Bool {
        guard !engine.lease.isHeld else { return false }
        let engine = engine
        return try await read { db in try engine.lease.look(db, at: FileLease.present).action == .wait }
    }

    private func isDue(at now: MachineTime) async throws -> Bool {
        let engine = engine
        return try await read { db in try engine.isDue(db, at: now) }
    }

    private func note(_ step: MutationEngine<Mutation>.Step, in drain: inout MutationDrain) {
        for outcome in step.outcomes {
            switch outcome {
            case .sent: drain.sent += 1
            case .again, .paused, .unknown: drain.postponed += 1
            case .failed, .unreadable: drain.failed += 1
            case .late: break
            }
        }
        observer.note(step.outcomes.map(\.rawValue), pause: step.pauseBegan ? step.pause : nil)
    }
}

extension MutationEngine {
    /// Whether a step would begin an attempt, or has work that a process has left.
    func isDue(_ db: Database, at now: MachineTime) throws -> Bool {
        let queues = Queues(db: db)
        let mutations = Mutations(db: db, queue: queue)
        if try queues.clock(of: queue).map({ ClockCheck.isSetBack(from: $0, to: now) }) ?? false { return true }
        // A process that has ended may have left the lease, too.
        if !lease.isHeld, try mutations.areBeingSent || lease.holder(db) != nil { return true }
        if let pause = try queues.pause(of: queue), !pause.isOver(at: now) { return false }
        if try !mutations.unreadable(before: configuration.version).isEmpty { return true }
        return try mutations.earliestAttempt().map { $0 <= now } ?? false
    }

    /// When the next attempt is due, or the pause ends; `nil` where the queue waits for the program.
    func nextTime(_ db: Database) throws -> MachineTime? {
        if let pause = try Queues(db: db).pause(of: queue) { return pause.until }
        return try Mutations(db: db, queue: queue).earliestAttempt()
    }
}
