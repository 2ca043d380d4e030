import GRDB
import MistKit

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
    /// - Throws: A ``StoreError``: `needsUpdate` when an earlier version of the library wrote a file; or another code
    ///   about a file.
    package convenience init(readingStoreAt folder: URL, of user: StoreUser) throws {
        let files = StoreFolder(url: folder, types: .files, configuration: StoreConfiguration())
        let common = try files.openPublicForReading()
        let file = try files.openForReading(user.file)
        self.init(files, publicFile: common, place: user.file, file: file, service: nil, loop: nil)
    }
}

extension StoreFile {
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
                losses: try RecoveryEntries(scope: scope, db: reader.db).summary().map {
                    .init(name: $0.reason, count: $0.entries)
                }
            )
        }
    }
}
