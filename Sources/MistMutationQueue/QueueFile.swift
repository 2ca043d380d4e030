import GRDB
import SQLiteTables

/// The tables of queues in a file.
enum QueueFile {
    static var owners: [any OwnedTables.Type] { [Queues.self, Mutations.self, Identifiers.self] }

    /// Creates the tables that the file lacks, and finds or makes the queue.
    ///
    /// - Parameters:
    ///   - database: The file.
    ///   - name: The name of the queue.
    ///   - leases: Creates the table of the lease.
    ///   - now: The machine's time.
    /// - Returns: The number of the queue, and the path of the file; `nil` for a database in memory.
    /// - Throws: A ``MutationQueueError`` about the file.
    static func open(
        _ database: any DatabaseWriter,
        queue name: String,
        leases: (Database) throws -> Void,
        at now: MachineTime
    ) throws -> (queue: QueueRowID, path: String?) {
        try checkText(name, "The name of a queue")
        return try MutationQueueError.wrapping {
            try database.write { db in
                try check(db)
                for owner in owners { try owner.create(in: db) }
                try leases(db)
                try Queues(db: db).noteFormat()
                let path = try db.row("SELECT file FROM pragma_database_list WHERE name = 'main'")
                    .flatMap { row -> String? in row["file"] }
                let queue = try Queues(db: db).queue(named: name, at: now)
                return (queue, path.flatMap { $0.isEmpty ? nil : $0 })
            }
        }
    }

    /// Refuses a file whose tables are of a later version, or of another program.
    private static func check(_ db: Database) throws {
        if try db.tableExists("mist_queue_format") {
            try checkColumns(of: "mist_queue_format", ["id", "format"], db)
            if let format = try Queues(db: db).format(), format > Queues.format {
                throw MutationQueueError(
                    .newerFormat,
                    """
                    The tables of the queue have the format \(format), and this version of the library knows formats up \
                    to \(Queues.format). Update the program.
                    """
                )
            }
        }
        for table in try columns.get() where try db.tableExists(table.table) {
            try checkColumns(of: table.table, table.columns, db)
        }
    }

    /// The columns of each table in a new file.
    private static let columns = Result {
        try DatabaseQueue().write { blank in
            var columns: [(table: String, columns: Set<String>)] = []
            for owner in owners {
                try owner.create(in: blank)
                for table in owner.tableNames { columns.append((table, Set(try blank.columns(in: table).map(\.name)))) }
            }
            return columns
        }
    }

    private static func checkColumns(of table: String, _ columns: Set<String>, _ db: Database) throws {
        let found = Set(try db.columns(in: table).map(\.name))
        let missing = columns.subtracting(found).sorted().joined(separator: ", ")
        guard !missing.isEmpty else { return }
        throw MutationQueueError(
            .otherTables,
            """
            The file has a table \(table) without the columns \(missing). Another program made it. Use another file for \
            the queue.
            """
        )
    }

    /// Refuses a text that SQLite would cut, or that is empty or very long.
    static func checkText(_ text: String, _ what: String) throws(MutationQueueError) {
        guard !text.isEmpty, text.utf8.count <= 1000, !text.utf8.contains(0) else {
            throw MutationQueueError(.text, "\(what) has 1 to 1,000 bytes of UTF-8 without a NUL.")
        }
    }
}
