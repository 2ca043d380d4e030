import SQLiteTables
import Testing

@testable import MistMutationQueue

/// The pure decisions of the queue, as tables.
struct MutationProgressTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var progress: MutationProgress
        let event: MutationEvent
        /// What differs in the progress afterwards.
        let change: @Sendable (inout MutationProgress) -> Void
        let action: MutationAction

        init(
            _ name: String,
            _ progress: MutationProgress,
            _ event: MutationEvent,
            _ action: MutationAction,
            _ change: @escaping @Sendable (inout MutationProgress) -> Void = { _ in }
        ) {
            (self.name, self.progress, self.event, self.action, self.change) = (name, progress, event, action, change)
        }

        var testDescription: String { name }
    }

    private static let now: MachineTime = 1_000_000

    private static func waiting(_ attempts: Int = 0, sent: Bool = false) -> MutationProgress {
        MutationProgress(attempts: attempts, limit: 3, nextAttempt: 5, hasBeenSent: sent)
    }

    private static func sending(_ attempts: Int = 1, from time: MachineTime = 5) -> MutationProgress {
        MutationProgress(state: .sending, attempts: attempts, limit: 3, nextAttempt: time, hasBeenSent: true)
    }

    private static func ended(_ state: MutationState, isReported: Bool = true) -> MutationProgress {
        MutationProgress(
            state: state,
            attempts: 3,
            limit: 3,
            nextAttempt: 5,
            hasBeenSent: true,
            error: "no",
            isReported: isReported
        )
    }

    /// The random number of the table is a half.
    static let cases = [
        Case("an attempt begins", waiting(1), .begins, .keep) {
            ($0.state, $0.attempts, $0.hasBeenSent) = (.sending, 2, true)
        },
        Case("an attempt does not begin after all", sending(1), .notBegun(hadBeenSent: false), .keep) {
            ($0.state, $0.attempts, $0.hasBeenSent) = (.waiting, 0, false)
        },
        Case("another one does not begin", sending(2), .notBegun(hadBeenSent: true), .keep) {
            ($0.state, $0.attempts) = (.waiting, 1)
        },
        Case("it was noted before the clock was set back", sending(from: now + 9), .notBegun(hadBeenSent: true), .keep)
        {
            ($0.state, $0.attempts, $0.nextAttempt) = (.waiting, 0, now)
        },
        Case("one that waits has no attempt", waiting(1), .notBegun(hadBeenSent: true), .keep),
        Case("done", sending(), .succeeded, .remove),
        Case("again after the first attempt: half of a second", sending(1), .failed(.again(), error: "no"), .keep) {
            ($0.state, $0.nextAttempt, $0.error) = (.waiting, now + 500, "no")
        },
        Case("again after the second one: half of two", sending(2), .failed(.again(), error: "no"), .keep) {
            ($0.state, $0.nextAttempt, $0.error) = (.waiting, now + 1000, "no")
        },
        Case(
            "the service names a time: it, and half a second",
            sending(1),
            .failed(.again(after: .seconds(7)), error: "no"),
            .keep
        ) {
            ($0.state, $0.nextAttempt, $0.error) = (.waiting, now + 7500, "no")
        },
        Case("a negative time is none", sending(1), .failed(.again(after: .seconds(-7)), error: "no"), .keep) {
            ($0.state, $0.nextAttempt, $0.error) = (.waiting, now + 500, "no")
        },
        Case("the decision names the message", sending(1), .failed(.again(after: nil, "later"), error: "no"), .keep) {
            ($0.state, $0.nextAttempt, $0.error) = (.waiting, now + 500, "later")
        },
        Case("the last attempt", sending(3), .failed(.again(), error: "no"), .report) {
            ($0.state, $0.error) = (.failed, "no")
        },
        Case("refused", sending(1), .failed(.refused("spam"), error: "no"), .report) {
            ($0.state, $0.error) = (.failed, "spam")
        },
        Case(
            "a pause does not count as an attempt",
            sending(3),
            .failed(.wait(.offline, for: .seconds(9)), error: "no"),
            .pause(.offline, for: .seconds(9), message: "no")
        ) { ($0.state, $0.attempts, $0.nextAttempt, $0.error) = (.waiting, 2, now, "no") },
        Case("the effects failed", sending(1), .effectsFailed(error: "no"), .keep) {
            ($0.state, $0.nextAttempt, $0.error) = (.waiting, now + 500, "no")
        },
        Case("the effects failed in the last attempt", sending(3), .effectsFailed(error: "no"), .report) {
            ($0.state, $0.error) = (.failed, "no")
        },
        Case("the deadline", sending(1), .deadlineEnded, .keep) {
            ($0.state, $0.nextAttempt) = (.waiting, now + 500)
            $0.error = "The attempt did not end before its deadline."
        },
        Case("the process ended: at once", sending(2), .processEnded, .keep) {
            ($0.state, $0.nextAttempt) = (.waiting, now)
            $0.error = "The process ended during the attempt."
        },
        Case("the process ended each time", sending(3), .processEnded, .report) {
            ($0.state, $0.error) = (.failed, "The process ended during the attempt.")
        },
        Case("cancelled", sending(2), .cancelled, .keep) {
            ($0.state, $0.attempts, $0.nextAttempt) = (.waiting, 1, now)
        },
        Case("unreadable", waiting(), .isUnreadable(error: "no"), .report) {
            ($0.state, $0.error) = (.unreadable, "no")
        },
        Case("sent again by the program", ended(.failed), .retried, .keep) {
            ($0.state, $0.attempts, $0.nextAttempt, $0.isReported) = (.waiting, 0, now, false)
        },
        Case("read again by the program", ended(.unreadable), .retried, .keep) {
            ($0.state, $0.attempts, $0.nextAttempt, $0.isReported) = (.waiting, 0, now, false)
        },
        Case("not to wait any more", waiting(2, sent: true), .retried, .keep) { $0.nextAttempt = now },
        Case("another version of the program", ended(.unreadable), .versionChanged, .keep) {
            ($0.state, $0.nextAttempt) = (.waiting, now)
        },
        Case("an answer to an attempt that is not under way", waiting(1), .succeeded, .keep),
        Case("an error of one", ended(.failed), .failed(.again(), error: "other"), .keep),
        Case("a retry of one that is under way", sending(1), .retried, .keep),
        Case("a new version has no part in one that failed", ended(.failed), .versionChanged, .keep),
    ]

    @Test(arguments: cases) func whatFollowsFromAnEvent(example: Case) {
        let (progress, action) = example.progress.after(example.event, at: Self.now, BackOff(), random: 0.5)
        var expected = example.progress
        example.change(&expected)
        #expect(progress == expected)
        #expect(action == example.action)
    }

    @Test func anUnreadableMutationIsReportedOnceHoweverOftenItIsRead() {
        var progress = Self.waiting()
        var reports = 0
        for _ in 0..<3 {
            let (next, action) = progress.after(.isUnreadable(error: "no"), at: Self.now, BackOff(), random: 0.5)
            if action == .report { reports += 1 }
            progress = next
            progress.isReported = true
            progress = progress.after(.versionChanged, at: Self.now, BackOff(), random: 0.5).progress
        }
        #expect(reports == 1)
    }

    @Test func backOffGrowsToItsLimitAndUsesTheWholeRange() {
        let backOff = BackOff(shortest: .seconds(1), longest: .seconds(300))
        #expect(
            (1...12).map { backOff.wait(after: $0, random: 1) } == [
                1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000, 300_000,
            ]
        )
        #expect(backOff.wait(after: 5, random: 0) == 0)
        #expect(backOff.wait(after: .max, random: 0.5) == 150_000)
        #expect(BackOff(shortest: .seconds(Int64.max), longest: .seconds(Int64.max)).wait(after: 9, random: 0.5) > 0)
    }

    @Test func thePauseOfTheProgramOutlivesOthersAndKeepsItsReason() {
        func pause(_ reason: MutationPause.Reason, since: MachineTime = 0, until: MachineTime?) -> StoredPause {
            StoredPause(reason: reason, message: nil, since: since, until: until)
        }
        let (signedOut, offline) = (pause(.signedOut, until: nil), pause(.offline, until: 10))
        #expect(signedOut.joined(with: offline) == signedOut)
        #expect(offline.joined(with: signedOut) == signedOut)
        #expect(signedOut.joined(with: pause(.program, until: nil)) == signedOut)
        #expect(offline.joined(with: pause(.offline, until: 9)) == offline)
        #expect(offline.joined(with: pause(.program, until: 11)) == pause(.program, until: 11))
        #expect(!signedOut.isOver(at: .init(Int64.max)))
        #expect(!offline.isOver(at: 9))
        #expect(offline.isOver(at: 10))
    }

    @Test func aClockThatGoesBackALittleIsNotNoticed() {
        #expect(!ClockCheck.isSetBack(from: 100_000, to: 100_001))
        #expect(!ClockCheck.isSetBack(from: 100_000, to: 40_000))
        #expect(ClockCheck.isSetBack(from: 100_000, to: 39_999))
    }
}
