import CloudKitModel
import GRDB

/// A record zone: the row behind a zone ID.
struct ZoneRow {
    let id: Int64
    let name: String
    /// How many records were written in the zone: the source of change tags, and the order of its change feed.
    var sequence: Int64
    /// When the zone last changed, in the database's count.
    var databaseSequence: Int64
    var isDeleted = false
    /// Whose zone it is, where that is not the caller.
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

    /// The zones of a database that fulfil a condition, in the order that it says.
    static func fetch(
        where condition: String,
        _ arguments: StatementArguments,
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
