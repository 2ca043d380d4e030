import CloudKitWebServices

extension CloudKitDatabase {
    /// Updates a typed record. When another client changed the record meanwhile, merges and tries again.
    ///
    /// ```swift
    /// let saved = try await database.update(feed) { conflict in
    ///     var merged = conflict.server
    ///     if conflict.client.title != conflict.ancestor.title { merged.title = conflict.client.title }
    ///     merged.tags = Set(conflict.server.tags).union(conflict.client.tags).sorted()
    ///     return merged
    /// }
    /// // {"operations":[{"operationType":"update","record":{"recordName":"feed-1",…,"recordChangeTag":"1e"}}],…}  CONFLICT
    /// // {"records":[{"recordName":"feed-1"}]}                                                      the service's record
    /// // {"operations":[{"operationType":"update","record":{"recordName":"feed-1",…,"recordChangeTag":"1f"}}],…}
    /// ```
    ///
    /// The record that the closure returns is saved over the service's version: the fields that differ are sent, with
    /// the change tag of that version. When that is a conflict as well, the closure is called again. Then `client` is
    /// the record that it returned, and `ancestor` is the version that this record was made from.
    ///
    /// The service's record may already hold your change, when the reply to an earlier attempt was lost. A closure that
    /// adds to the service's values, as a counter does, must recognise its own write; ``RecordConflict`` shows how.
    ///
    /// - Parameters:
    ///   - record: The fetched record with your changes.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    ///   - attempts: The number of updates to send at most.
    ///   - merge: Makes one record of three: yours, the service's, and yours before you changed it. Return the
    ///     service's record to drop your changes. An error of the closure ends the update.
    /// - Returns: The record as the service has it now, with its new change tag.
    /// - Throws: The last conflict after `attempts` attempts, what the closure throws, and any other ``CloudKitError`` of the update.
    @discardableResult
    public func update<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        inZone zone: ZoneID? = nil,
        attempts: Int = 10,
        resolvingConflictsWith merge: (RecordConflict<Model>) async throws -> StoredRecord<Model>
    ) async throws -> StoredRecord<Model> {
        var client = record
        var attempt = 1
        var mayHoldOwnWrite = false
        while true {
            var failure: CloudKitError
            switch await attemptUpdate(client, inZone: zone) {
            case .success(let saved): return saved
            case .failure(let error): failure = error
            }
            // After one lost reply, all later attempts are in doubt.
            mayHoldOwnWrite = mayHoldOwnWrite || failure.mayHaveBeenDone
            failure.mayHaveBeenDone = mayHoldOwnWrite
            guard failure.code == .conflict, attempt < attempts, let record = failure.serverRecord else {
                throw failure
            }
            let server = try StoredRecord<Model>(record)
            let conflict = RecordConflict(
                client: client,
                server: server,
                ancestor: client.unchanged,
                serverMayHoldOwnWrite: mayHoldOwnWrite
            )
            let merged = try await merge(conflict)
            client = server.replacing(merged.model, parent: merged.parent)
            attempt += 1
        }
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
    ///   - record: The fetched record with your changes. It becomes the service's record; when the call fails, it stays
    ///     as it is.
    ///   - zone: The record's zone; when `nil`, its `zoneID`, or else the default zone.
    ///   - attempts: The number of updates to send at most.
    ///   - merge: Makes one record of three: yours, the service's, and yours before you changed it. See
    ///     ``RecordConflict``.
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

    private func attemptUpdate<Model: CloudKitRecord>(
        _ record: StoredRecord<Model>,
        inZone zone: ZoneID?
    ) async -> Result<StoredRecord<Model>, CloudKitError> {
        do {
            return try await update([record], inZone: zone)[0]
        } catch {
            return .failure(CloudKitError(error, operation: Operations.ModifyRecords.id))
        }
    }
}

/// A conflict of an update: the three records that a merge combines into one.
///
/// ```swift
/// let saved = try await database.update(feed) { conflict in
///     var merged = conflict.server
///     if conflict.client.title != conflict.ancestor.title { merged.title = conflict.client.title }
///     return merged
/// }
/// ```
///
/// ## Changes that must not be applied twice
///
/// When the reply to an update is lost, the update is sent again. It may have been done the first time, and another client may have
/// changed the record since: then the second attempt is a conflict, and ``server`` already holds your change.
/// ``serverMayHoldOwnWrite`` is `true` then.
///
/// It does no harm to assign a value or to insert into a set twice. It is wrong to add to a number or to append to a
/// list twice. Such a record needs a field by which a write is recognised, for example the identifiers of the last
/// writes:
///
/// ```swift
/// let write = UUID().uuidString
/// tally.count += 1
/// tally.recentWrites = (tally.recentWrites + [write]).suffix(50)
/// try await database.update(&tally) { conflict in
///     var merged = conflict.server
///     if merged.recentWrites.contains(write) { return merged }  // it was done before
///     merged.count += 1
///     merged.recentWrites = (merged.recentWrites + [write]).suffix(50)
///     return merged
/// }
/// ```
///
/// Check the field each time: ``serverMayHoldOwnWrite`` is about the attempts of one call. It does not know of an
/// earlier call that failed and that you repeat. Without such a field, a merge can only stop when the flag is `true`,
/// and ask the user.
///
/// ## Topics
///
/// ### The records
/// - ``client``
/// - ``server``
/// - ``ancestor``
///
/// ### After a lost reply
/// - ``serverMayHoldOwnWrite``
public struct RecordConflict<Model: CloudKitRecord>: Sendable {
    /// Your record, as it was sent.
    public var client: StoredRecord<Model>

    /// The record as the service has it now.
    public var server: StoredRecord<Model>

    /// Your record before you changed it.
    public var ancestor: StoredRecord<Model>

    /// Whether ``server`` may already hold your change: the reply to an attempt of this call was lost.
    public var serverMayHoldOwnWrite: Bool

    /// Makes a conflict, for tests of a merge.
    ///
    /// - Parameters:
    ///   - client: Your record, as it was sent.
    ///   - server: The record as the service has it now.
    ///   - ancestor: Your record before you changed it.
    ///   - serverMayHoldOwnWrite: Whether `server` may already hold your change.
    public init(
        client: StoredRecord<Model>,
        server: StoredRecord<Model>,
        ancestor: StoredRecord<Model>,
        serverMayHoldOwnWrite: Bool = false
    ) {
        self.client = client
        self.server = server
        self.ancestor = ancestor
        self.serverMayHoldOwnWrite = serverMayHoldOwnWrite
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
    ///     print("Another client wrote \(theirs.firstName) meanwhile")
    /// }
    /// ```
    ///
    /// - Parameter model: The record's type.
    /// - Returns: The record; `nil` where there is none, or it does not fit the type.
    public func serverRecord<Model: CloudKitRecord>(as model: Model.Type) -> StoredRecord<Model>? {
        serverRecord.flatMap { try? StoredRecord($0) }
    }
}

extension CloudKitError {
    /// The user who wrote the service's record last, as far as a client can tell without a request.
    enum ConflictingWriter: Sendable {
        /// The user who this client writes as.
        case sameUser
        case anotherUser
        case unknown

        /// Compares the record's last user with the one that the service noted for this client's last write.
        init(of record: Record?, caller: String?) {
            guard let writer = record?.modified?.userRecordName, let caller else {
                self = .unknown
                return
            }
            self = writer == caller ? .sameUser : .anotherUser
        }
    }

    /// The message for a write that the service refused because its record has changed: what happened, and what to do.
    ///
    /// - Parameters:
    ///   - operation: The type of the operation that was sent.
    ///   - writer: Who wrote the service's record last.
    ///   - mayHaveBeenDone: Whether the reply to an earlier attempt was lost.
    /// - Returns: The message.
    static func conflictMessage(
        of operation: RecordOperation.OperationType,
        lastWriter writer: ConflictingWriter,
        mayHaveBeenDone: Bool
    ) -> String {
        let cause: String
        switch (operation, writer) {
        case (.create, .sameUser):
            cause = "A record of this name exists already, last written by the user of this client."
        case (.create, _):
            cause = "A record of this name exists already."
        case (_, .sameUser):
            cause = """
                The record was changed since it was fetched, by the user of this client: on another device, or by an earlier update whose \
                result was discarded. Each update gives the record a new change tag; update(&record) takes it.
                """
        case (_, .anotherUser):
            cause = "The record was changed by another user since it was fetched."
        case (_, .unknown):
            cause = """
                The record was changed since it was fetched: by another client, or by an earlier update whose result was discarded. Each \
                update gives the record a new change tag; update(&record) takes it.
                """
        }
        let doubt =
            mayHaveBeenDone
            ? " The reply to an earlier attempt of this write was lost, so serverRecord may already hold it." : ""
        let wayOut =
            operation == .create
            ? "Update serverRecord, choose another name, or use upsert to overwrite its fields."
            : "Merge the change into serverRecord, and send that with its change tag."
        return "\(cause)\(doubt) \(wayOut)"
    }
}
