import CloudKitModel

/// A query as one SQL statement over the table of its record type. It finds what the query finds at the service, in the
/// same order.
///
/// ```swift
/// let query = RecordQuery(recordType: "Todo", filters: [QueryFilter("isDone", .equals, 0)], sorts: [QuerySort("title")])
/// try LocalQuery(query, limit: 10, in: table, zones: .zone(1)).condition
/// // +_zone = ? AND "Todo"."isDone" = ? ORDER BY "Todo"."title", _recordName LIMIT ?
/// ```
///
/// Queries that differ only in the values that they compare with have the same SQL, so a connection prepares it once.
///
/// The order is that of the sorts. A record that lacks the value of a sort comes before all records that have one, or
/// after them where the sort descends; a record without a location counts as infinitely far away. Records that the
/// sorts find equal, and those of a query without sorts, are in the order of their names, which descends where the
/// first sort descends.
struct LocalQuery {
    /// The zones whose records are searched.
    enum SearchedZones: Hashable {
        /// One zone, by its number.
        case zone(ZoneRowID)
        /// All zones of a scope that are not gone.
        case scope(Int64)
    }

    /// The SQL after `SELECT … FROM … WHERE`.
    let condition: String
    /// The values of its parameters.
    let values: [ColumnValue]

    /// Translates a query.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - limit: The most records to find; `nil` for all.
    ///   - table: The table of the query's record type.
    ///   - zones: The zones to look in.
    /// - Throws: A ``StoreError`` with ``StoreError/Code-swift.struct/query`` that names the field and the reason. A
    ///   query that the service refuses with any indexes is refused here, too.
    init(
        _ query: RecordQuery,
        limit: Int? = nil,
        in table: RecordTable,
        zones: SearchedZones
    ) throws(StoreError) {
        if let limit, limit < 0 {
            throw StoreError(
                .query,
                "The limit of a query cannot be negative, but is \(limit).",
                recordType: table.recordType
            )
        }
        let conditions = try query.filters.map { (filter) throws(StoreError) -> FilterSQL in
            try FilterSQL(filter, in: table)
        }
        let order = try OrderSQL(query.sorts, in: table)
        // The unique index of zones and names finds a record by its name, and has the order of names. It is a bad index
        // for everything else, since most records of a file are in one zone. A `+` prevents SQLite from using it.
        let usesIndex = order.isIndexed || conditions.contains(where: \.usesIndex)
        let zone = usesIndex && !conditions.contains(where: \.isByName) ? "+_zone" : "_zone"
        var fragments: [SQLFragment] = []
        switch zones {
        case .zone(let id): fragments.append(SQLFragment(sql: "\(zone) = ?", values: [ColumnValue(id)]))
        case .scope(let id):
            let sql = "\(zone) IN (\(Zones.presentIDs(in: "?")))"
            fragments.append(SQLFragment(sql: sql, values: [.integer(id)]))
        }
        fragments += conditions.map(\.fragment)
        var sql = fragments.map(\.sql).joined(separator: " AND ")
        sql += " ORDER BY " + order.terms.map(\.sql).joined(separator: ", ")
        // Zones may hold records of the same name.
        if case .scope = zones { sql += ", _zone" }
        var values = (fragments + order.terms).flatMap(\.values)
        if let limit {
            sql += " LIMIT ?"
            values.append(.integer(Int64(limit)))
        }
        condition = sql
        self.values = values
    }
}

/// The order of a query's records in SQL.
struct OrderSQL {
    /// The terms of `ORDER BY`.
    let terms: [SQLFragment]
    /// Whether an index has the order of the first term.
    let isIndexed: Bool

    /// Checks the sorts of a query against the types of their fields.
    init(_ sorts: [QuerySort], in table: RecordTable) throws(StoreError) {
        var terms: [SQLFragment] = []
        var isIndexed = false
        for sort in sorts {
            let subject = try QueryColumn(
                fieldName: sort.fieldName,
                systemFieldName: sort.systemFieldName,
                in: table
            )
            let direction = sort.ascending ? "" : " DESC"
            if let location = sort.relativeLocation {
                guard let center = location.locationValue, center.isOnEarth, subject.type == .location
                else {
                    throw StoreError(
                        .query,
                        "Sorting by distance needs a field of type LOCATION and a location on Earth.",
                        recordType: table.recordType,
                        fieldName: subject.name
                    )
                }
                terms.append(
                    SQLFragment(
                        sql: "coalesce(\(QueryFunctions.distance)(\(subject.sql), ?, ?), 9e999)\(direction)",
                        values: [.real(center.latitude), .real(center.longitude)]
                    )
                )
                continue
            }
            // The service accepts a sort by an encrypted field, and the sort has no effect.
            if subject.isEncrypted { continue }
            guard subject.type.features.contains(.sort) else {
                throw StoreError(
                    .query,
                    "Records cannot be sorted by a field of type \(subject.type.name).",
                    recordType: table.recordType,
                    fieldName: subject.name
                )
            }
            if terms.isEmpty { isIndexed = subject.isIndexed }
            terms.append(SQLFragment(sql: subject.sql + direction))
        }
        let name = SQLFragment(sql: QueryColumn.recordName.sql)
        let descending = SQLFragment(sql: name.sql + " DESC")
        if !terms.contains(name), !terms.contains(descending) {
            terms.append(sorts.first?.ascending ?? true ? name : descending)
        }
        self.terms = terms
        self.isIndexed = isIndexed
    }
}
