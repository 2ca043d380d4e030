import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The records that were made while no one was signed in, on their way into the file of the user who signs in.
///
/// They become new records of that file. A record that the file has already, by its type, zone and name, stays as it is
/// there. The copy is one transaction of the user's file, within the transaction that withdraws the source; the source is
/// removed after it, with its folder of files, so the files of the records are copied as well. If the process dies in
/// between, the copy is made again, and finds its own records.
struct JoinedRecords {
    private let rows: [(table: String, zone: ZoneID, row: LocalRow)]
    /// The files of the records.
    private let folder: ContentFolder?

    /// Reads the records of a file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - db: Its connection, in the transaction that withdraws the file: no other process adds a record meanwhile.
    /// - Returns: The records; `nil` where the file has something that a copy would not have: a record of a type that
    ///   the program does not know, or a value that does not fit. Then the file stays.
    /// - Throws: A ``StoreError`` when the file fails.
    static func read(_ file: StoreFile, _ db: Database) throws -> JoinedRecords? {
        var rows: [(String, ZoneID, LocalRow)] = []
        for table in file.allTables {
            for row in try table.allRows(db) {
                guard file.tables[table.recordType] != nil, row.misfits.isEmpty,
                    let zone = try StoredZone.fetch(row.zone, db)
                else { return nil }
                rows.append((table.recordType, zone.zoneID, row))
            }
        }
        return JoinedRecords(rows: rows, folder: file.folder)
    }

    /// Adds the records to a file. Triggers record them as edits of this moment.
    ///
    /// - Parameters:
    ///   - file: The file of the user.
    ///   - user: The user, who becomes the owner of the file: another one who signs in after a crash gets another file.
    ///   - configuration: The settings of the store.
    /// - Throws: A ``StoreError`` when the file is that of another user, when a record cannot be added, or a file cannot
    ///   be copied. Then none was.
    func add(to file: StoreFile, of user: String, _ configuration: StoreConfiguration) throws {
        guard !rows.isEmpty else { return }
        var copies: [ContentFolder.Incoming] = []
        // Once a file has its name, there is nothing to remove.
        defer { for copy in copies { copy.discard() } }
        if let folder, let target = file.folder {
            for content in contents where folder.size(of: content) != nil {
                copies.append(try target.copy(URL(fileURLWithPath: folder.path(of: content))))
            }
        }
        try file.wrapping {
            try file.database.write { db in
                guard try FileState(db).noteUser(user) else { throw try StoreError.otherUser(db) }
                for copy in copies { try file.folder?.keep(copy, at: configuration.clock().machineTime, db) }
                try db.recordingEdits(at: configuration.ownClock?().machineTime) {
                    for (type, zoneID, row) in rows {
                        let table = try file.table(of: type)
                        let zone = try Zones(scope: .private, db: db).identifier(of: zoneID)
                        guard try table.row(named: row.name, in: zone, db) == nil else { continue }
                        let pairs = try table.columnPairs(of: row.fields, named: row.name, in: zoneID)
                        let time = row.created ?? configuration.clock().milliseconds
                        try table.insert(pairs, named: row.name, in: zone, at: time, db)
                    }
                }
            }
        }
    }

    /// The files that the records have on this machine.
    private var contents: Set<ContentHash> {
        Set(rows.flatMap { $0.row.fields.values.compactMap { $0.assetValue?.content } })
    }
}
