import CloudKitWebServices
import OpenAPISwiftRuntime

extension CloudKitDatabase {
    /// Creates, changes and deletes records, each in its own way.
    ///
    /// ```swift
    /// let results = try await database.modify([
    ///     .create(Record(recordType: "Note", recordName: "a", fields: ["title": "Hello"])),
    ///     .update(note),
    ///     .forceDelete("b"),
    /// ])
    /// // POST /database/1/iCloud.com.example/development/public/records/modify
    /// // {"operations":[{"operationType":"create","record":{"recordName":"a","recordType":"Note","fields":...}},
    /// //                {"operationType":"update","record":{"recordName":...,"recordChangeTag":"1e","fields":...}},
    /// //                {"operationType":"forceDelete","record":{"recordName":"b"}}],"atomic":false}
    /// ```
    ///
    /// The operations are checked before anything is sent. An operation that fails does not affect the others, unless
    /// they are atomic.
    ///
    /// Many operations are sent in several requests, split by the service's limits: 200 operations (Apple's page of
    /// limits), and 2 MB of JSON (the advice of Apple's documentation of the framework). Up to
    /// ``CloudKitService/maximumConcurrentRequests`` are sent at a time. They are sent one after the other with a web
    /// authentication token, and where an operation refers to a record of an earlier request, which then exists
    /// already. The service does the operations of a request in their order. A request that the service calls too large
    /// is sent again in halves.
    ///
    /// A request takes one operation for each record. When several operations are for one record, the first is sent,
    /// and the others fail with ``CloudKitError/Code-swift.struct/invalidArgument``. `duplicates` can choose another
    /// behaviour.
    ///
    /// - Parameters:
    ///   - operations: What to do, as many as you like.
    ///   - zone: The zone of all the records; when `nil`, their `zoneID`, or else the default zone.
    ///   - atomic: Whether one failure undoes everything. An atomic batch must fit into one request; only custom zones
    ///     support it.
    ///   - duplicates: What happens to several operations for one record.
    ///   - desiredKeys: The fields that the results have; all when `nil`, none when empty.
    ///   - progress: Called after each request, with the progress of the call.
    /// - Returns: One result per operation, in their order: the record with its new change tag (for a deletion, a
    ///   record with `isDeleted`), or the error. A ``CloudKitError/Code-swift.struct/conflict`` carries the service's
    ///   record (``CloudKitError/serverRecord``). When an atomic batch fails, every operation fails: with
    ///   ``CloudKitError/Code-swift.struct/atomicError`` if another operation is the cause. When a request fails as a
    ///   whole after others succeeded, its operations have its error, and the operations that were not sent have an
    ///   error that says so. ``CloudKitError/mayHaveBeenDone`` of an error says whether the operation may have been
    ///   done.
    /// - Throws: A ``CloudKitError``, when nothing was done. It is ``CloudKitError/Code-swift.struct/invalidArgument``
    ///   when an operation is not valid, when the records are in several zones, and for an atomic batch that does not
    ///   fit into one request or that has several operations for one record. It is the error of the first request when
    ///   no request got a response. When an operation may have been done, such as after a lost connection, there are
    ///   results instead.
    public func modify(
        _ operations: [RecordOperation],
        inZone zone: ZoneID? = nil,
        atomic: Bool = false,
        duplicates: DuplicateNames = .fail,
        desiredKeys: [String]? = nil,
        progress: ProgressHandler<BatchProgress>? = nil
    ) async throws -> [Result<Record, CloudKitError>] {
        try await modify(
            operations,
            indices: Array(operations.indices),
            inZone: zone,
            atomic: atomic,
            duplicates: duplicates,
            desiredKeys: desiredKeys,
            progress: progress
        )
    }

    /// Changes records by operations that were made from some of the items of a call. `indices` has the index of each
    /// operation's item in the caller's array; errors name it.
    func modify(
        _ operations: [RecordOperation],
        indices: [Int],
        inZone zone: ZoneID?,
        atomic: Bool,
        duplicates: DuplicateNames,
        desiredKeys: [String]? = nil,
        progress: ProgressHandler<BatchProgress>?
    ) async throws -> [Result<Record, CloudKitError>] {
        for (operation, index) in zip(operations, indices) { try operation.checkForSending(index: index) }
        let zone = try zone ?? operations.commonZone(indices: indices)
        let operations = try zip(operations, indices).map { operation, index in
            try operation.prepared(forZone: zone, index: index)
        }
        let items = duplicates.choose(among: operations.map(\.record.recordName))
        if atomic, let position = items.firstRefused {
            throw items.duplicateError(at: position, operations[position], indices: indices)
        }
        let results = try await send(
            items.sent.map { operations[$0] },
            inZone: zone,
            atomic: atomic,
            desiredKeys: desiredKeys,
            progress: progress
        )
        return items.results(results) { position in
            items.duplicateError(at: position, operations[position], indices: indices)
        }
    }

    /// Sends operations for different records of one zone.
    private func send(
        _ operations: [RecordOperation],
        inZone zone: ZoneID?,
        atomic: Bool,
        desiredKeys: [String]?,
        progress: ProgressHandler<BatchProgress>?
    ) async throws -> [Result<Record, CloudKitError>] {
        let prepared = operations.map { PreparedOperation($0, isMeasured: operations.count > 1) }
        let parts = prepared.partsForSending()
        if atomic, parts.count > 1 {
            throw CloudKitError.tooLarge(atomicBatchOf: prepared.count, maximumCount: Self.batchSize)
        }
        let sender = BatchSender<PreparedOperation, Record>(
            items: prepared,
            service: service,
            parts: parts,
            isAtomic: atomic,
            isSequential: prepared.refersBackwards(over: parts),
            progress: progress,
            lostReplies: lostWrites(inZone: zone),
            about: { error, item in error.about(item.operation.record.recordName) },
            send: { (batch, call) async throws(CloudKitError) in
                try await requestModify(
                    batch.map(\.operation),
                    inZone: zone,
                    atomic: atomic,
                    desiredKeys: desiredKeys,
                    in: call
                ).results(for: batch.map(\.operation.record.recordName))
            }
        )
        let results = zip(try await sender.results(), prepared).map { result, item in
            result.mapError { $0.naming(item.operation.record.fields.map { ($0.name, $0.value) }) }
        }
        service.connection.lastWriter.note(results)
        return await withServerRecords(results, of: operations, inZone: zone)
    }

    /// Sends one request of `records/modify`.
    package func requestModify(
        _ operations: [RecordOperation],
        inZone zone: ZoneID?,
        atomic: Bool,
        desiredKeys: [String]? = nil,
        in call: CallContext
    ) async throws(CloudKitError) -> Reply<[RecordResult]> {
        try await call.reply(to: Operations.ModifyRecords.id) { client in
            let response = try await client.modifyRecords(
                path: path,
                body: .json(
                    .init(
                        operations: operations,
                        zoneID: zone,
                        atomic: atomic,
                        desiredKeys: desiredKeys,
                        numbersAsStrings: numbersAsStringsOption
                    )
                )
            ).ok
            return (try response.body.json.records?.map(\.result) ?? [], response.headers.xAppleRequestUUID)
        }
    }
}

extension RecordOperation {
    /// Creates a record; fails if a record of its name exists.
    ///
    /// - Parameter record: The record, without a change tag. If it has no name, the service makes one.
    /// - Returns: The operation.
    public static func create(_ record: Record) -> Self { Self(.create, record: record) }

    /// Changes the fields that the record has; fails where its change tag is old.
    ///
    /// - Parameter record: The fetched record with your changes.
    /// - Returns: The operation.
    public static func update(_ record: Record) -> Self { Self(.update, record: record) }

    /// Changes the fields that the record has, **overwriting what others wrote**; creates the record if it does not
    /// exist.
    ///
    /// - Parameter record: The record, with its type.
    /// - Returns: The operation.
    public static func forceUpdate(_ record: Record) -> Self { Self(.forceUpdate, record: record) }

    /// Replaces all fields; fails where the change tag is old.
    ///
    /// - Parameter record: The fetched record with your changes.
    /// - Returns: The operation.
    public static func replace(_ record: Record) -> Self { Self(.replace, record: record) }

    /// Replaces all fields, **overwriting what others wrote**; creates the record if it does not exist.
    ///
    /// - Parameter record: The record, with its type.
    /// - Returns: The operation.
    public static func forceReplace(_ record: Record) -> Self { Self(.forceReplace, record: record) }

    /// Deletes a record; fails where its change tag is old.
    ///
    /// - Parameter record: The record as it was fetched.
    /// - Returns: The operation.
    public static func delete(_ record: Record) -> Self { Self(.delete, record: record) }

    /// Deletes a record, **even if others changed it meanwhile**.
    ///
    /// - Parameter recordName: The record's name.
    /// - Returns: The operation.
    public static func forceDelete(_ recordName: String) -> Self {
        Self(.forceDelete, record: Record(recordName: recordName))
    }
}

extension UniqueItems {
    /// The error of an operation that is not sent, because another one is for the same record.
    fileprivate func duplicateError(at position: Int, _ operation: RecordOperation, indices: [Int]) -> CloudKitError {
        .invalidArgument(
            """
            The operation at index \(indices[position]) is for the same record as the one at index \(indices[sources[position]]), and was \
            not sent: a batch takes one for each record. To send one of them, pass duplicates: .keepFirst or .keepLast.
            """,
            item: operation.record.recordName.map { .record(name: $0) }
        )
    }
}

extension [RecordOperation] {
    /// The zone of the records, which becomes that of the request: the service reads only the zone of the request.
    fileprivate func commonZone(indices: [Int]) throws(CloudKitError) -> ZoneID? {
        var common: ZoneID?
        for (operation, index) in zip(self, indices) {
            let zone = operation.record.zoneID ?? .default
            if let common, !common.isSame(as: zone) {
                throw .invalidArgument(
                    """
                    The records are in more than one zone (\(common.zoneName), and \(zone.zoneName) at index \(index)). A \
                    request writes to one zone; send one batch for each.
                    """,
                    item: operation.record.recordName.map { .record(name: $0) }
                )
            }
            if common?.owner == nil { common = zone }
        }
        return common?.isSame(as: .default) == true ? nil : common
    }
}

extension RecordOperation {
    /// Refuses an operation that is not valid, before anything is sent.
    fileprivate func checkForSending(index: Int) throws(CloudKitError) {
        let problem: String? =
            switch operationType {
            case .create:
                if record.recordType == nil {
                    "needs a record type"
                } else if record.recordChangeTag != nil {
                    "has a change tag, so the record exists; use update or replace"
                } else {
                    nil
                }
            case .update, .replace, .delete:
                if record.recordName == nil {
                    "needs the record's name"
                } else if record.recordChangeTag == nil {
                    "needs the change tag that a fetched record has; fetch it first, or use the force form to overwrite"
                } else {
                    nil
                }
            case .forceUpdate, .forceReplace:
                if record.recordName == nil {
                    "needs the record's name"
                } else if record.recordType == nil {
                    "needs a record type, as it may create the record"
                } else {
                    nil
                }
            case .forceDelete:
                record.recordName == nil ? "needs the record's name" : nil
            default:
                // An operation of a later version of the protocol; the service checks it.
                nil
            }
        if let problem {
            throw .invalidArgument(
                "The operation at index \(index) (\(operationType)) \(problem). Nothing was sent.",
                item: record.recordName.map { .record(name: $0) }
            )
        }
    }

    /// The operation without the fields that only responses have.
    fileprivate func prepared(forZone zone: ZoneID?, index: Int) throws(CloudKitError) -> RecordOperation {
        var operation = self
        if let own = record.zoneID, let zone, !own.isSame(as: zone) {
            throw .invalidArgument(
                """
                The record at index \(index) is in the zone \(own.zoneName), but the call is for the zone \(zone.zoneName). Leave out \
                the zone of the call, or make one call for each zone.
                """,
                item: record.recordName.map { .record(name: $0) }
            )
        }
        // The service accepts a zone in a record and ignores it (observed live): only the zone of the request counts.
        operation.record.zoneID = nil
        operation.record.created = nil
        operation.record.modified = nil
        operation.record.pluginFields = nil
        if operationType == .delete || operationType == .forceDelete {
            operation.record.fields = [:]
        }
        return operation
    }
}

extension ZoneID {
    /// Whether both name the same zone. Owners are compared if both have one: only responses always name the owner.
    func isSame(as other: ZoneID) -> Bool {
        zoneName == other.zoneName && (owner == nil || other.owner == nil || owner == other.owner)
    }
}
