import GRDB
import SQLiteTables

/// A new record that waits because the record above it waits.
struct WaitingRecord: Hashable {
    let name: String
    /// The record above it.
    let parent: String
    /// When the parked record above is sent again; `nil` when only a change of it causes a
    /// new attempt.
    let until: MachineTime?
}

extension StoreFile {
    /// The new records of a scope that wait for the record above them. The refused record may be any number of levels
    /// above.
    ///
    /// No table lists them. They follow from the parked records, so they wait no longer than those.
    func recordsWaitingForParents(in scope: DatabaseScope, _ db: Database) throws -> [WaitingRecord] {
        func isNew(_ table: RecordTable, _ alias: String) -> String {
            "EXISTS (\(PendingEdits.insert(of: table.id, row: "\(alias)._id")))"
        }
        let ofParkedTypes = orderedTables.map { table in
            """
            SELECT own._zone, own._recordName, NULL, NULL FROM \(table.name) AS own
            WHERE \(RecordTypes.isParked(table.id)) AND \(isNew(table, "own"))
            """
        }
        let children = orderedTables.compactMap { table in
            table.parentField.map { parent in
                """
                SELECT own._zone, own._recordName, above.name, above.until FROM above
                JOIN \(table.name) AS own ON own.\(parent.column) = above.name AND own._zone = above.zone
                WHERE \(isNew(table, "own"))
                """
            }
        }
        guard !children.isEmpty else { return [] }
        return try db.rows(
            """
            WITH RECURSIVE above (zone, name, parent, until) AS (
                \(([Parking.newRecords] + ofParkedTypes + children).joined(separator: " UNION "))
            )
            SELECT DISTINCT name, parent, until FROM above
            WHERE parent IS NOT NULL AND zone IN (\(Zones.ids(in: "?")))
            ORDER BY name
            """,
            [scope.number]
        ).map { row in WaitingRecord(name: row["name"], parent: row["parent"], until: row["until"]) }
    }
}
