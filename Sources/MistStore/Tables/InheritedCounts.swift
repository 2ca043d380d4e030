import GRDB
import MistKit
import SQLiteTables

/// What was pending of counters when the file was noticed to be a copy, `mist_inherited`: another copy of the file has
/// the same, and may send it, too. An entry ends with the edit.
struct InheritedCounts: TableOwner {
    /// A program without the table does not miss it, so it needs no new format.
    static let definition = """
        CREATE TABLE IF NOT EXISTS mist_inherited (
            type INTEGER NOT NULL,
            row INTEGER NOT NULL,
            field INTEGER NOT NULL,
            -- The number that the file had when it was copied, and the amount that was pending.
            device INTEGER NOT NULL,
            amount INTEGER NOT NULL,
            PRIMARY KEY (type, row, field)
        )
        """

    let db: Database

    /// The pending amounts of a row, by the name of the field.
    func counts(of row: RecordRowID, _ table: RecordTable) throws -> [String: InheritedCount] {
        guard table.hasCounters else { return [:] }
        let rows = try db.rows(
            "SELECT field, device, amount FROM mist_inherited WHERE type = ? AND row = ?",
            [table.id, row]
        )
        var counts: [String: InheritedCount] = [:]
        for row in rows {
            guard let field = table.field(row["field"]) else { continue }
            counts[field.name] = InheritedCount(device: row["device"], amount: row["amount"])
        }
        return counts
    }

    /// Notes a pending amount. An amount that the file has inherited before stays.
    func insert(_ count: InheritedCount, _ field: FieldID, of row: RecordRowID, _ table: TableID) throws {
        try db.run(
            """
            INSERT INTO mist_inherited (type, row, field, device, amount) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (type, row, field) DO NOTHING
            """,
            [table, row, field, count.device, count.amount]
        )
    }

    /// Forgets the amounts of a row: its edits were sent, or have ended.
    func forget(_ row: RecordRowID, of table: TableID) throws {
        try db.run("DELETE FROM mist_inherited WHERE type = ? AND row = ?", [table, row])
    }

    /// Forgets the amounts of rows that are gone.
    func removeOrphans(of table: RecordTable) throws {
        try db.run(
            "DELETE FROM mist_inherited WHERE type = ? AND row NOT IN (SELECT _id FROM \(table.name))",
            [table.id]
        )
    }
}
