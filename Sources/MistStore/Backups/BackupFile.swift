import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The file of a scope in a backup, open for reading. It is read as it is: nothing is updated, whatever its format.
struct BackupFile {
    private let queue: DatabaseQueue
    private let sealer: FieldSealer?
    /// The tables of its record types, also of those that the program does not know.
    let tables: [RecordTable]
    /// The zones of the scope.
    let zones: [ZoneRowID: ZoneID]
    /// The folder of its records' files.
    let folder: ContentFolder?

    /// The name of a scope's file in the folder of a backup.
    static func name(of scope: DatabaseScope) -> String {
        scope == .public ? StoreFolder.publicPath : UserFile.first.path
    }

    /// Opens the file of a scope.
    ///
    /// - Parameters:
    ///   - scope: The scope.
    ///   - folder: The folder of the backup.
    ///   - key: The key that the store had when the backup was made.
    /// - Throws: A ``StoreError``: `notAStore`, `damaged`, `newerFormat`, `keyMissing` or `wrongKey`.
    init(of scope: DatabaseScope, in folder: URL, key: StoreEncryptionKey?) throws {
        let path = folder.appendingPathComponent(Self.name(of: scope)).path
        try StoreFile.check(atPath: path, isExpected: true)
        self.folder = ContentFolder(ofDatabase: path)
        (queue, tables, zones, sealer) = try StoreError.naming(path) {
            try StoreError.wrapping {
                let queue = try StoreFile.readOnlyConnection(toPath: path)
                return try queue.read { db in
                    let sealer = try Seals(db: db).open(with: key).map { try StoreFile.sealer($0, [], db) }
                    let zones = try Zones(scope: scope, db: db).identifiers()
                    return (queue, try RecordTypes(db: db).tables(sealer), zones, sealer)
                }
            }
        }
    }

    func close() { try? queue.close() }

    /// Calls a closure with each record of a type, in the order of their rows. A few hundred are in memory at a time.
    func forEachRow(of table: RecordTable, _ body: (_ row: LocalRow, _ zone: ZoneID) throws -> Void) throws {
        var last = RecordRowID(rawValue: .min)
        while case let rows = try queue.read({ db in
            try table.rows("_id > ? ORDER BY _id LIMIT 500", [ColumnValue(last)], db)
        }), let end = rows.last {
            for row in rows {
                if let zone = zones[row.zone] { try body(row, zone) }
            }
            last = end.id
        }
    }

    /// The service's signatures of a file.
    func names(of content: ContentHash) throws -> [Asset] {
        try queue.read { db in try Contents(db: db).names(of: content) }
    }

    /// A record, and its fields that have no column.
    func record(id: RecordRowID, of table: RecordTable) throws -> (row: LocalRow, others: [String: FieldValue])? {
        try queue.read { db in
            guard let row = try table.row(id: id, db) else { return nil }
            return (row, try KnownVersions(db: db, sealer: sealer).otherFields(of: row.name, in: row.zone))
        }
    }
}
