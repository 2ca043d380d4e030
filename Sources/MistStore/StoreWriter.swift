import CloudKitModel
import GRDB
public import MistKit
import SQLiteTables

/// Reads and writes records in one transaction. ``LocalDatabase/write(_:)`` passes it to its closure.
public struct StoreWriter: StoreReading {
    let database: LocalDatabase
    let db: Database

    /// Reads within this transaction, including its own changes.
    public var reader: StoreReader { StoreReader(database: database, db: db) }

    /// Adds a record, or changes the record with this name. Without a name, the record gets a new UUID.
    ///
    /// - Throws: A ``StoreError`` for a value or a name that cannot be stored.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ model: Model, named recordName: String? = nil) throws -> StoredRecord<
        Model
    > {
        try add(StoredRecord(model, recordName: recordName))
    }

    /// Adds a record that was made here, or writes the changes of a record that was read.
    ///
    /// A record that was read, here or from the service, knows the values that it had then. Only fields that differ from
    /// them are written; of a counter, the difference is added. All other fields keep what they have now.
    ///
    /// - Parameter record: The record.
    /// - Returns: The record as it is now.
    /// - Throws: A ``StoreError``: `notFound` for a record that was read, and that this machine does not have any more;
    ///   `value`, `link`, `recordName` or `nameTaken` for a value or a name that cannot be stored.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ record: StoredRecord<Model>) throws -> StoredRecord<Model> {
        let table = try database.file.table(of: Model.recordType)
        let fields: [String: FieldValue]
        var zoneID = record.zoneID
        if let original = record.original {
            let row = try self.row(of: record, table)
            fields = try changes(of: record, since: original, in: row, table)
            guard !fields.isEmpty else { return try database.record(row, as: Model.self, table, db) }
            zoneID = try StoredZone.zoneID(row.zone, db) ?? zoneID
        } else {
            fields = try savedFields(of: record.model, in: record)
        }
        let zone = try database.save(fields, named: record.recordName, in: zoneID, table, db)
        guard let row = try table.row(named: record.recordName, in: zone, db) else {
            throw StoreError(
                .notFound,
                "A trigger of another program removed the record.",
                recordType: Model.recordType,
                recordName: record.recordName
            )
        }
        return try database.record(row, as: Model.self, table, db)
    }

    /// Changes the record with a name. The closure gets the values that the record has now.
    ///
    /// ```swift
    /// try todos.update(Todo.self, named: "milk") { $0.isDone = true }
    /// ```
    ///
    /// Fields that the closure does not change are not written.
    ///
    /// - Parameters:
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    ///   - change: A closure that changes the values.
    /// - Returns: The record as it is now.
    /// - Throws: A ``StoreError``: `notFound` when this machine has no record of that name, `value` or `link` for a value
    ///   that cannot be stored; or the error of `change`. Then nothing was changed.
    @discardableResult
    public func update<Model: CloudKitRecord>(
        _ type: Model.Type,
        named recordName: String,
        _ change: (inout Model) throws -> Void
    ) throws -> StoredRecord<Model> {
        var record = try fetch(type, named: recordName)
        try change(&record.model)
        return try add(record)
    }

    /// Adds to a counter of the record with a name.
    ///
    /// ```swift
    /// try recipes.increment(\.timesCooked, of: Recipe.self, named: "soup")
    /// ```
    ///
    /// - Parameters:
    ///   - field: The field, whose policy is `.counter`. A counter without a value counts as 0.
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    ///   - amount: What to add; negative to subtract.
    /// - Returns: The record as it is now.
    /// - Throws: A ``StoreError``: `notFound` when this machine has no record of that name, `value` for a field that is
    ///   not a counter, and for a sum of more than 64 bits.
    @discardableResult
    public func increment<Model: CloudKitRecord, Value>(
        _ field: FieldPath<Model, Value>,
        of type: Model.Type,
        named recordName: String,
        by amount: Int = 1
    ) throws -> StoredRecord<Model> {
        try increment("\(Model.fields[keyPath: field].key)", of: type, named: recordName, by: amount)
    }

    func increment<Model: CloudKitRecord>(
        _ fieldName: String,
        of type: Model.Type,
        named recordName: String,
        by amount: Int
    ) throws -> StoredRecord<Model> {
        let table = try database.file.table(of: Model.recordType)
        let row = try reader.row(named: recordName, table)
        guard table[fieldName]?.schema.merge == .counter else {
            throw StoreError(
                .value,
                "The field is not a counter. Use update(_:named:_:), or give the field the policy .counter.",
                recordType: Model.recordType,
                recordName: recordName,
                fieldName: fieldName
            )
        }
        let change = FieldChange(read: nil, written: .int64(Int64(amount)), present: row.fields[fieldName] ?? .int64(0))
        let zone = try database.save(
            [fieldName: try value(of: change, fieldName, recordName, table)],
            named: recordName,
            in: try StoredZone.zoneID(row.zone, db),
            table,
            db
        )
        guard let changed = try table.row(named: recordName, in: zone, db) else {
            return try fetch(type, named: recordName)
        }
        return try database.record(changed, as: type, table, db)
    }

    /// The row of a record that was read before.
    ///
    /// - Throws: A ``StoreError``: `notFound` when the record was deleted since, also where there is another record of
    ///   the name now. A delete wins over every edit of the same record.
    private func row<Model: CloudKitRecord>(of record: StoredRecord<Model>, _ table: RecordTable) throws -> LocalRow {
        guard let row = try database.row(named: record.recordName, in: record.zoneID, table, db) else {
            throw StoreError(
                .notFound,
                """
                The record was read earlier, and is not on this machine now: it was deleted here or on another device. Nothing was \
                changed. To create a new record with these values: add(record.model, named: record.recordName).
                """,
                recordType: Model.recordType,
                recordName: record.recordName
            )
        }
        let tag = try KnownVersion.fetch(named: row.name, in: row.zone, database.file.sealer, db)?.tag
        // The service chooses the time of creation when it stores a record, so the time changes once. A row that another
        // program has replaced has none.
        let isAcknowledgedSince = record.recordChangeTag == nil && tag != nil
        if !isAcknowledgedSince, let read = record.created?.milliseconds, let created = row.created, read != created {
            throw StoreError(
                .notFound,
                """
                The record was read earlier, and deleted since; another record has its name now. Nothing was changed. Fetch the record \
                to change it, or write these values over it: add(record.model, named: record.recordName).
                """,
                recordType: Model.recordType,
                recordName: record.recordName
            )
        }
        return row
    }

    /// What a program changed in a record since it was read, as values to store.
    private func changes<Model: CloudKitRecord>(
        of record: StoredRecord<Model>,
        since original: Model,
        in row: LocalRow,
        _ table: RecordTable
    ) throws -> [String: FieldValue] {
        let written = try savedFields(of: record.model, in: record)
        let read = try savedFields(of: original, in: record)
        var values: [String: FieldValue] = [:]
        var putBack: [String: FieldValue?] = [:]
        for (field, change) in table.changes(from: read, to: written, in: row) {
            values[field.name] = try value(of: change, field.name, record.recordName, table)
            if change.isPutBack(by: field.schema.merge) { putBack[field.name] = .some(change.written) }
        }
        if !putBack.isEmpty, let zone = try StoredZone.fetch(row.zone, db) {
            let recovery = RecoveryEntries(scope: database.scope, db: db, sealer: database.file.sealer)
            let now = database.configuration.clock().machineTime
            try recovery.add(.policy, putBack, of: table.recordType, row.name, in: zone, at: now)
        }
        return values
    }

    private func value(
        of change: FieldChange,
        _ fieldName: String,
        _ recordName: String,
        _ table: RecordTable
    ) throws -> FieldValue {
        guard let value = change.value(by: table[fieldName]?.schema.merge ?? .latest) else {
            throw StoreError(
                .value,
                "The counter would have more than 64 bits. Nothing was changed.",
                recordType: table.recordType,
                recordName: recordName,
                fieldName: fieldName
            )
        }
        return value
    }

    /// The fields of a model. A property without a value is a null.
    private func savedFields<Model: CloudKitRecord>(
        of model: Model,
        in record: StoredRecord<Model>
    ) throws -> [String: FieldValue] {
        do {
            let saved = try model.savedFields()
            return Dictionary(saved.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        } catch {
            throw StoreError(
                .value,
                "\(error.message). Nothing was changed.",
                recordType: Model.recordType,
                recordName: record.recordName,
                fieldName: error.field
            )
        }
    }

    /// Removes a record, its children, and the records that refer to it with the action `deleteSelf`.
    ///
    /// A record that is not on this machine is not an error.
    public func remove<Model: CloudKitRecord>(_ record: StoredRecord<Model>) throws {
        let table = try database.file.table(of: Model.recordType)
        guard let row = try database.row(named: record.recordName, onlyIn: record.zoneID, table, db) else { return }
        try table.checkRemoval(of: row.name)
        try table.delete(row.id, db)
    }

    /// Removes the record with a name, its children, and the records that refer to it with the action `deleteSelf`.
    ///
    /// A record that is not on this machine is not an error.
    public func remove<Model: CloudKitRecord>(_ type: Model.Type, named recordName: String) throws {
        let table = try database.file.table(of: Model.recordType)
        guard let row = try database.row(named: recordName, table, db) else { return }
        try table.checkRemoval(of: row.name)
        try table.delete(row.id, db)
    }
}
