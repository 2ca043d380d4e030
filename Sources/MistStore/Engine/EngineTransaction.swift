import CloudKitModel
import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One transaction of the engine: what all of its procedures know, and what they have done so far.
final class EngineTransaction {
    let file: StoreFile
    let scope: DatabaseScope
    let configuration: StoreConfiguration
    let userCheck: UserCheck
    let db: Database
    /// The time of the transaction.
    let now: MachineTime
    /// When the service sent the response that is applied, by the header field `Date`; `nil` where it is unknown.
    var date: ServiceTime?
    /// What the transaction has done.
    var summary = SyncSummary()
    /// The number of rows that deletes elsewhere have removed.
    var removedRows = 0
    let fileState: FileState
    let users: Users
    /// Whether records are being moved, or deletes wait to be decided on; `nil` where the transaction has not asked.
    private var knownMoves: Bool?
    /// The zones of which the transaction has asked whether they are the only one, with the answers.
    private var onlyZones: [ZoneRowID: Bool] = [:]

    init(
        file: StoreFile,
        scope: DatabaseScope,
        configuration: StoreConfiguration,
        userCheck: UserCheck,
        at now: MachineTime,
        _ db: Database
    ) {
        self.file = file
        self.scope = scope
        self.configuration = configuration
        self.userCheck = userCheck
        self.now = now
        self.db = db
        fileState = FileState(db)
        users = Users(db)
    }

    /// Whether records are being moved, or deletes wait to be decided on. Most files have neither, so a transaction
    /// asks once.
    var hasMoves: Bool {
        get throws {
            if let knownMoves { return knownMoves }
            let hasMoves = try !Moves(db: db, sealer: file.sealer).isEmpty
            knownMoves = hasMoves
            return hasMoves
        }
    }

    /// Notes that this transaction has added a move, or a delete to be decided on.
    func noteMoves() { knownMoves = true }

    /// Whether only one zone may have records, so that none of them can be a copy in another zone. A transaction asks
    /// once for each zone: a zone that it adds has no records, and to look into one that is gone costs only time.
    func isOnly(_ zone: ZoneRowID) throws -> Bool {
        if let isOnly = onlyZones[zone] { return isOnly }
        let isOnly = try Zones(scope: scope, db: db).isOnly(zone)
        onlyZones[zone] = isOnly
        return isOnly
    }
}

/// A part of the engine's work in one transaction.
///
/// A procedure decides, and changes the tables with the verbs of their owners.
protocol EngineProcedure {
    var transaction: EngineTransaction { get }
}

/// The procedures without further context.
extension EngineProcedure {
    var changes: RemoteChanges { RemoteChanges(transaction: transaction) }
    var deletes: RemoteDeletes { RemoteDeletes(transaction: transaction) }
    var failures: DeliveryFailures { DeliveryFailures(transaction: transaction) }
    var verification: Verification { Verification(transaction: transaction) }
    var files: FileTransfers { FileTransfers(transaction: transaction) }
    var movedRecords: MovedRecords { MovedRecords(transaction: transaction) }
}

/// What a transaction knows.
extension EngineProcedure {
    var file: StoreFile { transaction.file }
    var scope: DatabaseScope { transaction.scope }
    var configuration: StoreConfiguration { transaction.configuration }
    var db: Database { transaction.db }
    var now: MachineTime { transaction.now }

    /// What the transaction has done.
    var summary: SyncSummary {
        get { transaction.summary }
        nonmutating _modify { yield &transaction.summary }
    }

    /// The present time by the service's clock.
    var serviceTime: ServiceTime {
        get throws { now.service(offset: try fileState.clockOffset) }
    }
}

/// The owners of the tables.
extension EngineProcedure {
    var fileState: FileState { transaction.fileState }
    var users: Users { transaction.users }
    var scopeState: ScopeState { ScopeState(scope: scope, db: db) }
    var zones: Zones { Zones(scope: scope, db: db) }
    var firstPasses: FirstPasses { FirstPasses(db: db) }
    var recordTypes: RecordTypes { RecordTypes(db: db) }
    var knownVersions: KnownVersions { KnownVersions(db: db, sealer: file.sealer) }
    var pendingEdits: PendingEdits { PendingEdits(db: db) }
    var tombstones: Tombstones { Tombstones(db: db) }
    var deleteCounts: DeleteCounts { DeleteCounts(scope: scope, db: db) }
    var reportedDeletes: ReportedDeletes { ReportedDeletes(db: db) }
    var requests: Requests { Requests(scope: scope, db: db) }
    var sentOperations: SentOperations { SentOperations(db: db, sealer: file.sealer) }
    var parking: Parking { Parking(scope: scope, db: db, sealer: file.sealer) }
    var undelivered: UndeliveredRecords { UndeliveredRecords(scope: scope, db: db) }
    var contents: Contents { Contents(db: db) }
    var transfers: Transfers { Transfers(scope: scope, db: db, sealer: file.sealer) }
    var foreignRecords: ForeignRecords { ForeignRecords(scope: scope, db: db, sealer: file.sealer) }
    var unreadableRows: UnreadableRows { UnreadableRows(db: db) }
    var inheritedCounts: InheritedCounts { InheritedCounts(db: db) }
    var carriedCounts: CarriedCounts { CarriedCounts(db: db) }
    var recovery: RecoveryEntries { RecoveryEntries(scope: scope, db: db, sealer: file.sealer) }
    var followedQueries: FollowedQueries { FollowedQueries(db: db) }
    var moves: Moves { Moves(db: db, sealer: file.sealer) }
}

extension EngineProcedure {
    /// Forgets the edits of a row, except for those of fields that only a newer program knows.
    func forgetEdits(of row: RecordRowID, _ table: RecordTable) throws {
        try pendingEdits.forget(row, of: table.id, through: file.lastFieldID)
        if table.hasCounters {
            try inheritedCounts.forget(row, of: table.id)
            try carriedCounts.forget(row, of: table.id)
        }
    }

    /// Notes whether the fields of a row fit the program's type.
    func noteFit(of fields: [String: FieldValue], row: RecordRowID, _ table: RecordTable) throws {
        guard let model = file.models[table.recordType] else { return }
        var record = Record(recordType: table.recordType, recordName: "")
        for (name, value) in fields where table[name] != nil { record.fields[name] = value }
        if model.misfit(of: record) == nil {
            try unreadableRows.forget(row, of: table.id)
        } else {
            try unreadableRows.note(row, of: table.id)
        }
    }
}

extension CloudKitModel.Record.Stamp {
    /// The latest time that counts, 285,000 years from 1970: sums of times stay far from the limits of 64 bits.
    private static let limit: Int64 = 1 << 53

    /// Whole milliseconds since 1970; `nil` for a time that makes no sense.
    var milliseconds: Int64? {
        Int64(exactly: (timestamp.timeIntervalSince1970 * 1000).rounded())
            .flatMap { $0.magnitude <= Self.limit ? $0 : nil }
    }

    /// The time by the service's clock; `nil` for a time that makes no sense.
    var time: ServiceTime? { milliseconds.map { ServiceTime($0) } }
}

extension Date {
    /// Whole milliseconds since 1970, of a clock.
    var milliseconds: Int64 { CloudKitModel.Record.Stamp(timestamp: self).milliseconds ?? 0 }

    /// The time by the clock of this machine.
    var machineTime: MachineTime { MachineTime(milliseconds) }
}

extension ColumnValue {
    /// The date of a number of milliseconds since 1970.
    static func date(_ time: some TypedNumber) -> Date { date(time.rawValue) }
}
