import GRDB

/// A new record that waits because the record above it waits.
struct WaitingRecord: Hashable {
    let name: String
    /// The record above it.
    let parent: String
    /// When the parked record above is sent again, in milliseconds since 1970; `nil` when only a change of it causes a
    /// new attempt.
    let until: Int64?
}

extension StoreFile {
    /// The new records of a scope that wait for the record above them. The refused record may be any number of levels
    /// above.
    ///
    /// No table lists them. They follow from the parked records, so they wait no longer than those.
    func recordsWaitingForParents(in scope: Int64, _ db: Database) throws -> [WaitingRecord] {
        func isNew(_ table: RecordTable, _ alias: String) -> String {
            """
            EXISTS (
                SELECT 1 FROM mist_edit WHERE type = \(table.id) AND row = \(alias)._id AND field = 0
            )
            """
        }
        let ofParkedTypes = orderedTables.map { table in
            """
            SELECT own._zone, own._recordName, NULL, NULL FROM \(table.name) AS own
            WHERE EXISTS (SELECT 1 FROM mist_type WHERE id = \(table.id) AND parked IS NOT NULL)
                AND \(isNew(table, "own"))
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
        let refused = """
            SELECT zone, name, NULL, until FROM mist_parked AS parked WHERE NOT EXISTS (
                SELECT 1 FROM mist_record AS known
                WHERE known.zone = parked.zone AND known.name = parked.name AND known.tag IS NOT NULL
            )
            """
        return try db.rows(
            """
            WITH RECURSIVE above (zone, name, parent, until) AS (
                \(([refused] + ofParkedTypes + children).joined(separator: " UNION "))
            )
            SELECT DISTINCT name, parent, until FROM above
            WHERE parent IS NOT NULL AND zone IN (SELECT id FROM mist_zone WHERE scope = ?)
            ORDER BY name
            """,
            [scope]
        ).map { row in WaitingRecord(name: row["name"], parent: row["parent"], until: row["until"]) }
    }
}
