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
    /// What the closure returns is saved over the service's version: the fields in which it differs are sent, with that version's
    /// change tag. When that is a conflict as well, the closure is called again with what it returned as `client` and the
    /// version that this was made from as `ancestor`.
    ///
    /// The service's record may already hold your change, when the reply to an earlier attempt was lost. A closure that adds to what
    /// the service has, as a counter does, must recognise its own write; ``RecordConflict`` shows how.
    ///
    /// - Parameters:
    ///   - record: The record as it was fetched, changed.
    ///   - zone: Its zone; when `nil`, the one that it says, or else the default zone.
    ///   - attempts: How often to try before giving up.
    ///   - merge: Makes one record of three: yours, the service's, and what yours was before you changed it. Return the
    ///     service's to give way. What it throws ends the update.
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
            // What was lost in one attempt stays in doubt in those after it.
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

/// The three records that a merge makes one of.
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
/// To assign a value, or to add to a set, a second time does no harm. To add to a number, or to append to a list, does. Such a record needs a
/// field by which a write is recognised, for example the identifiers of the last writes:
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
/// Check the field each time: ``serverMayHoldOwnWrite`` knows of the attempts of one call, and not of a call before it that failed and that
/// you repeat. Without such a field, a merge can only stop where the flag is `true`, and ask a person.
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

    /// What happened, and the way out, for a write that the service refused because its record is not the one that the client knows.
    ///
    /// - Parameters:
    ///   - operation: What was sent.
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
