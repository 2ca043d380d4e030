extension CloudKitDatabase {
    /// Saves a record: one with a change tag is updated, one without is created.
    ///
    /// ```swift
    /// var note = try await database.save(Record(recordType: "Note", fields: ["title": "Hello"]))
    /// // {"operations":[{"operationType":"create","record":{"recordType":"Note","fields":...}}],"atomic":false}
    /// note["title"] = "Hello, world"
    /// note = try await database.save(note)
    /// // {"operations":[{"operationType":"update","record":{"recordName":...,"recordChangeTag":"1","fields":...}}],...}
    /// ```
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where somebody else changed the
    ///   record since it was fetched; that, or ``CloudKitError/Code-swift.struct/exists``, where a record of the same
    ///   name is there already.
    @discardableResult
    public func save(_ record: Record, inZone zone: ZoneID? = nil) async throws -> Record {
        try await modifyOne(.save(record), inZone: zone)
    }

    /// Saves records: those with a change tag are updated, those without are created.
    ///
    /// - Parameters:
    ///   - records: The records, as many as you like.
    ///   - zone: Their zone; when `nil`, the one that they say, or else the default zone.
    ///   - atomic: Whether one failure undoes everything; then they must fit into one request. Only custom zones do this.
    ///   - duplicates: What happens to several records of one name.
    ///   - progress: Called after each request, with how far the call has come.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func save(
        _ records: [Record],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        duplicates: DuplicateNames = .fail,
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws -> [Result<Record, CloudKitError>] {
        try await modify(
            records.map(RecordOperation.save),
            inZone: zone,
            atomic: atomic,
            duplicates: duplicates,
            progress: progress
        )
    }

    /// Makes a record.
    ///
    /// ```swift
    /// let note = try await database.create(Record(recordType: "Note", fields: ["title": "Hello"]))
    /// // POST /database/1/iCloud.com.example/development/public/records/modify
    /// // {"operations":[{"operationType":"create","record":{"recordType":"Note",
    /// //   "fields":{"title":{"value":"Hello","type":"STRING"}}}}],"atomic":false}
    /// ```
    ///
    /// - Parameters:
    ///   - record: The record. Without a name the service makes one.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it, with its change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/exists`` or
    ///   ``CloudKitError/Code-swift.struct/conflict`` where a record of the same name is there already.
    @discardableResult
    public func create(_ record: Record, inZone zone: ZoneID? = nil) async throws -> Record {
        try await modifyOne(.create(record), inZone: zone)
    }

    /// Changes the fields that the record has and leaves the others alone. Assign `FieldValue.null` to clear a field.
    ///
    /// ```swift
    /// note["title"] = "Hello, world"
    /// note = try await database.update(note)
    /// // {"operations":[{"operationType":"update","record":{"recordName":"note-1","recordType":"Note",
    /// //   "recordChangeTag":"1e","fields":{"title":{"value":"Hello, world","type":"STRING"}}}}],"atomic":false}
    /// ```
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where somebody else changed the
    ///   record since it was fetched, ``CloudKitError/Code-swift.struct/notFound`` where somebody deleted it,
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` where it has no change tag.
    @discardableResult
    public func update(_ record: Record, inZone zone: ZoneID? = nil) async throws -> Record {
        try await modifyOne(.update(record), inZone: zone)
    }

    /// Replaces all fields by those that the record has.
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where somebody else changed the
    ///   record since it was fetched, ``CloudKitError/Code-swift.struct/notFound`` where somebody deleted it,
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` where it has no change tag.
    @discardableResult
    public func replace(_ record: Record, inZone zone: ZoneID? = nil) async throws -> Record {
        try await modifyOne(.replace(record), inZone: zone)
    }

    /// Changes the fields that records have and leaves the others alone, each unless somebody else changed it since it was fetched.
    ///
    /// - Parameters:
    ///   - records: The records as they were fetched, changed, as many as you like.
    ///   - zone: Their zone; when `nil`, the one that they say, or else the default zone.
    ///   - atomic: Whether one failure undoes everything; then they must fit into one request. Only custom zones do this.
    ///   - progress: Called after each request, with how far the call has come.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func update(
        _ records: [Record],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws -> [Result<Record, CloudKitError>] {
        try await modify(records.map(RecordOperation.update), inZone: zone, atomic: atomic, progress: progress)
    }

    /// Replaces all fields of records by those that they have, each unless somebody else changed it since it was fetched.
    ///
    /// - Parameters:
    ///   - records: The records as they were fetched, changed, as many as you like.
    ///   - zone: Their zone; when `nil`, the one that they say, or else the default zone.
    ///   - atomic: Whether one failure undoes everything; then they must fit into one request. Only custom zones do this.
    ///   - progress: Called after each request, with how far the call has come.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func replace(
        _ records: [Record],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws -> [Result<Record, CloudKitError>] {
        try await modify(records.map(RecordOperation.replace), inZone: zone, atomic: atomic, progress: progress)
    }

    /// Changes the fields that the record has, **over whatever others wrote meanwhile**; makes the record where there is
    /// none.
    ///
    /// - Parameters:
    ///   - record: The record, with its name and type; its change tag does not matter.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: ``CloudKitError``.
    @discardableResult
    public func forceUpdate(_ record: Record, inZone zone: ZoneID? = nil) async throws -> Record {
        try await modifyOne(.forceUpdate(record), inZone: zone)
    }

    /// Replaces all fields by those that the record has, **over whatever others wrote meanwhile**; makes the record where
    /// there is none.
    ///
    /// - Parameters:
    ///   - record: The record, with its name and type; its change tag does not matter.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: ``CloudKitError``.
    @discardableResult
    public func forceReplace(_ record: Record, inZone zone: ZoneID? = nil) async throws -> Record {
        try await modifyOne(.forceReplace(record), inZone: zone)
    }

    /// One operation, whose failure is thrown.
    func modifyOne(_ operation: RecordOperation, inZone zone: ZoneID?) async throws -> Record {
        try await modify([operation], inZone: zone)[0].get()
    }
}

extension RecordOperation {
    fileprivate static func save(_ record: Record) -> RecordOperation {
        record.recordChangeTag == nil ? .create(record) : .update(record)
    }
}
