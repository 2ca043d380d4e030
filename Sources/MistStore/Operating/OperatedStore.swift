import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension MistStore {
    /// Opens the store of another program for reading, beside that program, and without its types.
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - user: The file of private records that is read, whether programs that open the folder open it or not.
    ///   - key: The key of a store whose encrypted fields are sealed.
    /// - Throws: A ``StoreError``: `needsUpdate` when an earlier version of the library wrote a file; `keyMissing` or
    ///   `wrongKey` for files that are sealed; or another code about a file.
    package convenience init(readingStoreAt folder: URL, of user: StoreUser, key: StoreEncryptionKey?) throws {
        try Self.check(key, ofStoreAt: folder)
        let declaration = try? Self.declaration(ofStoreAt: folder)
        let configuration = declaration.map(StoreConfiguration.init) ?? StoreConfiguration()
        let files = StoreFolder(url: folder, types: .files, configuration: configuration, key: PresentKey(key))
        let common = try files.openPublicForReading()
        let file = try files.openForReading(user.file)
        self.init(files, publicFile: common, place: user.file, file: file, service: nil, loop: nil)
    }

    /// Opens the store of another program for writing, beside that program, and without its types: as the programs of
    /// the store have declared them. No file is created, and no format is updated.
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - user: The file of private records. Public records are synchronised with those that programs open, since public
    ///     changes are sent in the name of their user.
    ///   - service: The service, with the session of the user; `nil` to change records on this machine alone.
    ///   - key: The key of a store whose encrypted fields are sealed. It does not seal a store that is not.
    /// - Throws: A ``StoreError``: `needsUpdate` when no program has declared its types, or an earlier version of the
    ///   library wrote a file; `schema` for a service and a field that a closure merges, which only the program has;
    ///   `keyMissing` or `wrongKey` for files that are sealed; or another code about a file.
    package convenience init(
        operatingStoreAt folder: URL,
        of user: StoreUser,
        service: (any SyncService)? = nil,
        key: StoreEncryptionKey?
    ) throws {
        let declaration = try Self.declaration(ofStoreAt: folder)
        if service != nil, let field = declaration.closures.first {
            throw StoreError(
                .schema,
                """
                The program merges \(field) with a closure, which only the program has. Let the program synchronise; everything else can \
                be done without it.
                """
            )
        }
        try Self.check(key, ofStoreAt: folder)
        let configuration = StoreConfiguration(declaration)
        let files = StoreFolder(
            url: folder,
            types: .declared(declaration),
            configuration: configuration,
            key: PresentKey(key)
        )
        let common = try files.openPublic(isExpected: true)
        let file = try files.open(user.file, isExpected: true)
        let loop = try service.map { service in
            let engines = [
                user.isOpen ? SyncEngine(file: common, scope: .public, configuration: configuration) : nil,
                user.name != nil ? SyncEngine(file: file, scope: .private, configuration: configuration) : nil,
            ]
            return try SyncLoop(
                engines: engines.compactMap(\.self),
                place: user.file,
                publicFile: common,
                service: service,
                configuration: configuration
            )
        }
        self.init(files, publicFile: common, place: user.file, file: file, service: service, loop: loop)
    }

    /// The service that the programs of a store synchronise with.
    ///
    /// - Parameter folder: The folder of the store.
    /// - Returns: The service; `nil` where no program has named one.
    /// - Throws: A ``StoreError`` with a code about the file.
    package static func service(ofStoreAt folder: URL) throws -> StoreService? {
        try readPublicFile(ofStoreAt: folder) { db in
            try NotedService.exist(in: db) ? try NotedService(db: db).read() : nil
        }
    }

    /// The merge policies that a program has changed since a time, as sentences.
    package static func policyChanges(ofStoreAt folder: URL, since time: Date) throws -> [String] {
        try readPublicFile(ofStoreAt: folder) { db in
            try Declarations(db: db).policyChanges().filter { $0.time >= time.machineTime }.map { change in
                """
                A program has changed the merge policy of \(change.recordType).\(change.fieldName) from \(change.former) to \
                \(change.present), \(ColumnValue.date(change.time).formatted(.iso8601)). All programs of the store must have the same one.
                """
            }
        }
    }

    /// Reads the file of the public database once, which has what concerns the store as a whole.
    private static func readPublicFile<Value>(
        ofStoreAt folder: URL,
        _ body: (Database) throws -> Value
    ) throws -> Value {
        let path = folder.appendingPathComponent(StoreFolder.publicPath).path
        return try StoreError.naming(path) { try StoreFile.readPresentFormat(atPath: path, body) }
    }

    /// Refuses a key for a store that has none: only its program seals it.
    private static func check(_ key: StoreEncryptionKey?, ofStoreAt folder: URL) throws {
        guard key != nil else { return }
        try readPublicFile(ofStoreAt: folder) { db in
            guard try Seals(db: db).isSealed else {
                throw StoreError(.wrongKey, "The store has no key. Nothing was changed. Leave the key out.")
            }
        }
    }

    /// What the programs of a store have declared.
    private static func declaration(ofStoreAt folder: URL) throws -> StoreDeclaration {
        try readPublicFile(ofStoreAt: folder) { db in
            if let declaration = try Declarations(db: db).read() { return declaration }
            throw StoreError(
                .needsUpdate,
                """
                The store does not have the merge policies and settings of its program. Start a program of this version once, which \
                stores them when it opens the store.
                """
            )
        }
    }
}

extension StoreFile {
    /// Notes what the program declares about the data, unless the file has it.
    func note(_ declaration: StoreDeclaration, at now: MachineTime) throws {
        try wrapping {
            guard try !database.read({ db in try Declarations(db: db).have(declaration) }) else { return }
            try database.write { db in try Declarations(db: db).note(declaration, at: now) }
        }
    }

    /// Reads a file of the present format once, through a connection that cannot write.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - body: A closure that gets the connection.
    /// - Returns: The result of `body`.
    /// - Throws: A ``StoreError``: `needsUpdate` when an earlier version of the library wrote the file; `newerFormat`,
    ///   `notAStore`, or another code about the file.
    static func readPresentFormat<Value>(atPath path: String, _ body: (Database) throws -> Value) throws -> Value {
        try check(atPath: path, isExpected: true)
        return try read(atPath: path) { db in
            let format = try FileState.format(db) ?? 0
            guard format == SystemTables.format, try SystemTables.hasLaterParts(db) else {
                throw StoreError(
                    .needsUpdate,
                    "An earlier version of MistStore wrote the file, in the format \(format). Start a program of this version once, "
                        + "which updates the file when it opens the store."
                )
            }
            return try body(db)
        }
    }
}

/// The numbers of what a database has, for the person who looks after it.
package struct DatabaseCounts: Hashable, Sendable {
    /// Something with a name, and how often it is there.
    package struct Count: Hashable, Sendable {
        package let name: String
        package let count: Int
    }

    /// The records by type, in the order of the types.
    package let records: [Count]
    /// The entries of the recovery log by reason, in the order of the reasons.
    package let losses: [Count]
}

extension LocalDatabase {
    /// Counts the records and the entries of the recovery log.
    ///
    /// - Throws: A ``StoreError`` when the file fails.
    package func counts() async throws -> DatabaseCounts {
        try await read { reader in
            DatabaseCounts(
                records: try file.allTables.map { table in
                    let sql = "SELECT count(*) FROM \(table.name)"
                    return .init(name: table.recordType, count: try reader.db.value(sql, as: Int.self) ?? 0)
                },
                losses: try RecoveryEntries(scope: scope, db: reader.db, sealer: file.sealer).summary().map {
                    .init(name: $0.reason, count: $0.entries)
                }
            )
        }
    }
}
