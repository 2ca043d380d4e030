/// The filters and sorts of a query, in the order in which they are written.
@resultBuilder
public enum QueryBuilder<Model> {
    /// Filters and sorts.
    public struct Parts: Sendable {
        var filters: [Filter<Model>] = []
        var sorts: [Sort<Model>] = []
    }

    /// A condition.
    public static func buildExpression(_ filter: Filter<Model>) -> Parts { Parts(filters: [filter]) }

    /// A sort key.
    public static func buildExpression(_ sort: Sort<Model>) -> Parts { Parts(sorts: [sort]) }

    /// Everything in a block.
    public static func buildBlock(_ parts: Parts...) -> Parts { buildArray(parts) }

    /// The parts of a loop.
    public static func buildArray(_ parts: [Parts]) -> Parts {
        // Key paths of a generic type would be made again in each call: 30 µs for a query.
        Parts(filters: parts.flatMap { $0.filters }, sorts: parts.flatMap { $0.sorts })
    }

    /// The parts of an `if` without `else`.
    public static func buildOptional(_ parts: Parts?) -> Parts { parts ?? Parts() }

    /// The parts of the first branch.
    public static func buildEither(first parts: Parts) -> Parts { parts }

    /// The parts of the other branch.
    public static func buildEither(second parts: Parts) -> Parts { parts }

    /// The parts of an `if #available`.
    public static func buildLimitedAvailability(_ parts: Parts) -> Parts { parts }
}

extension Query where Model: CloudKitRecord {
    /// Makes a query of typed records.
    ///
    /// ```swift
    /// let query = Query<User> {
    ///     Filter(\.status == .active)
    ///     if let age { Filter(\.age > age) }
    ///     for tag in tags { Filter(\.tags, contains: tag) }
    ///     Sort(\.lastName)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - limit: The most records to fetch; `nil` for all.
    ///   - parts: Conditions, all of which must hold, and sort keys.
    public init(limit: Int? = nil, @QueryBuilder<Model> _ parts: () -> QueryBuilder<Model>.Parts) {
        let parts = parts()
        recordType = Model.recordType
        filters = parts.filters
        sorts = parts.sorts
        self.limit = limit
    }

    /// Makes a query for all records of the type. `recordName` needs the index QUERYABLE in the schema.
    ///
    /// - Parameter limit: The most records to fetch; `nil` for all.
    public init(limit: Int? = nil) {
        recordType = Model.recordType
        filters = []
        sorts = []
        self.limit = limit
    }
}

extension Query where Model == Record {
    /// Makes a query with names of types and fields.
    ///
    /// ```swift
    /// let query = Query(recordType: "User") {
    ///     Filter("age", .greaterThan, 18)
    ///     Sort("lastName")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - recordType: The type of the records, as the schema spells it.
    ///   - limit: The most records to fetch; `nil` for all.
    ///   - parts: Conditions, all of which must hold, and sort keys.
    public init(recordType: String, limit: Int? = nil, @QueryBuilder<Record> _ parts: () -> QueryBuilder<Record>.Parts)
    {
        let parts = parts()
        self.init(recordType: recordType, filters: parts.filters, sorts: parts.sorts, limit: limit)
    }
}
