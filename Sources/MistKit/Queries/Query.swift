import StreamingJSON

/// Which records to fetch, and in what order.
///
/// ```swift
/// let query = Query(
///     recordType: "User",
///     filters: [Filter("status", .equals, "active"), Filter("age", .greaterThan, 18)],
///     sorts: [Sort("lastName")]
/// )
/// for try await user in database.records(matching: query) { ... }
/// ```
///
/// A query for typed records knows the record type, and key paths name the fields:
///
/// ```swift
/// let query = Query<User> {
///     Filter(\.status == .active)
///     Filter(\.age > 18)
///     Sort(\.lastName)
/// }
/// ```
///
/// A query prints as the JSON that it becomes:
///
/// ```swift
/// print(query)
/// // {"recordType":"User",
/// //  "filterBy":[{"fieldName":"status","comparator":"EQUALS","fieldValue":{"value":"active","type":"STRING"}},
/// //              {"fieldName":"age","comparator":"GREATER_THAN","fieldValue":{"value":18,"type":"INT64"}}],
/// //  "sortBy":[{"fieldName":"lastName","ascending":true}]}
/// ```
///
/// A limit is the number of records after which the query ends:
///
/// ```swift
/// let best = Query<User>(limit: 10) { Sort(\.score, ascending: false) }
/// // POST .../records/query  {"query":{"recordType":"User","sortBy":[…]},"resultsLimit":10}
/// ```
///
/// `Model` is the Swift type of the records: your own ``CloudKitRecord`` type, or `Record`.
///
/// ## Topics
///
/// ### Making a query
/// - ``init(limit:_:)``
/// - ``init(limit:)``
/// - ``init(recordType:filters:sorts:limit:)``
/// - ``init(recordType:limit:_:)``
/// - ``Filter``
/// - ``Sort``
///
/// ### Looking at it
/// - ``recordQuery``
/// - ``description``
public struct Query<Model>: Hashable, Sendable {
    /// The type of the records.
    public var recordType: String

    /// The conditions. A record must meet all of them.
    public var filters: [Filter<Model>]

    /// The sort keys: the order is by the first, among equal values by the second, and so on. Without a sort key, the
    /// service promises no order.
    public var sorts: [Sort<Model>]

    /// The most records to fetch, over all pages; `nil` for all. Each request asks for no more records than the limit
    /// still allows. A query with a negative limit is refused before anything is sent.
    public var limit: Int?

    /// The query as it is sent to the service.
    public var recordQuery: RecordQuery {
        // Closures, not key paths: a key path of a generic type is created again on each call.
        RecordQuery(
            recordType: recordType,
            filters: filters.map { $0.queryFilter },
            sorts: sorts.map { $0.querySort }
        )
    }
}

extension Query where Model == Record {
    /// Makes a query with names of types and fields.
    ///
    /// - Parameters:
    ///   - recordType: The type of the records, as the schema spells it.
    ///   - filters: The conditions, all of which a record must meet. Without conditions, `recordName` needs the index
    ///     QUERYABLE in the schema.
    ///   - sorts: The sort keys, in the order of their importance.
    ///   - limit: The most records to fetch; `nil` for all.
    public init(
        recordType: String,
        filters: [Filter<Record>] = [],
        sorts: [Sort<Record>] = [],
        limit: Int? = nil
    ) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
        self.limit = limit
    }
}

extension Query: CustomStringConvertible {
    /// The JSON that the query becomes.
    public var description: String { printedJSON(recordQuery) }
}

/// A value's JSON, or in parentheses the error of writing it.
func printedJSON(_ value: some JSONWritable) -> String {
    do {
        return String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self)
    } catch {
        return "(\(error))"
    }
}
