import CloudKitModel
import GRDB
public import MistKit

extension StoreReader {
    /// The records that a query finds on this machine: those that it finds at the service once everything is synchronised, in the same
    /// order.
    ///
    /// - Parameter query: The query. A query without sorts gives its records by their names.
    /// - Returns: The records, as many as the query's limit at most.
    /// - Throws: A ``StoreError``: `query` names the field that cannot be compared or sorted by, and the reason.
    public func find<Model: CloudKitRecord>(_ query: Query<Model>) throws -> [StoredRecord<Model>] {
        let table = try database.file.table(of: Model.recordType)
        guard let zone = try ZoneRow.fetch(database.homeZone, db) else {
            throw StoreError(.closed, "The store has no zone.")
        }
        let local = try LocalQuery(query.recordQuery, limit: query.limit, in: table, zones: .zone(zone.id))
        return try table.records(local, as: Model.self, in: zone.zoneID, db)
    }
}

extension StoreWriter {
    /// The records that a query finds on this machine, what this transaction has written included.
    ///
    /// - Parameter query: The query. A query without sorts gives its records by their names.
    /// - Returns: The records, as many as the query's limit at most.
    /// - Throws: A ``StoreError``: `query` names the field that cannot be compared or sorted by, and the reason.
    public func find<Model: CloudKitRecord>(_ query: Query<Model>) throws -> [StoredRecord<Model>] {
        try reader.find(query)
    }
}

extension LocalDatabase {
    /// Finds records on this machine.
    ///
    /// The query is the one that the client sends to the service, with all of its comparators and sorts. It finds the same records in the
    /// same order, and needs no network. Fields that the record type makes `QUERYABLE` or `SORTABLE` have an index; the others can be
    /// queried, too.
    ///
    /// ```swift
    /// let open = try await store.privateDatabase.find(
    ///     Query<Todo>(limit: 10) {
    ///         Filter(\.isDone == false)
    ///         Sort(\.title)
    ///     }
    /// )
    /// // SELECT … FROM "Todo" … WHERE … "Todo"."isDone" = ? ORDER BY "Todo"."title", _recordName LIMIT ?
    /// ```
    ///
    /// - Parameter query: The query. A query without sorts gives its records by their names.
    /// - Returns: The records, as many as the query's limit at most.
    /// - Throws: A ``StoreError``: `query` names the field that cannot be compared or sorted by, and the reason.
    public func find<Model: CloudKitRecord>(_ query: Query<Model>) async throws -> [StoredRecord<Model>] {
        try await read { try $0.find(query) }
    }
}

extension RecordTable {
    /// Reads the records of a query of one zone.
    ///
    /// The statement itself reads what the store knows of the service's version: a lookup for each record takes longer than the query.
    fileprivate func records<Model: CloudKitRecord>(
        _ query: LocalQuery,
        as type: Model.Type,
        in zone: ZoneID,
        _ db: Database
    ) throws -> [StoredRecord<Model>] {
        let columns = fields.flatMap(\.columns).map { ", \(name).\($0)" }.joined()
        let statement = try db.cachedStatement(
            sql: """
                SELECT _recordName, _createdTimestamp, _modifiedTimestamp, service.tag, service.other\(columns)
                FROM \(name) LEFT JOIN mist_record AS service ON service.zone = _zone AND service.name = _recordName
                WHERE \(query.condition)
                """
        )
        try statement.bind(query.values)
        let readers = try fields.map { (name: $0.name, type: try $0.columnType(), hasAction: $0.actionColumn != nil) }
        var records: [StoredRecord<Model>] = []
        let cursor = try Row.fetchCursor(statement)
        while try cursor.next() != nil {
            func column(_ index: Int) -> ColumnValue {
                ColumnValue(sqliteStatement: statement.sqliteStatement, index: CInt(index))
            }
            func stamp(_ index: Int) -> CloudKitModel.Record.Stamp? {
                column(index).integer.map { CloudKitModel.Record.Stamp(timestamp: ColumnValue.date($0)) }
            }
            var record = CloudKitModel.Record(
                recordName: column(0).text,
                recordType: recordType,
                recordChangeTag: column(3).text,
                created: stamp(1),
                modified: stamp(2),
                zoneID: zone
            )
            var index = 5
            for reader in readers {
                let action = reader.hasAction ? column(index + 1) : .null
                do throws(ColumnError) {
                    record.fields[reader.name] = try column(index).fieldValue(as: reader.type, action: action)
                } catch {
                    throw StoreError(
                        .value,
                        error.description,
                        recordType: recordType,
                        recordName: record.recordName,
                        fieldName: reader.name
                    )
                }
                index += reader.hasAction ? 2 : 1
            }
            if let other = column(4).text {
                for (name, value) in try OtherFields.read(other) { record.fields[name] = value }
            }
            records.append(try StoredRecord(record))
        }
        return records
    }
}
