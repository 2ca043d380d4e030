import CloudKitModel
import GRDB
public import MistKit

/// Reads records in a transaction: a ``StoreReader``, or a ``StoreWriter`` with the changes that it has made so far.
///
/// ``LocalDatabase`` has them as well, except for ``fetchIfPresent(_:named:)``. There they are asynchronous, and each is a
/// transaction of its own.
public protocol StoreReading {
    /// Reads in the same transaction.
    var reader: StoreReader { get }
}

/// Reads records from one state of the file. ``LocalDatabase/read(_:)`` passes it to its closure.
public struct StoreReader: StoreReading {
    let database: LocalDatabase
    let db: Database

    /// Reads in the same transaction.
    public var reader: StoreReader { self }
}

extension StoreReading {
    var database: LocalDatabase { reader.database }
    var db: Database { reader.db }

    /// Fetches the record with a name from this machine.
    ///
    /// - Throws: A ``StoreError``: `notFound` when this machine has no record of that name, `value` when the record
    ///   cannot be read as the type.
    public func fetch<Model: CloudKitRecord>(_ type: Model.Type, named recordName: String) throws -> StoredRecord<Model>
    {
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
    public func fetchIfPresent<Model: CloudKitRecord>(_ type: Model.Type, named recordName: String) throws
        -> StoredRecord<Model>?
    {
        let table = try database.file.table(of: Model.recordType)
        guard let row = try database.row(named: recordName, table, db) else { return nil }
        return try database.record(row, as: type, table, db)
    }
}
