extension CloudKitDatabase {
    // MARK: One record

    /// Saves a record: updates a record that was fetched, and creates a new one.
    ///
    /// ```swift
    /// var note = try await database.save(Record(recordType: "Note", fields: ["title": "Hello"]))
    /// // {"operations":[{"operationType":"create","record":{"recordType":"Note","fields":...}}],"atomic":false}
    /// note["title"] = "Hello, world"
    /// note = try await database.save(note)
    /// // {"operations":[{"operationType":"update","record":{"recordName":...,"recordChangeTag":"1","fields":...}}],...}
    /// ```
    ///
    /// A record that was fetched has a change tag; a new record has no change tag.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where another client changed the
    ///   record since it was fetched; the same code, or ``CloudKitError/Code-swift.struct/exists``, where a new record
    ///   has the name of an existing one. The error carries the service's record.
    @discardableResult
    public func save<R: WritableRecord>(_ record: R, inZone zone: ZoneID? = nil) async throws -> R {
        try await write(record, .save, inZone: zone)
    }

    /// Saves a record, and gives it its new change tag: updates a record that was fetched, and creates a new one.
    ///
    /// - Parameters:
    ///   - record: The record. It becomes the service's record; when the call fails, it stays as it is.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Throws: A ``CloudKitError``: what ``save(_:inZone:)->R`` throws.
    public func save<R: WritableRecord>(_ record: inout R, inZone zone: ZoneID? = nil) async throws {
        record = try await write(record, .save, inZone: zone)
    }

    /// Creates a record.
    ///
    /// ```swift
    /// let note = try await database.create(Record(recordType: "Note", fields: ["title": "Hello"]))
    /// // POST /database/1/iCloud.com.example/development/public/records/modify
    /// // {"operations":[{"operationType":"create","record":{"recordType":"Note",
    /// //   "fields":{"title":{"value":"Hello","type":"STRING"}}}}],"atomic":false}
    /// ```
    ///
    /// - Parameters:
    ///   - record: The record. If a `Record` has no name, the service makes one.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Returns: The record as the service has it, with its change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/exists`` or
    ///   ``CloudKitError/Code-swift.struct/conflict`` where a record of the same name is there already.
    @discardableResult
    public func create<R: WritableRecord>(_ record: R, inZone zone: ZoneID? = nil) async throws -> R {
        try await write(record, .create, inZone: zone)
    }

    /// Changes fields of a record and leaves the others alone.
    ///
    /// ```swift
    /// user.age = 35
    /// user = try await database.update(user)
    /// // {"operations":[{"operationType":"update","record":{"recordName":"mei","recordType":"User",
    /// //   "fields":{"age":{"value":35,"type":"INT64"}},"recordChangeTag":"1e"}}],"atomic":false}
    /// ```
    ///
    /// For a ``StoredRecord``, the fields that changed since it was fetched are sent; an optional that became `nil`
    /// clears its field. When nothing changed, nothing is sent, and the record comes back as it is. For a `Record`, all
    /// its fields are sent; assign `FieldValue.null` to clear a field.
    ///
    /// - Parameters:
    ///   - record: The fetched record with your changes.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/conflict`` where another client changed the
    ///   record since it was fetched, with the service's record (``CloudKitError/serverRecord``,
    ///   ``CloudKitError/serverRecord(as:)``); ``CloudKitError/Code-swift.struct/notFound`` where it was deleted;
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` where it has no change tag, as it was never saved.
    @discardableResult
    public func update<R: WritableRecord>(_ record: R, inZone zone: ZoneID? = nil) async throws -> R {
        try await write(record, .update, inZone: zone)
    }

    /// Changes fields of a record, leaves the others alone, and gives the record its new change tag.
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
    /// A property of an actor cannot be passed with `&` to an `async` function. Assign the result of ``update(_:inZone:)->R`` there.
    ///
    /// - Parameters:
    ///   - record: The fetched record with your changes. It becomes the service's record; when the call fails, it stays
    ///     as it is.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Throws: A ``CloudKitError``: what ``update(_:inZone:)->R`` throws.
    public func update<R: WritableRecord>(_ record: inout R, inZone zone: ZoneID? = nil) async throws {
        record = try await write(record, .update, inZone: zone)
    }

    /// Replaces all fields of the service's record by those of your record.
    ///
    /// Fields of a ``StoredRecord`` that its type does not have are sent as they were fetched. A record that was fetched with `desiredKeys`
    /// loses the fields that were not fetched.
    ///
    /// - Parameters:
    ///   - record: The fetched record with your changes.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: A ``CloudKitError``: what ``update(_:inZone:)->R`` throws.
    @discardableResult
    public func replace<R: WritableRecord>(_ record: R, inZone zone: ZoneID? = nil) async throws -> R {
        try await write(record, .replace, inZone: zone)
    }

    /// Replaces all fields of the service's record by those of your record, and gives your record its new change tag.
    ///
    /// - Parameters:
    ///   - record: The fetched record with your changes. It becomes the service's record; when the call fails, it stays
    ///     as it is.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Throws: A ``CloudKitError``: what ``update(_:inZone:)->R`` throws.
    public func replace<R: WritableRecord>(_ record: inout R, inZone zone: ZoneID? = nil) async throws {
        record = try await write(record, .replace, inZone: zone)
    }

    /// Changes fields of a record, **even if another client changed them meanwhile**; creates the record if it does not
    /// exist.
    ///
    /// It sends the fields that ``update(_:inZone:)->R`` sends.
    ///
    /// - Parameters:
    ///   - record: The record, with its name and type; its change tag is not compared.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: ``CloudKitError``.
    @discardableResult
    public func forceUpdate<R: WritableRecord>(_ record: R, inZone zone: ZoneID? = nil) async throws -> R {
        try await write(record, .forceUpdate, inZone: zone)
    }

    /// Replaces all fields of the service's record by those of your record, **even if another client changed them
    /// meanwhile**; creates the record if it does not exist.
    ///
    /// - Parameters:
    ///   - record: The record, with its name and type; its change tag is not compared.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: ``CloudKitError``.
    @discardableResult
    public func forceReplace<R: WritableRecord>(_ record: R, inZone zone: ZoneID? = nil) async throws -> R {
        try await write(record, .forceReplace, inZone: zone)
    }

    // MARK: Many records

    /// Saves records: updates those that were fetched, and creates new ones.
    ///
    /// - Parameters:
    ///   - records: The records, as many as you like.
    ///   - zone: The records' zone; when `nil`, their `zoneID`, or else the default zone.
    ///   - atomic: Whether one failure undoes everything. An atomic batch must fit into one request; only custom zones
    ///     support it.
    ///   - duplicates: What happens to several records of one name.
    ///   - progress: Called after each request, with the progress of the call.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func save<R: WritableRecord>(
        _ records: [R],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        duplicates: DuplicateNames = .fail,
        progress: ProgressHandler<BatchProgress>? = nil
    ) async throws -> [Result<R, CloudKitError>] {
        try await write(records, .save, inZone: zone, atomic: atomic, duplicates: duplicates, progress: progress)
    }

    /// Changes fields of records and leaves the others alone, each unless another client changed it since it was fetched.
    ///
    /// - Parameters:
    ///   - records: The fetched records with your changes, as many as you like. A ``StoredRecord`` without changes is
    ///     not sent.
    ///   - zone: The records' zone; when `nil`, their `zoneID`, or else the default zone.
    ///   - atomic: Whether one failure undoes everything. An atomic batch must fit into one request; only custom zones
    ///     support it.
    ///   - progress: Called after each request, with the progress of the call.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func update<R: WritableRecord>(
        _ records: [R],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        progress: ProgressHandler<BatchProgress>? = nil
    ) async throws -> [Result<R, CloudKitError>] {
        try await write(records, .update, inZone: zone, atomic: atomic, progress: progress)
    }

    /// Replaces all fields of the service's records by those of your records, each unless another client changed it
    /// since it was fetched.
    ///
    /// - Parameters:
    ///   - records: The fetched records with your changes, as many as you like.
    ///   - zone: The records' zone; when `nil`, their `zoneID`, or else the default zone.
    ///   - atomic: Whether one failure undoes everything. An atomic batch must fit into one request; only custom zones
    ///     support it.
    ///   - progress: Called after each request, with the progress of the call.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func replace<R: WritableRecord>(
        _ records: [R],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        progress: ProgressHandler<BatchProgress>? = nil
    ) async throws -> [Result<R, CloudKitError>] {
        try await write(records, .replace, inZone: zone, atomic: atomic, progress: progress)
    }

    // MARK: Values that are not records

    /// A type that is not a record cannot be saved.
    @available(
        *,
        unavailable,
        message: "Only records can be saved. Write @CloudKitRecord before the struct, or save a Record."
    )
    @_disfavoredOverload
    public func save<Value>(_ value: Value, named recordName: String? = nil, inZone zone: ZoneID? = nil) async throws {}

    /// A type that is not a record cannot be saved.
    @available(
        *,
        unavailable,
        message: "Only records can be saved. Write @CloudKitRecord before the struct, or save a Record."
    )
    @_disfavoredOverload
    public func upsert<Value>(_ value: Value, named recordName: String, inZone zone: ZoneID? = nil) async throws {}

    /// A plain model does not know which record it is.
    @available(
        *,
        unavailable,
        message: "Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one."
    )
    @_disfavoredOverload
    public func update<Value>(_ value: Value, inZone zone: ZoneID? = nil) async throws {}

    /// A plain model does not know which record it is.
    @available(
        *,
        unavailable,
        message: "Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one."
    )
    @_disfavoredOverload
    public func replace<Value>(_ value: Value, inZone zone: ZoneID? = nil) async throws {}

    /// A plain model does not know which record it is.
    @available(
        *,
        unavailable,
        message: "Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one."
    )
    @_disfavoredOverload
    public func delete<Value>(_ value: Value, inZone zone: ZoneID? = nil) async throws {}
}
