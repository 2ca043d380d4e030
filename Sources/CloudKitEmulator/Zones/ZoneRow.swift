import CloudKitModel
import GRDB
import StreamingJSON

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
        ZoneID(inReply: name, owner: ownerRecordName(in: context))
    }
}

extension ZoneID {
    /// The zone ID of a reply, which has the owner and the type of the zone.
    init(inReply name: String, owner: String) {
        self.init(
            zoneName: name,
            ownerRecordName: owner,
            zoneType: name == Self.default.zoneName ? .defaultZone : .regularCustomZone
        )
    }

    /// The zone ID without members that are null. An error item has the zone ID of the request, but repeats no nulls.
    var withoutNulls: ZoneID {
        var zoneID = ZoneID(zoneName: zoneName, ownerRecordName: ownerRecordName, zoneType: zoneType)
        zoneID.otherKeys = otherKeys.withoutNulls
        return zoneID
    }
}

extension OtherKeys {
    /// The members that are not null. Known keys that were null are forgotten as well.
    var withoutNulls: OtherKeys {
        var members = OtherKeys()
        for member in self where member.value.kind != .null { members[member.name] = member.value }
        return members
    }
}
