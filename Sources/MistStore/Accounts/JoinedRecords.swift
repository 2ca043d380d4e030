import GRDB
import MistKit

/// The records that were made while no one was signed in, on their way into the file of the user who signs in.
///
/// They become new records of that file. A record that the file has already, by its type, zone and name, stays as it is
/// there. The copy is one transaction of the user's file; the source is removed after it. If the process dies in
/// between, the copy is made again, and finds its own records.
struct JoinedRecords {
    private let rows: [(table: String, zone: ZoneID, row: LocalRow)]

    /// Reads the records of a file.
    ///
    /// - Parameter file: The file.
    /// - Returns: The records; `nil` where the file has something that a copy would not have: a record of a type that
    ///   the program does not know, or a value that does not fit. Then the file stays.
    /// - Throws: A ``StoreError`` when the file fails.
    static func read(_ file: StoreFile) throws -> JoinedRecords? {
        try file.wrapping {
            try file.database.read { db in
                var rows: [(String, ZoneID, LocalRow)] = []
                for table in file.allTables {
                    for row in try table.allRows(db) {
                        guard file.tables[table.recordType] != nil, row.misfits.isEmpty,
                            let zone = try StoredZone.fetch(row.zone, db)
                        else { return nil }
                        rows.append((table.recordType, zone.zoneID, row))
                    }
                }
                return JoinedRecords(rows: rows)
            }
        }
    }

    /// Adds the records to a file. Triggers record them as edits of this moment.
    ///
    /// - Parameters:
    ///   - file: The file of the user.
    ///   - configuration: The settings of the store.
    /// - Throws: A ``StoreError`` when a record cannot be added. Then none was.
    func add(to file: StoreFile, _ configuration: StoreConfiguration) throws {
        guard !rows.isEmpty else { return }
        try file.wrapping {
            try file.database.write { db in
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
}
