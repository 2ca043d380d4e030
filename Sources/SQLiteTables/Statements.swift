package import GRDB

/// Runs statements that SQLite compiles once for each connection.
extension Database {
    package func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// The first column of the first row.
    package func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        as type: Value.Type
    ) throws -> Value? {
        try Value.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    package func row(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    package func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Undoes the changes of a closure where it throws. GRDB's `inSavepoint` compiles its statements in each call.
    ///
    /// - Parameter body: The changes. The connection is in a transaction that writes.
    /// - Throws: What the closure throws; a `DatabaseError` where it has ended the transaction.
    package func inCompiledSavepoint(_ body: () throws -> Void) throws {
        try run("SAVEPOINT mist")
        do {
            try body()
            try run("RELEASE SAVEPOINT mist")
        } catch {
            // SQLite itself may have undone the transaction; then there is no savepoint.
            try? run("ROLLBACK TRANSACTION TO SAVEPOINT mist")
            try? run("RELEASE SAVEPOINT mist")
            throw error
        }
    }
}
