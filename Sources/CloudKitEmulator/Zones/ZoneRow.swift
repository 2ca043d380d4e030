import CloudKitModel
import GRDB

/// A record zone: the row behind a zone ID.
struct ZoneRow {
    let id: Int64
    let name: String
    /// The number of writes in the zone so far. Change tags and the order of the change feed come from it.
    var sequence: Int64
    /// The number of the zone's last change in the database's feed.
    var databaseSequence: Int64
    var isDeleted = false
    /// The owner of the zone, where that is not the caller.
    var owner: String?

    var isDefault: Bool { name == ZoneID.default.zoneName }

    init(_ row: Row) {
        id = row[0]
        name = row[1]
        sequence = row[2]
        databaseSequence = row[3]
        isDeleted = row[4]
        if row.count > 5 { owner = row[5] }
    }

    /// The zones that meet an SQL condition, in the order of its `ORDER BY`.
    static func fetch(
        where condition: String,
        _ arguments: SQLArguments,
        _ db: Database
    ) throws -> [ZoneRow] {
        try db.rows(
            "SELECT id, name, sequence, database_sequence, deleted FROM zone WHERE \(condition)",
            arguments
        ).map(ZoneRow.init)
    }

    func ownerRecordName(in context: DatabaseContext) -> String { owner ?? context.ownerRecordName }

    func zoneID(in context: DatabaseContext) -> ZoneID {
        ZoneID(
            zoneName: name,
            ownerRecordName: ownerRecordName(in: context),
            zoneType: isDefault ? .defaultZone : .regularCustomZone
        )
    }
}
