package import GRDB
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
        /// Whether it holds the lease for a program, and not for the store's own loop.
        var isForProgram = false
        var sight = LeaseSight()
        var lock: ProcessLock?
    }

    private let member = LeaseMember(Int64.random(in: 1...Int64.max))
    private let name: String
    private let lockPath: String?
    let timing: LeaseTiming
    private let state = Mutex(State())

    /// Makes a member that does not hold the lease.
    ///
    /// - Parameters:
    ///   - name: The work that the lease is for.
    ///   - path: The path of the database; `nil` for one in memory.
    ///   - timing: The times of the lease.
    init(_ name: String, ofFile path: String?, timing: LeaseTiming = LeaseTiming()) {
        self.name = name
        lockPath = path.map { "\($0)-\(name)" }
        self.timing = timing
    }

    /// The time by the clock of looks.
    static var present: Duration { start.duration(to: .now) }
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
    ///   - isForProgram: Whether a program asks, and not the store's own loop.
    ///   - isForced: Whether the lease is taken from any holder, because the caller knows that no process holds it.
    /// - Returns: Whether this member holds the lease.
    /// - Throws: A `DatabaseError` when the file fails.
    func hold(_ db: Database, isForProgram: Bool, isForced: Bool = false) throws -> Bool {
        let leases = Leases(name: name, db: db)
        let row = try leases.row()
        return try state.withLock { state in
            if isForced { state.epoch = nil }
            if state.lock == nil { state.lock = lockPath.flatMap { ProcessLock(path: $0) } }
            let action = decide(row, state, isUnlocked: state.lock != nil)
            switch isForced ? .take : action {
            case .keep:
                if isForProgram { state.isForProgram = true }
                return true
            case .take:
                let epoch = LeaseEpoch(row.epoch.rawValue + 1)
                try leases.take(member, epoch: epoch, process: Self.process, isLocked: state.lock != nil)
                (state.epoch, state.isForProgram) = (epoch, isForProgram)
                return true
            case .wait, .lost:
                (state.epoch, state.lock) = (nil, nil)
                return false
            }
        }
    }

    /// Whether this member still holds the lease. If it does not, it knows so from now on.
    func isStillHeld(_ db: Database) throws -> Bool {
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
    /// - Parameter db: The connection, in a transaction that writes.
    /// - Returns: `keep`; `lost` when another member has taken the lease, which this one learns now; `wait` when this
    ///   member did not hold it.
    /// - Throws: A `DatabaseError` when the file fails.
    package func beat(_ db: Database) throws -> LeaseAction {
        guard isHeld else { return .wait }
        guard try isStillHeld(db) else { return .lost }
        try Leases(name: name, db: db).beat()
        return .keep
    }

    /// Releases the lease, if this member holds it.
    ///
    /// - Parameters:
    ///   - db: The connection, in a transaction that writes.
    ///   - isDone: Whether the work has come to its end.
    /// - Throws: A `DatabaseError` when the file fails.
    package func release(_ db: Database, isDone: Bool) throws {
        guard try isStillHeld(db) else { return }
        let leases = Leases(name: name, db: db)
        let isForProgram = state.withLock { state in
            // Within the transaction, so that the next holder finds the file unlocked.
            (state.epoch, state.lock) = (nil, nil)
            return state.isForProgram
        }
        if isDone { try leases.noteDone(forProgram: isForProgram) }
        try leases.release()
    }

    /// The name and the number of this process.
    private static var process: String {
        "\(ProcessInfo.processInfo.processName) (\(ProcessInfo.processInfo.processIdentifier))"
    }
}
