extension CloudKitDatabase {
    // MARK: One typed record

    /// Saves a typed record, and gives it its new change tag: one that was fetched is updated, one that was not is created.
    ///
    /// - Parameters:
    ///   - record: The record. It becomes what the service has; when the call fails, it stays as it is.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Throws: A ``CloudKitError``: what ``save(_:inZone:)-(StoredRecord<Model>,_)->StoredRecord<Model>`` throws.
    public func save<Model: CloudKitRecord>(
        _ record: inout StoredRecord<Model>,
        inZone zone: ZoneID? = nil
    ) async throws {
        let saved: StoredRecord<Model> = try await save(record, inZone: zone)
        record = saved
    }

    /// Changes what was changed in a typed record since it was fetched, and gives it its new change tag.
    ///
    /// ```swift
    /// user.age = 35
    /// try await database.update(&user)
    /// // {"operations":[{"operationType":"update","record":{"recordName":"mei","recordType":"User",
    /// //   "fields":{"age":{"value":35,"type":"INT64"}},"recordChangeTag":"1e"}}],"atomic":false}
    /// user.age = 36
    /// try await database.update(&user)
    /// // {"operations":[{"operationType":"update","record":{…,"recordChangeTag":"1f"}}],…}
    /// ```
    ///
    /// A property of an actor cannot be passed with `&` to an `async` function. Assign the result of
    /// ``update(_:inZone:)-(StoredRecord<Model>,_)->StoredRecord<Model>`` there.
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed. It becomes what the service has; when the call fails, it stays as it is.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Throws: A ``CloudKitError``: what ``update(_:inZone:)-(StoredRecord<Model>,_)->StoredRecord<Model>`` throws.
    public func update<Model: CloudKitRecord>(
        _ record: inout StoredRecord<Model>,
        inZone zone: ZoneID? = nil
    ) async throws {
        let saved: StoredRecord<Model> = try await update(record, inZone: zone)
        record = saved
    }

    /// Updates a typed record, and gives it its new change tag. When another client changed the record meanwhile, merges and tries again.
    ///
    /// ```swift
    /// try await database.update(&feed) { conflict in
    ///     var merged = conflict.server
    ///     if conflict.client.title != conflict.ancestor.title { merged.title = conflict.client.title }
    ///     return merged
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed. It becomes what the service has; when the call fails, it stays as it is.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    ///   - attempts: How often to try before giving up.
    ///   - merge: Makes one record of three: yours, the service's, and what yours was before you changed it. See ``RecordConflict``.
    /// - Throws: What ``update(_:inZone:attempts:resolvingConflictsWith:)->StoredRecord<Model>`` throws.
    public func update<Model: CloudKitRecord>(
        _ record: inout StoredRecord<Model>,
        inZone zone: ZoneID? = nil,
        attempts: Int = 10,
        resolvingConflictsWith merge: (RecordConflict<Model>) async throws -> StoredRecord<Model>
    ) async throws {
        let saved: StoredRecord<Model> = try await update(
            record,
            inZone: zone,
            attempts: attempts,
            resolvingConflictsWith: merge
        )
        record = saved
    }

    /// Replaces all fields of a typed record, and gives it its new change tag.
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed. It becomes what the service has; when the call fails, it stays as it is.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Throws: A ``CloudKitError``: what ``replace(_:inZone:)-(StoredRecord<Model>,_)->StoredRecord<Model>`` throws.
    public func replace<Model: CloudKitRecord>(
        _ record: inout StoredRecord<Model>,
        inZone zone: ZoneID? = nil
    ) async throws {
        let saved: StoredRecord<Model> = try await replace(record, inZone: zone)
        record = saved
    }

    // MARK: One record

    /// Saves a record, and gives it its new change tag: one with a change tag is updated, one without is created.
    ///
    /// - Parameters:
    ///   - record: The record. It becomes what the service has; when the call fails, it stays as it is.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Throws: A ``CloudKitError``: what ``save(_:inZone:)-(Record,_)->Record`` throws.
    public func save(_ record: inout Record, inZone zone: ZoneID? = nil) async throws {
        let saved: Record = try await save(record, inZone: zone)
        record = saved
    }

    /// Changes the fields that the record has, leaves the others alone, and gives the record its new change tag.
    ///
    /// ```swift
    /// note["title"] = "Hello, world"
    /// try await database.update(&note)
    /// // {"operations":[{"operationType":"update","record":{"recordName":"note-1","recordType":"Note",
    /// //   "recordChangeTag":"1e","fields":{"title":{"value":"Hello, world","type":"STRING"}}}}],"atomic":false}
    /// ```
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed. It becomes what the service has; when the call fails, it stays as it is.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Throws: A ``CloudKitError``: what ``update(_:inZone:)-(Record,_)->Record`` throws.
    public func update(_ record: inout Record, inZone zone: ZoneID? = nil) async throws {
        let saved: Record = try await update(record, inZone: zone)
        record = saved
    }

    /// Replaces all fields by those that the record has, and gives the record its new change tag.
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed. It becomes what the service has; when the call fails, it stays as it is.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    /// - Throws: A ``CloudKitError``: what ``replace(_:inZone:)-(Record,_)->Record`` throws.
    public func replace(_ record: inout Record, inZone zone: ZoneID? = nil) async throws {
        let saved: Record = try await replace(record, inZone: zone)
        record = saved
    }
}
