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
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` where there is no such record.
    public func fetch(
        _ recordName: String,
        inZone zone: ZoneID? = nil,
        desiredKeys: [String]? = nil
    ) async throws -> Record {
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
    /// - Returns: One result per name, in the order of the names; ``CloudKitError/Code-swift.struct/notFound`` for a
    ///   record that is not there. When a later request fails as a whole, its names have its error, and the names that
    ///   are then not sent have an error that says so.
    /// - Throws: A ``CloudKitError``: the error of the first request, when it fails as a whole;
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` where a name is empty.
    public func fetch(
        _ recordNames: [String],
        inZone zone: ZoneID? = nil,
        desiredKeys: [String]? = nil
    ) async throws -> [Result<Record, CloudKitError>] {
        try checkNames(recordNames)
        return try await service.inBatches(of: recordNames, named: \.self) {
            (names, call) async throws(CloudKitError) in
            try await requestLookup(names, inZone: zone, desiredKeys: desiredKeys, in: call)
        }
    }

    /// Sends one request of `records/lookup`.
    package func requestLookup(
        _ recordNames: [String],
        inZone zone: ZoneID?,
        desiredKeys: [String]? = nil,
        in call: CallContext
    ) async throws(CloudKitError) -> Reply<[RecordResult]> {
        let input = lookup(recordNames, inZone: zone, desiredKeys: desiredKeys)
        return try await call.reply(to: Operations.LookupRecords.id) { client in
            let response = try await client.lookupRecords(input).ok
            return (try response.body.json.records?.map(\.result) ?? [], response.headers.xAppleRequestUUID)
        }
    }

    /// Fetches one typed record by its name.
    ///
    /// ```swift
    /// let user = try await database.fetch(User.self, named: "mei")
    /// // POST /database/1/iCloud.com.example/development/public/records/lookup
    /// // {"records":[{"recordName":"mei"}]}
    /// print(user.firstName)
    /// ```
    ///
    /// - Parameters:
    ///   - model: The type to read it into.
    ///   - recordName: The record's name.
    ///   - zone: The record's zone; the default zone when `nil`.
    ///   - desiredKeys: The fields to fetch; all when `nil`. ``CloudKitRecord/desiredKeys`` are those of the type.
    /// - Returns: The record, with its change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` where there is no such record,
    ///   ``CloudKitError/Code-swift.struct/decoding`` where its fields do not fit the type.
    public func fetch<Model: CloudKitRecord>(
        _ model: Model.Type,
        named recordName: String,
        inZone zone: ZoneID? = nil,
        desiredKeys: [String]? = nil
    ) async throws -> StoredRecord<Model> {
        try await fetch(model, named: [recordName], inZone: zone, desiredKeys: desiredKeys)[0].get()
    }

    /// Fetches the record that a reference points to.
    ///
    /// ```swift
    /// let feed = try await database.fetch(article.feed)
    /// // {"records":[{"recordName":"feed-1"}]}
    /// ```
    ///
    /// - Parameters:
    ///   - reference: The reference.
    ///   - desiredKeys: The fields to fetch; all when `nil`.
    /// - Returns: The record, with its change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` where there is no such record,
    ///   ``CloudKitError/Code-swift.struct/decoding`` where its fields do not fit the type.
    public func fetch<Model: CloudKitRecord>(
        _ reference: RecordReference<Model>,
        desiredKeys: [String]? = nil
    ) async throws -> StoredRecord<Model> {
        try await fetch(Model.self, named: reference.recordName, inZone: reference.zoneID, desiredKeys: desiredKeys)
    }

    /// Fetches typed records by their names.
    ///
    /// ```swift
    /// let results = try await database.fetch(User.self, named: ["mei", "joan"])
    /// // {"records":[{"recordName":"mei"},{"recordName":"joan"}]}
    /// ```
    ///
    /// - Parameters:
    ///   - model: The type to read them into.
    ///   - recordNames: The records' names, as many as you like.
    ///   - zone: The records' zone; the default zone when `nil`.
    ///   - desiredKeys: The fields to fetch; all when `nil`. ``CloudKitRecord/desiredKeys`` are those of the type.
    /// - Returns: One result per name, in the order of the names: ``CloudKitError/Code-swift.struct/notFound`` for a record
    ///   that is not there, ``CloudKitError/Code-swift.struct/decoding`` for one whose fields do not fit the type.
    /// - Throws: A ``CloudKitError``: the error of the first request, when it fails as a whole;
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` where a name is empty.
    public func fetch<Model: CloudKitRecord>(
        _ model: Model.Type,
        named recordNames: [String],
        inZone zone: ZoneID? = nil,
        desiredKeys: [String]? = nil
    ) async throws -> [Result<StoredRecord<Model>, CloudKitError>] {
        try checkNames(recordNames)
        return try await service.inBatches(of: recordNames, named: \.self) {
            (names, call) async throws(CloudKitError) in
            let input = lookup(names, inZone: zone, desiredKeys: desiredKeys)
            let reply = try await call.reply(to: Operations.LookupRecords.id) { client in
                let response = try await client.lookupRecords(buffering: input).ok
                return (response.body, response.headers.xAppleRequestUUID)
            }
            return Reply(try reply.read(TypedRecords<Model>.self).results, from: reply.origin)
        }
    }

    private func checkNames(_ recordNames: [String]) throws(CloudKitError) {
        if let index = recordNames.firstIndex(where: \.isEmpty) {
            throw .invalidArgument("The record name at index \(index) is empty.")
        }
    }

    private func lookup(
        _ recordNames: [String],
        inZone zone: ZoneID?,
        desiredKeys: [String]?
    ) -> Operations.LookupRecords.Input {
        Operations.LookupRecords.Input(
            path: path,
            body: .json(
                .init(
                    records: recordNames.map { .init(recordName: $0) },
                    zoneID: zone,
                    desiredKeys: desiredKeys,
                    numbersAsStrings: numbersAsStringsOption
                )
            )
        )
    }
}
