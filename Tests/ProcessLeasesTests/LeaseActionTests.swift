import SQLiteTables
import Testing

@testable import ProcessLeases

struct LeaseActionTests {
    private static let me: LeaseMember = 1
    private static let other: LeaseMember = 2
    private static let timing = LeaseTiming()

    private static func row(_ holder: LeaseMember?, epoch: LeaseEpoch = 5, beat: Int64 = 3, isLocked: Bool = false)
        -> LeaseRow
    {
        LeaseRow(epoch: epoch, holder: holder, beat: beat, isLocked: isLocked)
    }

    /// What a member has seen that looked at a lease for some time.
    private static func sight(of row: LeaseRow, for time: Duration) -> LeaseSight {
        var sight = LeaseSight()
        var present = Duration.zero
        while present <= time {
            sight.look(at: row, present, timing)
            present += .milliseconds(100)
        }
        return sight
    }

    struct Case: Sendable {
        let name: String
        let row: LeaseRow
        var epoch: LeaseEpoch?
        var sight = LeaseSight()
        var isUnlocked: Bool?
        let action: LeaseAction
    }

    private static let old = Duration.seconds(4)

    static let cases = [
        Case(name: "a lease that no member ever held", row: LeaseRow(), action: .take),
        Case(name: "a lease that was released", row: row(nil), action: .take),
        Case(name: "the own lease", row: row(me), epoch: 5, action: .keep),
        Case(name: "the own lease, taken by another member", row: row(other, epoch: 6), epoch: 5, action: .lost),
        Case(name: "the own lease, taken and released", row: row(nil, epoch: 6), epoch: 5, action: .lost),
        Case(name: "an own lease of another epoch", row: row(me, epoch: 6), epoch: 5, action: .lost),
        Case(name: "a lease whose taking was rolled back", row: row(nil, epoch: 4), epoch: 5, action: .take),
        Case(name: "another member's lease after that", row: row(other, epoch: 4), epoch: 5, action: .wait),
        Case(name: "a lease whose release was rolled back", row: row(me), action: .take),
        Case(name: "another member's lease at the first look", row: row(other), action: .wait),
        Case(
            name: "a lease without a change for some seconds",
            row: row(other),
            sight: sight(of: row(other), for: old),
            action: .take
        ),
        Case(
            name: "a lease without a change for a short time",
            row: row(other),
            sight: sight(of: row(other), for: .seconds(3)),
            action: .wait
        ),
        Case(
            name: "a lease whose beat has changed since the last look",
            row: row(other, beat: 4),
            sight: sight(of: row(other), for: old),
            action: .wait
        ),
        Case(
            name: "a lease of another holder than at the last look",
            row: row(3, epoch: 6),
            sight: sight(of: row(other), for: old),
            action: .wait
        ),
        Case(name: "a dead process", row: row(other, isLocked: true), isUnlocked: true, action: .take),
        Case(name: "a living process", row: row(other, isLocked: true), isUnlocked: false, action: .wait),
        Case(name: "a process that could not lock", row: row(other), isUnlocked: true, action: .wait),
        Case(
            name: "a stopped process keeps its lock",
            row: row(other, isLocked: true),
            sight: sight(of: row(other), for: old),
            isUnlocked: false,
            action: .take
        ),
    ]

    @Test("33. The lease: it is taken, kept, waited for and lost", arguments: cases)
    func actionsFollowFromTheLease(example: Case) {
        let action = LeaseAction.decide(
            example.row,
            for: Self.me,
            holding: example.epoch,
            example.sight,
            isUnlocked: example.isUnlocked,
            Self.timing
        )
        #expect(action == example.action, "\(example.name)")
    }

    @Test("33. Time for which the waiting process was stopped counts little, and a clock that goes back not at all")
    func ageIsTheTimeBetweenOwnLooks() {
        let row = Self.row(Self.other)
        var sight = LeaseSight()
        for time in [0, 0.25, 3600, 3599] { sight.look(at: row, .seconds(time), Self.timing) }
        #expect(sight.age == .milliseconds(750))
        sight.look(at: Self.row(Self.other, beat: 4), .seconds(3601), Self.timing)
        #expect(sight.age == .zero)
    }
}
