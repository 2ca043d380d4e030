extension CloudKitDatabase {
    // MARK: One record

    /// Saves a new record of your type.
    ///
    /// ```swift
    /// let user = try await database.save(User(firstName: "Mei", age: 34), named: "mei")
    /// // POST /database/1/iCloud.com.example/development/public/records/modify
    /// // {"operations":[{"operationType":"create","record":{"recordName":"mei","recordType":"User","fields":{
    /// //   "firstName":{"value":"Mei","type":"STRING"},"age":{"value":34,"type":"INT64"}}}}],"atomic":false}
    /// ```
    ///
    /// Where there may be a record of the name already, ``upsert(_:named:inZone:)`` makes it or sets its fields.
    ///
    /// - Parameters:
    ///   - model: Your values.
    ///   - recordName: The record's name; a new UUID when `nil`. A name of your own choice makes it safe to save again when the
    ///     answer was lost: a second record of the name is refused.
    ///   - zone: Its zone; the default zone when `nil`.
    /// - Returns: The record as the service has it, with its change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/exists`` or
    ///   ``CloudKitError/Code-swift.struct/conflict`` where a record of the same name is there already,
    ///   ``CloudKitError/Code-swift.struct/encoding`` for a value that cannot be saved.
    @discardableResult
    public func save<Model: CloudKitRecord>(
        _ model: Model,
        named recordName: String? = nil,
        inZone zone: ZoneID? = nil
    ) async throws -> StoredRecord<Model> {
        try await save(StoredRecord(model, recordName: recordName), inZone: zone)
    }

    /// Saves a typed record: one that was fetched is updated, one that was not is created.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where somebody else changed the
    ///   record since it was fetched; that, or ``CloudKitError/Code-swift.struct/exists``, where a record of the same
    ///   name is there already. The error carries the service's record.
    @discardableResult
    public func save<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        inZone zone: ZoneID? = nil
    ) async throws -> StoredRecord<Model> {
        try await save([record], inZone: zone)[0].get()
    }

    /// Changes what was changed in a typed record since it was fetched, and leaves its other fields alone.
    ///
    /// ```swift
    /// user.age = 35
    /// user = try await database.update(user)
    /// // {"operations":[{"operationType":"update","record":{"recordName":"mei","recordType":"User",
    /// //   "fields":{"age":{"value":35,"type":"INT64"}},"recordChangeTag":"1e"}}],"atomic":false}
    /// ```
    ///
    /// An optional that became `nil` clears its field. When nothing changed, nothing is sent, and the record comes back as it
    /// is.
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where somebody else changed the
    ///   record since it was fetched, with the service's record (``CloudKitError/serverRecord(as:)``);
    ///   ``CloudKitError/Code-swift.struct/notFound`` where somebody deleted it;
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` where it was never saved.
    @discardableResult
    public func update<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        inZone zone: ZoneID? = nil
    ) async throws -> StoredRecord<Model> {
        try await update([record], inZone: zone)[0].get()
    }

    /// Replaces all fields of a typed record, those that its type does not have included: they are sent as they were fetched.
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed. One that was fetched with `desiredKeys` loses the other fields.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: what ``update(_:inZone:)-(StoredRecord<Model>,_)->StoredRecord<Model>`` throws.
    @discardableResult
    public func replace<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        inZone zone: ZoneID? = nil
    ) async throws -> StoredRecord<Model> {
        try await replace([record], inZone: zone)[0].get()
    }

    /// Changes what was changed in a typed record, **over whatever others wrote to those fields meanwhile**; makes the record
    /// where there is none, with these fields alone.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: ``CloudKitError``.
    @discardableResult
    public func forceUpdate<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        inZone zone: ZoneID? = nil
    ) async throws -> StoredRecord<Model> {
        try await modify([record], inZone: zone) { (record) throws(FieldError) in
            .forceUpdate(try record.changedRecord())
        }[0].get()
    }

    /// Replaces all fields of a typed record, **over whatever others wrote meanwhile**; makes the record where there is none.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: ``CloudKitError``.
    @discardableResult
    public func forceReplace<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        inZone zone: ZoneID? = nil
    ) async throws -> StoredRecord<Model> {
        try await modify([record], inZone: zone) { (record) throws(FieldError) in
            .forceReplace(try record.wholeRecord())
        }[0].get()
    }

    /// Deletes a typed record, unless somebody else changed it since it was fetched.
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where somebody else changed the
    ///   record since it was fetched, with the service's record; ``CloudKitError/Code-swift.struct/notFound`` where it
    ///   is deleted already; ``CloudKitError/Code-swift.struct/invalidArgument`` where it was never saved.
    public func delete<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        inZone zone: ZoneID? = nil
    ) async throws {
        _ = try await delete([record], inZone: zone)[0].get()
    }

    // MARK: Many records

    /// Saves new records of your type, as many as you like.
    ///
    /// ```swift
    /// let results = try await database.save(articles, named: \.guid)
    /// // {"operations":[{"operationType":"create","record":{"recordName":"…","recordType":"Article",…}},…],"atomic":false}
    /// // and so on, as many as fit into a request
    /// ```
    ///
    /// - Parameters:
    ///   - models: Your values.
    ///   - recordName: Gives each its name; a new UUID for `nil`.
    ///   - zone: Their zone; the default zone when `nil`.
    ///   - atomic: Whether one failure undoes everything; then they must fit into one request. Only custom zones do this.
    ///   - duplicates: What happens to several records of one name.
    ///   - progress: Called after each request, with how far the call has come.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func save<Model: CloudKitRecord>(
        _ models: [Model],
        named recordName: (Model) -> String? = { _ in nil },
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        duplicates: DuplicateNames = .fail,
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws -> [Result<StoredRecord<Model>, CloudKitError>] {
        try await save(
            models.map { StoredRecord($0, recordName: recordName($0)) },
            inZone: zone,
            atomic: atomic,
            duplicates: duplicates,
            progress: progress
        )
    }

    /// Saves typed records: those that were fetched are updated, those that were not are created.
    ///
    /// - Parameters:
    ///   - records: The records, as many as you like.
    ///   - zone: Their zone; when `nil`, the one that they say, or else the default zone.
    ///   - atomic: Whether one failure undoes everything; then they must fit into one request. Only custom zones do this.
    ///   - duplicates: What happens to several records of one name.
    ///   - progress: Called after each request, with how far the call has come.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func save<Model: CloudKitRecord>(
        _ records: [StoredRecord<Model>],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        duplicates: DuplicateNames = .fail,
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws -> [Result<StoredRecord<Model>, CloudKitError>] {
        try await modify(
            records,
            inZone: zone,
            atomic: atomic,
            duplicates: duplicates,
            progress: progress
        ) { (record) throws(FieldError) in
            if record.recordChangeTag == nil { return .create(try record.changedRecord()) }
            return record.hasNoChanges ? nil : .update(try record.changedRecord())
        }
    }

    /// Changes what was changed in typed records since they were fetched.
    ///
    /// - Parameters:
    ///   - records: The records as they were fetched, changed. Nothing is sent of those that are unchanged.
    ///   - zone: Their zone; when `nil`, the one that they say, or else the default zone.
    ///   - atomic: Whether one failure undoes everything; then they must fit into one request. Only custom zones do this.
    ///   - progress: Called after each request, with how far the call has come.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func update<Model: CloudKitRecord>(
        _ records: [StoredRecord<Model>],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws -> [Result<StoredRecord<Model>, CloudKitError>] {
        try await modify(records, inZone: zone, atomic: atomic, progress: progress) { (record) throws(FieldError) in
            record.recordChangeTag != nil && record.hasNoChanges ? nil : .update(try record.changedRecord())
        }
    }

    /// Replaces all fields of typed records.
    ///
    /// - Parameters:
    ///   - records: The records as they were fetched, changed.
    ///   - zone: Their zone; when `nil`, the one that they say, or else the default zone.
    ///   - atomic: Whether one failure undoes everything; then they must fit into one request. Only custom zones do this.
    ///   - progress: Called after each request, with how far the call has come.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func replace<Model: CloudKitRecord>(
        _ records: [StoredRecord<Model>],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws -> [Result<StoredRecord<Model>, CloudKitError>] {
        try await modify(records, inZone: zone, atomic: atomic, progress: progress) { (record) throws(FieldError) in
            .replace(try record.wholeRecord())
        }
    }

    /// Deletes typed records, each unless somebody else changed it since it was fetched.
    ///
    /// - Parameters:
    ///   - records: The records as they were fetched, as many as you like.
    ///   - zone: Their zone; when `nil`, the one that they say, or else the default zone.
    ///   - atomic: Whether one failure undoes everything; then they must fit into one request. Only custom zones do this.
    ///   - progress: Called after each request, with how far the call has come.
    /// - Returns: One result per record, in their order: what was deleted, as you had it. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func delete<Model: CloudKitRecord>(
        _ records: [StoredRecord<Model>],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        progress: (@Sendable (BatchProgress) -> Void)? = nil
    ) async throws -> [Result<StoredRecord<Model>, CloudKitError>] {
        let operations = records.map { RecordOperation.delete($0.content.record) }
        let results = try await modify(operations, inZone: zone, atomic: atomic, progress: progress)
        return zip(results, records).map { result, record in result.map { _ in record } }
    }

    // MARK: Plain models

    /// A plain model does not know which record it is.
    @available(
        *,
        unavailable,
        message: "Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one."
    )
    public func update<Model: CloudKitRecord>(_ model: Model, inZone zone: ZoneID? = nil) async throws {}

    /// A plain model does not know which record it is.
    @available(
        *,
        unavailable,
        message: "Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one."
    )
    public func update<Model: CloudKitRecord>(_ model: [Model], inZone zone: ZoneID? = nil) async throws {}

    /// A plain model does not know which record it is.
    @available(
        *,
        unavailable,
        message: "Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one."
    )
    public func replace<Model: CloudKitRecord>(_ model: Model, inZone zone: ZoneID? = nil) async throws {}

    /// A plain model does not know which record it is.
    @available(
        *,
        unavailable,
        message: "Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one."
    )
    public func replace<Model: CloudKitRecord>(_ model: [Model], inZone zone: ZoneID? = nil) async throws {}

    /// A plain model does not know which record it is.
    @available(
        *,
        unavailable,
        message: "Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one."
    )
    public func delete<Model: CloudKitRecord>(_ model: Model, inZone zone: ZoneID? = nil) async throws {}

    /// A plain model does not know which record it is.
    @available(
        *,
        unavailable,
        message: "Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one."
    )
    public func delete<Model: CloudKitRecord>(_ model: [Model], inZone zone: ZoneID? = nil) async throws {}

    // MARK: What they have in common

    /// Sends an operation for each record that needs one.
    func modify<Model: CloudKitRecord>(
        _ records: [StoredRecord<Model>],
        inZone zone: ZoneID?,
        atomic: Bool = false,
        duplicates: DuplicateNames = .fail,
        progress: (@Sendable (BatchProgress) -> Void)? = nil,
        _ operation: (StoredRecord<Model>) throws(FieldError) -> RecordOperation?
    ) async throws -> [Result<StoredRecord<Model>, CloudKitError>] {
        // Of those that are not sent, the result is known.
        var results: [Result<StoredRecord<Model>, CloudKitError>] = []
        results.reserveCapacity(records.count)
        var operations: [RecordOperation] = []
        var sent: [Int] = []
        for (index, record) in records.enumerated() {
            results.append(.success(record))
            do {
                guard var operation = try operation(record) else { continue }
                // Fields that only responses have are taken off where the operations are checked.
                if operation.record.zoneID == nil { operation.record.zoneID = zone }
                operations.append(operation)
                sent.append(index)
            } catch {
                results[index] = .failure(.unwritable(record, error))
            }
        }
        guard !operations.isEmpty else { return results }
        let replies = try await modify(
            operations,
            inZone: zone,
            atomic: atomic,
            duplicates: duplicates,
            progress: progress
        )
        let items = duplicates.choose(among: operations.map(\.record.recordName))
        for (position, index) in sent.enumerated() {
            let source = items.sources[position]
            results[index] = replies[position].flatMap { reply in
                records[sent[source]].saved(as: reply, sent: operations[source].record)
            }
        }
        return results
    }
}

extension StoredRecord {
    fileprivate var hasNoChanges: Bool {
        (try? savedChanges().isEmpty) == true && !hasNewParent
    }

    /// The record with the fields that changed; a new one with all.
    fileprivate func changedRecord() throws(FieldError) -> Record {
        var record = content.record
        record.fields = try savedChanges()
        if !hasNewParent { record.parent = nil }
        return record
    }

    /// The record with all fields.
    fileprivate func wholeRecord() throws(FieldError) -> Record {
        var record = content.record
        var fields = try model.savedFields().withoutNulls
        for field in record.fields { fields[field.name] = field.value }
        record.fields = fields
        return record
    }

    /// The record after it was saved: what the service answered, over what was there and what was sent.
    fileprivate func saved(as reply: Record, sent: Record) -> Result<StoredRecord, CloudKitError> {
        var record = reply
        var fields = self.record.fields
        for field in sent.fields { fields[field.name] = field.value }
        for field in reply.fields { fields[field.name] = field.value }
        record.fields = fields
        record.recordType = reply.recordType ?? sent.recordType
        record.zoneID = reply.zoneID ?? sent.zoneID
        if record.parent == nil { record.parent = parent }
        if record.created == nil { record.created = created }
        return StoredRecord.read(record).mapError { error in
            var error = error
            error.mayHaveBeenDone = true
            return error
        }
    }
}
