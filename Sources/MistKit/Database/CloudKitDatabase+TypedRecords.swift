extension CloudKitDatabase {
    /// Saves a new record of your type.
    ///
    /// ```swift
    /// let user = try await database.save(User(firstName: "Mei", age: 34), named: "mei")
    /// // POST /database/1/iCloud.com.example/development/public/records/modify
    /// // {"operations":[{"operationType":"create","record":{"recordName":"mei","recordType":"User","fields":{
    /// //   "firstName":{"value":"Mei","type":"STRING"},"age":{"value":34,"type":"INT64"}}}}],"atomic":false}
    /// ```
    ///
    /// If a record of the name may exist already, use ``upsert(_:named:inZone:)``: it creates the record or sets its
    /// fields.
    ///
    /// - Parameters:
    ///   - model: Your values.
    ///   - recordName: The record's name; a new UUID when `nil`. With a name of your own choice it is safe to save
    ///     again after a lost reply: the service refuses a second record of the name.
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
    ///   - atomic: Whether one failure undoes everything. An atomic batch must fit into one request; only custom zones
    ///     support it.
    ///   - duplicates: What happens to several records of one name.
    ///   - progress: Called after each request, with the progress of the call.
    /// - Returns: One result per record, in their order. A conflict carries the service's record.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func save<Model: CloudKitRecord>(
        _ models: [Model],
        named recordName: (Model) -> String? = { _ in nil },
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        duplicates: DuplicateNames = .fail,
        progress: ProgressHandler<BatchProgress>? = nil
    ) async throws -> [Result<StoredRecord<Model>, CloudKitError>] {
        try await save(
            models.map { StoredRecord($0, recordName: recordName($0)) },
            inZone: zone,
            atomic: atomic,
            duplicates: duplicates,
            progress: progress
        )
    }

    /// Saves your values under a name: creates the record, or sets these fields of the existing record, **overwriting
    /// what others wrote to them**.
    ///
    /// ```swift
    /// try await database.upsert(User(firstName: "Mei", age: 34), named: "mei")
    /// // {"operations":[{"operationType":"forceUpdate","record":{"recordName":"mei","recordType":"User","fields":{
    /// //   "firstName":{"value":"Mei","type":"STRING"},"age":{"value":34,"type":"INT64"}}}}],"atomic":false}
    /// ```
    ///
    /// Every field of the type is sent; an optional that is `nil` clears its field. Fields that the type does not have stay as they are.
    ///
    /// The change tag is not compared. When two clients upsert one record, the later one wins, and the earlier one is
    /// not notified. Use it for records that one program owns, such as copies of data from elsewhere. Where people
    /// change records, use `save`; on ``CloudKitError/Code-swift.struct/exists`` or
    /// ``CloudKitError/Code-swift.struct/conflict`` merge your changes into ``CloudKitError/serverRecord(as:)``.
    ///
    /// - Parameters:
    ///   - model: Your values.
    ///   - recordName: The record's name.
    ///   - zone: Its zone; the default zone when `nil`.
    /// - Returns: The record as the service has it, with its change tag.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/encoding`` for a value that cannot be saved, or
    ///   the error of the request.
    @discardableResult
    public func upsert<Model: CloudKitRecord>(
        _ model: Model,
        named recordName: String,
        inZone zone: ZoneID? = nil
    ) async throws -> StoredRecord<Model> {
        try await upsert([model], named: { _ in recordName }, inZone: zone)[0].get()
    }

    /// Saves your values under names: creates each record, or sets these fields of the existing record, **overwriting
    /// what others wrote to them**.
    ///
    /// ```swift
    /// let results = try await database.upsert(articles, named: \.guid, duplicates: .keepLast)
    /// ```
    ///
    /// ``upsert(_:named:inZone:)`` explains what is sent, and what it means for changes of others.
    ///
    /// - Parameters:
    ///   - models: Your values.
    ///   - recordName: Gives each its name.
    ///   - zone: Their zone; the default zone when `nil`.
    ///   - atomic: Whether one failure undoes everything. An atomic batch must fit into one request; only custom zones
    ///     support it.
    ///   - duplicates: What happens to several records of one name.
    ///   - progress: Called after each request, with the progress of the call.
    /// - Returns: One result per record, in their order.
    /// - Throws: A ``CloudKitError``: what ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)`` throws.
    public func upsert<Model: CloudKitRecord>(
        _ models: [Model],
        named recordName: (Model) -> String,
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        duplicates: DuplicateNames = .fail,
        progress: ProgressHandler<BatchProgress>? = nil
    ) async throws -> [Result<StoredRecord<Model>, CloudKitError>] {
        try await write(
            models.map { StoredRecord($0, recordName: recordName($0)) },
            inZone: zone,
            atomic: atomic,
            duplicates: duplicates,
            progress: progress
        ) { (record) throws(CloudKitError) in
            // Nulls are sent as well: they clear fields of the record.
            var sent = record.content.record
            do throws(FieldError) {
                sent.fields = try record.model.savedFields()
            } catch {
                throw .unwritable(record, error)
            }
            return .forceUpdate(sent)
        }
    }
}
