package import GRDB
public import MistKit
import ProcessLeases
import SQLiteTables

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The state of a scope's synchronisation.
public struct ScopeStatus: Hashable, Sendable {
    /// The scope.
    public let scope: DatabaseScope
    /// The number of records with changes that the service has not acknowledged, including deletes.
    public let pending: Int
    /// The records that wait, with the reason: those that the service refused or that cannot be sent, then the new
    /// records whose parent waits, then the records whose zone this file does not have.
    public let parked: [ParkedRecord]
    /// The records that synchronisations met and that cannot be read as their types, a thousand of each type at most.
    /// Another program left a required field out, or stored a value that no field of the type can have.
    /// ``LocalDatabase/find(_:)`` leaves them out, and ``LocalDatabase/findUnreadable(_:)`` finds all of them.
    public let unreadable: [UnreadableRecord]
    /// The record types that the service's schema lacks, or of which it lacks a field.
    public let parkedTypes: [ParkedRecordType]
    /// The reasons why the scope waits, the one that stops most of the work first; empty when it does not wait.
    public let conditions: [SyncCondition]
    /// The message of the service; for ``SyncCondition/signedOut`` the address of the sign-in page, if the service gave
    /// one; for ``SyncCondition/otherUser`` the names of both users.
    public let detail: String?
    /// When the next request may be sent; `nil` when it may be sent now.
    public let restsUntil: Date?
    /// Whether the service may have changes that were not fetched. This is so before the first synchronisation, and
    /// from the beginning of each synchronisation until the last page of changes is stored.
    public let hasChangesToFetch: Bool
    /// The record types of this program of which everything is here that the service had when the synchronisation began,
    /// in the order of their names. After a synchronisation, these are all types; before its end, those of
    /// ``StoreConfiguration/fetchFirst`` that were fetched.
    public let completeTypes: [String]
    /// The kind of work of the request under way.
    public let activity: SyncActivity
    /// The progress since the synchronisation began.
    public let progress: SyncProgress
    /// The store or the other process that synchronises the scope's file now; `nil` when none does.
    public let synchroniser: Synchroniser?
    /// The files that are to be uploaded or downloaded, uploads after downloads, in the order of the records' names.
    public let files: [PendingFile]
    /// When the store noticed that another copy of its file is in use: the folder was copied, or a backup was restored;
    /// `nil` when it noticed none.
    ///
    /// Since then this copy is a device of its own, and both copies go on. A counter of which the store could not tell
    /// whether the other copy has counted it is in the recovery log, with the reason ``LossReason/unclearCount``.
    public let copyNoticed: Date?
    /// The deletes that wait for a permission, because they are more than the limit; `nil` when none does.
    public let massDeletion: MassDeletion?
    /// The last time that more records than the limit left this machine, because they were deleted elsewhere; `nil` when
    /// that never happened.
    public let massRemoval: MassRemoval?

    /// Whether nothing is pending, everything is fetched, and the scope does not wait.
    public var isSynchronised: Bool { pending == 0 && !hasChangesToFetch && conditions.isEmpty }
}

/// The kind of work of a request.
///
/// Later versions may add kinds, so a `switch` over them has a `default`.
public struct SyncActivity: Hashable, Sendable {
    private enum Kind: String {
        case idle, fetching, sending
    }

    private let kind: Kind

    private init(_ kind: Kind) {
        self.kind = kind
    }

    /// No request is under way.
    public static let idle = Self(.idle)

    /// Changes of the service are fetched.
    public static let fetching = Self(.fetching)

    /// Changes of this machine are sent.
    public static let sending = Self(.sending)
}

extension SyncActivity: CustomStringConvertible {
    /// The name of the kind.
    public var description: String { kind.rawValue }
}

/// The progress of the synchronisation under way in a scope, or of the last one.
public struct SyncProgress: Hashable, Sendable {
    /// The number of records that were sent, including deletes. It only grows, until the next synchronisation begins
    /// with 0.
    public let sent: Int
    /// The number of records that are still to be sent, including deletes.
    public let remaining: Int
    /// The number of records that the service's changes added, changed or removed here. There is no total, because the
    /// service does not say how many records will come.
    public let fetched: Int

    /// The number of records that this synchronisation sends. It is known from the beginning, and grows with edits that
    /// are made meanwhile.
    public var total: Int { sent + remaining }
}

/// A record that the service refused, or that cannot be sent: it stays as it is here, and waits.
public struct ParkedRecord: Hashable, Sendable {
    /// The record's name.
    public let recordName: String
    /// The reason why it waits.
    public let reason: ParkingReason
    /// The message of the service, or the store's explanation.
    public let message: String
    /// When the record is sent again without an edit; `nil` where it waits for an edit or for
    /// ``LocalDatabase/retryParked()``.
    public let until: Date?
}

/// A record type that the service's schema lacks, or of which it lacks a field: its records wait, and no others do.
///
/// They are sent again after the next start of the program, or after ``LocalDatabase/retryParked()``.
public struct ParkedRecordType: Hashable, Sendable {
    /// The record type.
    public let recordType: String
    /// The field that the schema lacks; `nil` where it lacks the type.
    public let fieldName: String?

    /// A message that says what is missing, and what to do.
    public var message: String {
        switch fieldName {
        case nil:
            "The service's schema has no record type \(recordType). Deploy the schema with it."
        case EditTimes.fieldName:
            """
            The service's schema has no field \(EditTimes.fieldName) in \(recordType), in which the store keeps the times of edits. Deploy the \
            schema with it, of the type BYTES; or let the record's modification time decide: \
            StoreConfiguration.setEditTimes(.ofRecord, of: \(recordType).self).
            """
        case let field?:
            "The service's schema has no field \(field) in \(recordType). Deploy the schema with it."
        }
    }
}

extension LocalDatabase {
    /// The state of the scope's synchronisation.
    ///
    /// - Throws: A ``StoreError`` when the file fails.
    public func status() async throws -> ScopeStatus {
        try await read { try status($0.db) }
    }

    /// The states of the scope's synchronisation: the present one at once, then another after each commit that changes
    /// it.
    public func statusUpdates() -> StoreUpdates<ScopeStatus> {
        // SQLite does not report changes of the table of edits: see `observe`.
        StoreUpdates { observe(in: .fullDatabase, watchesOtherProcesses: true) { db in try status(db) } }
    }

    /// Lets the next synchronisation send all parked records and types again.
    ///
    /// A time that the service named holds nevertheless: nothing is sent before it.
    ///
    /// - Throws: A ``StoreError`` when the file fails.
    public func retryParked() async throws {
        try await write { try retryParked($0.db) }
    }

    /// Lets parked records and types be sent again, in a transaction of the caller.
    package func retryParked(_ db: Database) throws {
        try Parking(scope: scope, db: db, sealer: file.sealer).forgetAll()
        try RecordTypes(db: db).retryParked()
        try ScopeState(scope: scope, db: db).endWaits(at: configuration.clock().machineTime)
    }

    func status(_ db: Database) throws -> ScopeStatus {
        let now = configuration.clock().machineTime
        let state = try ScopeState(scope: scope, db: db).row()
        let zones = Zones(scope: scope, db: db)
        let pending = try PendingEdits(db: db).rowCount() + Tombstones(db: db).count(in: scope)
        let parkedTypes = try RecordTypes(db: db).parked()
        var conditions = [state.condition].compactMap(\.self)
        if !parkedTypes.isEmpty, !conditions.contains(.schema) { conditions.append(.schema) }
        let refusal = try FileState(db).visit.map { StoreError.otherUserMessage(owner: $0.owner, visitor: $0.visitor) }
        if refusal != nil { conditions.insert(.otherUser, at: 0) }
        let undelivered = try UndeliveredRecords(scope: scope, db: db).firstMessage() ?? zones.firstFailure()
        if undelivered != nil, !conditions.contains(.undelivered) { conditions.append(.undelivered) }
        let massDeletion = try MassDeletionGuard(limit: configuration.massDeletionLimit, scope: scope, now: now, db: db)
            .waiting()
        if massDeletion != nil { conditions.append(.massDeletion) }
        // The public scope has queries instead of a feed.
        let hasPages = try scope == .public ? FollowedQueries(db: db).hasPagesToFetch() : !state.isListed
        let stale = try zones.stale()
        return ScopeStatus(
            scope: scope,
            pending: pending,
            parked: try waitingRecords(db),
            unreadable: try file.unreadableRecords(in: scope, db),
            parkedTypes: parkedTypes,
            conditions: conditions,
            detail: refusal ?? state.detail ?? undelivered,
            restsUntil: state.endOfPushes(at: now).map(ColumnValue.date),
            hasChangesToFetch: hasPages || !stale.isEmpty,
            completeTypes: hasPages ? [] : try FirstPasses(db: db).complete(of: file.tables.keys, in: stale).sorted(),
            activity: try Requests(scope: scope, db: db).underWay().map { SyncActivity($0.kind) } ?? .idle,
            progress: SyncProgress(sent: state.sent, remaining: pending, fetched: state.fetched),
            synchroniser: try file.lease.holder(db).map(Synchroniser.init),
            files: try pendingFiles(db),
            copyNoticed: try FileState(db).copyNoticed.map(ColumnValue.date),
            massDeletion: massDeletion,
            massRemoval: state.massRemoval
        )
    }

    /// The records that wait, with the reason.
    private func waitingRecords(_ db: Database) throws -> [ParkedRecord] {
        let parked = try Parking(scope: scope, db: db, sealer: file.sealer).records()
        // Records below a refused new record are not refused themselves, but are not sent before it.
        let refused = Set(parked.map(\.recordName))
        let waiting = try file.recordsWaitingForParents(in: scope, db).filter { !refused.contains($0.name) }
            .map { record in
                ParkedRecord(
                    recordName: record.name,
                    reason: .parent,
                    message: "The record waits for its parent \(record.parent), which waits, too.",
                    until: record.until.map(ColumnValue.date)
                )
            }
        return try parked + waiting + file.recordsWithoutZone(db)
    }
}

extension SyncActivity {
    fileprivate init(_ kind: SyncRequest.Kind) {
        switch kind {
        case .caller, .databaseChanges, .zoneChanges, .lookup, .query, .listing: self = .fetching
        case .createZones, .modify: self = .sending
        }
    }
}
