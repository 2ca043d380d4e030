extension CloudKitDatabase {
    /// Deletes a record, unless another client changed it since it was fetched.
    ///
    /// ```swift
    /// try await database.delete(note)
    /// // POST /database/1/iCloud.com.example/development/public/records/modify
    /// // {"operations":[{"operationType":"delete","record":{"recordName":"note-1","recordChangeTag":"1e",...}}],...}
    /// ```
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where another client changed the
    ///   record since it was fetched, with the service's record; ``CloudKitError/Code-swift.struct/notFound`` where it is deleted
    ///   already; ``CloudKitError/Code-swift.struct/invalidArgument`` where it has no change tag. A refused deletion always
    ///   throws.
    public func delete<R: WritableRecord>(_ record: R, inZone zone: ZoneID? = nil) async throws {
        _ = try await write(record, .delete, inZone: zone)
    }

    /// Deletes records, each unless another client changed it since it was fetched.
    ///
    /// - Parameters:
    ///   - records: The fetched records, as many as you like.
    ///   - zone: The records' zone; when `nil`, their `zoneID`, or else the default zone.
    ///   - atomic: Whether one failure undoes everything. An atomic batch must fit into one request; only custom zones
    ///     support it.
    ///   - progress: Called after each request, with the progress of the call.
    /// - Returns: One result per record, in their order: for a ``StoredRecord`` your record, for a `Record` the
    ///   service's record of the deletion. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func delete<R: WritableRecord>(
        _ records: [R],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        progress: ProgressHandler<BatchProgress>? = nil
    ) async throws -> [Result<R, CloudKitError>] {
        try await write(records, .delete, inZone: zone, atomic: atomic, progress: progress)
    }

    /// Deletes a record by its name, **even if others changed it meanwhile**.
    ///
    /// ```swift
    /// try await database.forceDelete("note-1")
    /// // {"operations":[{"operationType":"forceDelete","record":{"recordName":"note-1"}}],"atomic":false}
    /// ```
    ///
    /// - Parameters:
    ///   - recordName: The record's name.
    ///   - zone: Its zone; the default zone when `nil`.
    /// - Throws: ``CloudKitError``. Apple does not document whether the service refuses the deletion of a record that
    ///   does not exist; if it does, the code is ``CloudKitError/Code-swift.struct/notFound``.
    public func forceDelete(_ recordName: String, inZone zone: ZoneID? = nil) async throws {
        _ = try await modify([.forceDelete(recordName)], inZone: zone)[0].get()
    }

    /// Deletes records by their names, **even if others changed them meanwhile**.
    ///
    /// - Parameters:
    ///   - recordNames: The records' names, as many as you like.
    ///   - zone: Their zone; the default zone when `nil`.
    ///   - atomic: Whether one failure undoes everything. An atomic batch must fit into one request; only custom zones
    ///     support it.
    ///   - progress: Called after each request, with the progress of the call.
    /// - Returns: One result per name, in the order of the names.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func forceDelete(
        _ recordNames: [String],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        progress: ProgressHandler<BatchProgress>? = nil
    ) async throws -> [Result<Record, CloudKitError>] {
        try await modify(recordNames.map(RecordOperation.forceDelete), inZone: zone, atomic: atomic, progress: progress)
    }
}
