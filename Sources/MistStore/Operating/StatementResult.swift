package import GRDB

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The rows that a statement of SQL gives, which a person has written for a file of a store.
package struct StatementResult {
    /// The names of the columns.
    package let columns: [String]
    /// The rows, with a value for each column.
    package let rows: [[DatabaseValue]]

    /// Runs a statement that reads, beside the programs that write. SQLite opens the file for reading, so it changes
    /// nothing, whatever the statement says.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - file: The path of the file in the folder of the store.
    ///   - folder: The folder.
    /// - Throws: A ``StoreError``: `readOnly` for a statement that writes, `query` for one that SQLite does not accept,
    ///   or another code about the file.
    package init(of sql: String, inFile file: String, ofStoreAt folder: URL) throws {
        let path = folder.appendingPathComponent(file).path
        let pool = try StoreError.naming(path) {
            try StoreFile.check(atPath: path, isExpected: true)
            return try StoreFile.openForReading(atPath: path)
        }
        defer { try? pool.close() }
        do {
            (columns, rows) = try pool.read { db in
                let statement = try db.makeStatement(sql: sql)
                guard statement.isReadonly else { throw StoreError.writingStatement }
                let rows = try Row.fetchCursor(statement).map { row in row.map { $0.1 } }
                return (statement.columnNames, try Array(rows))
            }
        } catch let error as DatabaseError {
            switch error.resultCode {
            case .SQLITE_READONLY: throw StoreError.writingStatement
            // GRDB reports a second statement so.
            case .SQLITE_MISUSE: throw StoreError(.query, "One statement can be run at a time. Leave the others out.")
            case .SQLITE_ERROR, .SQLITE_RANGE, .SQLITE_AUTH, .SQLITE_CANTOPEN:
                let said = error.message ?? "error \(error.extendedResultCode)"
                throw StoreError(.query, "SQLite does not accept the statement: \(said).")
            default: throw StoreError(error)
            }
        }
    }
}

extension StoreError {
    fileprivate static let writingStatement = StoreError(
        .readOnly,
        "The statement writes, and the file is open for reading. Nothing was changed."
    )
}
