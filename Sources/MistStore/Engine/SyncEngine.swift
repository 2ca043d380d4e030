import CloudKitModel
import GRDB
package import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The engine of one scope: two synchronous functions over the database.
///
/// ``next(at:)`` decides what to do, in one transaction; ``handle(_:to:at:)`` applies a reply, in one transaction. All that the engine
/// knows is in tables, so a process that dies between two steps is one that paused. A small asynchronous loop around the two sends
/// the requests (``SyncLoop``); a simulation calls them itself.
package struct SyncEngine: Sendable {
    let file: StoreFile
    let scope: DatabaseScope
    let settings: SyncSettings

    package init(file: StoreFile, scope: DatabaseScope, settings: SyncSettings = SyncSettings()) {
        self.file = file
        self.scope = scope
        self.settings = settings
    }

    /// What to do next.
    package enum Step: Hashable, Sendable {
        /// Send the request, and hand the reply to ``SyncEngine/handle(_:to:at:)`` with its number.
        case send(SyncRequest, number: Int64)
        /// Nothing before this time of the machine, in milliseconds since 1970.
        case wait(until: Int64)
        /// Everything is fetched and acknowledged, but for what is parked.
        case idle
        /// A person has to do something first.
        case blocked(SyncCondition)
    }

    /// The transactions of the engine.
    private func write<Value>(_ body: (Transaction) throws -> Value) throws -> Value {
        var begin: ContinuousClock.Instant?
        defer { if let begin { settings.onTransaction?(begin.duration(to: .now)) } }
        return try StoreError.wrapping {
            try file.database.write { db in
                begin = .now
                let transaction = Transaction(file: file, scope: scope, settings: settings, db: db)
                return try db.applying {
                    let value = try body(transaction)
                    try transaction.writeMemory()
                    return value
                }
            }
        }
    }

    /// One transaction of the engine, and what its parts need.
    struct Transaction {
        let file: StoreFile
        let scope: DatabaseScope
        let settings: SyncSettings
        let db: Database
        let memory = Memory()

        /// What a transaction keeps, so that it is not read or written for each record of a page.
        final class Memory {
            /// The numbers of users by their names.
            var users: [String: Int64] = [:]
            /// The latest time that was heard of: `mist_state.heard` is at least this in the end.
            var heard: Int64?
            /// How many edit times of other devices were later than their versions allow, and were limited.
            var clampedTimes = 0
        }
    }

    /// Begins after a start of the process: what was under way has an unknown outcome. Records that were kept for a type that the
    /// program knows now become rows. Types that the service did not know are tried again.
    ///
    /// - Parameter now: The machine's time in milliseconds since 1970.
    /// - Throws: A ``StoreError`` when the file fails.
    package func start(at now: Int64) throws {
        try write { transaction in
            var summary = SyncSummary()
            try transaction.adoptForeign(at: now, &summary)
            // The schema of the service, or the program, may be another one by now.
            try transaction.db.run("UPDATE mist_type SET parked = NULL")
            try transaction.abandonRequest()
        }
    }

    /// What the scope waits for.
    func condition() throws -> SyncCondition? {
        try StoreError.wrapping {
            try file.database.read { db in
                try db.value("SELECT condition FROM mist_scope WHERE id = ?", [scope.number], as: String.self)
                    .flatMap(SyncCondition.init)
            }
        }
    }

    /// The service's time minus the machine's, in milliseconds.
    func clockOffset() throws -> Int64 {
        try StoreError.wrapping {
            try file.database.read { db in try db.value("SELECT clock_offset FROM mist_state", as: Int64.self) ?? 0 }
        }
    }

    /// Asks for changes of the service: the next cycle begins with a request for them.
    ///
    /// - Parameters:
    ///   - now: The machine's time in milliseconds since 1970.
    ///   - isAutomatic: Whether no one has asked for it. Followed queries in which nothing changed for a while are left out then.
    /// - Throws: A ``StoreError`` when the file fails.
    package func requestPull(at now: Int64, isAutomatic: Bool = false) throws {
        try write { transaction in
            try transaction.markStale()
            try transaction.db.run("UPDATE mist_scope SET sent = 0, fetched = 0 WHERE id = ?", [scope.number])
            if scope == .public { try transaction.beginFollowing(dueAt: isAutomatic ? now : nil) }
            try transaction.trimRecoveryLog(at: now)
            try transaction.removeOrphanedEdits()
            try ZoneAssignment(file: file, scope: scope, db: transaction.db).removeUnused()
        }
    }

    /// Decides what to do, and notes the request.
    ///
    /// - Parameter now: The machine's time in milliseconds since 1970.
    /// - Returns: The request to send, or what the engine waits for.
    /// - Throws: A ``StoreError`` when the file fails.
    package func next(at now: Int64) throws -> Step {
        try write { transaction in
            try transaction.completeCascades(at: now)
            return try transaction.next(at: now)
        }
    }

    /// Applies a reply.
    ///
    /// - Parameters:
    ///   - result: The reply, or the error of the request.
    ///   - number: The number of the request. A reply to another than the one under way is dropped.
    ///   - now: The machine's time in milliseconds since 1970.
    /// - Returns: What changed.
    /// - Throws: A ``StoreError`` when the file fails.
    @discardableResult
    package func handle(_ result: Result<SyncReply, CloudKitError>, to number: Int64, at now: Int64) throws
        -> SyncSummary
    {
        try write { transaction in
            guard let request = try transaction.requestUnderWay(), request.number == number else {
                return SyncSummary()
            }
            var summary = SyncSummary()
            try transaction.handle(result, to: request, at: now, &summary)
            summary.clamped += transaction.memory.clampedTimes
            try transaction.db.run(
                "UPDATE mist_scope SET sent = sent + ?, fetched = fetched + ? WHERE id = ?",
                [summary.sent + summary.deleted, summary.fetched + summary.removed, scope.number]
            )
            return summary
        }
    }
}

/// Choices of a store that concern synchronisation.
package struct SyncSettings: Sendable {
    /// The merge closures by record type and field.
    package var closures: [String: [String: MergeClosure]] = [:]
    /// The types whose records have no field for edit times.
    package var typesWithoutEditTimes: Set<String> = []
    /// Records of a request, at most 200.
    package var batchSize: Int64 = 200
    /// Bytes of a request: the service takes 2 MB.
    package var bytesOfRequest = 1_900_000
    /// How long, and up to how many bytes, lost values are kept.
    package var recoveryDays = 30
    package var recoveryBytes: Int64 = 100_000_000
    /// How often deletes of the public database are looked for, in milliseconds: a quarter of an hour.
    package var sweepInterval: Int64 = 15 * 60 * 1000
    /// How often a followed query is asked for of its own accord, in milliseconds: half a minute, and less while nothing changes.
    package var pollInterval: Int64 = 30 * 1000
    /// A number from 0 to 1, for waiting times.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// Gets how long each transaction of the engine held the file's write lock.
    package var onTransaction: (@Sendable (Duration) -> Void)?

    package init() {}
}

/// What a scope waits for.
public enum SyncCondition: String, Hashable, Sendable {
    /// The service cannot be reached.
    case offline
    /// The service asked for fewer requests.
    case throttled
    /// The storage at the service is full: nothing is sent, changes are fetched.
    case quotaExceeded
    /// A user must sign in.
    case signedOut
    /// The service does not know a field or a type.
    case schema
}

/// What a synchronisation has done.
public struct SyncSummary: Hashable, Sendable {
    /// Records that the service's changes added or changed here.
    public var fetched = 0
    /// Records that the service's deletes removed here.
    public var removed = 0
    /// Records that were created or changed at the service.
    public var sent = 0
    /// Records that were deleted at the service.
    public var deleted = 0
    /// Records whose changes of both sides were merged.
    public var merged = 0
    /// Values that lost to a later edit or a delete, and are in the recovery log.
    public var lost = 0
    /// Records that the service refused, and that wait.
    public var parked = 0
    /// Edit times of other devices that were later than their versions by more than the tolerance, and were limited.
    public var clamped = 0

    /// Makes an empty summary.
    public init() {}

    /// Adds what another part has done.
    public static func += (left: inout SyncSummary, right: SyncSummary) {
        left.fetched += right.fetched
        left.removed += right.removed
        left.sent += right.sent
        left.deleted += right.deleted
        left.merged += right.merged
        left.lost += right.lost
        left.parked += right.parked
        left.clamped += right.clamped
    }
}
