import GRDB
public import MistKit

extension StoreReading {
    /// The records that a query finds on this machine; in a ``StoreWriter``, including the changes of its transaction.
    ///
    /// When everything is synchronised, these are the records that the query finds at the service, in the same order.
    /// Records that cannot be read as the type are left out; ``findUnreadable(_:)`` has them.
    ///
    /// - Parameter query: The query. A query without sorts gives its records by their names.
    /// - Returns: The records, as many as the query's limit at most.
    /// - Throws: A ``StoreError``: `query` names the field that cannot be compared or sorted by, and the reason.
    public func find<Model: CloudKitRecord>(_ query: Query<Model>) throws -> [StoredRecord<Model>] {
        var unreadable = 0
        while true {
            let found = try records(of: query, limit: query.limit.map { min($0, .max - unreadable) + unreadable })
            // The records that cannot be read do not count towards the limit.
            guard query.limit != nil, found.unreadable.count > unreadable else { return found.records }
            unreadable = found.unreadable.count
        }
    }

    /// The records of a query, and those that cannot be read as the type.
    func records<Model: CloudKitRecord>(
        of query: Query<Model>,
        limit: Int?
    ) throws -> (records: [StoredRecord<Model>], unreadable: [UnreadableRecord]) {
        let table = try database.file.table(of: Model.recordType)
        let local = try LocalQuery(query.recordQuery, limit: limit, in: table, zones: zones())
        let statement = try db.cachedStatement(
            sql: "SELECT \(table.statements.typedColumns) FROM \(table.name) WHERE \(local.condition)"
        )
        try statement.bind(local.values)
        var reader = try RowReader<Model>(statement, of: table, database.file.sealer, db)
        var records: [StoredRecord<Model>] = []
        var unreadable: [UnreadableRecord] = []
        let cursor = try Row.fetchCursor(statement)
        while try cursor.next() != nil { try reader.read(into: &records, unreadable: &unreadable) }
        return (records, unreadable)
    }

    /// The zones that a query searches: all zones of the scope. A file may have several even where the layout has one:
    /// after a change of the layout, or because other programs have zones in the database.
    private func zones() throws -> LocalQuery.SearchedZones {
        let isOnlyHome = try Zones(scope: database.scope, db: db).isOnly(database.homeZone)
        return isOnlyHome ? .zone(database.homeZone) : .scope(database.scope.number)
    }
}

extension LocalDatabase {
    /// Finds records on this machine.
    ///
    /// A record that cannot be read as the type hides no others: it is left out, and does not count towards the limit.
    /// ``findUnreadable(_:)`` and ``ScopeStatus/unreadable`` name it with the reason.
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
