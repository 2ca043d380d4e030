import CloudKitModel
import GRDB
public import MistKit

/// A record on this machine that cannot be read as its type.
///
/// Another program wrote it: it left a required field out, or stored a value that no field of the type can have.
/// ``LocalDatabase/find(_:)`` and ``LocalDatabase/recordUpdates(of:)`` leave such a record out, so that it hides no others.
public struct UnreadableRecord: Hashable, Sendable {
    /// The record's type.
    public let recordType: String
    /// The record's name.
    public let recordName: String
    /// The record's zone.
    public let zoneID: ZoneID?
    /// What does not fit, with the name of the field.
    public let reason: String
    /// The values that can be read, without the type.
    public let fields: CloudKitModel.Record.Fields

    init(_ record: CloudKitModel.Record, reason: String) {
        recordType = record.recordType ?? ""
        recordName = record.recordName ?? ""
        zoneID = record.zoneID
        self.reason = reason
        fields = record.fields
    }
}

extension CloudKitRecord {
    /// Why a record does not fit the type; `nil` where it fits.
    static func misfit(of record: CloudKitModel.Record) -> String? {
        do {
            _ = try StoredRecord<Self>(record)
            return nil
        } catch {
            return (error as? CloudKitError)?.message ?? "\(error)"
        }
    }

    /// Why a row cannot be read as the type, because of a column that the type has a field for.
    static func misfit(in row: LocalRow) -> (field: String, reason: String)? {
        let names = fieldTable.names
        return row.misfits.filter { names.contains($0.key) }.min { $0.key < $1.key }
            .map { (field: $0.key, reason: $0.value.reason.description) }
    }
}

extension LocalRow {
    /// Why one of the columns cannot be read.
    var misfit: String? {
        misfits.min { $0.key < $1.key }.map { "The field \"\($0.key)\" cannot be read. \($0.value.reason)" }
    }
}

extension StoreFile {
    /// Why a row cannot be sent: the program of the other device could not read it.
    ///
    /// - Returns: What does not fit, and what to do; `nil` for a row that can be sent.
    func problem(of row: LocalRow, _ table: RecordTable) -> String? {
        let misfit =
            row.misfit ?? models[table.recordType]?.misfit(of: Record(row, of: table, nil, in: nil))
            ?? missingField(in: row, table)
        return misfit.map { "\($0) Set the field to a value that fits; then the record is sent." }
    }

    /// Why a row cannot be read as a type that this process does not have.
    private func missingField(in row: LocalRow, _ table: RecordTable) -> String? {
        requiredFields[table.recordType]?.filter { row.fields[$0] == nil }.min()
            .map { "The field \"\($0)\" cannot be read. The record has no value for it, and the program needs one." }
    }

    /// A row that cannot be read as the program's type; `nil` for one that can.
    func unreadable(
        _ row: LocalRow,
        of table: RecordTable,
        _ known: KnownVersion?,
        in zoneID: ZoneID?
    ) -> UnreadableRecord? {
        guard let model = models[table.recordType] else { return nil }
        let record = Record(row, of: table, known, in: zoneID)
        let isMisfit = model.misfit(in: row) != nil
        return (isMisfit ? row.misfit : model.misfit(of: record)).map { UnreadableRecord(record, reason: $0) }
    }

    /// The most records that the status lists as unreadable.
    static let mostUnreadable = 1000

    /// The records that the engine noted as unreadable, and that still are: in the order of their names.
    func unreadableRecords(in scope: DatabaseScope, _ db: Database) throws -> [UnreadableRecord] {
        let isNoted = "_id IN (\(UnreadableRows.rows(of: "?1")))"
        let isInScope = "_zone IN (\(Zones.presentIDs(in: "?2")))"
        return try orderedTables.flatMap { table -> [UnreadableRecord] in
            try table.rows(
                "\(isNoted) AND \(isInScope) ORDER BY _recordName LIMIT \(Self.mostUnreadable)",
                [ColumnValue(table.id), .integer(scope.number)],
                db
            ).compactMap { row in
                let known = try KnownVersion.fetch(named: row.name, in: row.zone, sealer, db)
                return unreadable(row, of: table, known, in: try StoredZone.zoneID(row.zone, db))
            }
        }
    }
}

extension StoreReading {
    /// The records of a query on this machine that cannot be read as the type, and that ``find(_:)`` leaves out.
    ///
    /// - Parameter query: The query. Its limit is not used.
    /// - Returns: The records with the reasons, in the order of the query.
    /// - Throws: A ``StoreError``: `query` names the field that cannot be compared or sorted by, and the reason.
    public func findUnreadable<Model: CloudKitRecord>(_ query: Query<Model>) throws -> [UnreadableRecord] {
        try records(of: query, limit: nil).unreadable
    }
}

extension LocalDatabase {
    /// The records of a query on this machine that cannot be read as the type, and that ``find(_:)`` leaves out.
    ///
    /// The store reads all records of the query to find them. ``ScopeStatus/unreadable`` costs less, and lists those
    /// that synchronisations met.
    ///
    /// ```swift
    /// for record in try await store.privateDatabase.findUnreadable(Query<Todo>()) {
    ///     print(record.recordName, record.reason, record.fields)
    /// }
    /// ```
    ///
    /// A record is found again after it was repaired: by another device, by another program, or by
    /// ``add(_:named:)`` with its name, which sets all fields.
    ///
    /// - Parameter query: The query. Its limit is not used.
    /// - Returns: The records with the reasons, in the order of the query.
    /// - Throws: A ``StoreError``: `query` names the field that cannot be compared or sorted by, and the reason.
    public func findUnreadable<Model: CloudKitRecord>(_ query: Query<Model>) async throws -> [UnreadableRecord] {
        try await read { try $0.findUnreadable(query) }
    }

    /// The records of a query that cannot be read as the type: the present ones at once, then another list after each
    /// commit that changes it. ``recordUpdates(of:)`` leaves these records out.
    ///
    /// - Parameter query: The query. Its limit is not used.
    /// - Returns: The lists.
    public func unreadableUpdates<Model: CloudKitRecord>(of query: Query<Model>) -> StoreUpdates<[UnreadableRecord]> {
        StoreUpdates {
            observe(watchesOtherProcesses: true) { db in
                try StoreReader(database: self, db: db).findUnreadable(query)
            }
        }
    }
}
