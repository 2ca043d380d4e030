extension CloudKitDatabase {
    /// Updates a typed record, and where somebody else changed it meanwhile, merges and tries again.
    ///
    /// ```swift
    /// try await database.update(feed) { client, server, ancestor in
    ///     var merged = server
    ///     if client.title != ancestor.title { merged.title = client.title }
    ///     merged.tags = Array(Set(server.tags).union(client.tags)).sorted()
    ///     return merged
    /// }
    /// // {"operations":[{"operationType":"update","record":{"recordName":"feed-1",…,"recordChangeTag":"1e"}}],…}  CONFLICT
    /// // {"records":[{"recordName":"feed-1"}]}                                                      the service's record
    /// // {"operations":[{"operationType":"update","record":{"recordName":"feed-1",…,"recordChangeTag":"1f"}}],…}
    /// ```
    ///
    /// What the closure returns is saved over the service's version: the fields in which it differs are sent, with that version's
    /// change tag. Should somebody be quicker once more, the closure is called again with what it returned as `client` and the
    /// version that this was made from as `ancestor`.
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    ///   - attempts: How often to try before giving up.
    ///   - merge: Makes one record of three: yours, the service's, and what yours was before you changed it. Return the
    ///     service's to give way. What it throws ends the update.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: The last conflict after so many attempts, what the closure throws, and any other ``CloudKitError`` of the update.
    @discardableResult
    public func update<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        inZone zone: ZoneID? = nil,
        attempts: Int = 10,
        resolvingConflictsWith merge: (
            _ client: StoredRecord<Model>, _ server: StoredRecord<Model>, _ ancestor: StoredRecord<Model>
        ) async throws -> StoredRecord<Model>
    ) async throws -> StoredRecord<Model> {
        var client = record
        var attempt = 1
        while true {
            let server: StoredRecord<Model>
            do {
                return try await update(client, inZone: zone)
            } catch let error as CloudKitError where error.code == .conflict && attempt < attempts {
                guard let record = error.serverRecord else { throw error }
                server = try StoredRecord(record)
            }
            let merged = try await merge(client, server, client.unchanged)
            client = server.replacing(merged.model, parent: merged.parent)
            attempt += 1
        }
    }
}

extension CloudKitError {
    /// The record as the service has it, where saving yours gave ``Code-swift.struct/conflict`` or
    /// ``Code-swift.struct/exists``.
    ///
    /// ```swift
    /// do {
    ///     try await database.update(user)
    /// } catch let error as CloudKitError where error.code == .conflict {
    ///     guard let theirs = error.serverRecord(as: User.self) else { throw error }
    ///     print("Somebody has written \(theirs.firstName) meanwhile")
    /// }
    /// ```
    ///
    /// - Parameter model: The record's type.
    /// - Returns: The record; `nil` where there is none, or it does not fit the type.
    public func serverRecord<Model: CloudKitRecord>(as model: Model.Type) -> StoredRecord<Model>? {
        serverRecord.flatMap { try? StoredRecord($0) }
    }
}
