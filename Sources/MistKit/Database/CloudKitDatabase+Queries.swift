import CloudKitWebServices
import OpenAPISwiftRuntime

extension CloudKitDatabase {
    /// Finds the records that match a query, fetching page after page while you go through them.
    ///
    /// ```swift
    /// let query = Query(recordType: "Note", filters: [.beginsWith("title", "He")])
    /// for try await note in database.records(matching: query) {
    ///     print(note["title"]?.stringValue ?? "")
    /// }
    /// // POST /database/1/iCloud.com.example/development/public/records/query
    /// // {"query":{"recordType":"Note","filterBy":[{"fieldName":"title","comparator":"BEGINS_WITH",
    /// //   "fieldValue":{"value":"He","type":"STRING"}}]}}
    /// ```
    ///
    /// Nothing is sent before the first record is asked for. The service's index runs behind: a record that was saved
    /// a moment ago may not be found yet, though it can be fetched by its name.
    ///
    /// Failures end the sequence. ``CloudKitError/Code-swift.struct/badRequest`` means that the schema lacks a type, a field
    /// or an index.
    ///
    /// - Parameters:
    ///   - query: What to find.
    ///   - zone: The zone to look in; the default zone when `nil`.
    ///   - zoneWide: Whether to look in all zones of a private or shared database; the zone is not sent then.
    ///   - desiredKeys: The fields to fetch; all when `nil`, none when empty.
    ///   - pageSize: The most records in a page. The service gives at most 200, and so many when this is `nil`.
    ///   - marker: Where to go on: the ``RecordPage/marker`` of a page of the same query.
    /// - Returns: The records, not fetched yet.
    public func records(
        matching query: Query<Record>,
        inZone zone: ZoneID? = nil,
        zoneWide: Bool = false,
        desiredKeys: [String]? = nil,
        pageSize: Int? = nil,
        startingAt marker: String? = nil
    ) -> RecordSequence<Record> {
        let recordQuery = query.recordQuery
        return RecordSequence(
            fetchPage: { (marker) async throws(CloudKitError) in
                if let pageSize, pageSize < 1 {
                    throw .invalidArgument("A page of \(pageSize) records cannot be asked for; pageSize begins at 1.")
                }
                let reply = try await service.call("queryRecords") { client in
                    let response = try await client.queryRecords(
                        path: .init(
                            version: CloudKitService.version,
                            container: service.containerIdentifier,
                            environment: service.environment,
                            database: scope
                        ),
                        body: .json(
                            .init(
                                query: recordQuery,
                                zoneID: zoneWide ? nil : zone,
                                zoneWide: zoneWide ? true : nil,
                                resultsLimit: pageSize,
                                desiredKeys: desiredKeys,
                                continuationMarker: marker
                            )
                        )
                    ).ok
                    return Reply(
                        try response.body.json,
                        operation: "queryRecords",
                        requestUUID: response.headers.xAppleRequestUUID
                    )
                }
                return RecordPage(
                    results: (reply.body.records ?? []).map { Result($0, in: reply.origin) },
                    marker: reply.body.continuationMarker.flatMap { $0.isEmpty ? nil : $0 }
                )
            },
            startMarker: marker
        )
    }
}
