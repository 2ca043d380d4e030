package import CloudKitModel
import Crypto
import Dispatch
import FilePermissions
package import GRDB
package import MistKit
package import ProcessLeases
import SQLiteTables
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One SQLite file of the store: the tables of the record types, and the engine's state.
///
/// All state is in the file: a file that is opened again continues where it was.
package final class StoreFile: Sendable {
    package let database: any DatabaseWriter
    /// The scopes that the file holds.
    let scopes: [DatabaseScope]
    /// The tables of the program's record types, by type.
    package let tables: [String: RecordTable]
    /// The tables of the program's record types, in the order of their numbers.
    package let orderedTables: [RecordTable]
    /// All tables of the file, in the order of their numbers. Some may be of types that only a newer program knows.
    let allTables: [RecordTable]
    /// All tables of the file, by number.
    let tablesByID: [TableID: RecordTable]
    /// The largest number of a field. Fields that a newer program adds later have larger numbers.
    let lastFieldID: FieldID
    /// The zone of records that are added without a zone, by scope.
    package let homeZones: [DatabaseScope: ZoneRowID]
    /// Whether records of the private database that have no parent have zones of their own.
    package let hasZonePerRoot: Bool
    /// The program's record types, by name.
    let models: [String: any CloudKitRecord.Type]
    /// The fields without which a record is not sent, by type, where the program's types are not known.
    let requiredFields: [String: Set<String>]
    /// The folder of the files that records have; `nil` for a database in memory.
    let folder: ContentFolder?
    /// The progress of the transfers that this process makes.
    let transferProgress = Mutex<[TransferKey: TransferProgress]>([:])
    /// Notifies observations when other processes commit.
    let commitWatcher = CommitWatcher()
    /// The part of this opened file in the lease of the process that synchronises.
    package let lease: FileLease
    /// Seals encrypted fields, and opens them; `nil` where the file is not sealed.
    let sealer: FieldSealer?
    /// The program's key; `nil` for none.
    let key: PresentKey
    /// Whether the file was opened for reading. Then nothing of it is changed.
    let isReadOnly: Bool
    /// Why the file was closed; `nil` while it is open.
    private let closing = Mutex<StoreError?>(nil)
    /// The engine's operations that are under way. Closing waits for them: a read that meets the end of the connections
    /// would use one that is closed.
    private let operations = DispatchGroup()
    /// Whether the connections are closed. SQLite does not check whether the connection of a checkpoint is open.
    private let isClosed = Mutex(false)
    /// The observations that go on.
    private let observations = Mutex(Observations())

    private struct Observations {
        var last = 0
        /// Ends an observation with an error, by number.
        var ends: [Int: @Sendable (StoreError) -> Void] = [:]
    }

    /// Opens the file and brings its tables up to date.
    ///
    /// - Parameters:
    ///   - database: The file.
    ///   - schemas: The schemas of the program's record types.
    ///   - models: The program's record types, which find the records that do not fit them. Without a type, only values
    ///     are found that no field can have.
    ///   - requiredFields: The fields without which a record is not sent, by type, where the types are not known.
    ///   - scopes: The scopes that the file holds, with the zone of records that are added without a zone.
    ///   - hasZonePerRoot: Whether records of the private database that have no parent have zones of their own.
    ///   - leaseTiming: The times of the lease of the process that synchronises.
    ///   - filesPath: The path beside which the files of records are kept; `nil` for that of the file.
    ///   - key: The program's key. A file that is not sealed is sealed with it.
    ///   - newDevice: Gives the identifier of a file that is created.
    /// - Throws: A ``StoreError``.
    package convenience init(
        _ database: any DatabaseWriter,
        schemas: [RecordSchema],
        models: [any CloudKitRecord.Type] = [],
        requiredFields: [String: Set<String>] = [:],
        scopes: [DatabaseScope: ZoneID],
        hasZonePerRoot: Bool = false,
        leaseTiming: LeaseTiming = LeaseTiming(),
        filesPath: String? = nil,
        key: PresentKey = PresentKey(nil),
        newDevice: () -> Int64 = { Int64.random(in: 1...Int64.max) }
    ) throws {
        let opened = try StoreError.wrapping {
            if key.value != nil { try Self.keepTemporaryPagesInMemory(true, database) }
            defer { if key.value != nil { try? Self.keepTemporaryPagesInMemory(false, database) } }
            return try database.write { db in
                let sealer = try Self.prepare(db, key: key.value, schemas, newDevice: newDevice)
                try StoreRepair(schemas: schemas, scopes: scopes, sealer: sealer).repair(db)
                var homes: [DatabaseScope: ZoneRowID] = [:]
                for (scope, zone) in scopes {
                    let zones = Zones(scope: scope, db: db)
                    try ScopeState(scope: scope, db: db).insert()
                    let first = hasZonePerRoot && scope == .private ? try zones.first() : nil
                    homes[scope] = try first ?? zones.identifier(of: zone)
                }
                let home = homes[scopes.keys.contains(.private) ? .private : .public] ?? 1
                let update = SchemaUpdate(schemas, homeZone: home, hasZonePerRoot: hasZonePerRoot, sealer: sealer)
                let tables = try update.apply(to: db)
                try ForeignTriggers.check(db)
                return (tables, homes, sealer)
            }
        }
        self.init(
            database,
            isReadOnly: false,
            tables: opened.0,
            models: models,
            requiredFields: requiredFields,
            homeZones: opened.1,
            scopes: Array(scopes.keys),
            hasZonePerRoot: hasZonePerRoot,
            lease: FileLease("sync", ofFile: (database as? DatabasePool)?.path, timing: leaseTiming),
            filesPath: filesPath,
            sealer: opened.2,
            key: key
        )
        try removeUnsealedRemains()
    }

    private init(
        _ database: any DatabaseWriter,
        isReadOnly: Bool,
        tables: (own: [RecordTable], all: [RecordTable]),
        models: [any CloudKitRecord.Type],
        requiredFields: [String: Set<String>] = [:],
        homeZones: [DatabaseScope: ZoneRowID],
        scopes: [DatabaseScope],
        hasZonePerRoot: Bool,
        lease: FileLease,
        filesPath: String? = nil,
        sealer: FieldSealer?,
        key: PresentKey
    ) {
        self.database = database
        (self.sealer, self.key) = (sealer, key)
        self.isReadOnly = isReadOnly
        self.lease = lease
        folder = ContentFolder(ofDatabase: filesPath ?? (database as? DatabasePool)?.path)
        self.hasZonePerRoot = hasZonePerRoot
        self.models = Dictionary(models.map { ($0.recordType, $0) }, uniquingKeysWith: { $1 })
        self.requiredFields = requiredFields
        self.scopes = scopes.sorted { $0.number < $1.number }
        self.tables = Dictionary(uniqueKeysWithValues: tables.own.map { ($0.recordType, $0) })
        orderedTables = tables.own.sorted { $0.id < $1.id }
        allTables = tables.all
        lastFieldID = allTables.flatMap(\.fields).map(\.id).max() ?? 0
        tablesByID = Dictionary(uniqueKeysWithValues: allTables.map { ($0.id, $0) })
        self.homeZones = homeZones
    }

    /// Opens the file for reading. Nothing of it is changed: no table is added, and no copy is noticed.
    ///
    /// - Parameters:
    ///   - database: The file.
    ///   - schemas: The schemas of the program's record types, all of the file or a part of them.
    ///   - models: The program's record types, which find the records that do not fit them.
    ///   - scopes: The scopes that the file holds, with the zone of records that are added without a zone.
    ///   - hasZonePerRoot: Whether records of the private database that have no parent have zones of their own.
    ///   - filesPath: The path beside which the files of records are. On a read-only file system, that of the connection
    ///     is a URL.
    ///   - key: The program's key.
    /// - Throws: A ``StoreError``: `needsUpdate` when something is missing that a program adds when it opens the file
    ///   for writing.
    convenience init(
        reading database: any DatabaseWriter,
        schemas: [RecordSchema],
        models: [any CloudKitRecord.Type],
        scopes: [DatabaseScope: ZoneID],
        hasZonePerRoot: Bool,
        filesPath: String,
        key: PresentKey
    ) throws {
        let opened = try StoreError.wrapping {
            try database.read { db in
                guard try Self.isStore(db) else { throw StoreError.noStore }
                let fileKey = try Seals(db: db).open(with: key.value)
                let format = try FileState.format(db) ?? 0
                guard format == SystemTables.format, try SystemTables.hasLaterParts(db) else {
                    throw StoreError(
                        .needsUpdate,
                        """
                        An earlier version of MistStore wrote the file, in the format \(format). Open the store once for writing, \
                        which updates it: MistStore(at:records:).
                        """
                    )
                }
                guard fileKey != nil || key.value == nil else {
                    throw StoreError(
                        .needsUpdate,
                        """
                        The file is not sealed yet. Open the store once for writing with the key, which seals it: \
                        MistStore(at:records:configuration:).
                        """
                    )
                }
                var homes: [DatabaseScope: ZoneRowID] = [:]
                for (scope, zone) in scopes {
                    let zones = Zones(scope: scope, db: db)
                    let first = hasZonePerRoot && scope == .private ? try zones.first() : nil
                    homes[scope] = try first ?? zones.number(of: zone)
                }
                let sealer = try fileKey.map { try Self.sealer($0, schemas, db) }
                return (try SchemaUpdate(schemas, homeZone: 0, sealer: sealer).existing(in: db), homes, sealer)
            }
        }
        self.init(
            database,
            isReadOnly: true,
            tables: opened.0,
            models: models,
            homeZones: opened.1,
            scopes: Array(scopes.keys),
            hasZonePerRoot: hasZonePerRoot,
            lease: FileLease("sync", ofFile: nil),
            filesPath: filesPath,
            sealer: opened.2,
            key: key
        )
    }

    /// Closes the file. Operations that come later, or are under way, and observations, fail with an error.
    ///
    /// - Parameter reason: The error: ``StoreError/Code-swift.struct/closed`` or
    ///   ``StoreError/Code-swift.struct/accountChanged``.
    /// - Throws: A ``StoreError`` when the file cannot be closed.
    func close(because reason: StoreError) throws {
        defer {
            let ends = observations.withLock { $0.ends.values }
            for end in ends { end(reason) }
        }
        closing.withLock { $0 = $0 ?? reason }
        operations.wait()
        try isClosed.withLock { isClosed in
            guard !isClosed else { return }
            isClosed = true
            guard !isReadOnly else { return try StoreError.wrapping { try database.close() } }
            // Another process goes on at once. If this fails, it goes on after some seconds.
            if lease.isHeld { try? database.write { db in try lease.release(db, doneAt: nil) } }
            // The content of the log is copied into the file, so that the file can be copied without the log. If this
            // fails, the log stays, and nothing is lost.
            _ = try? database.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
            try StoreError.wrapping { try database.close() }
        }
    }

    /// Notes an observation, which ends when the file is closed.
    ///
    /// - Parameter end: Ends the observation with an error.
    /// - Returns: The number of the observation, for ``removeObservation(_:)``.
    func addObservation(_ end: @escaping @Sendable (StoreError) -> Void) -> Int {
        let number = observations.withLock { observations in
            observations.last += 1
            observations.ends[observations.last] = end
            return observations.last
        }
        if let reason = closing.withLock({ $0 }) { end(reason) }
        return number
    }

    /// Forgets an observation that has ended.
    func removeObservation(_ number: Int) {
        observations.withLock { observations in _ = observations.ends.removeValue(forKey: number) }
    }

    /// Runs a closure of the engine that uses the file, unless it is closed, and throws a failure of SQLite as a
    /// ``StoreError``. Operations do not wait for each other here: a read goes on beside a write.
    func wrapping<Value>(_ body: () throws -> Value) throws -> Value {
        try closing.withLock { reason in
            if let reason { throw reason }
            operations.enter()
        }
        defer { operations.leave() }
        return try StoreError.wrapping(body)
    }

    /// The error of an operation on the file. SQLite reports other reasons when the file was closed meanwhile, or when
    /// another process has removed its user.
    func storeError(_ error: DatabaseError) -> StoreError {
        if let reason = closing.withLock({ $0 }) { return reason }
        let reason = StoreError(error)
        guard reason.code == .damaged else { return reason }
        // There may be another file under the path by now.
        let isWithdrawn = try? database.unsafeReentrantRead { db in try FileState.isWithdrawn(db) }
        return isWithdrawn == true ? .accountChanged : reason
    }

    /// Whether a file is being removed with its user. See ``FileState/withdraw(_:)``.
    static func isWithdrawn(atPath path: String) -> Bool {
        guard hasContent(atPath: path) else { return false }
        return (try? read(atPath: path) { db in try FileState.isWithdrawn(db) }) ?? false
    }

    /// Takes the file away from every process that has it open. Where the closure throws, nothing was changed.
    func withdraw(_ body: (Database) throws -> Void) throws {
        try wrapping {
            try database.write { db in
                try body(db)
                try FileState.withdraw(db)
            }
        }
    }

    /// A sealer for the fields that are encrypted in the program, or sealed in the file.
    static func sealer(_ key: SymmetricKey, _ schemas: [RecordSchema], _ db: Database) throws -> FieldSealer {
        let declared = schemas.map { schema in
            let names = schema.fields.filter(\.isEncrypted).flatMap { [$0.name] + $0.formerNames }
            return (schema.recordType, Set(names))
        }
        let sealed = try RecordTypes(db: db).sealedFields()
        return FieldSealer(key: key, encryptedFields: sealed.merging(declared) { $0.union($1) })
    }

    /// Lets SQLite keep the pages that it needs to undo a statement in memory, and not in files elsewhere, while values
    /// are sealed.
    private static func keepTemporaryPagesInMemory(_ isOn: Bool, _ database: any DatabaseWriter) throws {
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA temp_store = \(isOn ? "MEMORY" : "DEFAULT")")
        }
    }

    /// Removes what unused pages of the file, and the log, still have from before values were sealed.
    ///
    /// Where another process reads, or the disk has no space, the remains stay until the file is opened again.
    func removeUnsealedRemains() throws {
        guard sealer != nil else { return }
        do {
            try database.writeWithoutTransaction { db in
                guard try Seals(db: db).isUnclean else { return }
                try db.execute(sql: "VACUUM")
                try db.checkpoint(.truncate)
                try db.inTransaction {
                    try Seals(db: db).noteClean()
                    return .commit
                }
            }
        } catch let error as DatabaseError {
            guard [.SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_FULL].contains(error.resultCode) else {
                throw StoreError(error)
            }
        }
    }

    /// Opens an SQLite file as the store uses it: with a write-ahead log, and a wait of five seconds for other
    /// processes. A new file is for its owner alone.
    static func open(atPath path: String) throws -> DatabasePool {
        // SQLite gives the files beside it the same permissions. If this fails, SQLite says why.
        try? OwnerPermissions.createFile(atPath: path)
        return try DatabasePool(path: path, configuration: configuration)
    }

    /// The configuration of the connections of a store.
    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "MistStore"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            // A commit is on the disk before it returns, so that it survives the loss of power, not only the end of the
            // process.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            // 16 MB in place of 2. Names are random, so the records of a page touch pages all over two indexes, which
            // were read from the file again for each page. Only a connection that needs the memory takes it.
            try db.execute(sql: "PRAGMA cache_size = -16000")
            // Readers sort in memory. The writer does not: SQLite would keep the pages that it needs to undo a
            // statement in small pieces then, which slows down inserts with triggers.
            if db.configuration.readonly { try db.execute(sql: "PRAGMA temp_store = MEMORY") }
            QueryFunctions.register(in: db)
        }
        return configuration
    }

    /// Checks a file before it is opened for writing. Without the check, SQLite would change a file of another program,
    /// and would treat a file that was cut off as a new one.
    ///
    /// - Parameters:
    ///   - path: The file. It may be missing.
    ///   - isExpected: Whether the file was there before. Then an empty file has lost its content.
    /// - Throws: A ``StoreError``: `notAStore`, `damaged` or `newerFormat`.
    static func check(atPath path: String, isExpected: Bool) throws {
        guard try checkContent(atPath: path, isExpected: isExpected) else { return }
        _ = try read(atPath: path) { db in try isStore(db) }
    }

    /// Reads a file once, through a connection that cannot write.
    ///
    /// - Throws: A ``StoreError``, or what the closure throws.
    static func read<Value>(atPath path: String, _ body: (Database) throws -> Value) throws -> Value {
        try StoreError.wrapping {
            let queue = try readOnlyConnection(toPath: path)
            defer { try? queue.close() }
            return try queue.read(body)
        }
    }

    /// One connection that cannot write, and waits five seconds for other processes.
    ///
    /// - Throws: A `DatabaseError`.
    static func readOnlyConnection(toPath path: String, label: String = "MistStore") throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = label
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Checks a file without SQLite.
    ///
    /// - Parameters:
    ///   - path: The file. It may be missing.
    ///   - isExpected: Whether the file was there before. Then an empty file has lost its content.
    /// - Returns: Whether there is a file with content.
    /// - Throws: A ``StoreError``: `notAStore` or `damaged`.
    private static func checkContent(atPath path: String, isExpected: Bool) throws -> Bool {
        var isFolder = false
        guard let size = Self.size(ofFile: path, &isFolder) else { return false }
        guard !isFolder else {
            throw StoreError(.notAStore, "There is a folder where the file of the store belongs. Move the folder away.")
        }
        // The smallest page of SQLite.
        if size < 512 {
            guard size > 0 || isExpected else { return false }
            let beginning = (try? Data(contentsOf: URL(fileURLWithPath: path))) ?? Data()
            guard Data("SQLite format 3\0".utf8).starts(with: beginning.prefix(16)) else {
                throw StoreError(.notAStore, "The file is not an SQLite database. Choose another folder for the store.")
            }
            throw StoreError(
                .damaged,
                "The file was cut off after \(size) bytes. Restore it from a backup, or move it away, and open the store again: it "
                    + "fetches what was synchronised."
            )
        }
        return true
    }

    /// Opens an SQLite file of a store for reading.
    ///
    /// SQLite needs the index of the write-ahead log, a file beside the database, also for reading. It creates it if it
    /// can. In a folder that cannot be written to, it uses the one of a process that has the file open. On a file
    /// system that is read-only nothing can change, so a file without a log is read without an index.
    ///
    /// - Parameter path: The file.
    /// - Returns: The connections.
    /// - Throws: A ``StoreError``.
    static func openForReading(atPath path: String) throws -> DatabasePool {
        guard try checkContent(atPath: path, isExpected: false) else { throw StoreError.noStore }
        do {
            return try open(readingAt: path)
        } catch let error as DatabaseError {
            guard [.SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM].contains(error.resultCode) else {
                throw StoreError(error)
            }
            if let refusal = ReadingRefusal(ofFileAtPath: path) { throw refusal.error }
            return try StoreError.wrapping {
                try open(readingAt: URL(fileURLWithPath: path).absoluteString + "?immutable=1")
            }
        }
    }

    /// Opens an SQLite file for reading, and reads it once.
    private static func open(readingAt path: String) throws -> DatabasePool {
        var configuration = configuration
        configuration.readonly = true
        let pool = try DatabasePool(path: path, configuration: configuration)
        _ = try pool.read { db in try db.value("PRAGMA application_id", as: Int64.self) }
        return pool
    }

    /// Whether there is a file that is not empty.
    static func hasContent(atPath path: String) -> Bool {
        var isFolder = false
        return Self.size(ofFile: path, &isFolder) ?? 0 > 0
    }

    /// Whether this file has a note that the other file of the store was created.
    func knowsOtherFile() throws -> Bool {
        try StoreError.wrapping {
            try database.read { db in try db.value("PRAGMA user_version", as: Int64.self) ?? 0 > 0 }
        }
    }

    /// Writes a note into this file that the other file was created.
    func noteOtherFile() throws {
        guard try !knowsOtherFile() else { return }
        try StoreError.wrapping {
            try database.write { db in try db.execute(sql: "PRAGMA user_version = 1") }
        }
    }

    private static func size(ofFile path: String, _ isFolder: inout Bool) -> Int? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
        isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
        let size = attributes[.size]
        return size as? Int ?? (size as? UInt64).map { Int(clamping: $0) } ?? (size as? Int64).map { Int(clamping: $0) }
    }

    /// Whether a file has the tables of a store; `false` for an empty database.
    private static func isStore(_ db: Database) throws -> Bool {
        let application = try db.value("PRAGMA application_id", as: Int64.self) ?? 0
        if application == SystemTables.applicationID {
            let format = try FileState.format(db) ?? 0
            guard format <= SystemTables.format else {
                throw StoreError(
                    .newerFormat,
                    "The file has the format \(format), and this version of MistStore knows \(SystemTables.format). Use a newer version."
                )
            }
            return true
        }
        let isEmpty = try db.value("SELECT count(*) FROM sqlite_master", as: Int64.self) == 0
        guard application == 0, isEmpty else {
            throw StoreError(
                .notAStore,
                "The file is an SQLite database of another program. Choose another folder for the store."
            )
        }
        return false
    }

    /// Creates the store's own tables in an empty file, or updates them; refuses a file that is not a store, or that
    /// another key has sealed.
    ///
    /// - Returns: The sealer; `nil` without a key.
    private static func prepare(
        _ db: Database,
        key: StoreEncryptionKey?,
        _ schemas: [RecordSchema],
        newDevice: () -> Int64
    ) throws -> FieldSealer? {
        let isStore = try isStore(db)
        // Before anything is written.
        let fileKey = isStore ? try Seals(db: db).open(with: key) : nil
        let sealer = try fileKey.map { try Self.sealer($0, schemas, db) }
        if isStore {
            let isRepaired = try StoreRepair.repairState(db, newDevice: newDevice)
            try SystemTables.update(db)
            if isRepaired { try StoreRepair.noteUnrecordedEdits(sealer, db) }
        } else {
            try SystemTables.create(in: db, device: newDevice())
        }
        try SystemTables.addLaterParts(to: db)
        guard let key, sealer == nil else { return sealer }
        let first = try Self.sealer(try Seals(db: db).create(with: key, isUnclean: isStore), schemas, db)
        try SealedColumns.sealCopies(first, db)
        return first
    }

    /// Refuses to write without a key to a file that another process has sealed since this one has opened it: values
    /// would be written as they are.
    func checkSeal(_ db: Database) throws {
        if sealer == nil { try Seals(db: db).checkIsNotSealed() }
    }

    /// Refuses to change a file that was opened for reading.
    ///
    /// - Throws: A ``StoreError`` with the code `readOnly`.
    func checkWritable() throws(StoreError) {
        guard isReadOnly else { return }
        throw StoreError(
            .readOnly,
            "The store was opened for reading, with MistStore(readingAt:records:). Open it for writing: MistStore(at:records:service:)."
        )
    }

    func table(of type: String) throws -> RecordTable {
        guard let table = tables[type] else {
            throw StoreError(
                .unknownRecordType,
                "The store was opened without this record type. Add it to the list of types: MistStore(at:records:).",
                recordType: type
            )
        }
        return table
    }
}

extension DatabaseScope {
    /// The number of the scope in the file.
    var number: Int64 {
        switch self {
        case .public: 0
        case .private: 1
        case .shared: 2
        }
    }

    init?(number: Int64) {
        switch number {
        case 0: self = .public
        case 1: self = .private
        case 2: self = .shared
        default: return nil
        }
    }
}

extension StoreError {
    /// Runs a closure that uses a file, and begins the messages of its errors about the file with the path.
    static func naming<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch var error as StoreError where error.code.isAboutFile {
            error.message = "\(path): \(error.message)"
            throw error
        }
    }

    /// The error of an operation on a store that is closed.
    static let storeIsClosed = StoreError(
        .closed,
        "The store was closed. Open the folder again: MistStore(at:records:service:)."
    )

    /// The error of a folder or a file without a store.
    static let noStore = StoreError(
        .noStore,
        "There is no store yet. A program that opens it for writing creates it: MistStore(at:records:)."
    )

    /// Runs a closure that uses SQLite, and throws a failure of SQLite as a ``StoreError``.
    static func wrapping<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }

    init(_ error: DatabaseError) {
        let said = error.message ?? "no message"
        if let refusal = TriggerRefusal(error) {
            self = refusal.error(said)
            return
        }
        switch error.resultCode {
        case .SQLITE_NOTADB:
            self.init(.notAStore, "The file is not an SQLite database. Choose another folder for the store.")
        case .SQLITE_CORRUPT:
            self.init(
                .damaged,
                "The file is damaged: \(said). Move it away and open the store again, which fetches what was synchronised."
            )
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.busy, "Another process was writing to the file for longer than five seconds. Try again.")
        case .SQLITE_FULL: self.init(.full, "The disk is full. Free some space and try again.")
        // SQLite extends the index of the write-ahead log before it uses it. This fails only where the disk is full.
        case .SQLITE_IOERR where [.SQLITE_IOERR_SHMSIZE, .SQLITE_IOERR_WRITE].contains(error.extendedResultCode):
            self.init(
                .full,
                "The disk is full, or does not take what is written to it: \(said). Free some space and try again."
            )
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
            self.init(.readOnly, "The file cannot be opened for writing: \(said). Check the permissions of the folder.")
        case .SQLITE_ERROR where said.contains("no such table: mist_") || said.contains("no such table: main.mist_"):
            self.init(
                .damaged,
                """
                SQLite reported: \(said). Another program has removed this table of the store. Restore the file from a backup; or move it \
                away and open the store again, which fetches what was synchronised.
                """
            )
        case .SQLITE_CONSTRAINT where said.contains("_recordName"):
            self.init(
                .recordName,
                "A record name has 1 to 255 printable ASCII characters and does not begin with an underscore."
            )
        default:
            self.init(.storage, "SQLite reported \(error.extendedResultCode): \(said).")
        }
    }
}

extension Database {
    /// Runs a statement with values in the form of columns. It is faster than arguments of GRDB, for statements that
    /// run for each record.
    func run(_ sql: String, binding values: [ColumnValue]) throws {
        let statement = try cachedStatement(sql: sql)
        try statement.bind(values)
        try statement.execute()
    }

    /// Writes with triggers that record edits at a time of the machine; `nil` is the present.
    func recordingEdits<Value>(at time: MachineTime?, _ body: () throws -> Value) throws -> Value {
        guard let time else { return try body() }
        let former = try FileState.setClock(time, self)
        let value = try body()
        try FileState.setClock(former, self)
        return value
    }

    /// Writes as the engine: the triggers of record types do nothing meanwhile.
    func applying<Value>(_ body: () throws -> Value) throws -> Value {
        try FileState.setApplying(true, self)
        let value = try body()
        try FileState.setApplying(false, self)
        return value
    }
}
