import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension MistStore {
    /// Lets another key open the store from now on, and the present one no more.
    ///
    /// ```swift
    /// let key = StoreEncryptionKey()
    /// try keychain.save(key.revealBytes(), as: "next key")
    /// try await store.changeEncryptionKey(to: key)
    /// try keychain.rename("next key", to: "key")
    /// ```
    ///
    /// Values are not sealed again: they are sealed with a key of the file, and the program's key seals that one. So the
    /// call is fast for a store of any size, and other processes that have the store open go on. A key that became known
    /// to others, together with a copy of the files from before, opens later files too. Against that, fetch everything
    /// into a new folder with a new key.
    ///
    /// The files of all users in the folder are changed, each in one transaction. Keep both keys until the call returns:
    /// where it fails, or the process dies meanwhile, at least one of the two opens the whole store. Call it again then.
    ///
    /// Backups keep the key that the store had when they were made.
    ///
    /// - Parameter key: The new key.
    /// - Throws: A ``StoreError``: `keyMissing` for a store that was opened without a key; `wrongKey` when another process
    ///   has changed the key since the store was opened; `readOnly` when it was opened for reading; or a code about a
    ///   file.
    public func changeEncryptionKey(to key: StoreEncryptionKey) async throws {
        try file(of: .public).checkWritable()
        try await switching.lock()
        defer { switching.unlock() }
        guard let present = folder.key.value else {
            throw StoreError(
                .keyMissing,
                "The store was opened without a key. Open it with one, which seals it: StoreConfiguration.encryptionKey."
            )
        }
        let change = KeyChange(from: present, to: key, paths: folder.existingPaths())
        try change.check()
        try change.add()
        try change.complete()
        folder.key.value = key
    }
}

/// A change of the program's key in the files of a folder.
///
/// There is no transaction over several files. So the new key is added to all files before the former one is removed from
/// any: at each moment, one of the two opens all of them.
struct KeyChange {
    let former: StoreEncryptionKey
    let key: StoreEncryptionKey
    let paths: [String]

    init(from former: StoreEncryptionKey, to key: StoreEncryptionKey, paths: [String]) {
        (self.former, self.key, self.paths) = (former, key, paths)
    }

    /// Refuses a former key that does not open all files.
    func check() throws {
        for path in paths {
            try StoreError.naming(path) {
                _ = try StoreFile.read(atPath: path) { db in try Seals(db: db).open(with: former) }
            }
        }
    }

    /// Lets both keys open the files.
    func add() throws {
        try write { db in try Seals(db: db).add(key, besides: former) }
    }

    /// Lets only the new key open the files.
    func complete() throws {
        try write { db in try Seals(db: db).removeAll(except: key) }
    }

    private func write(_ body: (Database) throws -> Void) throws {
        for path in paths {
            try StoreError.naming(path) {
                try StoreError.wrapping {
                    var configuration = Configuration()
                    configuration.label = "MistStore.key"
                    configuration.busyMode = .timeout(5)
                    // What is removed is overwritten.
                    configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA secure_delete = ON") }
                    let queue = try DatabaseQueue(path: path, configuration: configuration)
                    defer { try? queue.close() }
                    try queue.write(body)
                    // The log has it still. While another process reads, it stays there until the log begins again.
                    _ = try? queue.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
                }
            }
        }
    }
}

extension StoreFolder {
    /// The paths of the files that exist: of the public database, of all users, and of no one.
    func existingPaths() -> [String] {
        [path(of: Self.publicPath)].filter(StoreFile.hasContent)
            + UserFile.present(in: url).map { path(of: $0.path) }
    }

    /// Refuses a key that does not open all sealed files of the folder: otherwise a file that is not sealed yet would get
    /// another key than the others.
    func checkKey() throws {
        guard let present = key.value else { return }
        for path in existingPaths() {
            try StoreError.naming(path) {
                // A file that is damaged or foreign is reported when it is opened.
                guard (try? StoreFile.check(atPath: path, isExpected: true)) != nil else { return }
                _ = try StoreFile.read(atPath: path) { db in try Seals(db: db).open(with: present) }
            }
        }
    }

    /// Seals the files of the users whose records are not open.
    func sealOthers(than open: UserFile) throws {
        guard key.value != nil else { return }
        for file in UserFile.present(in: url) where file != open {
            let path = path(of: file.path)
            let isSealed = try StoreError.naming(path) {
                try StoreFile.read(atPath: path) { db in
                    let seals = Seals(db: db)
                    return try seals.isSealed ? !seals.isUnclean : false
                }
            }
            if !isSealed { try self.open(file, isExpected: true).close(because: .storeIsClosed) }
        }
    }
}
