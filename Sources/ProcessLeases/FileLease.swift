package import GRDB
package import SQLiteTables
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The part of an opened file in a lease of the file. Two opened files in one process are two members.
///
/// Only a transaction that writes takes, keeps or releases the lease, so two members cannot do it at the same time. A
/// member that was stopped and goes on finds another epoch in the next transaction, and does nothing more.
package final class FileLease: Sendable {
    private struct State {
        /// The epoch in which this member holds the lease.
        var epoch: LeaseEpoch?
        /// Whether it holds the lease for a program, and not for a loop that the library runs.
        var isForProgram = false
        var sight = LeaseSight()
        var lock: ProcessLock?
        /// The last epoch in which this member came to the end of the work.
        var done: LeaseEpoch = 0
    }

    private let member = LeaseMember(Int64.random(in: 1...Int64.max))
    private let name: String
    private let lockPath: String?
    package let timing: LeaseTiming
    private let state = Mutex(State())

    /// Makes a member that does not hold the lease.
    ///
    /// - Parameters:
    ///   - name: The work that the lease is for.
    ///   - path: The path of the database; `nil` for one in memory.
    ///   - timing: The times of the lease.
    package init(_ name: String, ofFile path: String?, timing: LeaseTiming = LeaseTiming()) {
        self.name = name
        lockPath = path.map { "\($0)-\(name)" }
        self.timing = timing
    }

    /// The time by the clock of looks.
    package static var present: Duration { start.duration(to: .now) }
    private static let start = ContinuousClock.now

    /// The epoch in which this member believes that it holds the lease; `nil` where it does not.
    package var heldEpoch: LeaseEpoch? { state.withLock { $0.epoch } }

    /// Whether this member believes that it holds the lease.
    package var isHeld: Bool { heldEpoch != nil }

    /// The lease, as the file has it.
    package func row(_ db: Database) throws -> LeaseRow { try Leases(name: name, db: db).row() }

    /// Looks at the lease, and decides.
    ///
    /// - Parameters:
    ///   - db: The connection; reading is enough.
    ///   - time: The time by a clock that only goes forward.
    /// - Returns: The action, and the lease.
    /// - Throws: A `DatabaseError` when the file fails.
    package func look(_ db: Database, at time: Duration) throws -> (action: LeaseAction, row: LeaseRow) {
        let row = try Leases(name: name, db: db).row()
        return state.withLock { state in
            state.sight.look(at: row, time, timing)
            let lock = row.isLocked && state.lock == nil ? lockPath.flatMap { ProcessLock(path: $0) } : nil
            return (decide(row, state, isUnlocked: lock != nil), row)
        }
    }

    private func decide(_ row: LeaseRow, _ state: State, isUnlocked: Bool?) -> LeaseAction {
        LeaseAction.decide(row, for: member, holding: state.epoch, state.sight, isUnlocked: isUnlocked, timing)
    }

    /// Holds the lease from now on, or still.
    ///
    /// - Parameters:
    ///   - db: The connection, in a transaction that writes.
    ///   - isForProgram: Whether a program asks, and not a loop that the library runs.
    ///   - isForced: Whether the lease is taken from any holder, because the caller knows that no process holds it.
    ///   - now: The machine's time.
    /// - Returns: Whether this member holds the lease.
    /// - Throws: A `DatabaseError` when the file fails.
    package func hold(_ db: Database, isForProgram: Bool, isForced: Bool = false, at now: MachineTime) throws -> Bool {
        let leases = Leases(name: name, db: db)
        let row = try leases.row()
        return try state.withLock { state in
            if isForced { state.epoch = nil }
            if state.lock == nil { state.lock = lockPath.flatMap { ProcessLock(path: $0) } }
            let action = decide(row, state, isUnlocked: state.lock != nil)
            switch isForced ? .take : action {
            case .keep:
                if isForProgram { state.isForProgram = true }
                // One that was stopped and goes on shows at once that it lives.
                if let last = row.beatAt, Int64((now - last).magnitude) >= timing.beat.milliseconds {
                    try leases.beat(at: now)
                }
                return true
            case .take:
                let epoch = LeaseEpoch(row.epoch.rawValue + 1)
                try leases.take(
                    member,
                    epoch: epoch,
                    process: (ProcessInfo.processInfo.processName, ProcessInfo.processInfo.processIdentifier),
                    isLocked: state.lock != nil,
                    at: now
                )
                (state.epoch, state.isForProgram) = (epoch, isForProgram)
                return true
            case .wait, .lost:
                (state.epoch, state.lock) = (nil, nil)
                return false
            }
        }
    }

    /// Whether this member still holds the lease. If it does not, it knows so from now on.
    package func isStillHeld(_ db: Database) throws -> Bool {
        let row = try Leases(name: name, db: db).row()
        return state.withLock { state in
            guard state.epoch != nil else { return false }
            if decide(row, state, isUnlocked: nil) == .keep { return true }
            (state.epoch, state.lock) = (nil, nil)
            return false
        }
    }

    /// Shows other members that this one lives.
    ///
    /// - Parameters:
    ///   - db: The connection, in a transaction that writes.
    ///   - now: The machine's time.
    /// - Returns: `keep`; `lost` when another member has taken the lease, which this one learns now; `wait` when this
    ///   member did not hold it.
    /// - Throws: A `DatabaseError` when the file fails.
    package func beat(_ db: Database, at now: MachineTime) throws -> LeaseAction {
        guard isHeld else { return .wait }
        guard try isStillHeld(db) else { return .lost }
        try Leases(name: name, db: db).beat(at: now)
        return .keep
    }

    /// Releases the lease, if this member holds it.
    ///
    /// - Parameters:
    ///   - db: The connection, in a transaction that writes.
    ///   - doneAt: When the work came to its end, by the machine's clock; `nil` where it did not.
    /// - Throws: A `DatabaseError` when the file fails.
    package func release(_ db: Database, doneAt: MachineTime?) throws {
        guard try isStillHeld(db) else { return }
        let leases = Leases(name: name, db: db)
        let isForProgram = state.withLock { state in
            if doneAt != nil { state.done = state.epoch ?? state.done }
            // Within the transaction, so that the next holder finds the file unlocked.
            (state.epoch, state.lock) = (nil, nil)
            return state.isForProgram
        }
        if let doneAt { try leases.noteDone(forProgram: isForProgram, at: doneAt) }
        try leases.release()
    }

    /// For how long the work need not be done, because another member has done it.
    ///
    /// - Parameters:
    ///   - row: The lease.
    ///   - interval: The time between two times at which the work is done.
    ///   - now: The machine's time.
    /// - Returns: The rest of the interval; zero when the work is due, or when this member has done it last.
    package func rest(_ row: LeaseRow, of interval: Duration, at now: MachineTime) -> Duration {
        guard let doneAt = row.doneAt, row.done > state.withLock({ $0.done }) else { return .zero }
        let age = Duration.milliseconds(now.rawValue - doneAt.rawValue)
        // Where the clock was set back, the time is not known.
        return age < .zero ? .zero : max(interval - age, .zero)
    }

    /// The holder of the lease; `nil` where no member holds it.
    package func holder(_ db: Database) throws -> LeaseHolder? {
        let row = try Leases(name: name, db: db).row()
        guard let holder = row.holder, let taken = row.takenAt else { return nil }
        return LeaseHolder(
            isThisMember: holder == member,
            programName: row.process ?? "",
            processIdentifier: row.processID ?? 0,
            since: taken,
            lastSign: row.beatAt ?? taken
        )
    }
}

/// The member that holds a lease, for people.
package struct LeaseHolder: Hashable, Sendable {
    /// Whether it is the member that asks.
    package let isThisMember: Bool
    /// The name and the number of its process.
    package let programName: String
    package let processIdentifier: Int32
    /// When it took the lease, and when it last showed that it lives.
    package let since: MachineTime
    package let lastSign: MachineTime
}
