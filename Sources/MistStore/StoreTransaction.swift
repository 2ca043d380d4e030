import CloudKitModel
import GRDB
public import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads within one state of the records: what ``LocalDatabase/read(_:)`` gives its closure.
public struct StoreReader {
    let database: LocalDatabase
    let db: Database

    /// The record of a name.
    ///
    /// - Throws: A ``StoreError``: `notFound` when there is none on this machine.
    public func fetch<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) throws -> StoredRecord<Model> {
        guard let record = try fetchIfPresent(type, recordName) else {
            throw StoreError(
                .notFound,
                "There is no such record on this machine.",
                recordType: Model.recordType,
                recordName: recordName
            )
        }
        return record
    }

    /// The record of a name; `nil` when there is none on this machine.
    public func fetchIfPresent<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) throws
        -> StoredRecord<Model>?
    {
        let table = try database.file.table(of: Model.recordType)
        guard let row = try database.row(named: recordName, table, db) else { return nil }
        return try database.record(row, as: type, table, db)
    }
}

/// Reads and writes in one transaction: what ``LocalDatabase/write(_:)`` gives its closure.
public struct StoreWriter {
    let database: LocalDatabase
    let db: Database

    /// The reading half.
    public var reader: StoreReader { StoreReader(database: database, db: db) }

    /// The record of a name.
    ///
    /// - Throws: A ``StoreError``: `notFound` when there is none on this machine.
    public func fetch<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) throws -> StoredRecord<Model> {
        try reader.fetch(type, recordName)
    }

    /// Adds a record, or changes the one of this name.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ model: Model, named recordName: String? = nil) throws -> StoredRecord<
        Model
    > {
        try add(StoredRecord(model, recordName: recordName))
    }

    /// Adds a record, or changes the one of its name.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ record: StoredRecord<Model>) throws -> StoredRecord<Model> {
        let table = try database.file.table(of: Model.recordType)
        guard let zone = try ZoneRow.fetch(database.homeZone, db) else {
            throw StoreError(.closed, "The store has no zone.")
        }
        let saved: CloudKitModel.Record.Fields
        do {
            saved = try record.model.savedFields()
        } catch {
            throw StoreError(
                .value,
                "\(error.message). Nothing was changed.",
                recordType: Model.recordType,
                recordName: record.recordName,
                fieldName: error.field
            )
        }
        let fields = Dictionary(saved.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        let pairs = try table.columnPairs(of: fields, named: record.recordName, in: zone.zoneID)
        let now = database.configuration.clock().milliseconds
        if let row = try table.row(named: record.recordName, in: zone.id, db) {
            try table.update(row.id, pairs, at: now, db)
        } else {
            try table.insert(pairs, named: record.recordName, in: zone.id, at: now, db)
        }
        return try fetch(Model.self, record.recordName)
    }

    /// Removes a record, and what goes with it.
    public func remove<Model: CloudKitRecord>(_ record: StoredRecord<Model>) throws {
        try remove(Model.self, record.recordName)
    }

    /// Removes the record of a name, and what goes with it. A record that is not on this machine is no error.
    public func remove<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) throws {
        let table = try database.file.table(of: Model.recordType)
        guard let row = try database.row(named: recordName, table, db) else { return }
        try table.delete(row.id, db)
    }
}

extension LocalDatabase {
    /// The zone of records that name none.
    var homeZone: Int64 { file.homeZones[scope] ?? 0 }

    /// The row of a name: in the zone of records that name none, else in another of the scope.
    func row(named name: String, _ table: RecordTable, _ db: Database) throws -> LocalRow? {
        if let row = try table.row(named: name, in: homeZone, db) { return row }
        return try table.rows(
            "_recordName = ? AND _zone IN (SELECT id FROM mist_zone WHERE scope = ? AND state <> 2) ORDER BY _zone LIMIT 1",
            [.text(name), .integer(scope.number)],
            db
        ).first
    }

    /// A row as a typed record.
    func record<Model: CloudKitRecord>(
        _ row: LocalRow,
        as type: Model.Type,
        _ table: RecordTable,
        _ db: Database
    ) throws -> StoredRecord<Model> {
        let known = try KnownVersion.fetch(named: row.name, in: row.zone, db)
        let zone = try ZoneRow.fetch(row.zone, db)?.zoneID
        return try StoredRecord(CloudKitModel.Record(row, of: table, known, in: zone))
    }
}
