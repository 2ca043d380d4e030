import GRDB
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What other devices have added to counters in another copy of a moved record, and what is pending of it,
/// `mist_carried`. An entry ends with the edit.
struct CarriedCounts: TableOwner {
    /// A program without the table does not miss it, so it needs no new format.
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_carried (
            type INTEGER NOT NULL,
            row INTEGER NOT NULL,
            field INTEGER NOT NULL,
            -- The part: the device that has added, its sequence, and its sum.
            device INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            sum INTEGER NOT NULL,
            -- By how much the row's value has grown.
            amount INTEGER NOT NULL,
            PRIMARY KEY (type, row, field, device)
        ) WITHOUT ROWID
        """

    let db: Database

    /// The carried amounts of a row, by the name of the field, ordered by device.
    func counts(of row: RecordRowID, _ table: RecordTable) throws -> [String: [CarriedCount]] {
        guard table.hasCounters else { return [:] }
        let rows = try db.rows(
            """
            SELECT field, device, sequence, sum, amount FROM mist_carried WHERE type = ? AND row = ?
            ORDER BY field, device
            """,
            [table.id, row]
        )
        var counts: [String: [CarriedCount]] = [:]
        for row in rows {
            guard let field = table.field(row["field"]) else { continue }
            let part = EditTimes.Part(
                field: Checksum.of(name: field.name),
                device: row["device"],
                sequence: row["sequence"],
                sum: row["sum"]
            )
            counts[field.name, default: []].append(CarriedCount(part: part, amount: row["amount"]))
        }
        return counts
    }

    /// Adds an amount of a device. The later part counts.
    func add(_ count: CarriedCount, _ field: FieldID, of row: RecordRowID, _ table: TableID) throws {
        try db.run(
            """
            INSERT INTO mist_carried (type, row, field, device, sequence, sum, amount) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (type, row, field, device) DO UPDATE SET
                amount = amount + excluded.amount,
                sum = iif(excluded.sequence > sequence, excluded.sum, sum),
                sequence = max(sequence, excluded.sequence)
            """,
            [table, row, field, count.part.device, count.part.sequence, count.part.sum, count.amount]
        )
    }

    /// Forgets the amounts of a row: its edits have ended.
    func forget(_ row: RecordRowID, of table: TableID) throws {
        try db.run("DELETE FROM mist_carried WHERE type = ? AND row = ?", [table, row])
    }

    /// Forgets the amounts of a row that the service has stored.
    ///
    /// - Parameters:
    ///   - bytes: The edit times that were sent.
    ///   - row: The row.
    ///   - table: Its table.
    /// - Throws: A `DatabaseError` when the file fails.
    func forget(sentIn bytes: Data?, _ row: RecordRowID, of table: RecordTable) throws {
        let counts = try counts(of: row, table)
        // Hardly any record has some, so the bytes are read only here.
        guard !counts.isEmpty, let times = bytes.flatMap({ EditTimes($0) }) else { return }
        for field in table.fields {
            for count in counts[field.name] ?? [] {
                let sent = times.part(of: field.name, device: count.part.device)
                guard let sent, sent.sequence >= count.part.sequence else { continue }
                try db.run(
                    "DELETE FROM mist_carried WHERE type = ? AND row = ? AND field = ? AND device = ?",
                    [table.id, row, field.id, count.part.device]
                )
            }
        }
    }

    /// Forgets the amounts of rows that are gone.
    func removeOrphans(of table: RecordTable) throws {
        try db.run(
            "DELETE FROM mist_carried WHERE type = ? AND row NOT IN (SELECT _id FROM \(table.name))",
            [table.id]
        )
    }
}
