import GRDB

/// Where an emulator keeps its data.
public enum EmulatorStorage: Hashable, Sendable {
    /// In memory: gone with the emulator.
    case memory
    /// In an SQLite file at this path, made when it does not exist.
    ///
    /// A write that was answered is in the file, and survives the sudden death of the process (not necessarily of the
    /// machine).
    case file(path: String)
}

extension EmulatorStorage {
    /// Opens the database and brings its tables up to date.
    func open() throws -> any DatabaseWriter {
        var configuration = Configuration()
        configuration.label = "CloudKitEmulator"
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = 4
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            // WAL with `synchronous = NORMAL`: a commit is in the operating system's hands before it returns, so it
            // outlives the process, and no commit waits for the disk.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            try db.execute(sql: "PRAGMA cache_size = -65536")
            try db.execute(sql: "PRAGMA mmap_size = 1073741824")
            try db.execute(sql: "PRAGMA temp_store = MEMORY")
        }
        let writer: any DatabaseWriter =
            switch self {
            case .memory: try DatabaseQueue(configuration: configuration)
            case .file(let path): try DatabasePool(path: path, configuration: configuration)
            }
        try Tables.migrator.migrate(writer)
        return writer
    }
}
