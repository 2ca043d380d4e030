import GRDB
import SQLiteTables

extension StoreFile {
    /// The records in zones that this file does not have, because another program has changed `_zone` or removed the
    /// zone.
    func recordsWithoutZone(_ db: Database) throws -> [ParkedRecord] {
        try orderedTables.flatMap { table in
            try db.rows(
                """
                WITH RECURSIVE used (zone) AS (
                    SELECT min(_zone) FROM \(table.name)
                    UNION SELECT (SELECT min(_zone) FROM \(table.name) WHERE _zone > used.zone) FROM used
                        WHERE used.zone IS NOT NULL
                )
                SELECT _recordName AS name, _zone AS zone FROM used JOIN \(table.name) ON _zone = used.zone
                WHERE used.zone NOT IN (\(Zones.ids)) ORDER BY _recordName
                """
            ).map { row in
                let (name, zone): (String, ZoneRowID) = (row["name"], row["zone"])
                return ParkedRecord(
                    recordName: name,
                    reason: .zone,
                    message: """
                        The file has no zone \(zone). Move the record to one of \(Zones.numbers): UPDATE \(table.name) SET _zone = \
                        \(homeZones[scopes[0]] ?? 1) WHERE _recordName = '\(name)' AND _zone = \(zone)
                        """,
                    until: nil
                )
            }
        }
    }
}
