import GRDB
package import SQLiteTables

/// A number that grows with each holder of a lease.
package struct LeaseEpoch: TypedNumber {
    /// An epoch that does not come.
    package static let never = LeaseEpoch(Int64.max)
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package var predecessor: LeaseEpoch { LeaseEpoch(rawValue - 1) }
}

/// One that may hold a lease: an opened file in a process. The number is random.
package struct LeaseMember: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A lease, as the file has it.
package struct LeaseRow: Hashable, Sendable {
    package var epoch: LeaseEpoch = 0
    package var holder: LeaseMember?
    /// Changes while the holder lives.
    package var beat: Int64 = 0
    /// Whether the holder has locked the file beside the database.
    package var isLocked = false
    /// The last epoch whose holder came to the end of its work.
    package var done: LeaseEpoch = 0
    /// The last epoch whose holder came to the end of its work for a program.
    package var doneForProgram: LeaseEpoch = 0
    /// The name and the number of the holder's process.
    package var process: String?
    package var processID: Int32?
    /// When the holder took the lease, when it last showed that it lives, and when the work was done last. No decision
    /// about the lease depends on these times, because the machine's clock may be set.
    package var takenAt: MachineTime?
    package var beatAt: MachineTime?
    package var doneAt: MachineTime?
}

/// The times of a lease.
package struct LeaseTiming: Hashable, Sendable {
    /// The time between two beats of a holder.
    package var beat = Duration.seconds(1)
    /// A holder whose beat does not change for so long is dead or stopped.
    package var limit = Duration.seconds(3.5)
    /// The time between two looks of a member that waits.
    package var look = Duration.milliseconds(100)
    /// The most that the time between two looks counts.
    package var longestGap = Duration.milliseconds(500)

    package init() {}
}

/// For how long a member has seen a lease without a change.
///
/// Clocks of processes are not compared, and the wall clock is not read: it may be set. A member counts the time
/// between its own looks. A long time between two looks counts little: the member, or the whole machine, was stopped
/// then, and the holder may have been stopped with it.
package struct LeaseSight: Sendable {
    private var last: (epoch: LeaseEpoch, beat: Int64, at: Duration)?
    /// The time for which the lease did not change.
    package private(set) var age = Duration.zero

    package init() {}

    /// Takes note of the lease.
    ///
    /// - Parameters:
    ///   - row: The lease.
    ///   - time: The time by a clock that only goes forward.
    ///   - timing: The times of the lease.
    package mutating func look(at row: LeaseRow, _ time: Duration, _ timing: LeaseTiming) {
        if let last, last.epoch == row.epoch, last.beat == row.beat {
            age += min(max(time - last.at, .zero), timing.longestGap)
        } else {
            age = .zero
        }
        last = (row.epoch, row.beat, time)
    }

    /// Whether the lease is as it was at the last look.
    package func hasSeen(_ row: LeaseRow) -> Bool { last?.epoch == row.epoch && last?.beat == row.beat }
}

/// What a member does about a lease.
package enum LeaseAction: Hashable, Sendable {
    /// The member holds the lease.
    case keep
    /// The lease is free, or its holder is dead or stopped.
    case take
    /// Another member holds the lease.
    case wait
    /// The member held the lease, and another member has taken it.
    case lost

    /// Decides what a member does about a lease.
    ///
    /// - Parameters:
    ///   - row: The lease.
    ///   - member: The member.
    ///   - epoch: The epoch in which the member holds the lease; `nil` where it does not.
    ///   - sight: What the member has seen of the lease.
    ///   - isUnlocked: Whether the lock of the file beside the database is free; `nil` where that is not known.
    ///   - timing: The times of the lease.
    /// - Returns: The action.
    package static func decide(
        _ row: LeaseRow,
        for member: LeaseMember,
        holding epoch: LeaseEpoch?,
        _ sight: LeaseSight,
        isUnlocked: Bool?,
        _ timing: LeaseTiming
    ) -> LeaseAction {
        // Epochs only grow: the transaction in which a member took a later epoch than the file has was rolled back.
        if let epoch, row.epoch >= epoch { return row.holder == member && row.epoch == epoch ? .keep : .lost }
        // Where the member holds the lease without knowing it, the transaction that released it was rolled back.
        guard let holder = row.holder, holder != member else { return .take }
        // The lock of a dead process is free. That of a stopped process is not, so its beat decides.
        if row.isLocked, isUnlocked == true { return .take }
        return sight.hasSeen(row) && sight.age >= timing.limit ? .take : .wait
    }
}
