import CloudKitModel
package import CloudKitWebServices
import GRDB
import StreamingJSON

extension RequestContext {
    /// Creates, changes and deletes records of one zone (`records/modify`).
    ///
    /// The operations are applied in order, in one transaction. Unless the batch is atomic, they are independent: an
    /// operation that is refused is a failure at its index in the reply, and changes nothing.
    ///
    /// ```swift
    /// // {"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"A"}},
    /// //     {"operationType":"update","record":{"recordName":"B","recordChangeTag":"old"}}]}
    /// // {"records":[{"recordName":"A","recordChangeTag":"1",…},
    /// //     {"recordName":"B","serverErrorCode":"CONFLICT","reason":"client oplock error updating record"}]}
    /// ```
    ///
    /// - Parameters:
    ///   - request: At most 200 operations, and at most one on each record. A zone within a record is ignored, as the
    ///     service does. Only custom zones support atomic batches; ``EmulatorConfiguration/Unsettled`` decides the
    ///     meaning of an absent `atomic`, and of `true` in other zones. An operation's own `desiredKeys` take
    ///     precedence.
    ///   - getCurrentSyncToken: Whether the reply carries the zone's sync token.
    /// - Returns: One result for each operation, in order.
    /// - Throws: An ``EmulatorError``: `BAD_REQUEST` for too many operations or two on one record, `ZONE_NOT_FOUND`;
    ///   where the configuration says so, `AUTHENTICATION_REQUIRED` in the public database without a user,
    ///   `BAD_REQUEST` for a missing change tag, and `ATOMIC_ERROR`.
    package func modifyRecords(
        _ request: Components.Schemas.ModifyRecordsRequest,
        getCurrentSyncToken: Bool = false
    ) throws -> Components.Schemas.ModifyRecordsResponse {
        let operations = request.operations
        try checkCallerMayWrite()
        try checkBatch(operations)
        try checkTypes(of: operations)
        try checkTags(of: operations)
        try makeUserRecords(named: operations.compactMap(\.record.recordName))
        /// Carries the results of a failed atomic batch out of the transaction that it undoes.
        struct AtomicFailure: Error {
            let results: [RecordOutput]
        }
        do {
            return try writeUnwrapped { context in
                let zone = try context.zone(request.zoneID)
                let isAtomic = try isAtomic(request.atomic, in: zone)
                let writer = try RecordWriter(context, zone)
                var results: [RecordOutput] = []
                results.reserveCapacity(operations.count)
                for operation in operations where operation.makesRecord {
                    if let name = operation.record.recordName { writer.pendingNames.insert(name) }
                }
                for operation in operations {
                    let name = operation.record.recordName
                    if let name { writer.pendingNames.remove(name) }
                    let presentation = presentation(
                        desiredKeys: operation.desiredKeysInAnyPlace ?? request.desiredKeys,
                        numbersAsStrings: operation.numbersAsStrings ?? request.numbersAsStrings ?? false
                    )
                    results.append(
                        try RecordOutput(name, refusals) {
                            try itemFault?.check(name)
                            switch try writer.apply(operation) {
                            case .deleted(let name):
                                return .result(.success(Record(recordName: name, isDeleted: true)))
                            case .saved(let row, let content):
                                return try presentation.output(row, content: content, schema: writer.schema)
                            }
                        }
                    )
                }
                if isAtomic, results.contains(where: \.isFailure) { throw AtomicFailure(results: results) }
                try writer.finish()
                return Components.Schemas.ModifyRecordsResponse(
                    records: results,
                    syncToken: getCurrentSyncToken ? context.syncToken(of: writer.zone) : nil
                )
            }
        } catch let failure as AtomicFailure {
            if configuration.unsettled.atomicFailure == .wholeRequest {
                throw EmulatorError(.atomicError, "Atomic failure")
            }
            return Components.Schemas.ModifyRecordsResponse(records: failure.results.map(\.withinFailedBatch))
        } catch {
            throw EmulatorError(wrapping: error)
        }
    }

    private func checkBatch(_ operations: [RecordOperation]) throws(EmulatorError) {
        try configuration.limits.check(operations.count, of: "operations")
        var names = Set<String>(minimumCapacity: operations.count)
        for operation in operations { _ = try OperationRequirements(operation.operationType) }
        for name in operations.lazy.compactMap(\.record.recordName) where !names.insert(name).inserted {
            throw .badRequest("more than one operation on record '\(name)'")
        }
    }

    /// A field type that does not exist fails the whole request, whichever record has it.
    private func checkTypes(of operations: [RecordOperation]) throws(EmulatorError) {
        guard configuration.unsettled.unknownFieldType == .refusesRequest else { return }
        for operation in operations {
            for (_, value) in operation.record.fields where value.unusualType?.isKnown == false {
                throw .badRequest("BadRequestException: Unexpected input")
            }
        }
    }

    /// A missing change tag fails the whole request, whichever record lacks it.
    private func checkTags(of operations: [RecordOperation]) throws(EmulatorError) {
        let unsettled = configuration.unsettled
        for operation in operations where operation.record.recordChangeTag == nil {
            let requirements = try OperationRequirements(operation.operationType)
            let missingTag = requirements.deletes ? unsettled.deleteWithoutTag : unsettled.updateWithoutTag
            guard requirements.presence == .present, missingTag == .refusesRequest else { continue }
            throw .badRequest("BadRequestException: missing required field 'recordChangeTag'")
        }
    }

    private func isAtomic(_ atomic: Bool?, in zone: ZoneRow) throws(EmulatorError) -> Bool {
        guard zone.isDefault else { return atomic ?? configuration.unsettled.atomicByDefault }
        if atomic == true, configuration.unsettled.atomicInDefaultZone == .refused {
            throw .badRequest("zone '\(zone.name)' does not support atomic batches")
        }
        return false
    }
}

extension RecordOperation {
    /// Whether the record exists after the operation.
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

extension RecordOutput {
    fileprivate var isFailure: Bool {
        if case .result(.failure) = self { true } else { false }
    }

    /// The result in a failed atomic batch: a failed operation keeps its error, and all others have `ATOMIC_ERROR`.
    fileprivate var withinFailedBatch: RecordOutput {
        if isFailure { return self }
        return .result(
            .failure(RecordError(id: recordName, serverErrorCode: .atomicError, reason: "Atomic failure"))
        )
    }
}
