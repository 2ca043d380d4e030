package import CloudKitWebServices
import OpenAPISwiftRuntime
import StreamingJSON

extension CloudKitDatabase {
    /// Finds the records that match a query, fetching page after page while you go through them.
    ///
    /// ```swift
    /// let query = Query(recordType: "Note", filters: [Filter("title", .beginsWith, "He")])
    /// for try await note in database.records(matching: query) {
    ///     print(note["title"]?.stringValue ?? "")
    /// }
    /// // POST /database/1/iCloud.com.example/development/public/records/query
    /// // {"query":{"recordType":"Note","filterBy":[{"fieldName":"title","comparator":"BEGINS_WITH",
    /// //   "fieldValue":{"value":"He","type":"STRING"}}]}}
    /// ```
    ///
    /// Nothing is sent before the first record is asked for. The service updates its index with a delay: a record that
    /// was saved a moment ago may not be found yet, though it can be fetched by its name.
    ///
    /// Failures end the sequence. ``CloudKitError/Code-swift.struct/badRequest`` means that the schema lacks a type, a field
    /// or an index.
    ///
    /// - Parameters:
    ///   - query: What to find.
    ///   - zone: The zone to look in; the default zone when `nil`.
    ///   - zoneWide: Whether to look in all zones of a private or shared database; the zone is not sent then.
    ///   - desiredKeys: The fields to fetch; all when `nil`, none when empty.
    ///   - pageSize: The most records in a page, from 1. The service returns at most 200, and 200 when this is `nil`.
    ///   - marker: Where to continue: the ``RecordPage/marker`` of a page of the same query, with the same values. A filter on the
    ///     present time, such as `.now`, is another query each time, and the service refuses the marker.
    /// - Returns: The records, not fetched yet.
    public func records(
        matching query: Query<Record>,
        inZone zone: ZoneID? = nil,
        zoneWide: Bool = false,
        desiredKeys: [String]? = nil,
        pageSize: Int? = nil,
        startingAt marker: String? = nil
    ) -> RecordSequence<Record> {
        recordSequence(
            UntypedRecords.self,
            query.recordQuery,
            limit: query.limit,
            inZone: zone,
            zoneWide: zoneWide,
            desiredKeys: desiredKeys,
            pageSize: pageSize,
            startingAt: marker
        )
    }

    /// Finds typed records that match a query, fetching page after page while you go through them.
    ///
    /// ```swift
    /// let query = Query<User> {
    ///     Filter(\.age > 18)
    ///     Sort(\.lastName)
    /// }
    /// for try await user in database.records(matching: query) {
    ///     print(user.firstName, user.created?.timestamp ?? .distantPast)
    /// }
    /// // POST /database/1/iCloud.com.example/development/public/records/query
    /// // {"query":{"recordType":"User",
    /// //   "filterBy":[{"fieldName":"age","comparator":"GREATER_THAN","fieldValue":{"value":18,"type":"INT64"}}],
    /// //   "sortBy":[{"fieldName":"lastName","ascending":true}]}}
    /// ```
    ///
    /// Nothing is sent before the first record is asked for. A record whose fields do not fit the type ends the loop
    /// with an error of code ``CloudKitError/Code-swift.struct/decoding`` that names record and field; go through
    /// ``RecordSequence/results`` to skip it.
    ///
    /// - Parameters:
    ///   - query: What to find.
    ///   - zone: The zone to look in; the default zone when `nil`.
    ///   - zoneWide: Whether to look in all zones of a private or shared database; the zone is not sent then.
    ///   - desiredKeys: The fields to fetch; all when `nil`. ``CloudKitRecord/desiredKeys`` are those of the type.
    ///   - pageSize: The most records in a page, from 1. The service returns at most 200, and 200 when this is `nil`.
    ///   - marker: Where to continue: the ``RecordPage/marker`` of a page of the same query, with the same values. A filter on the
    ///     present time, such as `.now`, is another query each time, and the service refuses the marker.
    /// - Returns: The records, not fetched yet.
    public func records<Model: CloudKitRecord>(
        matching query: Query<Model>,
        inZone zone: ZoneID? = nil,
        zoneWide: Bool = false,
        desiredKeys: [String]? = nil,
        pageSize: Int? = nil,
        startingAt marker: String? = nil
    ) -> RecordSequence<StoredRecord<Model>> {
        recordSequence(
            TypedRecords<Model>.self,
            query.recordQuery,
            limit: query.limit,
            inZone: zone,
            zoneWide: zoneWide,
            desiredKeys: desiredKeys,
            pageSize: pageSize,
            startingAt: marker
        )
    }

    /// The records of a query, read from the bytes of each page into a type.
    private func recordSequence<Body: QueryPageBody>(
        _ body: Body.Type,
        _ recordQuery: RecordQuery,
        limit: Int?,
        inZone zone: ZoneID?,
        zoneWide: Bool,
        desiredKeys: [String]?,
        pageSize: Int?,
        startingAt marker: String?
    ) -> RecordSequence<Body.Model> {
        RecordSequence(
            fetchPage: { (position) async throws(CloudKitError) in
                if let pageSize, pageSize < 1 {
                    throw .invalidArgument("The page size has to be at least 1, but is \(pageSize).")
                }
                if let limit = position.remaining, limit < 0 {
                    throw .invalidArgument("The limit of a query cannot be negative, but is \(limit).")
                }
                let reply = try await requestPage(
                    Components.Schemas.QueryRecordsRequest(
                        query: recordQuery,
                        zoneID: zoneWide ? nil : zone,
                        zoneWide: zoneWide ? true : nil,
                        resultsLimit: resultsLimit(pageSize: pageSize, remaining: position.remaining)
                            .map(ResultsLimit.init(count:)),
                        desiredKeys: desiredKeys,
                        continuationMarker: position.marker,
                        numbersAsStrings: numbersAsStringsOption
                    )
                )
                return ArrivedPage(reply, as: Body.self, at: position)
            },
            startMarker: marker,
            limit: limit
        )
    }

    /// Sends one request of `records/query`, in no zone.
    package func requestQuery(
        _ query: RecordQuery,
        startingAt marker: String?,
        desiredKeys: [String]?
    ) async throws(CloudKitError) -> RecordPage<Record> {
        try await requestPage(
            Components.Schemas.QueryRecordsRequest(
                query: query,
                desiredKeys: desiredKeys,
                continuationMarker: marker,
                numbersAsStrings: numbersAsStringsOption
            )
        ).page(as: UntypedRecords.self)
    }

    private func requestPage(
        _ request: Components.Schemas.QueryRecordsRequest
    ) async throws(CloudKitError) -> Reply<BufferedBody> {
        do throws(CloudKitError) {
            return try await service.reply(to: Operations.QueryRecords.id) { client in
                let response = try await client.queryRecords(buffering: .init(path: path, body: .json(request))).ok
                return (response.body, response.headers.xAppleRequestUUID)
            }
        } catch {
            throw error.naming(request.query.comparedFields).refusing(marker: request.continuationMarker)
        }
    }
}

extension CloudKitDatabase {
    /// Counts the records that match a query.
    ///
    /// ```swift
    /// let count = try await database.count(matching: Query<Article> { Filter(\.isRead == false) })
    /// // POST .../records/query  {"query":{"recordType":"Article","filterBy":[…]},"desiredKeys":[]}
    /// // POST .../records/query  {"query":{…},"desiredKeys":[],"continuationMarker":"EgY..."}   after 200 records
    /// ```
    ///
    /// The protocol has no count. So this goes through all pages, without the fields of the records: one request for every 200 records.
    /// A large count that is needed often is better kept in a record.
    ///
    /// - Parameters:
    ///   - query: What to count, up to its limit.
    ///   - zone: The zone to look in; the default zone when `nil`.
    ///   - zoneWide: Whether to look in all zones of a private or shared database; the zone is not sent then.
    /// - Returns: The number of records that match, at most the limit of the query.
    /// - Throws: A ``CloudKitError``: the error of a page.
    public func count<Model>(
        matching query: Query<Model>,
        inZone zone: ZoneID? = nil,
        zoneWide: Bool = false
    ) async throws -> Int {
        let records = recordSequence(
            UntypedRecords.self,
            query.recordQuery,
            limit: query.limit,
            inZone: zone,
            zoneWide: zoneWide,
            desiredKeys: [],
            pageSize: nil,
            startingAt: nil
        )
        var count = 0
        for try await page in records.pages { count += page.results.count }
        return count
    }

    /// The number of records that a request asks for; with `nil` the service returns 200.
    fileprivate func resultsLimit(pageSize: Int?, remaining: Int?) -> Int? {
        guard let remaining, remaining < pageSize ?? Self.batchSize else { return pageSize }
        return remaining
    }
}

/// The body of a page of a query, for records of any type.
protocol QueryPageBody: JSONReadable, SendableMetatype {
    associatedtype Model: Sendable

    var continuationMarker: String? { get }

    /// One result for each item of the page: the record, or the error of an item that failed.
    func results(in origin: ResponseOrigin) -> [Result<Model, CloudKitError>]
}

extension TypedRecords: QueryPageBody {}

extension ArrivedPage {
    /// A page of a query.
    ///
    /// - Parameters:
    ///   - reply: The response.
    ///   - body: The type to read it as.
    ///   - position: Where the page begins, and the number of records that are still wanted.
    init<Body: QueryPageBody>(
        _ reply: Reply<BufferedBody>,
        as body: Body.Type,
        at position: Position
    ) where Page == RecordPage<Body.Model>, Position == RecordSequence<Body.Model>.Position {
        self.init(announced: nonEmpty(continuationMarker(atEdgeOf: reply.body.bytes)), at: position) {
            () throws(CloudKitError) in
            try reply.page(as: Body.self)
        }
    }
}

extension Reply where Body == BufferedBody {
    /// Reads a page of a query.
    func page<Page: QueryPageBody>(as body: Page.Type) throws(CloudKitError) -> RecordPage<Page.Model> {
        let page = try read(body)
        return RecordPage(results: page.results(in: origin), marker: nonEmpty(page.continuationMarker))
    }
}

extension RecordPage<Record> {
    /// Reads a page.
    ///
    /// - Parameters:
    ///   - response: The body of the response.
    ///   - origin: The request, for errors.
    package init(_ response: Components.Schemas.QueryRecordsResponse, in origin: ResponseOrigin) {
        let results = (response.records ?? []).map { $0.result.result(requested: nil, in: origin) }
        self.init(results: results, marker: nonEmpty(response.continuationMarker))
    }
}

private func nonEmpty(_ marker: String?) -> String? {
    marker?.isEmpty == true ? nil : marker
}
