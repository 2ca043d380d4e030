#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CloudKitDatabase {
    /// What to do with writes whose reply was lost. The reasons are in the documentation of ``RetryPolicy``.
    func lostWrites(inZone zone: ZoneID?) -> LostReplies<PreparedOperation, Record> {
        LostReplies(
            mayRepeat: { item in
                let operation = item.operation
                guard operation.record.recordName != nil else { return false }
                switch operation.operationType {
                // The fields of a share do not say which share it is, so a second one looks like the first.
                case .create: return operation.record.shareAccess.forRecord == nil
                case .update, .replace, .forceUpdate, .forceReplace, .delete, .forceDelete: return true
                default: return false
                }
            },
            looksFirst: { [.forceUpdate, .forceReplace].contains($0.operation.operationType) },
            mayMeanDone: { item, error in
                switch (item.operation.operationType, error.code) {
                case (_, .atomicError): true
                case (.create, .exists), (.create, .conflict), (.update, .conflict), (.replace, .conflict): true
                case (.delete, .notFound), (.forceDelete, .notFound): true
                default: false
                }
            },
            done: { items in
                let operations = items.map(\.operation)
                let names = operations.map { $0.record.recordName ?? "" }
                // If the records cannot be fetched, the writes count as not done: the call fails with the refusal of
                // the second attempt.
                guard let records = try? await fetch(names, inZone: zone) else { return operations.map { _ in nil } }
                return zip(operations, records).map { $0.done(accordingTo: $1) }
            }
        )
    }

    /// Fetches the service's records for conflicts, puts them into the errors, and says in the messages whose change it
    /// was.
    func withServerRecords(
        _ results: [Result<Record, CloudKitError>],
        of operations: [RecordOperation],
        inZone zone: ZoneID?
    ) async -> [Result<Record, CloudKitError>] {
        var names: [String] = []
        var indices: [Int] = []
        for (index, result) in results.enumerated() {
            guard case .failure(let error) = result, error.code == .conflict || error.code == .exists,
                error.serverRecord == nil, case .record(let name)? = error.item
            else { continue }
            names.append(name)
            indices.append(index)
        }
        guard !names.isEmpty, let fetched = try? await fetch(names, inZone: zone) else { return results }
        var results = results
        for (index, record) in zip(indices, fetched) {
            guard case .failure(var error) = results[index], case .success(let record) = record else { continue }
            error.serverRecord = record
            error.message = CloudKitError.conflictMessage(
                of: operations[index].operationType,
                lastWriter: .init(of: record, caller: service.connection.lastWriter.userRecordName),
                mayHaveBeenDone: error.mayHaveBeenDone
            )
            results[index] = .failure(error)
        }
        return results
    }
}

extension RecordOperation {
    /// The record as the service has it, if that shows that the operation was done.
    fileprivate func done(accordingTo fetched: Result<Record, CloudKitError>) -> Record? {
        switch (operationType, fetched) {
        case (.delete, .failure(let error)), (.forceDelete, .failure(let error)):
            return error.code == .notFound ? Record(recordName: record.recordName, isDeleted: true) : nil
        case (.create, .success(let server)), (.update, .success(let server)), (.forceUpdate, .success(let server)):
            return server.has(allOf: record) ? server : nil
        case (.replace, .success(let server)), (.forceReplace, .success(let server)):
            let hasMore = server.fields.contains { $0.value != .null && (record[$0.name] ?? .null) == .null }
            return !hasMore && server.has(allOf: record) ? server : nil
        default:
            return nil
        }
    }
}

extension Record {
    /// Whether the service's record has all that was sent.
    fileprivate func has(allOf sent: Record) -> Bool {
        guard sent.recordType == nil || recordType == nil || sent.recordType == recordType else { return false }
        if let parent = sent.parent, parent.recordName != self.parent?.recordName { return false }
        return sent.fields.allSatisfy { field in
            guard let value = fields[field.name] else { return field.value == .null }
            return value.isSaved(field.value)
        }
    }
}

extension FieldValue {
    /// Whether this is what the service makes of a value: it adds zones to references, and addresses to assets.
    fileprivate func isSaved(_ sent: FieldValue) -> Bool {
        guard isEncrypted == sent.isEncrypted else { return false }
        if let mine = elements, let others = sent.elements {
            return mine.count == others.count && zip(mine, others).allSatisfy { $0.isSaved($1) }
        }
        if let mine = referenceValue, let other = sent.referenceValue { return mine.isSaved(other) }
        if let mine = assetValue, let other = sent.assetValue { return mine.isSaved(other) }
        if let mine = timestampValue, let other = sent.timestampValue {
            // Timestamps are whole milliseconds in requests and responses.
            return abs(mine.timeIntervalSince(other)) < 0.001
        }
        return plain == sent.plain
    }
}

extension Reference {
    fileprivate func isSaved(_ sent: Reference) -> Bool {
        recordName == sent.recordName && action == sent.action
    }
}

extension Asset {
    fileprivate func isSaved(_ sent: Asset) -> Bool {
        fileChecksum != nil && fileChecksum == sent.fileChecksum && size == sent.size
    }
}
