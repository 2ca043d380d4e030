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
}
