import GRDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where an emulator keeps its data.
public enum EmulatorStorage: Hashable, Sendable {
    /// In memory: gone with the emulator.
    case memory
    /// In an SQLite file at this path, made when it does not exist.
    ///
    /// A write that was answered is in the file, and survives the sudden death of the process (not necessarily of the
    /// machine).
    ///
    /// Any number of processes may have the file open, and may open it at the same time when it does not exist yet. What
    /// one writes the others see at once; a push that one waits for arrives within ``CloudKitEmulator/pushPollInterval`` of
    /// another's write. Beside the file there is an empty file whose name ends in `-lock`.
    case file(path: String)
}

extension EmulatorStorage {
    /// Opens the database and brings its tables up to date.
    func open() throws -> any DatabaseWriter {
        var configuration = Configuration()
        configuration.label = "CloudKitEmulator"
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = 4
        // Other processes may hold the file for as long as they write. Each write takes milliseconds, but SQLite gives
        // the file to any of those that wait, not to the first.
        configuration.busyMode = .timeout(30)
        configuration.prepareDatabase { db in
            // WAL with `synchronous = NORMAL`: a commit is in the operating system's hands before it returns, so it
            // outlives the process, and no commit waits for the disk.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            // 16 MB for each connection. The system keeps the rest of the file at hand; mapping it would be 13 % faster to read,
            // and would make a process that goes through all records as large as the file.
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
            // processes, and the migrator looks what is missing before it begins the transaction that adds it.
            return try FileLock.withLock(atPath: path + "-lock") {
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
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    func row(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// The first column of the first row.
    func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        as type: Value.Type = Value.self
    ) throws -> Value? {
        try Value.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// The first column of all rows.
    func values<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        as type: Value.Type = Value.self
    ) throws -> [Value] {
        try Value.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// A secret of the storage, which is created when it is first read.
    func secret(_ name: String, _ count: Int, from identifiers: IdentifierSource) throws -> Data {
        try run("INSERT OR IGNORE INTO secret VALUES (?, ?)", [name, Data(identifiers.next(count))])
        return try value("SELECT value FROM secret WHERE name = ?", [name], as: Data.self) ?? Data()
    }
}
