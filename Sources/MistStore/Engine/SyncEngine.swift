import CloudKitModel
package import GRDB
public import MistKit
package import ProcessLeases
package import SQLiteTables

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The engine of one scope: two synchronous functions over the database.
///
/// ``next(at:)`` decides what to do, in one transaction; ``handle(_:to:at:)`` applies a reply, in one transaction.
/// Everything that the engine knows is in tables, so the death of the process between two steps is only a pause. A
/// small asynchronous loop around the two functions sends the requests (``SyncLoop``); a simulation calls them itself.
package struct SyncEngine: Sendable {
    let file: StoreFile
    let scope: DatabaseScope
    let configuration: StoreConfiguration
    let userCheck: UserCheck

    package init(file: StoreFile, scope: DatabaseScope, configuration: StoreConfiguration) {
        self.file = file
        self.scope = scope
        self.configuration = configuration
        userCheck = UserCheck(configuration.checksUser ? .due : .passed(nil))
    }

    /// What to do next.
    package enum Step: Hashable, Sendable {
        /// Send the request, and hand the reply to ``SyncEngine/handle(_:to:at:)`` with its number.
        case send(SyncRequest, number: RequestNumber)
        /// Transfer files: there is nothing else to do now. Edits that are made meanwhile are sent beside it.
        case transfer
        /// Do nothing before this time.
        case wait(until: MachineTime)
        /// Everything is fetched and acknowledged, except for parked records.
        case idle
        /// A person has to act first.
        case blocked(SyncCondition)
        /// Another process synchronises the file.
        case otherProcess
    }

    /// The code that asks for a synchronisation.
    package enum Asker: Hashable, Sendable {
        case program
        /// The store's own loop, because of edits. Followed queries that are not due yet are left out, and what the
        /// service could not deliver.
        case loop
        /// The same, because of the time: what another process has done within the interval, or does now, is enough.
        case interval(Duration)
        /// The same, after a push of the service. Only these zones are asked for, unless there are none, or one of them is
        /// not known.
        case push(Set<ZoneID>)

        /// The code that asks for a synchronisation for several callers: the one that asks for the most.
        static func together(_ askers: [Self]) -> Self {
            if askers.contains(.program) { return .program }
            let zones = askers.map { asker -> Set<ZoneID> in
                if case .push(let zones) = asker { zones } else { [] }
            }
            if zones.allSatisfy({ !$0.isEmpty }) { return .push(zones.reduce(into: []) { $0.formUnion($1) }) }
            // What the time asks for is less than anything else.
            let others = askers.filter { if case .interval = $0 { false } else { true } }
            return others.isEmpty ? askers.first ?? .loop : .loop
        }
    }

    /// Runs a transaction of the engine, with the triggers of record types off.
    func write<Value>(at now: MachineTime, _ body: (EngineTransaction) throws -> Value) throws -> Value {
        var begin: ContinuousClock.Instant?
        defer { if let begin { configuration.onEngineTransaction?(begin.duration(to: .now)) } }
        return try file.wrapping {
            try file.database.write { db in
                begin = .now
                try file.checkSeal(db)
                let transaction = EngineTransaction(
                    file: file,
                    scope: scope,
                    configuration: configuration,
                    userCheck: userCheck,
                    at: now,
                    db
                )
                return try db.applying {
                    let value = try body(transaction)
                    try transaction.fileState.writeLatestTime()
                    return value
                }
            }
        }
    }

    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try file.wrapping { try file.database.read(body) }
    }

    /// Begins after an opening of the file. Records of types that the program did not know before, and knows now, become
    /// rows. Types that the service did not know are tried again.
    ///
    /// - Parameter now: The machine's time.
    /// - Throws: A ``StoreError`` when the file fails.
    package func open(at now: MachineTime) throws {
        try write(at: now) { try Start(transaction: $0).open() }
    }

    /// Begins after the death of the only process that used the file: takes the lease from it. A request that was under
    /// way has an unknown outcome.
    ///
    /// - Parameter now: The machine's time.
    /// - Throws: A ``StoreError`` when the file fails.
    package func start(at now: MachineTime) throws {
        try write(at: now) { transaction in
            _ = try file.lease.hold(transaction.db, isForProgram: false, isForced: true, at: now)
            try Start(transaction: transaction).open()
            try Start(transaction: transaction).abandonRequest()
        }
    }

    /// Makes rows of the records that a program without their types has kept since this process looked last.
    ///
    /// - Parameter now: The machine's time.
    /// - Returns: What changed.
    /// - Throws: A ``StoreError`` when the file fails.
    @discardableResult
    package func adoptForeign(at now: MachineTime) throws -> SyncSummary {
        let hasAny = try read { db in
            try file.tables.keys.contains { try ForeignRecords(scope: scope, db: db, sealer: file.sealer).has($0) }
        }
        guard hasAny else { return SyncSummary() }
        return try write(at: now) { transaction in
            try Start(transaction: transaction).changes.adoptForeign()
            return transaction.summary
        }
    }

    // MARK: The lease

    /// What a process does about the lease of a file before it synchronises.
    package enum Turn: Hashable, Sendable {
        /// It may synchronise.
        case free
        /// Another process synchronises.
        case waiting
        /// Since an epoch, another process has done the work.
        case done
    }

    /// Looks whether this process may synchronise the file.
    ///
    /// - Parameters:
    ///   - asker: The code that asks. What was done for the store's own loop is less than what a program asks for.
    ///   - epoch: The epoch of the lease when the synchronisation was asked for.
    ///   - time: The time by a clock that only goes forward.
    /// - Returns: The turn.
    /// - Throws: A ``StoreError`` when the file fails.
    package func turn(of asker: Asker, after epoch: LeaseEpoch, at time: Duration) throws -> Turn {
        let (action, row) = try read { db in try file.lease.look(db, at: time) }
        if (asker == .program ? row.doneForProgram : row.done) > epoch { return .done }
        return switch action {
        case .keep, .take, .lost: .free
        case .wait: .waiting
        }
    }

    /// The epoch of the lease of the file when a synchronisation is asked for: what another process does after it is
    /// enough.
    ///
    /// - Parameters:
    ///   - asker: The code that asks.
    ///   - now: The machine's time.
    /// - Returns: The epoch, for ``turn(of:after:at:)``.
    /// - Throws: A ``StoreError`` when the file fails.
    package func leaseEpoch(for asker: Asker, at now: MachineTime) throws -> LeaseEpoch {
        let row = try read { db in try file.lease.row(db) }
        guard case .interval(let interval) = asker else { return row.epoch }
        if file.lease.rest(row, of: interval, at: now) > .zero { return row.done.predecessor }
        return row.holder == nil ? row.epoch : row.epoch.predecessor
    }

    /// Shows other processes that this one lives.
    ///
    /// - Parameter now: The machine's time.
    /// - Returns: `keep`; `lost` when another process has taken the lease; `wait` when this process did not hold it.
    /// - Throws: A ``StoreError`` when the file fails.
    package func keepLease(at now: MachineTime) throws -> LeaseAction {
        try file.wrapping { try file.database.write { db in try file.lease.beat(db, at: now) } }
    }

    /// For how long the file need not be synchronised, because another process has done it.
    ///
    /// - Parameters:
    ///   - interval: The time between two synchronisations.
    ///   - now: The machine's time.
    /// - Returns: The rest of the interval; zero when a synchronisation is due.
    /// - Throws: A ``StoreError`` when the file fails.
    func rest(of interval: Duration, at now: MachineTime) throws -> Duration {
        let row = try read { db in try file.lease.row(db) }
        return file.lease.rest(row, of: interval, at: now)
    }

    /// Releases the lease, if this process holds it, before the work has come to its end.
    func releaseLease() throws {
        guard file.lease.isHeld else { return }
        try file.wrapping { try file.database.write { db in try file.lease.release(db, doneAt: nil) } }
    }

    /// The reason why the scope waits; `nil` when it does not wait.
    func condition(at now: MachineTime) throws -> SyncCondition? {
        try read { db in
            let condition = try ScopeState(scope: scope, db: db).row().condition
            return try condition ?? (waitingDeletes(at: now, db) == nil ? nil : .massDeletion)
        }
    }

    /// Whether deletes wait for a permission.
    package func holdsDeletes(at now: MachineTime, _ db: Database) throws -> Bool {
        try waitingDeletes(at: now, db) != nil
    }

    /// The deletes that wait for a permission.
    private func waitingDeletes(at now: MachineTime, _ db: Database) throws -> MassDeletion? {
        try MassDeletionGuard(limit: configuration.massDeletionLimit, scope: scope, now: now, db: db).waiting()
    }

    /// The result of a cycle, with the reason why it has ended.
    ///
    /// - Parameters:
    ///   - cycle: The cycle.
    ///   - now: The machine's time.
    /// - Returns: The summary.
    /// - Throws: A ``StoreError`` when the file fails.
    func scopeSummary(of cycle: SyncCycle, at now: MachineTime) throws -> ScopeSummary {
        let (row, massDeletion) = try read { db in
            (try ScopeState(scope: scope, db: db).row(), try waitingDeletes(at: now, db))
        }
        var summary = ScopeSummary()
        summary.massDeletion = massDeletion
        if let removal = row.massRemoval, removal.time >= ColumnValue.date(cycle.began) {
            summary.massRemoval = removal
        }
        summary.counts = cycle.summary
        summary.condition = cycle.end == .blocked(.otherUser) ? .otherUser : cycle.condition
        summary.detail = row.detail
        summary.restsUntil = row.endOfPushes(at: now).map(ColumnValue.date)
        return summary
    }

    /// The service's time minus the machine's, in milliseconds.
    func clockOffset() throws -> Int64 {
        try read { db in try FileState(db).clockOffset }
    }

    /// Asks for changes of the service: the next cycle begins with a request for them.
    ///
    /// - Parameters:
    ///   - asker: The code that asks.
    ///   - now: The machine's time.
    /// - Returns: Whether this process holds the lease now. If it does not, nothing was done.
    /// - Throws: A ``StoreError`` when the file fails.
    @discardableResult
    package func requestPull(by asker: Asker, at now: MachineTime) throws -> Bool {
        try write(at: now) { transaction in
            guard try file.lease.hold(transaction.db, isForProgram: asker == .program, at: now) else { return false }
            // After a refusal, another user may be signed in.
            let start = Start(transaction: transaction)
            let isSignedOut = try start.scopeState.row().condition == .signedOut
            if userCheck.state == .refused || isSignedOut { sessionHasChanged() }
            try start.requestPull(by: asker)
            return true
        }
    }

    /// Asks for a verification: the next synchronisation compares the scope with the service.
    package func requestVerification(_ mode: VerificationMode, comparing depth: VerificationDepth) throws {
        try file.wrapping {
            try file.database.write { db in try Verifications(scope: scope, db: db).request(mode, depth) }
        }
    }

    /// The report of the latest verification; `nil` for the zones where it has not ended.
    package func verification() throws -> (isDone: Bool, zones: [VerifiedZoneReport]) {
        try read { db in
            let verifications = Verifications(scope: scope, db: db)
            return (try verifications.underWay() == nil, try verifications.reports())
        }
    }

    /// Lets the engine ask for the user before it sends or fetches user data: another user may have signed in.
    package func sessionHasChanged() {
        if configuration.checksUser { userCheck.state = .due }
    }

    /// Decides what to do. A request that it returns is stored as the request under way.
    ///
    /// The step is that of the process that holds the lease of the file. A process without it takes a lease that is free.
    /// The lease is released with any step other than a request.
    ///
    /// - Parameters:
    ///   - now: The machine's time.
    ///   - isTransferring: Whether this process transfers files of the scope. Then it keeps the lease: another process
    ///     would begin the same transfers from their start.
    /// - Returns: The request to send, or what the engine waits for.
    /// - Throws: A ``StoreError`` when the file fails.
    package func next(at now: MachineTime, isTransferring: Bool = false) throws -> Step {
        try write(at: now) { transaction in
            guard try file.lease.hold(transaction.db, isForProgram: false, at: now) else { return .otherProcess }
            // Triggers may have begun cascades.
            try Cascades(file: file, db: transaction.db).complete()
            let step = try NextStep(transaction: transaction).next(isTransferring: isTransferring)
            switch step {
            case .send, .transfer: break
            // Another process may have another session.
            case .blocked, .otherProcess: try file.lease.release(transaction.db, doneAt: nil)
            case .wait, .idle: try file.lease.release(transaction.db, doneAt: now)
            }
            return step
        }
    }

    /// Applies a reply.
    ///
    /// - Parameters:
    ///   - result: The reply, or the error of the request.
    ///   - number: The number of the request. A reply to a request that is not under way any more is dropped, and so is
    ///     one that this process gets after it has lost the lease: the outcome of the request is unknown.
    ///   - now: The machine's time.
    ///   - date: When the service sent the response, in whole seconds or exactly; `nil` where it is unknown.
    /// - Returns: What changed.
    /// - Throws: A ``StoreError`` when the file fails.
    @discardableResult
    package func handle(
        _ result: Result<SyncReply, CloudKitError>,
        to number: RequestNumber,
        at now: MachineTime,
        date: ServiceTime? = nil
    ) throws -> SyncSummary {
        try write(at: now) { transaction in
            transaction.date = date
            guard try file.lease.isStillHeld(transaction.db),
                let request = try Requests(scope: scope, db: transaction.db).underWay(), request.number == number
            else { return SyncSummary() }
            let reply = RequestReply(transaction: transaction, request: request)
            try reply.apply(result)
            if try reply.scopeState.row().condition == .signedOut { sessionHasChanged() }
            try reply.scopeState.addProgress(transaction.summary)
            try reply.scopeState.addRemoved(transaction.removedRows)
            return transaction.summary
        }
    }
}

/// The results of a synchronisation, as counts.
public struct SyncSummary: Hashable, Sendable {
    /// Records that the service's changes added or changed here.
    public var fetched = 0
    /// Records that the service's deletes removed here.
    public var removed = 0
    /// Records that were created or changed at the service.
    public var sent = 0
    /// Records that were deleted at the service.
    public var deleted = 0
    /// Records that both sides had changed, and that were merged.
    public var merged = 0
    /// Records of this device with values that lost to a later edit or a delete. The recovery log has the values.
    public var lost = 0
    /// Records that the service refused, and that wait. See ``ScopeStatus/parked``.
    public var parked = 0
    /// Edit times of other devices that were more than five minutes later than their versions, and were limited to
    /// that.
    public var clamped = 0

    /// What was done in each database, and why nothing more was done.
    ///
    /// ```swift
    /// let summary = try await store.sync()
    /// if summary.scopes[.private]?.condition == .offline { print("The changes are sent later.") }
    /// ```
    public var scopes: [DatabaseScope: ScopeSummary] = [:]

    /// Makes an empty summary.
    public init() {}

    /// Whether all counts are 0: nothing was fetched, sent, merged, lost or refused.
    public var isEmpty: Bool {
        var counts = self
        counts.scopes = [:]
        return counts == SyncSummary()
    }

    /// Adds the counts of another, later summary. Of each database, the later reason to wait counts.
    public static func += (left: inout SyncSummary, right: SyncSummary) {
        left.fetched += right.fetched
        left.removed += right.removed
        left.sent += right.sent
        left.deleted += right.deleted
        left.merged += right.merged
        left.lost += right.lost
        left.parked += right.parked
        left.clamped += right.clamped
        left.scopes.merge(right.scopes) { earlier, later in
            var sum = later
            sum.counts = earlier.counts + later.counts
            sum.massRemoval = later.massRemoval ?? earlier.massRemoval
            return sum
        }
    }

    /// The sum of two summaries; see ``+=(_:_:)``.
    public static func + (left: SyncSummary, right: SyncSummary) -> SyncSummary {
        var sum = left
        sum += right
        return sum
    }
}

/// What a synchronisation has done in one database, and why it has done no more.
public struct ScopeSummary: Hashable, Sendable {
    /// The counts of this database. Their ``SyncSummary/scopes`` are empty.
    public var counts = SyncSummary()
    /// The reason why the database waits: it is offline, throttled, signed out, …; `nil` when everything was done.
    public var condition: SyncCondition?
    /// The message of the service; for ``SyncCondition/signedOut`` the address of the sign-in page, if the service gave
    /// one.
    public var detail: String?
    /// When the next request may be sent; `nil` when it may be sent now, or when a person has to act first.
    public var restsUntil: Date?
    /// The deletes that wait for a permission; `nil` when none does.
    public var massDeletion: MassDeletion?
    /// The records that left this machine, where they were more than the limit; `nil` where they were not.
    public var massRemoval: MassRemoval?

    /// Makes the summary of a database in which nothing was done, and which does not wait.
    public init() {}
}
