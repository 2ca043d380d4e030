import GRDB
public import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The records of one scope on this machine.
///
/// Nothing here waits for the network. What a call has written is in the file when it returns, and is sent with the next synchronisation.
public struct LocalDatabase: Sendable {
    let file: StoreFile
    let scope: DatabaseScope
    let configuration: StoreConfiguration

    // MARK: Transactions

    /// Reads from one state of the records.
    ///
    /// - Parameter body: Reads; see ``StoreReader``.
    /// - Returns: What `body` returns.
    /// - Throws: A ``StoreError``, or what `body` throws.
    public func read<Value: Sendable>(_ body: @Sendable @escaping (StoreReader) throws -> Value) async throws -> Value {
        do {
            return try await file.database.read { db in try body(StoreReader(database: self, db: db)) }
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }

    /// Writes in one transaction: all of it is kept, or, when `body` throws, nothing.
    ///
    /// ```swift
    /// try await store.privateDatabase.write { todos in
    ///     let home = try todos.add(TodoList(name: "Home"))
    ///     try todos.add(Todo(list: home.reference(), title: "Milk"))
    /// }
    /// ```
    ///
    /// - Parameter body: Reads and writes; see ``StoreWriter``.
    /// - Returns: What `body` returns.
    /// - Throws: A ``StoreError``, or what `body` throws. Nothing was changed then.
    @discardableResult
    public func write<Value: Sendable>(_ body: @Sendable @escaping (StoreWriter) throws -> Value) async throws -> Value
    {
        do {
            return try await file.database.write { db in
                let writer = StoreWriter(database: self, db: db)
                let value = try body(writer)
                try Cascades(file: file, db: db).complete()
                return value
            }
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }

    // MARK: One record

    /// Adds a record, or changes the one of this name.
    ///
    /// - Parameters:
    ///   - model: The values.
    ///   - recordName: The record's name, unique in its zone; a new UUID when `nil`.
    /// - Returns: The record.
    /// - Throws: A ``StoreError`` for a value that cannot be stored.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ model: Model, named recordName: String? = nil) async throws
        -> StoredRecord<Model>
    {
        try await add(StoredRecord(model, recordName: recordName))
    }

    /// Adds a record, or changes the one of its name.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ record: StoredRecord<Model>) async throws -> StoredRecord<Model> {
        try await write { try $0.add(record) }
    }

    /// Adds records in one transaction.
    @discardableResult
    public func add<Model: CloudKitRecord>(_ models: [Model]) async throws -> [StoredRecord<Model>] {
        try await write { writer in try models.map { try writer.add($0) } }
    }

    /// The record of a name.
    ///
    /// - Throws: A ``StoreError`` with the code `notFound` when this machine has no record of that name.
    public func fetch<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) async throws -> StoredRecord<
        Model
    > {
        try await read { try $0.fetch(type, recordName) }
    }

    /// The record that a reference points to.
    public func fetch<Model: CloudKitRecord>(_ reference: RecordReference<Model>) async throws -> StoredRecord<Model> {
        try await fetch(Model.self, reference.recordName)
    }

    /// Removes a record, and what goes with it.
    public func remove<Model: CloudKitRecord>(_ record: StoredRecord<Model>) async throws {
        try await write { try $0.remove(record) }
    }

    /// Removes the record of a name, and what goes with it.
    public func remove<Model: CloudKitRecord>(_ type: Model.Type, _ recordName: String) async throws {
        try await write { try $0.remove(type, recordName) }
    }
}
