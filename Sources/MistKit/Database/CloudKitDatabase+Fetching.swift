import CloudKitWebServices
import OpenAPISwiftRuntime

extension CloudKitDatabase {
    /// Fetches one record by its name.
    ///
    /// ```swift
    /// let note = try await database.fetch("note-1")
    /// // POST /database/1/iCloud.com.example/development/public/records/lookup
    /// // {"records":[{"recordName":"note-1"}]}
    /// ```
    ///
    /// - Parameters:
    ///   - recordName: The record's name.
    ///   - zone: The record's zone; the default zone when `nil`.
    ///   - desiredKeys: The fields to fetch; all when `nil`, none when empty.
    /// - Returns: The record, with its change tag.
    /// - Throws: ``CloudKitError/Code-swift.struct/notFound`` where there is no such record.
    public func fetch(
        _ recordName: String,
        inZone zone: ZoneID? = nil,
        desiredKeys: [String]? = nil
    ) async throws(CloudKitError) -> Record {
        try await fetch([recordName], inZone: zone, desiredKeys: desiredKeys)[0].get()
    }

    /// Fetches records by their names.
    ///
    /// ```swift
    /// let results = try await database.fetch(["note-1", "note-2"])
    /// // POST /database/1/iCloud.com.example/development/public/records/lookup
    /// // {"records":[{"recordName":"note-1"},{"recordName":"note-2"}]}
    /// ```
    ///
    /// - Parameters:
    ///   - recordNames: The records' names, as many as you like.
    ///   - zone: The records' zone; the default zone when `nil`.
    ///   - desiredKeys: The fields to fetch; all when `nil`, none when empty.
    /// - Returns: One result per name, in the order of the names; ``CloudKitError/Code-swift.struct/notFound`` for a record
    ///   that is not there. When a later request of several fails as a whole, its names and those after them have its
    ///   error.
    /// - Throws: The error of the first request, when it fails as a whole.
    public func fetch(
        _ recordNames: [String],
        inZone zone: ZoneID? = nil,
        desiredKeys: [String]? = nil
    ) async throws(CloudKitError) -> [Result<Record, CloudKitError>] {
        if let index = recordNames.firstIndex(where: \.isEmpty) {
            throw .invalidArgument("The record name at index \(index) is empty.")
        }
        return try await inBatches(of: recordNames, named: \.optional) { (names) async throws(CloudKitError) in
            try await service.call("lookupRecords") { client in
                let response = try await client.lookupRecords(
                    path: .init(
                        version: CloudKitService.version,
                        container: service.containerIdentifier,
                        environment: service.environment,
                        database: scope
                    ),
                    body: .json(
                        .init(
                            records: names.map { .init(recordName: $0) },
                            zoneID: zone,
                            desiredKeys: desiredKeys
                        )
                    )
                ).ok
                return Reply(
                    try response.body.json.records ?? [],
                    operation: "lookupRecords",
                    requestUUID: response.headers.xAppleRequestUUID
                )
            }
        }
    }
}

extension String {
    fileprivate var optional: String? { self }
}
