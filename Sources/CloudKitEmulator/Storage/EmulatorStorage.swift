import FilePermissions
import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where an emulator keeps its data.
public enum EmulatorStorage: Hashable, Sendable {
    /// In memory. The data are lost when the emulator is released.
    case memory
    /// In an SQLite file at this path, which is created when it does not exist.
    ///
    /// When a write returns, its data are in the file. They survive a crash of the process, but not necessarily a crash
    /// of the machine.
    ///
    /// Any number of processes may have the file open, and may open it at the same time when it does not exist yet.
    /// They see each other's writes at once. A call that waits for a push gets the push of another process's write
    /// within ``CloudKitEmulator/pushPollInterval``. Beside the file there is an empty file whose name ends in `-lock`.
    ///
    /// The file and those that SQLite makes beside it can be read and written by their owner only: they hold tokens
    /// and the key that signs them. A file with other permissions gets these when it is opened.
    case file(path: String)
}

extension EmulatorStorage {
    /// The number of reads of a file that run at the same time.
    package static let readerCount = 4

    /// Opens the database and brings its tables up to date.
    func open() throws -> any DatabaseWriter {
        var configuration = Configuration()
        configuration.label = "CloudKitEmulator"
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = Self.readerCount
        // Other processes may hold the file for as long as they write. Each write takes milliseconds, but SQLite gives
        // the file to any of the waiting processes, not to the first.
        configuration.busyMode = .timeout(30)
        configuration.prepareDatabase { db in
            // WAL with `synchronous = NORMAL`: a commit reaches the operating system before it returns, so it survives
            // the process. No commit waits for the disk.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            // 16 MB for each connection. The system's own cache holds the rest of the file. A mapped file would be 13 %
            // faster to read, but a process that reads all records would become as large as the file.
            try db.execute(sql: "PRAGMA cache_size = -16384")
            try db.execute(sql: "PRAGMA temp_store = MEMORY")
        }
        switch self {
        case .memory:
            let queue = try DatabaseQueue(configuration: configuration)
            try Tables.migrator.migrate(queue)
            return queue
        case .file(let path):
            // SQLite's own locks are not enough here. A new file gets its journal mode without waiting for other
            // processes, and the migrator looks for missing tables before it begins the transaction that adds them.
            return try FileLock.withLock(atPath: path + "-lock") {
                // SQLite gives the other files the permissions of this one.
                try OwnerPermissions.createFile(atPath: path)
                for suffix in ["", "-wal", "-shm", "-lock"] { try OwnerPermissions.restrict(atPath: path + suffix) }
                let pool = try DatabasePool(path: path, configuration: configuration)
                try Tables.migrator.migrate(pool)
                return pool
            }
        }
    }

    /// Whether other processes may write to the storage.
    var isShared: Bool {
        switch self {
        case .memory: false
        case .file: true
        }
    }
}

/// Statements that are compiled once for each connection.
extension Database {
    func run(_ sql: String, _ arguments: SQLArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments.checked())
    }

    func row(_ sql: String, _ arguments: SQLArguments = []) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments.checked())
    }

    func rows(_ sql: String, _ arguments: SQLArguments = []) throws -> [Row] {
        try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments.checked())
    }

    /// The first column of the first row.
    func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: SQLArguments = [],
        as type: Value.Type = Value.self
    ) throws -> Value? {
        try Value.fetchOne(cachedStatement(sql: sql), arguments: arguments.checked())
    }

    /// The first column of all rows.
    func values<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: SQLArguments = [],
        as type: Value.Type = Value.self
    ) throws -> [Value] {
        try Value.fetchAll(cachedStatement(sql: sql), arguments: arguments.checked())
    }

    /// A secret of the storage, which is created when it is first read.
    func secret(_ name: String, _ count: Int, from identifiers: IdentifierSource) throws -> Data {
        try run("INSERT OR IGNORE INTO secret VALUES (?, ?)", [name, Data(identifiers.next(count))])
        return try value("SELECT value FROM secret WHERE name = ?", [name], as: Data.self) ?? Data()
    }
}
