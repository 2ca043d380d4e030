package import SQLiteTables

/// What the queue does with a mutation at present.
public enum MutationState: String, Hashable, Sendable, CaseIterable {
    /// It waits for its time, for an earlier mutation of its entity, or for one that it depends on.
    case waiting
    /// It is being sent, or is about to be within a tenth of a second, or was being sent by a process that has ended.
    case sending
    /// The service refused it, or its last attempt has failed. Later mutations of its entity, and those that depend on
    /// it, wait until the program sends it again or discards it.
    case failed
    /// This version of the program cannot read it. It is kept, and others wait for it, as for one that failed.
    case unreadable
}

/// How far a mutation is.
struct MutationProgress: Hashable, Sendable {
    var state = MutationState.waiting
    /// The attempts that count.
    var attempts = 0
    var limit: Int
    /// The earliest time of the next attempt.
    var nextAttempt: MachineTime
    /// Whether the mutation was ever given to the send closure, so that the service may have done it.
    var hasBeenSent = false
    /// The last error, for people.
    var error: String?
    /// Whether the program was notified of the failure.
    var isReported = false
}

/// What happened to a mutation.
enum MutationEvent: Hashable, Sendable {
    /// It is given to the send closure, at once or after another one.
    case begins
    /// It was not given to the send closure after all.
    case notBegun(hadBeenSent: Bool)
    /// The send closure has returned, and the effects of the answer are in the transaction.
    case succeeded
    /// The send closure has thrown an error.
    case failed(MutationDecision, error: String)
    /// The send closure has returned, and the effects of the answer have thrown an error.
    case effectsFailed(error: String)
    /// The send closure has taken longer than its deadline.
    case deadlineEnded
    /// The task that sends was cancelled.
    case cancelled
    /// The process that was sending it has ended, or was stopped for so long that another one took over.
    case processEnded
    /// The program cannot read it.
    case isUnreadable(error: String)
    /// The program asks for another attempt.
    case retried
    /// The program may be able to read it now.
    case versionChanged
}

/// What else is to be done, beside storing the progress.
enum MutationAction: Hashable, Sendable {
    /// Nothing.
    case keep
    /// Remove the mutation: it is done.
    case remove
    /// Notify the program of the failure.
    case report
    /// Pause the queue.
    case pause(MutationPause.Reason, for: Duration?, message: String)
}

extension MutationProgress {
    /// Decides what follows from an event.
    ///
    /// The function is pure: everything that it needs is among its parameters. An event of an attempt that is not under
    /// way changes nothing.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - now: The machine's time.
    ///   - backOff: The waits between attempts.
    ///   - random: A random number from 0 up to 1.
    /// - Returns: The progress, and what else is to be done.
    func after(
        _ event: MutationEvent,
        at now: MachineTime,
        _ backOff: BackOff,
        random: Double
    ) -> (progress: MutationProgress, action: MutationAction) {
        var next = self
        switch (state, event) {
        case (.waiting, .begins):
            next.state = .sending
            next.attempts += 1
            next.hasBeenSent = true
            return (next, .keep)
        case (.sending, .notBegun(let hadBeenSent)):
            next.state = .waiting
            next.attempts -= 1
            next.hasBeenSent = hadBeenSent
            // It keeps its place among those that are due, unless the clock was set back.
            next.nextAttempt = min(nextAttempt, now)
            return (next, .keep)
        case (.sending, .succeeded): return (next, .remove)
        case (.sending, .failed(let decision, let error)):
            let message = decision.message ?? error
            next.error = message
            switch decision.kind {
            case .refused: return next.ended()
            case .again(let wait):
                // A service that names a time gets a little more, so that clients do not come back all at once.
                let named = wait.map { max($0.milliseconds, 0) + Int64(random * 1000) }
                return next.again(at: now + (named ?? backOff.wait(after: attempts, random: random)))
            case .wait(let reason, let time):
                next.state = .waiting
                next.attempts -= 1
                next.nextAttempt = now
                return (next, .pause(reason, for: time, message: message))
            }
        case (.sending, .effectsFailed(let error)):
            next.error = error
            return next.again(at: now + backOff.wait(after: attempts, random: random))
        case (.sending, .deadlineEnded):
            next.error = "The attempt did not end before its deadline."
            return next.again(at: now + backOff.wait(after: attempts, random: random))
        case (.sending, .processEnded):
            next.error = "The process ended during the attempt."
            return next.again(at: now)
        case (.sending, .cancelled):
            next.state = .waiting
            next.attempts -= 1
            next.nextAttempt = now
            return (next, .keep)
        case (.waiting, .isUnreadable(let error)):
            // It is reported once, also where each start of the program tries to read it.
            let isKnown = isReported && next.error == error
            next.state = .unreadable
            next.error = error
            next.isReported = isKnown
            return (next, isKnown ? .keep : .report)
        case (.failed, .retried), (.unreadable, .retried):
            next.state = .waiting
            next.attempts = 0
            next.nextAttempt = now
            next.isReported = false
            return (next, .keep)
        case (.waiting, .retried):
            next.nextAttempt = now
            return (next, .keep)
        case (.unreadable, .versionChanged):
            next.state = .waiting
            next.nextAttempt = now
            return (next, .keep)
        default: return (next, .keep)
        }
    }

    /// Another attempt at a time, or the end where this was the last one.
    private func again(at time: MachineTime) -> (progress: MutationProgress, action: MutationAction) {
        guard attempts < limit else { return ended() }
        var next = self
        next.state = .waiting
        next.nextAttempt = time
        return (next, .keep)
    }

    private func ended() -> (progress: MutationProgress, action: MutationAction) {
        var next = self
        next.state = .failed
        next.isReported = false
        return (next, .report)
    }
}

/// A pause, as the file has it.
package struct StoredPause: Hashable, Sendable {
    package var reason: MutationPause.Reason
    package var message: String?
    package var since: MachineTime
    package var until: MachineTime?

    /// The pause that remains of this one and another one that begins: several attempts at a time may each meet a
    /// reason.
    ///
    /// A pause that only the program ends outlives one that ends by itself, and of two that end by themselves, the
    /// later end counts. Otherwise the first reason stays.
    func joined(with other: StoredPause) -> StoredPause {
        guard let end = until else { return self }
        guard let otherEnd = other.until else { return other }
        return otherEnd > end ? other : self
    }

    /// Whether the pause has ended by itself.
    func isOver(at now: MachineTime) -> Bool { until.map { $0 <= now } ?? false }
}

/// How far the machine's clock may go back unnoticed.
enum ClockCheck {
    /// A minute, in milliseconds: corrections of a clock are smaller.
    static let tolerance: Int64 = 60_000

    /// Whether the clock was set back, so that times in the file are too far in the future.
    ///
    /// - Parameters:
    ///   - latest: The latest time that the queue has seen.
    ///   - now: The machine's time.
    /// - Returns: Whether it was.
    static func isSetBack(from latest: MachineTime, to now: MachineTime) -> Bool { now - latest < -tolerance }
}
