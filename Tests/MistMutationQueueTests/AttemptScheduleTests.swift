import Foundation
import GRDB
import SQLiteTables
import Synchronization
import Testing

@testable import MistMutationQueue

/// Which attempts begin, and which ones are given back.
struct AttemptScheduleTests {
    private typealias Schedule = AttemptSchedule<Line>
    private typealias Engine = MutationEngine<Line>

    /// The numbers of attempts that begin, with those that are given back in parentheses.
    private static func text(_ begun: [Schedule.Attempt], _ ends: [(attempt: Schedule.Attempt, end: Schedule.End)] = [])
        -> String
    {
        let back = ends.filter { if case .notBegun = $0.end { true } else { false } }.map(\.attempt)
        return (begun.map { "\($0.number)" } + back.map { "(\($0.number))" }).joined(separator: " ")
    }

    private static func step(_ numbers: ClosedRange<Int64>) -> Engine.Step {
        var step = Engine.Step()
        step.noted = numbers.map { number in
            Engine.Attempt(
                number: MutationNumber(number),
                epoch: 1,
                hadBeenSent: false,
                mutation: OutgoingMutation(
                    id: MutationID(rawValue: "\(number)"),
                    entity: "\(number)",
                    mutation: Line(text: "\(number)"),
                    created: Date(timeIntervalSince1970: 0),
                    attempt: 1,
                    limit: 10
                )
            )
        }
        return step
    }

    /// A schedule of two at a time, with the attempts 1 and 2 under way and those from 3 to 6 ahead.
    private static func busy() -> Schedule {
        var schedule = Schedule(concurrency: 2)
        _ = schedule.add(step(1...6), at: .zero)
        return schedule
    }

    @Test func anAttemptBeginsWhenAnotherOneIsAnswered() {
        var schedule = Schedule(concurrency: 2)
        #expect(Self.text(schedule.add(Self.step(1...10), at: .zero)) == "1 2")
        #expect(!schedule.hasRoom)
        for (ended, begun) in [(2, 3), (1, 4), (3, 5)] as [(MutationNumber, MutationNumber)] {
            #expect(schedule.end(ended, .answer(.none), at: .milliseconds(5))?.number == begun)
            // A step for each answer would take more time than one for all.
            #expect(!schedule.needsStep)
        }
        #expect(schedule.end(4, .answer(.none), at: .milliseconds(6))?.number == 6)
        #expect(schedule.needsStep)
        let taken = schedule.take(at: .milliseconds(6))
        #expect(taken.ends.map(\.attempt.number) == [2, 1, 3, 4])
        #expect(Set(taken.underWay.map(\.number)) == [5, 6, 7, 8, 9, 10])
        #expect(taken.ahead == 8)
        #expect(!schedule.needsStep)
        #expect(schedule.end(1, .answer(.none), at: .milliseconds(7)) == nil, "it has ended")
        #expect(schedule.end(5, .answer(.none), at: .milliseconds(7))?.number == 7)
    }

    @Test func aStepIsDueWhereNothingCanBegin() {
        var schedule = Schedule(concurrency: 2)
        _ = schedule.add(Self.step(1...3), at: .zero)
        #expect(schedule.end(1, .answer(.none), at: .zero)?.number == 3)
        #expect(schedule.needsStep)
    }

    @Test(
        arguments: [
            ("an error", .error(CancellationError())), ("a deadline", .deadline), ("a cancelled one", .cancelled),
            ("an adopted identifier", .answer(MutationEffects.none.adopt(ProvisionalID(rawValue: "a"), as: "b"))),
        ] as [(String, MutationEngine<Line>.End)]
    )
    func nothingBeginsAfterAnEndThatMayChangeOthers(name: String, end: MutationEngine<Line>.End) {
        var schedule = Self.busy()
        #expect(schedule.end(1, end, at: .milliseconds(5)) == nil)
        #expect(schedule.end(2, .answer(.none), at: .milliseconds(5)) == nil)
        #expect(schedule.needsStep)
        let taken = schedule.take(at: .milliseconds(5))
        // They are given back before the end is taken, which may change them.
        #expect(taken.ends.map(\.attempt.number) == [3, 4, 5, 6, 1, 2])
        #expect(Self.text([], taken.ends) == "(3) (4) (5) (6)")
        #expect(taken.underWay.isEmpty)
        #expect(Self.text(schedule.add(Self.step(3...4), at: .milliseconds(6))) == "3 4")
    }

    @Test func nothingBeginsAfterAPause() {
        var schedule = Self.busy()
        schedule.hold()
        #expect(schedule.end(1, .answer(.none), at: .milliseconds(5)) == nil)
        #expect(Self.text([], schedule.take(at: .milliseconds(5)).ends) == "(3) (4) (5) (6)")
        // The program pauses between a step and the begin of what it has noted.
        schedule.hold()
        #expect(Self.text(schedule.add(Self.step(3...4), at: .milliseconds(6))) == "")
        #expect(Self.text([], schedule.take(at: .milliseconds(6)).ends) == "(3) (4)")
        // Another process has paused the queue, which the step finds.
        var other = Self.busy()
        _ = other.take(at: .milliseconds(5))
        #expect(Self.text(other.add(Engine.Step.paused, at: .milliseconds(6))) == "")
        #expect(other.end(1, .answer(.none), at: .milliseconds(7)) == nil)
        #expect(Self.text([], other.take(at: .milliseconds(8)).ends) == "(3) (4) (5) (6)")
    }

    /// Another process may hold the lease when one that was stopped goes on.
    @Test func nothingBeginsLongAfterItsStep() {
        var schedule = Self.busy()
        #expect(schedule.end(1, .answer(.none), at: .milliseconds(99))?.number == 3)
        #expect(schedule.end(2, .answer(.none), at: .milliseconds(100)) == nil)
        #expect(Self.text([], schedule.take(at: .milliseconds(100)).ends) == "(4) (5) (6)")
    }

    @Test func longAttemptsAndOneAtATimeHaveNothingAhead() {
        var schedule = Schedule(concurrency: 2)
        #expect(schedule.take(at: .zero).ahead == 0)
        for (milliseconds, ahead) in [(19, 8), (20, 0), (0, 8)] {
            _ = schedule.add(Self.step(1...1), at: .zero)
            _ = schedule.end(1, .answer(.none), at: .milliseconds(milliseconds))
            #expect(schedule.take(at: .milliseconds(milliseconds)).ahead == ahead, "\(milliseconds) ms")
        }
        _ = schedule.add(Self.step(1...1), at: .zero)
        _ = schedule.end(1, .error(CancellationError()), at: .zero)
        #expect(schedule.take(at: .zero).ahead == 0, "a service that fails quickly")
        var single = Schedule(concurrency: 1)
        _ = single.add(Self.step(1...1), at: .zero)
        _ = single.end(1, .answer(.none), at: .zero)
        #expect(single.take(at: .zero).ahead == 0)
    }

    @Test func theEndOfSendingHasAnEndForEachAttempt() {
        var schedule = Self.busy()
        _ = schedule.end(1, .answer(.none), at: .zero)
        let ends = schedule.cancel()
        #expect(Self.text([], ends) == "(4) (5) (6)")
        let cancelled = ends.filter { if case .cancelled = $0.end { true } else { false } }
        #expect(Set(cancelled.map(\.attempt.number)) == [1, 2, 3])
        #expect(schedule.isDone)
    }

    /// The identifier of the service is in a mutation that is noted again.
    @Test func whatIsGivenBackIsReadAgain() throws {
        let story = try QueueStory()
        let queue = try story.queue()
        try story.database.write { db in
            for (text, entity) in [("make", "local"), ("edit", "other")] {
                try queue.enqueue(Line(text: text, list: ProvisionalID(rawValue: "local")), entity: entity, in: db)
            }
        }
        let now = MachineTime(story.time.withLock { $0 })
        let first = try story.database.write { db in
            try queue.engine.step(db, ends: [], underWay: [], isForProgram: true, at: now)
        }
        #expect(first.noted.map(\.mutation.mutation.list?.rawValue) == ["local", "local"])
        let effects = MutationEffects.none.adopt(ProvisionalID(rawValue: "local"), as: "service")
        let second = try story.database.write { db in
            try queue.engine.step(
                db,
                ends: [(first.noted[1], .notBegun), (first.noted[0], .answer(effects))],
                underWay: [],
                isForProgram: true,
                at: now
            )
        }
        #expect(second.noted.map(\.mutation.mutation.list?.rawValue) == ["service"])
        #expect(second.noted.map(\.mutation.attempt) == [1])
        #expect(second.outcomes == [.sent])
    }
}

extension MutationEngine.Step {
    fileprivate static var paused: Self {
        var step = Self()
        step.pause = StoredPause(reason: .program, message: nil, since: 0, until: nil)
        return step
    }
}
