/// Which attempts of a process are under way, which have ended, and which may begin next.
///
/// A step notes attempts in the file before their turn, so that one begins as soon as another one ends: otherwise nothing
/// is sent while a step waits for the file. Attempts ahead that must not begin any more are given back, as if nothing had
/// happened to them. The schedule has no clock and no task, so that a simulation can run it.
package struct AttemptSchedule<Mutation: Codable & Sendable> {
    package typealias Attempt = MutationEngine<Mutation>.Attempt
    package typealias End = MutationEngine<Mutation>.End

    /// What a step has to know.
    package struct Taken {
        /// The attempts that ended since the last step. Those that never begin come first.
        package var ends: [(attempt: Attempt, end: End)]
        /// The attempts in the file that have not ended.
        package var underWay: [Attempt]
        /// How many attempts may be noted in the file that cannot begin at once.
        package var ahead: Int
    }

    private let concurrency: Int
    private let shortAttempt: Duration
    /// The attempts that are under way, with the times at which they began.
    private var underWay: [MutationNumber: (attempt: Attempt, began: Duration)] = [:]
    private var ended: [(attempt: Attempt, end: End)] = []
    /// The attempts that are in the file and have not begun, in their order.
    private var ahead: [Attempt] = []
    /// When the last attempts were noted in the file.
    private var noted = Duration.zero
    /// Whether a step has to look at the file before another attempt begins.
    private var isHeld = false
    /// How long the last attempt took; `nil` where it has failed.
    private var lastDuration: Duration?

    /// Makes a schedule without attempts.
    ///
    /// - Parameters:
    ///   - concurrency: The most attempts that are under way.
    ///   - shortAttempt: How long an attempt may take so that others are noted ahead of their turn. The time that a step
    ///     takes is nothing beside a longer one.
    package init(concurrency: Int, shortAttempt: Duration = .milliseconds(20)) {
        self.concurrency = max(concurrency, 1)
        self.shortAttempt = shortAttempt
    }

    /// For how long an attempt that was noted ahead may begin: much less than it takes until another process takes the
    /// lease of one that was stopped.
    private static var aheadTime: Duration { .milliseconds(100) }

    /// How many times as many attempts are noted ahead as can be under way. A step takes the ends of half of them: the
    /// other half begins while it waits for the file.
    private static var ahead: Int { 4 }

    /// Whether nothing is under way, and the file has no attempt that has ended or may begin.
    package var isDone: Bool { underWay.isEmpty && ended.isEmpty && ahead.isEmpty }

    /// Whether attempts are in the file that have not begun.
    package var isAhead: Bool { !ahead.isEmpty }

    /// Whether a step is due: many attempts have ended, or no other can begin before it.
    package var needsStep: Bool {
        isHeld || !ended.isEmpty && (ahead.isEmpty || ended.count >= Self.ahead * concurrency / 2)
    }

    /// Whether a step may find room for attempts.
    package var hasRoom: Bool { ahead.isEmpty && underWay.count < concurrency }

    /// Adds the attempts that a step has noted in the file.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - now: The time by a clock that only goes forward.
    /// - Returns: The attempts that begin now.
    package mutating func add(_ step: MutationEngine<Mutation>.Step, at now: Duration) -> [Attempt] {
        if step.pause != nil { isHeld = true }
        ahead += step.noted
        noted = now
        var beginning: [Attempt] = []
        while let attempt = next(at: now) { beginning.append(attempt) }
        return beginning
    }

    /// Notes the end of an attempt.
    ///
    /// - Parameters:
    ///   - number: The number of the mutation. One that is not under way is ignored.
    ///   - end: The end.
    ///   - now: The time by a clock that only goes forward.
    /// - Returns: The attempt that begins now.
    package mutating func end(_ number: MutationNumber, _ end: End, at now: Duration) -> Attempt? {
        guard let (attempt, began) = underWay.removeValue(forKey: number) else { return nil }
        ended.append((attempt, end))
        if case .answer(let effects) = end, effects.adoptions.isEmpty {
            lastDuration = now - began
            return next(at: now)
        }
        // An error may pause the queue, and an identifier that the service chose may be in a mutation ahead.
        lastDuration = nil
        isHeld = true
        return nil
    }

    private mutating func next(at now: Duration) -> Attempt? {
        guard !isHeld, now - noted < Self.aheadTime, underWay.count < concurrency, !ahead.isEmpty else { return nil }
        let attempt = ahead.removeFirst()
        underWay[attempt.number] = (attempt, now)
        return attempt
    }

    /// Lets no attempt begin before the next step: the program has paused the queue.
    package mutating func hold() { isHeld = true }

    /// The attempts that began at a time or earlier, and have not ended.
    package func begun(by time: Duration) -> [Attempt] {
        underWay.values.filter { $0.began <= time }.map(\.attempt)
    }

    /// Takes what the next step has to know. Attempts ahead that must not begin any more end.
    ///
    /// - Parameter now: The time by a clock that only goes forward.
    /// - Returns: What the step has to know.
    package mutating func take(at now: Duration) -> Taken {
        if isHeld || now - noted >= Self.aheadTime { giveBack() }
        isHeld = false
        defer { ended = [] }
        let isFast = lastDuration.map { $0 < shortAttempt } ?? false
        return Taken(
            ends: ended,
            underWay: underWay.values.map(\.attempt) + ahead,
            // The effects of an answer are in the file before the next attempt begins, where it is one at a time.
            ahead: isFast && concurrency > 1 ? Self.ahead * concurrency : 0
        )
    }

    /// Ends everything: the program stops sending.
    ///
    /// - Returns: The attempts in the file, with their ends. What is under way, or was not given to a step, has an
    ///   unknown outcome.
    package mutating func cancel() -> [(attempt: Attempt, end: End)] {
        ended = ended.map { ($0.attempt, .cancelled) } + underWay.values.map { ($0.attempt, .cancelled) }
        giveBack()
        defer { drop() }
        return ended
    }

    /// Forgets everything: another process sends.
    package mutating func drop() { (underWay, ended, ahead) = ([:], [], []) }

    private mutating func giveBack() {
        ended = ahead.map { ($0, .notBegun) } + ended
        ahead = []
    }
}
