public import MistKit

extension MistStore {
    /// The record of the user whose private records are open, from the public database.
    ///
    /// The service makes a record of the type `Users` for each user, and its fields are up to the program. Give it a
    /// type, and pass the type to the store with the others:
    ///
    /// ```swift
    /// @CloudKitRecord("Users")
    /// struct Person {
    ///     var nickname: String?
    /// }
    ///
    /// if let me = try await store.currentUser(Person.self) {
    ///     try await store.publicDatabase.update(Person.self, named: me.recordName) { $0.nickname = "Ada" }
    /// }
    /// // POST …/public/records/lookup {"records":[{"recordName":"_7a…"}],"zoneID":{"zoneName":"_defaultZone"}}
    /// ```
    ///
    /// Everyone can read these records, so they are no place for what is private. A synchronisation fetches the one of
    /// the present user; ``run()`` asks for it again every quarter of an hour. Changes are sent and merged as those of any
    /// record. No one can add or remove such a record: ``StoreError/Code-swift.struct/userRecord``.
    ///
    /// - Parameter type: The type of the program, whose record type is `Users`.
    /// - Returns: The record; `nil` while the open records belong to no one, and until the record was fetched.
    /// - Throws: A ``StoreError``: `unknownRecordType` when the store was opened without the type; `value` when the record
    ///   does not fit it; or a code about the file.
    public func currentUser<User: CloudKitRecord>(_ type: User.Type) async throws -> StoredRecord<User>? {
        let owner = try await account.owner
        let database = publicDatabase
        return try await database.read { reader in
            let table = try database.file.table(of: User.recordType)
            return try owner.flatMap { try database.record(named: $0, as: type, table, reader.db) }
        }
    }

    /// The record of the user whose private records are open, at once, and again after each change of it and after each
    /// switch to another user. See ``currentUser(_:)``.
    ///
    /// - Parameter type: The type of the program, whose record type is `Users`.
    /// - Returns: The records; `nil` as in ``currentUser(_:)``.
    public func currentUserUpdates<User: CloudKitRecord>(of type: User.Type) -> StoreUpdates<StoredRecord<User>?> {
        StoreUpdates { self.observeCurrentUser(type) }
    }

    private func observeCurrentUser<User: CloudKitRecord>(
        _ type: User.Type
    ) -> AsyncThrowingStream<StoredRecord<User>?, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                var record: Task<Void, Never>?
                defer { record?.cancel() }
                do {
                    var shown: String??
                    for try await account in accountUpdates where shown != .some(account.owner) {
                        shown = .some(account.owner)
                        // The record of the former user is never shown after that of the next one.
                        record?.cancel()
                        await record?.value
                        guard let owner = account.owner else {
                            continuation.yield(nil)
                            continue
                        }
                        let records = publicDatabase.recordUpdates(of: type, named: owner)
                        record = Task {
                            do {
                                for try await record in records { continuation.yield(record) }
                            } catch {
                                continuation.finish(throwing: error)
                            }
                        }
                    }
                    await record?.value
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
