/// A record that can be written: a `Record`, or a ``StoredRecord`` of a type of yours.
///
/// `save`, `create`, `update`, `replace`, `delete` and `share` of ``CloudKitDatabase`` take both, and return what they
/// take. They differ in what an update sends. A `Record` is sent with all its fields. A ``StoredRecord`` is sent with
/// the fields that changed since it was fetched; when no field changed, nothing is sent.
///
/// No other types conform. A type of yours that holds a record's values is a ``CloudKitRecord``, and `save(_:named:inZone:)` takes it.
public protocol WritableRecord: Sendable {
    /// How records of the type are written.
    static var writing: RecordWriting<Self> { get }
}

/// How records of a type are written; only this module makes values of this type.
public struct RecordWriting<R: Sendable>: Sendable {
    /// The operation to send; `nil` if the service has the record as it is.
    let operation: @Sendable (R, RecordWrite) throws(CloudKitError) -> RecordOperation?
    /// Sets the `parent` of the operation's record to the record that its fields refer to. For zones whose records can
    /// be shared.
    let setParent: @Sendable (R, inout RecordOperation) -> Void
    /// The record after the service did `sent`, made from its reply.
    let result: @Sendable (R, _ sent: RecordOperation, _ reply: Record) -> Result<R, CloudKitError>
    /// The record as a `Record`, whose fields have names.
    let untyped: @Sendable (R) -> Record
}

/// What is done with a record.
enum RecordWrite {
    /// An update if the record has a change tag, otherwise a create.
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

    /// Sends the operation that a closure makes of each record. A record for which it returns `nil` is not sent.
    func write<R: WritableRecord>(
        _ records: [R],
        inZone zone: ZoneID?,
        atomic: Bool,
        duplicates: DuplicateNames,
        progress: ProgressHandler<BatchProgress>?,
        _ operation: (R) throws(CloudKitError) -> RecordOperation?
    ) async throws -> [Result<R, CloudKitError>] {
        let writing = R.writing
        // A record that is not sent keeps this result.
        var results: [Result<R, CloudKitError>] = []
        results.reserveCapacity(records.count)
        var operations: [RecordOperation] = []
        var sent: [Int] = []
        for (index, record) in records.enumerated() {
            results.append(.success(record))
            do {
                guard var operation = try operation(record) else { continue }
                // `modify` removes the fields that only responses have.
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
            indices: sent,
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

// MARK: Untyped records

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

// MARK: Typed records

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

    /// The record with the fields that changed; a new record with all fields.
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

    /// Sets `parent` to the reference in a field that is sent. If no reference is sent, a parent that the program
    /// assigned remains.
    private func setParent(of operation: inout RecordOperation, from field: String) {
        guard operation.operationType != .delete else { return }
        if let reference = operation.record[field]?.referenceValue {
            operation.record.parent = Reference(recordName: reference.recordName, zoneID: reference.zoneID)
        } else if !hasNewParent {
            operation.record.parent = nil
        }
    }

    /// The record after it was saved: the fields of the reply replace those that were sent, and these replace those
    /// before.
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
