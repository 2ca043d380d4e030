import CloudKitModel
import GRDB
public import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads records from one state of the file. ``LocalDatabase/read(_:)`` passes it to its closure.
public struct StoreReader {
    let database: LocalDatabase
    let db: Database

    /// Fetches the record with a name from this machine.
    ///
    /// - Throws: A ``StoreError``: `notFound` when this machine has no record of that name, `value` when the record
    ///   cannot be read as the type.
    public func fetch<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) throws -> StoredRecord<Model> {
        let table = try database.file.table(of: Model.recordType)
        return try database.record(try row(named: recordName, table), as: type, table, db)
    }

    /// Fetches the record that a reference points to from this machine. A reference that names its zone leads to the
    /// record of that zone only.
    ///
    /// - Throws: A ``StoreError``: `notFound` when this machine does not have the record, `value` when the record cannot
    ///   be read as the type.
    public func fetch<Model: CloudKitRecord>(_ reference: RecordReference<Model>) throws -> StoredRecord<Model> {
        let table = try database.file.table(of: Model.recordType)
        let row = try row(named: reference.recordName, in: reference.zoneID, table)
        return try database.record(row, as: Model.self, table, db)
    }

    /// The row of a record. With a zone, only that zone is searched.
    ///
    /// - Throws: A ``StoreError`` with the code `notFound` when this machine has no record of that name.
    func row(named recordName: String, in zoneID: ZoneID? = nil, _ table: RecordTable) throws -> LocalRow {
        guard let row = try database.row(named: recordName, onlyIn: zoneID, table, db) else {
            throw StoreError(
                .notFound,
                "There is no such record on this machine.",
                recordType: table.recordType,
                recordName: recordName
            )
        }
        return row
    }

    /// Fetches the record with a name; `nil` when this machine has no record of that name.
    public func fetchIfPresent<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) throws
        -> StoredRecord<Model>?
    {
        let table = try database.file.table(of: Model.recordType)
        guard let row = try database.row(named: recordName, table, db) else { return nil }
        return try database.record(row, as: type, table, db)
    }
}

/// Reads and writes records in one transaction. ``LocalDatabase/write(_:)`` passes it to its closure.
public struct StoreWriter {
    let database: LocalDatabase
    let db: Database

    /// Reads within this transaction, including its own changes.
    public var reader: StoreReader { StoreReader(database: database, db: db) }

    /// Fetches the record with a name from this machine.
    ///
    /// - Throws: A ``StoreError`` with the code `notFound` when this machine has no record of that name.
    public func fetch<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) throws -> StoredRecord<Model> {
        try reader.fetch(type, recordName)
    }

    /// Adds a record, or changes the record with this name. Without a name, the record gets a new UUID.
    ///
    /// - Throws: A ``StoreError`` for a value or a name that cannot be stored.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ model: Model, named recordName: String? = nil) throws -> StoredRecord<
        Model
    > {
        try add(StoredRecord(model, recordName: recordName))
    }

    /// Adds a record, or changes the record with its name.
    ///
    /// - Throws: A ``StoreError`` for a value or a name that cannot be stored.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ record: StoredRecord<Model>) throws -> StoredRecord<Model> {
        let table = try database.file.table(of: Model.recordType)
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
        let zone = try database.save(fields, named: record.recordName, in: record.zoneID, table, db)
        guard let row = try table.row(named: record.recordName, in: zone, db) else {
            throw StoreError(
                .notFound,
                "A trigger of another program removed the record.",
                recordType: Model.recordType,
                recordName: record.recordName
            )
        }
        return try database.record(row, as: Model.self, table, db)
    }

    /// Removes a record, its children, and the records that refer to it with the action `deleteSelf`.
    ///
    /// A record that is not on this machine is not an error.
    public func remove<Model: CloudKitRecord>(_ record: StoredRecord<Model>) throws {
        let table = try database.file.table(of: Model.recordType)
        guard let row = try database.row(named: record.recordName, onlyIn: record.zoneID, table, db) else { return }
        try table.delete(row.id, db)
    }

    /// Removes the record with a name, its children, and the records that refer to it with the action `deleteSelf`.
    ///
    /// A record that is not on this machine is not an error.
    public func remove<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) throws {
        let table = try database.file.table(of: Model.recordType)
        guard let row = try database.row(named: recordName, table, db) else { return }
        try table.delete(row.id, db)
    }
}

extension LocalDatabase {
    /// The zone of records that are added without a zone.
    var homeZone: Int64 { file.homeZones[scope] ?? 0 }

    /// The row of a record. It is searched in the zone `zoneID`, then in the home zone, then in all zones of the scope.
    func row(
        named name: String,
        in zoneID: ZoneID? = nil,
        _ table: RecordTable,
        _ db: Database
    ) throws -> LocalRow? {
        if let zoneID, let zone = try ZoneAssignment(file: file, scope: scope, db: db).number(of: zoneID),
            let row = try table.row(named: name, in: zone, db)
        {
            return row
        }
        if let row = try table.row(named: name, in: homeZone, db) { return row }
        return try table.rows(
            "_recordName = ? AND _zone IN (SELECT id FROM mist_zone WHERE scope = ? AND state <> 2) ORDER BY _zone LIMIT 1",
            [.text(name), .integer(scope.number)],
            db
        ).first
    }

    /// The row of a record that the caller has the zone of. It is searched in no other zone, because another zone may
    /// have another record of the name. Without a zone, all zones of the scope are searched.
    func row(
        named name: String,
        onlyIn zoneID: ZoneID?,
        _ table: RecordTable,
        _ db: Database
    ) throws -> LocalRow? {
        guard let zoneID else { return try row(named: name, table, db) }
        let zone = try ZoneAssignment(file: file, scope: scope, db: db).number(of: zoneID)
        return try zone.flatMap { try table.row(named: name, in: $0, db) }
    }

    /// Adds a record, or changes the fields of the record with its name.
    ///
    /// - Returns: The record's zone.
    func save(
        _ fields: [String: FieldValue],
        named name: String,
        in zoneID: ZoneID?,
        _ table: RecordTable,
        _ db: Database
    ) throws -> Int64 {
        let assignment = ZoneAssignment(file: file, scope: scope, db: db)
        let row = try row(named: name, in: zoneID, table, db)
        let number = try row?.zone ?? assignment.zone(for: fields, named: name, in: table)
        guard let zone = try ZoneRow.fetch(number, db) else { throw StoreError(.damaged, "The file does not have the record's zone.") }
        let pairs = try table.columnPairs(of: fields, named: name, in: zone.zoneID)
        try assignment.checkLinks(of: fields, named: name, in: table, zone: zone)
        let now = configuration.clock().milliseconds
        if let row {
            try table.update(row.id, pairs, at: now, db)
        } else {
            try table.insert(pairs, named: name, in: zone.id, at: now, db)
        }
        return zone.id
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
        if let misfit = Model.misfit(in: row) {
            throw StoreError(
                .value,
                misfit.reason,
                recordType: table.recordType,
                recordName: row.name,
                fieldName: misfit.field
            )
        }
        do {
            return try StoredRecord(CloudKitModel.Record(row, of: table, known, in: zone))
        } catch let error as CloudKitError {
            throw StoreError(.value, error.message, recordType: table.recordType, recordName: row.name)
        }
    }
}
