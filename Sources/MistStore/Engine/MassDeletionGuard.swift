package import GRDB
import MistKit
import SQLiteTables

/// How many deletes are sent without a permission.
///
/// Deletes above the limit wait, so that a program with a mistake, or one that empties a table, does not empty the
/// service. Both conditions must hold: more than ``records`` records, and more than ``fraction`` of what the database
/// has.
///
/// ```swift
/// var configuration = StoreConfiguration()
/// configuration.massDeletionLimit = MassDeletionLimit(records: 20, fraction: 0.5)
/// ```
///
/// What counts are the deletes that wait to be sent, and those of the last 24 hours. So a program that deletes one
/// record at a time meets the limit, too. Deletes that were permitted do not count.
public struct MassDeletionLimit: Hashable, Sendable {
    /// The most records, 0 or more.
    public var records: Int
    /// The largest part of the records of the database, from 0 to 1.
    public var fraction: Double

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - records: The most records, 0 or more. Opening a store with another number throws
    ///     ``StoreError/Code-swift.struct/value``.
    ///   - fraction: The largest part of the records of the database, from 0 to 1. Opening a store with another number
    ///     throws ``StoreError/Code-swift.struct/value``.
    public init(records: Int = 100, fraction: Double = 1.0 / 3) {
        self.records = records
        self.fraction = fraction
    }

    /// Whether deletes are more than the limit: a pure decision.
    ///
    /// - Parameters:
    ///   - deletes: The number of deletes.
    ///   - records: The number of records that the database would have without these deletes.
    /// - Returns: Whether they are more than both parts of the limit.
    func isExceeded(by deletes: Int, of records: Int) -> Bool {
        deletes > self.records && Double(deletes) > fraction * Double(records)
    }

    /// A number of records that is large enough for these deletes.
    func enough(for deletes: Int) -> Int {
        fraction > 0 ? Int(exactly: (Double(deletes) / fraction).rounded(.up)).map { $0 + 1 } ?? .max : .max
    }

    /// Throws an error where the limit makes no sense.
    func check() throws(StoreError) {
        guard records >= 0, (0...1).contains(fraction) else {
            throw StoreError(
                .value,
                """
                The limit of deletes has \(records) records and the fraction \(fraction). Choose 0 or more records, and a fraction from 0 \
                to 1; nil switches the guard off.
                """
            )
        }
    }
}

/// Deletes that wait for a permission, because they are more than ``StoreConfiguration/massDeletionLimit``.
///
/// Look at them, and call ``LocalDatabase/allowMassDeletion()`` or ``LocalDatabase/undoMassDeletion()``.
public struct MassDeletion: Hashable, Sendable {
    /// The number of deletes that wait.
    public let deletes: Int
    /// The number of deletes without a permission that were sent in the last 24 hours.
    public let sentBefore: Int
    /// The number of records that the database would have without these deletes.
    public let records: Int
}

/// Finds the deletes that must wait for a permission.
struct MassDeletionGuard {
    let limit: MassDeletionLimit?
    let scope: DatabaseScope
    let now: MachineTime
    let db: Database

    /// The deletes that wait; `nil` where all deletes may be sent.
    ///
    /// The deletes that a request carries count before it is sent, and those of earlier requests were counted when they
    /// were acknowledged. So no delete passes uncounted.
    func waiting() throws -> MassDeletion? {
        guard let limit else { return nil }
        let tombstones = Tombstones(db: db)
        let waiting = try tombstones.countWithoutPermission(in: scope)
        guard waiting > 0 else { return nil }
        let sent = try DeleteCounts(scope: scope, db: db).count(at: now)
        let deletes = waiting + sent
        guard deletes > limit.records else { return nil }
        // More records than this decide the same, and counting a million of them takes time.
        let known = try KnownVersions(db: db, sealer: nil).count(in: scope, atMost: limit.enough(for: deletes))
        let records = try known + tombstones.count(in: scope) + sent
        guard limit.isExceeded(by: deletes, of: records) else { return nil }
        return MassDeletion(deletes: waiting, sentBefore: sent, records: records)
    }
}

extension EngineProcedure {
    var massDeletionGuard: MassDeletionGuard {
        MassDeletionGuard(limit: configuration.massDeletionLimit, scope: scope, now: now, db: db)
    }

    /// Counts a delete of this device that the service has carried out, unless it was permitted. It is called before the
    /// tombstone is forgotten.
    func countDelete(of name: String, in zone: ZoneRowID) throws {
        if try tombstones.needsPermission(name, in: zone) { try deleteCounts.add(1, at: now) }
    }
}

extension LocalDatabase {
    /// Lets the deletes be sent that wait now. Later deletes are counted from zero.
    ///
    /// ```swift
    /// if let waiting = try await todos.status().massDeletion {
    ///     print("\(waiting.deletes) of \(waiting.records) records will be deleted.")
    ///     try await todos.allowMassDeletion()
    ///     try await store.sync()
    /// }
    /// ```
    ///
    /// - Returns: The number of deletes that are permitted by this call.
    /// - Throws: A ``StoreError`` when the file fails.
    @discardableResult
    public func allowMassDeletion() async throws -> Int {
        try await write { try allowMassDeletion($0.db) }
    }

    package func allowMassDeletion(_ db: Database) throws -> Int {
        try completeDeletes(db)
        return try Tombstones(db: db).permitAll(in: scope)
    }

    /// Completes what a delete begins: cascades of other programs' deletes, and the deletes of what a move has left.
    private func completeDeletes(_ db: Database) throws {
        try Cascades(file: file, db: db).complete()
        try OrphanedMoves(file: file, scope: scope, db: db).endAll()
    }

    /// Takes back the deletes that were not sent and not permitted. The next synchronisation fetches their records
    /// again, with the values that the service has.
    ///
    /// Everything else stays as it is. These do not come back:
    ///
    /// - What the service never had: records that were never sent, and edits that were not sent before the delete.
    /// - A record whose name was used again since. The delete goes on waiting, because two records cannot have the name;
    ///   remove the new record first.
    /// - A record that another device has deleted meanwhile, and one whose delete was sent and has lost its reply.
    ///
    /// - Returns: The number of deletes that were taken back.
    /// - Throws: A ``StoreError`` when the file fails.
    @discardableResult
    public func undoMassDeletion() async throws -> Int {
        try await write { try undoMassDeletion($0.db) }
    }

    package func undoMassDeletion(_ db: Database) throws -> Int {
        try completeDeletes(db)
        let tombstones = Tombstones(db: db)
        var count = 0
        for deleted in try tombstones.withoutPermission(in: scope) {
            let isUsedAgain = try file.allTables.contains {
                try $0.row(named: deleted.name, in: deleted.zone, db) != nil
            }
            guard !isUsedAgain else { continue }
            // The delete of an old record waits until the copy was looked up: see `OldRecordFate`.
            try TakenBackDeletes(scope: scope, db: db).takeBack(deleted)
            count += 1
        }
        if count > 0 { try ScopeState(scope: scope, db: db).markStale() }
        return count
    }
}

/// Takes back deletes that were not sent.
struct TakenBackDeletes {
    let scope: DatabaseScope
    let db: Database

    /// Lets a deleted record be looked up in place of the delete. A copy of it may be in another zone.
    func takeBack(_ deleted: Tombstones.DeletedRecord) throws {
        try Tombstones(db: db).forget(deleted.name, in: deleted.zone)
        try Moves(db: db, sealer: nil).releaseOwnDeletes(of: deleted.name, in: scope)
        try KnownVersions(db: db, sealer: nil).insertForLookup(deleted.name, in: deleted.zone, of: deleted.type)
    }

    /// A lookup has not found a record whose delete was taken back, and no feed has its delete: the service never had it.
    /// If it was the copy of a moved record, the old record is the record, and its delete is taken back as well.
    func applyAbsence(of name: String, in zone: ZoneRowID) throws {
        let known = try KnownVersions(db: db, sealer: nil).fetch(named: name, in: zone)
        guard let copy = known, !copy.hasRow else { return }
        for old in try Tombstones(db: db).ofCopies(in: scope)
        where old.type == copy.type && old.name == name && old.zone != zone {
            try takeBack(old)
        }
    }
}
