import GRDB
public import MistKit

extension StoreReader {
    /// The records that a query finds on this machine. When everything is synchronised, these are the records that it
    /// finds at the service, in the same order.
    ///
    ///
    /// - Parameter query: The query. A query without sorts gives its records by their names.
    /// - Returns: The records, as many as the query's limit at most.
    /// - Throws: A ``StoreError``: `query` names the field that cannot be compared or sorted by, and the reason.
    public func find<Model: CloudKitRecord>(_ query: Query<Model>) throws -> [StoredRecord<Model>] {
        let table = try database.file.table(of: Model.recordType)
        let hasManyZones = database.file.hasZonePerRoot && database.scope == .private
        let zones = hasManyZones ? LocalQuery.Zones.scope(database.scope.number) : .zone(database.homeZone)
        let local = try LocalQuery(query.recordQuery, limit: query.limit, in: table, zones: zones)
        return try table.records(local, as: Model.self, db)
    }
}

extension StoreWriter {
    /// The records that a query finds on this machine, including the changes of this transaction.
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
    /// The query is a query of the client, with all of its comparators and sorts. It finds the same records as at the
    /// service, in the same order, and needs no network. Fields that are `QUERYABLE` or `SORTABLE` in the record type
    /// have an index. Other fields can be queried, too; then the store reads all records of the type.
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
    /// Reads the records of a query.
    fileprivate func records<Model: CloudKitRecord>(
        _ query: LocalQuery,
        as type: Model.Type,
        _ db: Database
    ) throws -> [StoredRecord<Model>] {
        let statement = try db.cachedStatement(
            sql: "SELECT \(RowReader<Model>.columns(of: self)) FROM \(name) WHERE \(query.condition)"
        )
        try statement.bind(query.values)
        var reader = try RowReader<Model>(statement, of: self, db)
        var records: [StoredRecord<Model>] = []
        let cursor = try Row.fetchCursor(statement)
        while try cursor.next() != nil { records.append(try reader.record()) }
        return records
    }
}
