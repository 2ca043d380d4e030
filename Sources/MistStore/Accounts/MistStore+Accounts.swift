import GRDB
import MistKit
import SQLiteTables

extension MistStore {
    /// Whose records are open, and who is signed in as far as the last synchronisation has found out. Nothing is sent.
    ///
    /// - Throws: A ``StoreError`` when the file cannot be read.
    public var account: StoreAccount {
        get async throws {
            try await followOtherProcesses()
            return try await openAccount()
        }
    }

    /// The account of the records that this process has open.
    private func openAccount() async throws -> StoreAccount {
        let (place, database) = (openPlace, privateDatabase)
        return try await database.read { reader in try database.account(place, reader.db) }
    }

    /// The account at once, and again after each change of it, also after a switch to another user.
    ///
    /// ```swift
    /// for try await account in store.accountUpdates {
    ///     print(account.owner ?? "no one's records", account.session)
    /// }
    /// ```
    public var accountUpdates: StoreUpdates<StoreAccount> {
        StoreUpdates { self.observeAccount() }
    }

    private func observeAccount() -> AsyncThrowingStream<StoreAccount, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                do {
                    try await followingOtherProcesses {
                        try await self.acrossSwitches { try await self.observe { continuation.yield($0) } }
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private func observe(_ yield: (StoreAccount) -> Void) async throws {
        let (place, database) = (openPlace, privateDatabase)
        let accounts = database.observe(watchesOtherProcesses: true) { db in try database.account(place, db) }
        for try await account in accounts { yield(account) }
    }

    /// Runs a closure, and opens meanwhile what other processes open in the folder.
    private func followingOtherProcesses(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask { try await self.watchOtherProcesses() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Opens what other processes open in the folder, until the task is cancelled.
    func watchOtherProcesses() async throws {
        let places = publicDatabase.observe(watchesOtherProcesses: true) { db in try Accounts(db: db).row().open }
        for try await _ in places { try await followOtherProcesses() }
    }

    /// Signs a user in, and opens the records of this user.
    ///
    /// ```swift
    /// try await store.signIn {
    ///     try await WebAuthenticator().signIn(manager, to: service)  // of the module MistSignIn
    /// }
    /// // GET …/public/users/caller
    /// // The records of the user are open now: user.sqlite for the first user, users/<name>.sqlite for others.
    /// ```
    ///
    /// The records of another user who was signed in before stay in the folder, with their changes, and continue when
    /// that user signs in again. Records that were made before anyone signed in belong to the first user who does.
    ///
    /// - Parameter authenticate: Changes the credentials of the service. If it throws, the same records stay open.
    /// - Returns: The account.
    /// - Throws: The error of `authenticate`, or one of ``openSignedInUser()``.
    @discardableResult
    public func signIn(_ authenticate: () async throws -> Void) async throws -> StoreAccount {
        try await authenticate()
        return try await openSignedInUser()
    }

    /// Opens the records of the user who is signed in at the service: after the credentials were replaced by another
    /// part of the program, which ``sync()`` reports as ``StoreError/Code-swift.struct/otherUser``.
    ///
    /// - Returns: The account.
    /// - Throws: A ``StoreError``: `noService` when the store has no service, `otherUser` when the file of the user was
    ///   replaced by that of another user, `closed`, or a code about the file. A `CloudKitError` when the service does
    ///   not say who is signed in; with `CloudKitError.Code.authenticationRequired`, its `redirectURL` is the sign-in
    ///   page. Then the same records stay open.
    @discardableResult
    public func openSignedInUser() async throws -> StoreAccount {
        _ = try startedLoop()
        guard let service else { throw StoreError.storeIsClosed }
        try await switching.lock()
        defer { switching.unlock() }
        let session = service.session
        let response = try await service.response(to: .caller, in: .private, ofSession: session)
        guard case .caller(let user) = try response.result.get(), !user.isEmpty else {
            throw CloudKitError(code: .unexpectedResponse, message: "The reply of users/caller names no user.")
        }
        guard service.session == session else {
            throw CloudKitError(
                code: .cancelled,
                message: "Another user may have signed in meanwhile. Call openSignedInUser() again."
            )
        }
        try await openRecords(of: user, removingFormer: nil)
        try await privateDatabase.noteUser(user)
        return try await openAccount()
    }

    /// Signs the user out. From then on, the open records are those of no one: they can be made and changed, and are
    /// kept for the time when someone signs in.
    ///
    /// ```swift
    /// try await store.signOut { try await manager.signOut() }
    /// ```
    ///
    /// To remove the user's records from this machine, show a person first what is lost with them:
    ///
    /// ```swift
    /// let pending = try await store.pendingChanges()
    /// // … "3 changes were not sent. Remove them?" …
    /// try await store.signOut(.removed(pending)) { try await manager.signOut() }
    /// ```
    ///
    /// - Parameters:
    ///   - records: What happens to the records of the user.
    ///   - endSession: Removes the credentials of the user from the service. If it throws, nothing was changed.
    /// - Throws: The error of `endSession`. A ``StoreError``: `pendingChanges` when the records have changes that are not
    ///   in the list, and then nothing was removed; `accountChanged` when another process has opened other records in the
    ///   folder, so that nothing was changed; `closed`, or a code about the file.
    public func signOut(_ records: SignedOutRecords = .kept, _ endSession: () async throws -> Void) async throws {
        try await switching.lock()
        defer { switching.unlock() }
        try checkOpenRecords()
        guard case .removed(let seen) = records else {
            try await endSession()
            return try await openRecords(of: nil, removingFormer: nil)
        }
        let file = file(of: .private)
        try await privateDatabase.read { reader in try Self.checkRemoval(seen, of: file, reader.db) }
        try await endSession()
        // In the transaction that takes the file away from other processes.
        try await openRecords(of: nil) { db in try Self.checkRemoval(seen, of: file, db) }
    }

    private static func checkRemoval(_ seen: PendingChanges, of file: StoreFile, _ db: Database) throws {
        let present = try PendingChanges(of: file, db)
        guard present.isContained(in: seen) else {
            throw StoreError(
                .pendingChanges,
                """
                The records have \(present.count) changes that were not sent, and the list has not all of them. Nothing was removed. Call \
                pendingChanges() again, and show its result.
                """
            )
        }
    }

    /// The changes of the open private records that the service has not acknowledged.
    ///
    /// - Throws: A ``StoreError`` when the file cannot be read.
    public func pendingChanges() async throws -> PendingChanges {
        let file = file(of: .private)
        return try await privateDatabase.read { reader in try PendingChanges(of: file, reader.db) }
    }
}

extension PendingChanges {
    fileprivate init(of file: StoreFile, _ db: Database) throws {
        self.init()
        for table in file.orderedTables {
            let names = try PendingEdits(db: db).names(of: table)
            if !names.isEmpty { edited[table.recordType] = names }
            let deletes = try Tombstones(db: db).names(of: table.id)
            if !deletes.isEmpty { deleted[table.recordType] = deletes }
        }
    }

    /// Whether another list has all of these changes.
    func isContained(in other: PendingChanges) -> Bool {
        func contains(_ left: [String: [String]], _ right: [String: [String]]) -> Bool {
            left.allSatisfy { type, names in Set(names).isSubset(of: right[type] ?? []) }
        }
        return contains(edited, other.edited) && contains(deleted, other.deleted)
    }
}

extension LocalDatabase {
    func account(_ place: UserFile, _ db: Database) throws -> StoreAccount {
        let file = FileState(db)
        let state = try ScopeState(scope: .private, db: db).row()
        let owner = try file.owner
        return StoreAccount(
            owner: owner,
            session: StoreAccount.Session(
                place: place,
                owner: owner,
                visitor: try file.visit?.visitor,
                condition: state.condition,
                detail: state.detail
            )
        )
    }

    /// Notes that the owner is signed in.
    fileprivate func noteUser(_ user: String) async throws {
        try await write { writer in
            _ = try FileState(writer.db).noteUser(user)
            try ScopeState(scope: .private, db: writer.db).endWaits(at: configuration.clock().machineTime)
        }
    }
}
