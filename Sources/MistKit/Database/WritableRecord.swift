/// A record that can be written: a `Record`, or a ``StoredRecord`` of a type of yours.
///
/// `save`, `create`, `update`, `replace`, `delete` and `share` of ``CloudKitDatabase`` take both, and return what they take. They differ in
/// what an update sends: of a `Record` all fields that it has, of a ``StoredRecord`` those that changed since it was fetched, and nothing where
/// none changed.
///
/// No other types conform. A type of yours that holds a record's values is a ``CloudKitRecord``, and `save(_:named:inZone:)` takes it.
public protocol WritableRecord: Sendable {
    /// How records of the type are written.
    static var writing: RecordWriting<Self> { get }
}

/// How records of a type are written; only this module makes one.
public struct RecordWriting<R: Sendable>: Sendable {
    /// What is sent; `nil` where the service has the record as it is.
    let operation: @Sendable (R, RecordWrite) throws(CloudKitError) -> RecordOperation?
    /// Makes the record's `parent` the one that its fields point to. For zones whose records can be shared.
    let setParent: @Sendable (R, inout RecordOperation) -> Void
    /// The record after `sent` was done, of the service's reply to it.
    let result: @Sendable (R, _ sent: RecordOperation, _ reply: Record) -> Result<R, CloudKitError>
    /// The record with names for its fields.
    let untyped: @Sendable (R) -> Record
}

/// What is done with a record.
enum RecordWrite {
    /// An update where it has a change tag, a create where it has none.
    case save
    case create, update, replace, forceUpdate, forceReplace, delete
}

extension CloudKitDatabase {
    /// Writes one record; its failure is thrown.
    func write<R: WritableRecord>(_ record: R, _ write: RecordWrite, inZone zone: ZoneID?) async throws -> R {
        try await self.write([record], write, inZone: zone)[0].get()
    }

    /// Sends an operation for each record that needs one.
    func write<R: WritableRecord>(
        _ records: [R],
        _ write: RecordWrite,
        inZone zone: ZoneID?,
        atomic: Bool = false,
        duplicates: DuplicateNames = .fail,
        progress: ProgressHandler<BatchProgress>? = nil
    ) async throws -> [Result<R, CloudKitError>] {
        let operation = R.writing.operation
        return try await self.write(
            records,
            inZone: zone,
            atomic: atomic,
            duplicates: duplicates,
            progress: progress
        ) { (record) throws(CloudKitError) in try operation(record, write) }
    }

    /// Sends the operation that a closure makes of each record; none where it makes `nil`.
    func write<R: WritableRecord>(
        _ records: [R],
        inZone zone: ZoneID?,
        atomic: Bool,
        duplicates: DuplicateNames,
        progress: ProgressHandler<BatchProgress>?,
        _ operation: (R) throws(CloudKitError) -> RecordOperation?
    ) async throws -> [Result<R, CloudKitError>] {
        let writing = R.writing
        // Of those that are not sent, the result is known.
        var results: [Result<R, CloudKitError>] = []
        results.reserveCapacity(records.count)
        var operations: [RecordOperation] = []
        var sent: [Int] = []
        for (index, record) in records.enumerated() {
            results.append(.success(record))
            do {
                guard var operation = try operation(record) else { continue }
                // Fields that only responses have are taken off where the operations are checked.
                if operation.record.zoneID == nil { operation.record.zoneID = zone }
                if scope != .public, let zone = operation.record.zoneID, zone.zoneName != ZoneID.default.zoneName {
                    writing.setParent(record, &operation)
                }
                operations.append(operation)
                sent.append(index)
            } catch {
                results[index] = .failure(error)
            }
        }
        guard !operations.isEmpty else { return results }
        let replies = try await modify(
            operations,
            inZone: zone,
            atomic: atomic,
            duplicates: duplicates,
            progress: progress
        )
        let items = duplicates.choose(among: operations.map(\.record.recordName))
        for (position, index) in sent.enumerated() {
            let source = items.sources[position]
            results[index] = replies[position].flatMap { writing.result(records[sent[source]], operations[source], $0) }
        }
        return results
    }
}

// MARK: Records whose fields have names

extension Record: WritableRecord {
    /// How records are written.
    public static var writing: RecordWriting<Record> {
        RecordWriting(
            operation: { (record, write) throws(CloudKitError) in
                switch write {
                case .save: record.recordChangeTag == nil ? .create(record) : .update(record)
                case .create: .create(record)
                case .update: .update(record)
                case .replace: .replace(record)
                case .forceUpdate: .forceUpdate(record)
                case .forceReplace: .forceReplace(record)
                case .delete: .delete(record)
                }
            },
            setParent: { _, _ in },
            result: { _, _, reply in .success(reply) },
            untyped: { $0 }
        )
    }
}

// MARK: Records of a type

extension StoredRecord: WritableRecord {
    /// How records of the type are written.
    public static var writing: RecordWriting<StoredRecord> {
        RecordWriting(
            operation: { (record, write) throws(CloudKitError) in
                do throws(FieldError) {
                    return try record.operation(to: write)
                } catch {
                    throw .unwritable(record, error)
                }
            },
            setParent: { record, operation in
                if let field = Model.fieldTable.parentName { record.setParent(of: &operation, from: field) }
            },
            result: { record, sent, reply in
                sent.operationType == .delete ? .success(record) : record.saved(as: reply, sent: sent)
            },
            untyped: \.record
        )
    }

    private func operation(to write: RecordWrite) throws(FieldError) -> RecordOperation? {
        switch write {
        case .save where recordChangeTag == nil, .create: return .create(try changedRecord())
        case .save, .update:
            let record = try changedRecord()
            let isUnchanged = recordChangeTag != nil && record.fields.isEmpty && !hasNewParent
            return isUnchanged ? nil : .update(record)
        case .replace: return .replace(try wholeRecord())
        case .forceUpdate: return .forceUpdate(try changedRecord())
        case .forceReplace: return .forceReplace(try wholeRecord())
        case .delete: return .delete(content.record)
        }
    }

    /// The record with the fields that changed; a new one with all.
    private func changedRecord() throws(FieldError) -> Record {
        var record = content.record
        record.fields = try savedChanges()
        if !hasNewParent { record.parent = nil }
        return record
    }

    /// The record with all fields.
    private func wholeRecord() throws(FieldError) -> Record {
        var record = content.record
        var fields = try model.savedFields().withoutNulls
        for field in record.fields { fields[field.name] = field.value }
        record.fields = fields
        return record
    }

    /// Makes `parent` the reference in a field that is sent. Where none is sent, a parent that the program assigned remains.
    private func setParent(of operation: inout RecordOperation, from field: String) {
        guard operation.operationType != .delete else { return }
        if let reference = operation.record[field]?.referenceValue {
            operation.record.parent = Reference(recordName: reference.recordName, zoneID: reference.zoneID)
        } else if !hasNewParent {
            operation.record.parent = nil
        }
    }

    /// The record after it was saved: what the service answered, over what was there and what was sent.
    private func saved(as reply: Record, sent operation: RecordOperation) -> Result<StoredRecord, CloudKitError> {
        let sent = operation.record
        let isReplacement = [.replace, .forceReplace].contains(operation.operationType)
        var record = reply
        var fields = self.record.fields
        for field in sent.fields { fields[field.name] = field.value }
        for field in reply.fields { fields[field.name] = field.value }
        record.fields = fields
        record.recordType = reply.recordType ?? sent.recordType
        record.zoneID = reply.zoneID ?? sent.zoneID
        if record.parent == nil { record.parent = sent.parent ?? (isReplacement ? nil : parent) }
        if record.created == nil { record.created = created }
        return StoredRecord.read(record).mapError { error in
            var error = error
            error.mayHaveBeenDone = true
            return error
        }
    }
}
