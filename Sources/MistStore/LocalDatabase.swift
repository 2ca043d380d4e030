import GRDB
public import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The records of one scope on this machine.
///
/// No call waits for the network. When a call returns, its changes are in the file; the next synchronisation sends
/// them.
public struct LocalDatabase: Sendable {
    let file: StoreFile
    let scope: DatabaseScope
    let configuration: StoreConfiguration
    /// Synchronises the store; `nil` where it has no service.
    let loop: SyncLoop?

    package init(file: StoreFile, scope: DatabaseScope, configuration: StoreConfiguration) {
        self.init(file: file, scope: scope, configuration: configuration, loop: nil)
    }

    init(file: StoreFile, scope: DatabaseScope, configuration: StoreConfiguration, loop: SyncLoop?) {
        self.file = file
        self.scope = scope
        self.configuration = configuration
        self.loop = loop
    }

    // MARK: Transactions

    /// Reads records, all from one state of the file. Writes meanwhile do not change what the closure sees.
    ///
    /// - Parameter body: A closure that reads with a ``StoreReader``.
    /// - Returns: The result of `body`.
    /// - Throws: A ``StoreError``, or the error of `body`.
    public func read<Value: Sendable>(_ body: @Sendable @escaping (StoreReader) throws -> Value) async throws -> Value {
        do {
            return try await file.database.read { db in try body(StoreReader(database: self, db: db)) }
        } catch let error as DatabaseError {
            throw file.storeError(error)
        }
    }

    /// Writes in one transaction: all changes are kept, or none if `body` throws.
    ///
    /// ```swift
    /// try await store.privateDatabase.write { todos in
    ///     let home = try todos.add(TodoList(name: "Home"))
    ///     try todos.add(Todo(list: home.reference(), title: "Milk"))
    /// }
    /// ```
    ///
    /// - Parameter body: A closure that reads and writes with a ``StoreWriter``.
    /// - Returns: The result of `body`.
    /// - Throws: A ``StoreError``, also `readOnly` when the store was opened for reading, or the error of `body`. Then
    ///   nothing was changed.
    @discardableResult
    public func write<Value: Sendable>(_ body: @Sendable @escaping (StoreWriter) throws -> Value) async throws -> Value
    {
        try file.checkWritable()
        do {
            return try await file.database.write { db in
                try file.checkSeal(db)
                if scope == .public { try PublicAuthor(db: db).checkChange() }
                return try db.recordingEdits(at: configuration.ownClock?().machineTime) {
                    let value = try body(StoreWriter(database: self, db: db))
                    try Cascades(file: file, db: db).complete()
                    return value
                }
            }
        } catch let error as DatabaseError {
            throw file.storeError(error)
        }
    }

    // MARK: One record

    /// Adds a record, or changes the record with this name.
    ///
    /// All fields of the type are set. Only fields whose value changes count as edited.
    ///
    /// - Parameters:
    ///   - model: The values.
    ///   - recordName: The record's name, unique in its zone: 1 to 255 printable ASCII characters, of which the first
    ///     is no underscore. `nil` chooses a new UUID.
    /// - Returns: The record.
    /// - Throws: A ``StoreError`` for a value or a name that cannot be stored: `value`, `link`, `recordName` or
    ///   `nameTaken`.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ model: Model, named recordName: String? = nil) async throws
        -> StoredRecord<Model>
    {
        try await add(StoredRecord(model, recordName: recordName))
    }

    /// Adds a record that was made here, or writes the changes of a record that was read.
    ///
    /// A record that was read, here or from the service, knows the values that it had then. Only fields that differ from
    /// them are written; of a counter, the difference is added. All other fields keep what they have now. So a form may
    /// hold a record over a synchronisation:
    ///
    /// ```swift
    /// var milk = try await todos.fetch(Todo.self, named: "milk")
    /// // … meanwhile, a synchronisation brings the new title "Oat milk" …
    /// milk.isDone = true
    /// try await todos.add(milk)
    /// // UPDATE "Todo" SET "isDone" = 1, … WHERE _id = …
    /// ```
    ///
    /// A delete wins: a record that was read, and deleted since, is not created again. To create a new record with its
    /// values, call ``add(_:named:)``.
    ///
    /// - Parameter record: The record.
    /// - Returns: The record as it is now.
    /// - Throws: A ``StoreError``: `notFound` for a record that was read, and that this machine does not have any more;
    ///   `value`, `link`, `recordName` or `nameTaken` for a value or a name that cannot be stored.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ record: StoredRecord<Model>) async throws -> StoredRecord<Model> {
        try await write { try $0.add(record) }
    }

    /// Changes the record with a name. The closure gets the values that the record has now.
    ///
    /// ```swift
    /// try await todos.update(Todo.self, named: "milk") { $0.isDone = true }
    /// // UPDATE "Todo" SET "isDone" = 1, … WHERE _id = …
    /// ```
    ///
    /// The record is read and written in one transaction. Fields that the closure does not change are not written. Write
    /// `$0.points += 1` and not a value that was computed from a record read earlier.
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
        _ change: @Sendable @escaping (inout Model) throws -> Void
    ) async throws -> StoredRecord<Model> {
        try await write { try $0.update(type, named: recordName, change) }
    }

    /// Adds to a counter of the record with a name.
    ///
    /// ```swift
    /// try await recipes.increment(\.timesCooked, of: Recipe.self, named: "soup")
    /// // UPDATE "Recipe" SET "timesCooked" = 3, … WHERE _id = …
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
    ) async throws -> StoredRecord<Model> {
        // A key path cannot be passed to the transaction.
        let name = "\(Model.fields[keyPath: field].key)"
        return try await write { try $0.increment(name, of: type, named: recordName, by: amount) }
    }

    /// Adds records in one transaction: all of them, or none if one cannot be stored. Each gets a new UUID as its name.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ models: [Model]) async throws -> [StoredRecord<Model>] {
        try await write { writer in try models.map { try writer.add($0) } }
    }

    /// Fetches the record with a name from this machine.
    ///
    /// - Throws: A ``StoreError``: `notFound` when this machine has no record of that name, `value` when the record
    ///   cannot be read as the type.
    public func fetch<Model: CloudKitRecord>(_ type: Model.Type, named recordName: String) async throws -> StoredRecord<
        Model
    > {
        try await read { try $0.fetch(type, named: recordName) }
    }

    /// Fetches the record that a reference points to from this machine. A reference that names its zone leads to the
    /// record of that zone only.
    ///
    /// - Throws: A ``StoreError``: `notFound` when this machine does not have the record, `value` when the record cannot
    ///   be read as the type.
    public func fetch<Model: CloudKitRecord>(_ reference: RecordReference<Model>) async throws -> StoredRecord<Model> {
        try await read { try $0.fetch(reference) }
    }

    /// Removes a record, its children, and the records that refer to it with the action `deleteSelf`, at any depth.
    ///
    /// A record that is not on this machine is not an error.
    public func remove<Model: CloudKitRecord>(_ record: StoredRecord<Model>) async throws {
        try await write { try $0.remove(record) }
    }

    /// Removes the record with a name, its children, and the records that refer to it with the action `deleteSelf`, at
    /// any depth.
    ///
    /// A record that is not on this machine is not an error.
    public func remove<Model: CloudKitRecord>(_ type: Model.Type, named recordName: String) async throws {
        try await write { try $0.remove(type, named: recordName) }
    }
}
