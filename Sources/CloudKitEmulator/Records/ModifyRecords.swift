public import CloudKitModel
import GRDB
import StreamingJSON

extension RequestContext {
    /// Creates, changes and deletes records of one zone (`records/modify`).
    ///
    /// The operations are applied in order, in one transaction. Unless the batch is atomic, each stands on its own: one
    /// that is refused is a failure at its place in the reply, and changes nothing.
    ///
    /// ```swift
    /// try emulator.request(in: notes, as: .user(user)).modifyRecords([
    ///     RecordOperation(.create, record: Record(recordType: "Note", recordName: "A", fields: ["title": "Milk"])),
    ///     RecordOperation(.update, record: Record(recordName: "B", recordChangeTag: "old")),
    /// ])
    /// // [.record(A, change tag "1"), .failure(CONFLICT, "client oplock error updating record")]
    /// ```
    ///
    /// - Parameters:
    ///   - operations: At most 200, and at most one on each record.
    ///   - zoneID: The zone of all the records; a zone within a record is ignored, as the service does. Default: the
    ///     default zone.
    ///   - atomic: Whether one failure undoes all. Only custom zones support it; what an absent value means, and what
    ///     becomes of `true` elsewhere, ``EmulatorConfiguration/Unsettled`` says.
    ///   - desiredKeys: The fields that the reply shows; `nil` for all. An operation's own list takes precedence.
    ///   - numbersAsStrings: Whether numbers of the reply are JSON strings.
    ///   - getCurrentSyncToken: Whether the reply carries the zone's sync token.
    /// - Returns: One result for each operation, in order.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for too many operations or two on one record, `ZONE_NOT_FOUND`,
    ///   `AUTHENTICATION_REQUIRED`, and `ATOMIC_ERROR` where the configuration wants it so.
    public func modifyRecords(
        _ operations: [RecordOperation],
        zoneID: ZoneID? = nil,
        atomic: Bool? = nil,
        desiredKeys: [String]? = nil,
        numbersAsStrings: Bool = false,
        getCurrentSyncToken: Bool = false
    ) throws -> RecordResults {
        try checkBatch(operations)
        try checkTypes(of: operations)
        try makeUserRecords(named: operations.compactMap(\.record.recordName))
        /// Carries the results of a failed atomic batch out of the transaction that it undoes.
        struct AtomicFailure: Error {
            let results: [RecordResult]
        }
        do {
            return try writeUnwrapped { context in
                let zone = try context.zone(zoneID)
                let isAtomic = try isAtomic(atomic, in: zone)
                let writer = try RecordWriter(context, zone)
                var results: [RecordResult] = []
                results.reserveCapacity(operations.count)
                for operation in operations where operation.makesRecord {
                    if let name = operation.record.recordName { writer.pendingNames.insert(name) }
                }
                for operation in operations {
                    let name = operation.record.recordName
                    if let name { writer.pendingNames.remove(name) }
                    let presentation = presentation(
                        desiredKeys: operation.desiredKeysInAnyPlace ?? desiredKeys,
                        numbersAsStrings: operation.numbersAsStrings ?? numbersAsStrings
                    )
                    results.append(
                        try itemResult(failure: { .failure(RecordError(id: name, response: $0)) }) {
                            try itemFault?.check(name)
                            return .record(try apply(operation, to: zone, with: writer, presentation: presentation))
                        }
                    )
                }
                if isAtomic, results.contains(where: \.isFailure) { throw AtomicFailure(results: results) }
                try writer.finish()
                return RecordResults(
                    records: results,
                    syncToken: getCurrentSyncToken ? context.syncToken(of: writer.zone) : nil
                )
            }
        } catch let failure as AtomicFailure {
            if configuration.unsettled.atomicFailure == .wholeRequest {
                throw EmulatorError(.atomicError, "Atomic failure")
            }
            return RecordResults(records: failure.results.map(\.withinFailedBatch))
        } catch {
            throw EmulatorError(wrapping: error)
        }
    }

    private func checkBatch(_ operations: [RecordOperation]) throws(EmulatorError) {
        let limit = configuration.limits.operationsPerRequest
        guard operations.count <= limit else {
            throw .badRequest("a request has at most \(limit) operations, not \(operations.count)")
        }
        var names = Set<String>(minimumCapacity: operations.count)
        for operation in operations { _ = try OperationRequirements(operation.operationType) }
        for name in operations.lazy.compactMap(\.record.recordName) where !names.insert(name).inserted {
            throw .badRequest("more than one operation on record '\(name)'")
        }
    }

    /// Refuses a request with a type that there is not, whichever record has it.
    private func checkTypes(of operations: [RecordOperation]) throws(EmulatorError) {
        guard configuration.unsettled.unknownFieldType == .refusesRequest else { return }
        for operation in operations {
            for (_, value) in operation.record.fields where value.unusualType?.isKnown == false {
                throw .badRequest("BadRequestException: Unexpected input")
            }
        }
    }

    private func isAtomic(_ atomic: Bool?, in zone: ZoneRow) throws(EmulatorError) -> Bool {
        guard zone.isDefault else { return atomic ?? configuration.unsettled.atomicByDefault }
        if atomic == true, configuration.unsettled.atomicInDefaultZone == .refused {
            throw .badRequest("zone '\(zone.name)' does not support atomic batches")
        }
        return false
    }

    // MARK: One operation

    /// What an operation asks for, apart from the record: the table of seven operation types in two questions.
    private struct OperationRequirements {
        /// What must be there.
        enum Presence {
            case missing
            case present
            case either
        }

        var presence: Presence
        var checksTag: Bool
        var deletes = false
        var replacesAll = false

        init(_ type: RecordOperation.OperationType) throws(EmulatorError) {
            switch type {
            case .create: (presence, checksTag) = (.missing, true)
            case .update: (presence, checksTag) = (.present, true)
            case .forceUpdate: (presence, checksTag) = (.either, false)
            case .replace: (presence, checksTag, replacesAll) = (.present, true, true)
            case .forceReplace: (presence, checksTag, replacesAll) = (.either, false, true)
            case .delete: (presence, checksTag, deletes) = (.present, true, true)
            case .forceDelete: (presence, checksTag, deletes) = (.either, false, true)
            default: throw .badRequest("unknown operation '\(type)'")
            }
        }
    }

    private func apply(
        _ operation: RecordOperation,
        to zone: ZoneRow,
        with writer: RecordWriter,
        presentation: RecordPresentation
    ) throws -> Record {
        let requirements = try OperationRequirements(operation.operationType)
        let request = operation.record
        if request.recordName == nil, requirements.deletes || requirements.presence == .present {
            throw EmulatorError.badRequest("recordName is required")
        }
        let name = try request.recordName ?? writer.recordName(ofUploadsFor: request) ?? identifiers.uuid()
        let row = try RecordRow.fetch(name, in: zone, writer.db)
        guard request.recordType != Record.misspelledShareType else {
            throw EmulatorError(
                configuration.unsettled.shareOfMissingRecord,
                "Cannot share - no such record exists to share"
            )
        }
        let existing = try writer.seen(
            row,
            createsOtherwise: requirements.presence != .present && !requirements.deletes
        )
        let isShare = operation.isAboutShare(over: existing, schema: writer.schema)
        try check(requirements, request, existing)
        try checkUserRecord(
            request,
            over: existing.flatMap { writer.schema.name(of: $0.type) },
            deletes: requirements.deletes
        )
        try checkPermission(existing)

        if requirements.deletes {
            guard let existing else { return Record(recordName: name, isDeleted: true) }
            try writer.checkDeletion(of: existing, isShare: isShare)
            if isShare { try writer.deleteShare(existing) } else { _ = try writer.delete(existing) }
            return Record(recordName: existing.name, isDeleted: true)
        }
        guard existing != nil || configuration.limits.allowsName(name) else {
            throw EmulatorError.badRequest("'\(name)' is not a valid record name")
        }
        if let existing { try writer.checkChange(of: existing, isShare: isShare) }
        let saved =
            if isShare {
                try writer.saveShare(request, as: name, over: row, replacesAll: requirements.replacesAll)
            } else {
                try writer.save(request, as: name, over: row, replacesAll: requirements.replacesAll)
            }
        return try presentation.record(saved.row, content: saved.content, schema: writer.schema)
    }

    /// The rules of existence and change tag (section "Modifying records": create, update, replace, delete and their
    /// forced forms).
    private func check(_ requirements: OperationRequirements, _ request: Record, _ existing: RecordRow?)
        throws(EmulatorError)
    {
        let unsettled = configuration.unsettled
        switch requirements.presence {
        case .missing:
            guard existing == nil else {
                throw EmulatorError(
                    unsettled.createOnExisting == .exists ? .exists : .conflict,
                    "record to insert already exists"
                )
            }
            // A record that carries a tag was there once: the text is what a save into the wrong zone was answered.
            if request.recordChangeTag != nil {
                throw EmulatorError(.notFound, "recordChangeTag specified, but record not found")
            }
        case .present:
            let rule = requirements.deletes ? unsettled.deleteWithoutTag : unsettled.updateWithoutTag
            if request.recordChangeTag == nil, rule == .refused {
                throw .badRequest("recordChangeTag is required; the forced operation does without")
            }
            guard let existing else {
                throw EmulatorError(
                    .notFound,
                    request.recordChangeTag == nil
                        ? "Record not found" : "recordChangeTag specified, but record not found"
                )
            }
            if let tag = request.recordChangeTag, tag != existing.changeTag {
                throw EmulatorError(.conflict, "client oplock error updating record")
            }
        case .either:
            if requirements.deletes, existing == nil, !unsettled.forceDeleteOfMissingSucceeds {
                throw EmulatorError(.notFound, "Record not found")
            }
        }
    }

    /// The default grants of a public database: READ to `_world`, CREATE to `_icloud`, WRITE to `_creator`. Private
    /// databases are their owner's.
    private func checkPermission(_ existing: RecordRow?) throws(EmulatorError) {
        guard database.scope == .public else { return }
        if let existing {
            guard let user, user == existing.creator else {
                throw EmulatorError(.accessDenied, "WRITE operation not permitted")
            }
        } else if user == nil {
            throw EmulatorError(.accessDenied, "CREATE operation not permitted")
        }
    }
}

extension RecordOperation {
    /// Whether the record will be there afterwards.
    fileprivate var makesRecord: Bool { operationType != .delete && operationType != .forceDelete }

    /// CloudKit JS puts `desiredKeys` beside `operationType`; Apple's example of an upload has it within `record`.
    fileprivate var desiredKeysInAnyPlace: [String]? {
        desiredKeys ?? record.otherKeys["desiredKeys"].flatMap { try? $0.read([String].self) }
    }

    /// CloudKit JS sends `numbersAsStrings` with each operation.
    fileprivate var numbersAsStrings: Bool? {
        otherKeys["numbersAsStrings"].flatMap { try? $0.read(Bool.self) }
    }
}

extension RecordResult {
    fileprivate var isFailure: Bool {
        if case .failure = self { true } else { false }
    }

    /// In a failed atomic batch the culprits keep their errors, and all others have `ATOMIC_ERROR`.
    fileprivate var withinFailedBatch: RecordResult {
        guard case .record(let record) = self else { return self }
        return .failure(
            RecordError(id: record.recordName, serverErrorCode: .atomicError, reason: "Atomic failure")
        )
    }
}
